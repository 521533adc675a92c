/**
 * Guardrails: checks of inputs, answers, calls, results and handoffs, which say what may pass.
 *
 * A guardrail looks at a value and returns a verdict. An agent has the guardrails of its `Agent.make(…, { guardrails })`. An agent that
 * takes a conversation over has its own, and none of the agent before it.
 *
 * @since 0.1.0
 */
export type { Guardrails } from "./definition/guardrail/AgentGuardrails.ts"
export {
  type Any,
  type CallContext,
  type CheckedCall,
  type Context,
  type ContextOf,
  type Error,
  type Guardrail,
  isGuardrail,
  type Services,
  type Subject,
  type Values
} from "./definition/guardrail/GuardrailType.ts"
export {
  type Block,
  block,
  NoVerdict,
  type Pass,
  pass,
  type Replace,
  replace,
  type Retry,
  retry,
  type Verdict,
  type Warn,
  warn
} from "./definition/guardrail/Verdict.ts"
export { maxToolCalls, noRepeat, toolAllowList } from "./guardrail/builtin/Calls.ts"
export type { Action } from "./guardrail/builtin/Found.ts"
export { json } from "./guardrail/builtin/Json.ts"
export { factuality, grounded, judge, type JudgeOptions, safety } from "./guardrail/builtin/Judged.ts"
export { length } from "./guardrail/builtin/Length.ts"
export { regex } from "./guardrail/builtin/Pattern.ts"
export { promptInjection } from "./guardrail/builtin/PromptInjection.ts"
export type { Judge, JudgeService } from "./guardrail/builtin/Score.ts"
export { noSecrets, pii, secrets } from "./guardrail/builtin/Sensitive.ts"
export { profanity, tone, topic } from "./guardrail/builtin/Vocabulary.ts"
export { all, any, mapBlock, NoGuardrails, not, sequence, when } from "./guardrail/Combining.ts"
export type { InjectionCategory, Severity } from "./guardrail/detect/InjectionRules.ts"
export type { PiiKind } from "./guardrail/detect/Pii.ts"
export type { SecretKind } from "./guardrail/detect/Secrets.ts"
export type { Tone } from "./guardrail/detect/Tone.ts"
export { InvalidOption } from "./guardrail/InvalidOption.ts"
export { make, type Options } from "./guardrail/MakeGuardrail.ts"
