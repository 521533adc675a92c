/**
 * The errors of entering, leaving or using a mode, apart from the mode's own errors.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { listOf } from "../domain/Described.ts"
import { ErrorClass } from "../domain/ErrorClass.ts"
import { Isolation } from "../domain/Isolation.ts"

/**
 * The agent and the session have no mode of this name. `available` names those that they have.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownMode extends ErrorClass<UnknownMode>("troupe/modes/Mode")("UnknownMode", {
  mode: Schema.String,
  available: Schema.Array(Schema.String)
}, ({ available, mode }) => `There is no mode "${mode}"; available: ${listOf(available)}`) {}

/**
 * The mode would be less isolated than the mode around it.
 *
 * @category errors
 * @since 0.1.0
 */
export class LessIsolated extends ErrorClass<LessIsolated>("troupe/modes/Mode")(
  "LessIsolated",
  {
    mode: Schema.String,
    isolation: Isolation,
    around: Schema.String,
    aroundIsolation: Isolation
  },
  ({ around, aroundIsolation, isolation, mode }) =>
    `Mode "${mode}" of isolation "${isolation}" can't be entered inside "${around}", which has "${aroundIsolation}"`
) {}

/**
 * The parameters don't fit the mode's schema.
 *
 * @category errors
 * @since 0.1.0
 */
export class ParamsRejected extends ErrorClass<ParamsRejected>("troupe/modes/Mode")("ParamsRejected", {
  mode: Schema.String,
  issue: Schema.String
}, ({ issue, mode }) => `The parameters of mode "${mode}" are wrong: ${issue}`) {}

/**
 * The operation needs a mode, and none is entered.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoMode extends ErrorClass<NoMode>("troupe/modes/Mode")("NoMode", {
  operation: Schema.String
}, ({ operation }) => `"${operation}" needs a mode, and none is entered`) {}

/**
 * The mode that should be left isn't on top. `stack` names the modes that are entered, the innermost last.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotOnTop extends ErrorClass<NotOnTop>("troupe/modes/Mode")(
  "NotOnTop",
  {
    mode: Schema.String,
    stack: Schema.Array(Schema.String)
  },
  ({ mode, stack }) => `Mode "${mode}" isn't on top, so it can't be left; entered, the innermost last: ${listOf(stack)}`
) {}

/**
 * A set-up or a clean-up enters its own mode, directly or through others, so that entering has no end. `limit` is how deeply they may be
 * nested: 32.
 *
 * Modes that request moves to each other more often than `limit`, without a request to the model between, fail the run with `ModeFailed`,
 * which has the text of this error.
 *
 * @category errors
 * @since 0.1.0
 */
export class TransitionCycle extends ErrorClass<TransitionCycle>("troupe/modes/Mode")(
  "TransitionCycle",
  {
    modes: Schema.Array(Schema.String),
    limit: Schema.Int
  },
  ({ limit, modes }) =>
    `More than ${limit} nested set-ups and clean-ups, or moves without a request to the model: ${listOf(modes)}`
) {}

/**
 * The mode can't cut or edit the conversation: its isolation is neither `thread` nor `fork`.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoView extends ErrorClass<NoView>("troupe/modes/Mode")(
  "NoView",
  {
    mode: Schema.String,
    isolation: Isolation
  },
  ({ isolation, mode }) =>
    `Mode "${mode}" of isolation "${isolation}" has no view of its own; "thread" and "fork" have one`
) {}

/**
 * A conversation setting names a tool or a model that the agent doesn't have.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownSetting extends ErrorClass<UnknownSetting>("troupe/modes/Mode")(
  "UnknownSetting",
  {
    agent: Schema.String,
    setting: Schema.Literals(["tool", "model"]),
    wanted: Schema.String,
    available: Schema.Array(Schema.String)
  },
  ({ agent, available, setting, wanted }) =>
    `Agent "${agent}" has no ${setting} "${wanted}"; available: ${listOf(available)}`
) {}

/**
 * The agent is in the middle of a run. A tool's handler, or another function that the run calls, can request a move, but it can't enter a
 * mode or talk to the agent. Only set-ups and clean-ups of modes can.
 *
 * @category errors
 * @since 0.1.0
 */
export class StepUnderWay extends ErrorClass<StepUnderWay>("troupe/modes/Mode")(
  "StepUnderWay",
  {
    operation: Schema.String
  },
  ({ operation }) =>
    `"${operation}" isn't possible in the middle of a step; a tool can request a move by "Mode.schedule"`
) {}

/**
 * There is no conversation here: neither a session nor a run.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoConversation extends ErrorClass<NoConversation>("troupe/modes/Mode")(
  "NoConversation",
  { operation: Schema.String },
  ({ operation }) =>
    `"${operation}" needs a conversation: provide \`Session.layer(agent)\`, or a session as \`Mode.Host\`, or let an agent run it`
) {}

/**
 * A mode that neither the agent nor the session lists can't be entered: another mode or tool has its name, or the name of one of its tools.
 * That mode or tool belongs to the agent or the session, or to an agent that this one hands over to, calls, is called by, or runs beside in
 * a plan or dialogue.
 *
 * @category errors
 * @since 0.1.0
 */
export class NameTaken extends ErrorClass<NameTaken>("troupe/modes/Mode")("NameTaken", {
  mode: Schema.String,
  issue: Schema.String
}, ({ issue, mode }) => `Mode "${mode}" can't be used here: ${issue}`) {}

/**
 * The operation isn't possible now: the session is closed or can't be stored, the mode isn't set up again yet, or only resources are being
 * released. Or the operation comes from an observer, a store, the Layer of a model, or from instructions that render their own prompt.
 *
 * `error` is the error behind it, such as the session's or that of a mode's set-up, or `null` if there is none.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unavailable extends ErrorClass<Unavailable>("troupe/modes/Mode")("Unavailable", {
  operation: Schema.String,
  issue: Schema.String,
  error: Schema.Unknown
}, ({ issue, operation }) => `"${operation}" isn't possible now: ${issue}`) {}

/**
 * Schema for the reason of a `ModeError`.
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
 * The reason of a `ModeError`: what is wrong.
 *
 * @category models
 * @since 0.1.0
 */
export type Reason = typeof Reason.Type

/**
 * The error of modes: a request wasn't possible, and `reason` says why.
 *
 * Nothing was entered, left or changed, with two exceptions. If a clean-up failed, the mode is left. If a session's store failed
 * (`Unavailable`), the session still has the change and saves it with its next operation.
 *
 * @category errors
 * @since 0.1.0
 */
export class ModeError extends ErrorClass<ModeError>("troupe/modes/Mode")("ModeError", {
  reason: Reason
}, ({ reason }) => reason.message) {}

/** Makes a `ModeError` with a reason. */
export const because = (reason: Reason): ModeError => new ModeError({ reason })

/**
 * Checks whether something is the error of modes.
 *
 * @category guards
 * @since 0.1.0
 */
export const isModeError = (u: unknown): u is ModeError => Predicate.isTagged(u, "ModeError")
