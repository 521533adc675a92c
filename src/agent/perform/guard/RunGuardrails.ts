/**
 * What each guardrail carries: all that performs guardrails in a loop.
 *
 * @since 0.1.0
 */
import { askModel } from "./AskGuarded.ts"
import { judgeDecision, judgeParams, judgeResult } from "./CallGuard.ts"
import type { Guard } from "./Guard.ts"
import { askAnyway, askNow, emitInput } from "./InputGuard.ts"
import { hasPassed, look, notePassed } from "./ScreenCalls.ts"

/** Performs the guardrails of any agent. */
export const guard: Guard = {
  _tag: "troupe/agent/Guard",
  emitInput,
  askNow,
  askAnyway,
  askModel,
  look,
  hasPassed,
  notePassed,
  judgeParams,
  judgeDecision,
  judgeResult
}
