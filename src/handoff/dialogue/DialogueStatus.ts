/**
 * The status of a dialogue: what it waits for, or how it ended, as a closed union of plain immutable values that hold names only.
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
export interface MaxTurnsReached extends Schema.Schema.Type<typeof EndReason.cases.MaxTurnsReached> {}
/** The predicate `until` held for the transcript. */
export interface UntilHeld extends Schema.Schema.Type<typeof EndReason.cases.UntilHeld> {}
/** An agent called the stop tool in its turn, and the call succeeded. */
export interface StopToolCalled extends Schema.Schema.Type<typeof EndReason.cases.StopToolCalled> {}

/**
 * Why a dialogue ended.
 *
 * @category models
 * @since 0.1.0
 */
export type EndReason = MaxTurnsReached | UntilHeld | StopToolCalled

/**
 * Schema for the status of a dialogue.
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

/** The next speaker has to be chosen. */
export interface Choosing extends Schema.Schema.Type<typeof DialogueStatus.cases.Choosing> {}
/** An agent was chosen, and wasn't told yet what it missed. */
export interface Chosen extends Schema.Schema.Type<typeof DialogueStatus.cases.Chosen> {}
/** An agent was told what it missed; its run is under way, awaits an approval or a result, failed, or was interrupted. */
export interface Speaking extends Schema.Schema.Type<typeof DialogueStatus.cases.Speaking> {}
/** A turn is complete. Next it is decided whether the dialogue ends, and if not, who speaks next. */
export interface Deciding extends Schema.Schema.Type<typeof DialogueStatus.cases.Deciding> {}
/** The dialogue ended. */
export interface Ended extends Schema.Schema.Type<typeof DialogueStatus.cases.Ended> {}

/**
 * The status of a dialogue: what it waits for, or how it ended.
 *
 * @category models
 * @since 0.1.0
 */
export type DialogueStatus = Choosing | Chosen | Speaking | Deciding | Ended

/**
 * The status of a dialogue in which the next speaker has to be chosen.
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
