/**
 * What a guardrail says of what it looked at.
 *
 * @since 0.1.0
 */

/** It may pass as it is. */
export interface Pass {
  readonly _tag: "Pass"
}
/** It may pass as `value`; `reason` says what was wrong with it. */
export interface Replace<out A> {
  readonly _tag: "Replace"
  readonly value: A
  readonly reason: string
}
/** It may pass as it is, though something is wrong with it. */
export interface Warn {
  readonly _tag: "Warn"
  readonly reason: string
}
/** It may not pass, but the model is told and may try again. */
export interface Retry {
  readonly _tag: "Retry"
  readonly feedback: string
}
/**
 * It may not pass. `guardrail` names who says so within a composed one, where that is one alone. With `isFailure` the guardrail
 * couldn't tell, and blocks for that.
 */
export interface Block {
  readonly _tag: "Block"
  readonly reason: string
  readonly guardrail?: string
  readonly isFailure?: true
}

/**
 * What a guardrail says of a value.
 *
 * @category models
 * @since 0.1.0
 */
export type Verdict<A> = Pass | Replace<A> | Warn | Retry | Block

/**
 * Lets it pass.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const pass: Pass = Object.freeze({ _tag: "Pass" })

/**
 * Lets another value pass in its place.
 *
 * A replaced input is what the model sees, a replaced output what the state holds, a replaced parameter what the handler gets.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const replace = <A>(value: A, reason: string): Replace<A> => ({ _tag: "Replace", value, reason })

/**
 * Lets it pass, and says in an event what is wrong with it.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const warn = (reason: string): Warn => ({ _tag: "Warn", reason })

/**
 * Tells the model what is wrong, and lets it try again.
 *
 * An answer goes back as often as the agent's `outputRetries` says, and is blocked then; a call is settled as failed with the
 * feedback as its result. What a user said can't be tried again: there it blocks.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const retry = (feedback: string): Retry => ({ _tag: "Retry", feedback })

/**
 * Lets nothing pass.
 *
 * A blocked input or answer ends the run with `GuardrailBlocked`; a blocked call, result or handoff is a failed call, which the
 * model sees.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const block = (reason: string): Block => ({ _tag: "Block", reason })
