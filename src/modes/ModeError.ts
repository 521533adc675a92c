/**
 * What can be wrong with entering, leaving or using a mode, apart from what the mode itself fails with.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Isolation } from "../domain/Isolation.ts"

const quoted = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? "none" : names.map((name) => `"${name}"`).join(", ")

/**
 * There is no mode of this name.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownMode extends Schema.TaggedError<UnknownMode>("troupe/modes/Mode/UnknownMode")("UnknownMode", {
  mode: Schema.String,
  available: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `There is no mode "${this.mode}"; available: ${quoted(this.available)}`
  }
}

/**
 * A mode would be less isolated than the one around it.
 *
 * @category errors
 * @since 0.1.0
 */
export class LessIsolated extends Schema.TaggedError<LessIsolated>("troupe/modes/Mode/LessIsolated")("LessIsolated", {
  mode: Schema.String,
  isolation: Isolation,
  around: Schema.String,
  aroundIsolation: Isolation
}) {
  override get message(): string {
    return `Mode "${this.mode}" of isolation "${this.isolation}" can't be entered inside "${this.around}", which has "${this.aroundIsolation}"`
  }
}

/**
 * The parameters don't fit the mode's schema.
 *
 * @category errors
 * @since 0.1.0
 */
export class ParamsRejected extends Schema.TaggedError<ParamsRejected>("troupe/modes/Mode/ParamsRejected")(
  "ParamsRejected",
  { mode: Schema.String, issue: Schema.String }
) {
  override get message(): string {
    return `The parameters of mode "${this.mode}" are wrong: ${this.issue}`
  }
}

/**
 * No mode is entered.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoMode extends Schema.TaggedError<NoMode>("troupe/modes/Mode/NoMode")("NoMode", {
  operation: Schema.String
}) {
  override get message(): string {
    return `"${this.operation}" needs a mode, and none is entered`
  }
}

/**
 * Another mode is on top of the one that is to be left.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotOnTop extends Schema.TaggedError<NotOnTop>("troupe/modes/Mode/NotOnTop")("NotOnTop", {
  mode: Schema.String,
  stack: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `Mode "${this.mode}" isn't on top, so it can't be left; entered, the innermost last: ${quoted(this.stack)}`
  }
}

/**
 * Modes that ask for each other in turn never let the model speak, and one that enters itself on its way in or out has no end.
 *
 * @category errors
 * @since 0.1.0
 */
export class TransitionCycle extends Schema.TaggedError<TransitionCycle>("troupe/modes/Mode/TransitionCycle")(
  "TransitionCycle",
  { modes: Schema.Array(Schema.String), limit: Schema.Int }
) {
  override get message(): string {
    return `${this.limit} moves between modes came without a request to the model: ${quoted(this.modes)}`
  }
}

/**
 * The mode has no view of the conversation that could be cut or edited: its isolation is neither `thread` nor `fork`.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoView extends Schema.TaggedError<NoView>("troupe/modes/Mode/NoView")("NoView", {
  mode: Schema.String,
  isolation: Isolation
}) {
  override get message(): string {
    return `Mode "${this.mode}" of isolation "${this.isolation}" has no view of its own; "thread" and "fork" have one`
  }
}

/**
 * A setting names a tool or a model that the agent doesn't have.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownSetting extends Schema.TaggedError<UnknownSetting>("troupe/modes/Mode/UnknownSetting")(
  "UnknownSetting",
  {
    agent: Schema.String,
    setting: Schema.Literals(["tool", "model"]),
    wanted: Schema.String,
    available: Schema.Array(Schema.String)
  }
) {
  override get message(): string {
    return `Agent "${this.agent}" has no ${this.setting} "${this.wanted}"; available: ${quoted(this.available)}`
  }
}

/**
 * The agent is in the middle of a step: a tool can ask for a move, and can't make one or talk to the agent.
 *
 * @category errors
 * @since 0.1.0
 */
export class StepUnderWay extends Schema.TaggedError<StepUnderWay>("troupe/modes/Mode/StepUnderWay")("StepUnderWay", {
  operation: Schema.String
}) {
  override get message(): string {
    return `"${this.operation}" isn't possible in the middle of a step; a tool asks for a move by "schedule"`
  }
}

/**
 * There is no conversation here: neither a session nor a run.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoConversation extends Schema.TaggedError<NoConversation>("troupe/modes/Mode/NoConversation")(
  "NoConversation",
  { operation: Schema.String }
) {
  override get message(): string {
    return `"${this.operation}" needs a conversation: provide \`Session.layer(agent)\`, or a session as \`Mode.Host\`, or let an agent run it`
  }
}

/**
 * Another mode or tool of the agent has the name already.
 *
 * @category errors
 * @since 0.1.0
 */
export class NameTaken extends Schema.TaggedError<NameTaken>("troupe/modes/Mode/NameTaken")("NameTaken", {
  mode: Schema.String,
  issue: Schema.String
}) {
  override get message(): string {
    return `Mode "${this.mode}" can't be used here: ${this.issue}`
  }
}

/**
 * The conversation can't be changed now: its session is closed, or can't be stored. `error` is as it came.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unavailable extends Schema.TaggedError<Unavailable>("troupe/modes/Mode/Unavailable")("Unavailable", {
  operation: Schema.String,
  issue: Schema.String,
  error: Schema.Unknown
}) {
  override get message(): string {
    return `"${this.operation}" isn't possible now: ${this.issue}`
  }
}

/**
 * Schema for what is wrong.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Reason = Schema.Union([
  UnknownMode,
  LessIsolated,
  ParamsRejected,
  NoMode,
  NotOnTop,
  TransitionCycle,
  NoView,
  UnknownSetting,
  StepUnderWay,
  NoConversation,
  NameTaken,
  Unavailable
])

/**
 * What is wrong.
 *
 * @category models
 * @since 0.1.0
 */
export type Reason = typeof Reason.Type

/**
 * The error of modes: what was asked for isn't possible. Nothing is entered, left or changed.
 *
 * @category errors
 * @since 0.1.0
 */
export class ModeError extends Schema.TaggedError<ModeError>("troupe/modes/Mode/ModeError")("ModeError", {
  reason: Reason
}) {
  override get message(): string {
    return this.reason.message
  }
}

/** Makes the error of a reason. */
export const because = (reason: Reason): ModeError => new ModeError({ reason })

/**
 * Checks whether something is the error of modes.
 *
 * @category guards
 * @since 0.1.0
 */
export const isModeError = (u: unknown): u is ModeError => Predicate.isTagged(u, "ModeError")
