/**
 * Where an agent's guardrails stand.
 *
 * @since 0.1.0
 */
import type { Stage } from "../../domain/GuardrailStage.ts"
import { type Any, type AnyAt, internalsOf, type Services, type Values } from "./GuardrailType.ts"

/**
 * An agent's guardrails, by what they stand on. Those of a stage are asked in their order, each about what the one before it passed
 * on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Guardrails<Output = unknown> {
  /** On what users say, before the agent's first request in a run: also what they said to an agent that handed over. */
  readonly input?: ReadonlyArray<AnyAt<"input", Values["input"]>> | undefined
  /** On the agent's answers. */
  readonly output?: ReadonlyArray<AnyAt<"output", Output>> | undefined
  /** On what tools are asked. */
  readonly toolCall?: ReadonlyArray<AnyAt<"toolCall", Values["toolCall"]>> | undefined
  /** On what tools give back. */
  readonly toolResult?: ReadonlyArray<AnyAt<"toolResult", Values["toolResult"]>> | undefined
  /** On what the agent hands over. */
  readonly handoff?: ReadonlyArray<AnyAt<"handoff", Values["handoff"]>> | undefined
  /**
   * Whether text is shown before the guardrails on the answer have seen it; it isn't by default. Text that was shown and doesn't pass
   * is taken back by the event `TextWithdrawn`.
   */
  readonly releaseEarly?: boolean | undefined
}

/** What the checks of an agent's guardrails need. */
export type GuardrailServices<G> = {
  readonly [S in Stage]: G extends { readonly [Each in S]: ReadonlyArray<infer Member> } ? Services<Member> : never
}[Stage]

/** An agent's guardrails as they are asked. */
export interface Standing {
  readonly input: ReadonlyArray<Any>
  readonly parallel: ReadonlyArray<Any>
  readonly output: ReadonlyArray<Any>
  readonly toolCall: ReadonlyArray<Any>
  readonly toolResult: ReadonlyArray<Any>
  readonly handoff: ReadonlyArray<Any>
  readonly isReleasedEarly: boolean
}

const none: ReadonlyArray<never> = []

/** Makes guardrails ready to be asked. */
export const make = (guardrails: Guardrails<never> | undefined): Standing => {
  const input: ReadonlyArray<Any> = guardrails?.input ?? none
  return {
    input: input.filter((each) => !internalsOf(each).isParallel),
    parallel: input.filter((each) => internalsOf(each).isParallel),
    output: guardrails?.output ?? none,
    toolCall: guardrails?.toolCall ?? none,
    toolResult: guardrails?.toolResult ?? none,
    handoff: guardrails?.handoff ?? none,
    isReleasedEarly: guardrails?.releaseEarly ?? false
  }
}
