/**
 * Where a dialogue stands, as a closed union of plain immutable values that hold names only.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Schema for why a dialogue ended.
 *
 * @category schemas
 * @since 0.1.0
 */
export const EndReason = Schema.TaggedUnion({
  MaxTurnsReached: { turns: Schema.Int },
  UntilHeld: {},
  StopToolCalled: { speaker: Schema.NonEmptyString, tool: Schema.String }
})

/** The dialogue took as many turns as it may. */
export interface MaxTurnsReached {
  readonly _tag: "MaxTurnsReached"
  readonly turns: number
}
/** The predicate `until` held of the transcript. */
export interface UntilHeld {
  readonly _tag: "UntilHeld"
}
/** An agent called the stop tool in its turn. */
export interface StopToolCalled {
  readonly _tag: "StopToolCalled"
  readonly speaker: string
  readonly tool: string
}

/**
 * Why a dialogue ended.
 *
 * @category models
 * @since 0.1.0
 */
export type EndReason = MaxTurnsReached | UntilHeld | StopToolCalled

/**
 * Schema for where a dialogue stands.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DialogueStatus = Schema.TaggedUnion({
  Choosing: {},
  Chosen: { speaker: Schema.NonEmptyString },
  Speaking: { speaker: Schema.NonEmptyString },
  Deciding: {},
  Ended: { reason: EndReason }
})

/** Who speaks next is to be chosen. */
export interface Choosing {
  readonly _tag: "Choosing"
}
/** An agent is to speak, and wasn't told yet what it missed. */
export interface Chosen {
  readonly _tag: "Chosen"
  readonly speaker: string
}
/** An agent was told what it missed; its run is under way, waits for an approval, or failed. */
export interface Speaking {
  readonly _tag: "Speaking"
  readonly speaker: string
}
/** A turn is complete; whether it was the last is to be decided, and if not, who speaks next. */
export interface Deciding {
  readonly _tag: "Deciding"
}
/** The dialogue ended. */
export interface Ended {
  readonly _tag: "Ended"
  readonly reason: EndReason
}

/**
 * Where a dialogue stands.
 *
 * @category models
 * @since 0.1.0
 */
export type DialogueStatus = Choosing | Chosen | Speaking | Deciding | Ended

/**
 * The status of a dialogue in which somebody is to be chosen.
 *
 * @category constructors
 * @since 0.1.0
 */
export const choosing: Choosing = Object.freeze({ _tag: "Choosing" })

/**
 * The status of a dialogue in which a turn is complete.
 *
 * @category constructors
 * @since 0.1.0
 */
export const deciding: Deciding = Object.freeze({ _tag: "Deciding" })
