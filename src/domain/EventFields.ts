/**
 * Fields that several events have.
 *
 * @since 0.1.0
 */
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { Count } from "./Count.ts"
import { Stage } from "./GuardrailStage.ts"

/** Events that were stored before runs had ids have `""` as their run. */
const run = Schema.String.pipe(
  Schema.withDecodingDefaultKey(Exit.succeed("")),
  Schema.withConstructorDefault(Exit.succeed(""))
)

/**
 * Fields that every event has.
 *
 * `run` is the id of its run. `path` names the agents from the outermost to the one it happened in, and `calls` are the calls that lead
 * there (one less than `path` has names). `step` counts that agent's answers, from 0 and anew after an input or a handoff, and `at` is
 * the time in epoch milliseconds.
 */
export const envelope = {
  run,
  path: Schema.NonEmptyArray(Schema.String),
  calls: Schema.Array(Schema.String),
  step: Count,
  sequence: Count,
  at: Schema.Int
}

/**
 * `stack` names the modes that are entered, the innermost last. A mode that is being entered or left is included; one that was left isn't.
 */
export const mode = { name: Schema.NonEmptyString, stack: Schema.Array(Schema.String), params: Schema.Json }

/** Which call something happened to. */
export const call = { callId: Schema.NonEmptyString, name: Schema.String }

/** What something failed with, in words. */
export const error = { tag: Schema.String, message: Schema.String }

/** `callId` is present if the guardrail judges a call, its result, or a handoff that a call requests. */
export const guardrail = {
  guardrail: Schema.NonEmptyString,
  stage: Stage,
  callId: Schema.optionalKey(Schema.NonEmptyString)
}

/**
 * Schema for how a context window changed a request.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Window = Schema.Struct({
  turns: Count,
  left: Count,
  tokens: Schema.optionalKey(Count),
  by: Schema.optionalKey(Schema.Literals(["count", "tokenizer", "estimate"]))
})

/**
 * How a context window changed a request. `turns` were sent unchanged; `left` were left out, summarized or changed. If the window counts
 * tokens, `tokens` is its count for the request, tools and system message included, and `by` says who counted: a function, the provider's
 * `Tokenizer`, or an estimate.
 */
export interface Window extends Schema.Schema.Type<typeof Window> {}

/**
 * Schema for where a run begins.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Position = Schema.Struct({ turns: Count, steps: Count, events: Schema.optionalKey(Count) })

/**
 * Where a run begins: how many turns the conversation had, how often models had answered (`steps`), and how many events came before, if
 * the keeper of the log knows. Pieces of streams, such as `TextDelta`, don't count as events here.
 */
export interface Position extends Schema.Schema.Type<typeof Position> {}
