/**
 * What may pass: guardrails on what users say, on answers, on calls and their results, and on handoffs.
 *
 * A guardrail looks at a value and gives a verdict. Agents are given theirs by `Agent.make(…, { guardrails })`; an agent that takes
 * a conversation over has its own, and none of the one before it.
 *
 * @since 0.1.0
 */
export { all, any, mapBlock, NoGuardrails, not, sequence, when } from "./guardrail/Combining.ts"
export {
  type Any,
  type CallContext,
  type CheckedCall,
  type Context,
  type ContextOf,
  type Error,
  type Guardrail,
  isGuardrail,
  make,
  type Options,
  type Services,
  type Subject,
  type Values
} from "./guardrail/GuardrailType.ts"
export type { Guardrails } from "./guardrail/Standing.ts"
export {
  type Block,
  block,
  type Pass,
  pass,
  type Replace,
  replace,
  type Retry,
  retry,
  type Verdict,
  type Warn,
  warn
} from "./guardrail/Verdict.ts"
