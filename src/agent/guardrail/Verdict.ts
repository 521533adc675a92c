/**
 * What a guardrail says of a value, as data.
 *
 * @since 0.1.0
 */

/** The value may pass as it is. */
export interface Pass {
  readonly _tag: "Pass"
}
/** Another `value` may pass instead; `reason` says what was wrong. */
export interface Replace<out A> {
  readonly _tag: "Replace"
  readonly value: A
  readonly reason: string
}
/** The value may pass as it is, though something is wrong with it. */
export interface Warn {
  readonly _tag: "Warn"
  readonly reason: string
}
/** The value may not pass, but the model reads why and may try again. */
export interface Retry {
  readonly _tag: "Retry"
  readonly feedback: string
}
/**
 * The value may not pass. `guardrail` names the one of several composed guardrails that blocked it. With `isFailure` the check itself
 * failed, so nobody could tell (`docs/decisions/0008`).
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
 * Lets the value pass.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const pass: Pass = Object.freeze({ _tag: "Pass" })

/**
 * Lets another value pass instead.
 *
 * The model sees the other input, the state holds the other answer, and the handler gets the other parameters.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const replace = <A>(value: A, reason: string): Replace<A> => ({ _tag: "Replace", value, reason })

/**
 * Lets the value pass; an event says what is wrong with it.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const warn = (reason: string): Warn => ({ _tag: "Warn", reason })

/**
 * Tells the model what is wrong, and lets it try again.
 *
 * An answer goes back as often as the agent's `outputRetries` says, and is blocked after that. A call fails with the feedback as its
 * result. What a user said can't be tried again, so it is blocked.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const retry = (feedback: string): Retry => ({ _tag: "Retry", feedback })

/**
 * Lets the value not pass.
 *
 * A blocked input or answer ends the run with `GuardrailBlocked`. A blocked call, result or handoff is a failed call, which the model
 * reads.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const block = (reason: string): Block => ({ _tag: "Block", reason })
