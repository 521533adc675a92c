/**
 * Guardrails that find something in a text.
 *
 * @since 0.1.0
 */
import type { Guardrail } from "../../definition/guardrail/GuardrailType.ts"
import { block, pass, replace, type Verdict, warn } from "../../definition/guardrail/Verdict.ts"
import { on, type Work } from "../../perform/guard/Work.ts"
import { describe, type Detector, type Finding, mask } from "../detect/Finding.ts"
import { oneOf } from "../InvalidOption.ts"
import { make } from "../MakeGuardrail.ts"

/**
 * What happens to a text in which something is found: it is blocked, each finding is masked, or it passes with a warning.
 *
 * @category models
 * @since 0.1.0
 */
export type Action = "block" | "mask" | "warn"

/** Makes a guardrail from a detector. Its reasons name the kinds of findings, and quote nothing. */
export const guard = <Kind extends string>(
  name: string,
  detect: Detector<Kind>,
  action: Action = "block",
  replacement?: (finding: Finding<Kind>) => string
): Guardrail => {
  oneOf(name, "action", action, ["block", "mask", "warn"])
  const look = function*(text: string): Work<Verdict<string>> {
    const findings = yield* detect(text)
    if (findings.length === 0) return pass
    const reason = `has ${describe(findings)} in it`
    switch (action) {
      case "block":
        return block(reason)
      case "mask":
        return replace(yield* mask(text, findings, detect, replacement), reason)
      case "warn":
        return warn(reason)
    }
  }
  return make(name, (text) => on(text, look))
}
