/**
 * What Anthropic refuses of a request's body, in its words.
 *
 * @since 0.1.0
 */
import type { Step } from "./Cases.ts"
import type { Flaw } from "./Flaw.ts"
import type { Refusal } from "./Protocol.ts"

/** Refuses a request as Anthropic does. */
export const refuse = (message: string): Refusal => ({ status: 400, type: "invalid_request_error", message })

/** A way into a body, as Anthropic writes it: it names the cases of unions, too. */
const pathOf = (at: ReadonlyArray<Step>): string =>
  at.map((step) => typeof step === "object" ? step.tag : String(step)).join(".")

const quoted = (values: ReadonlyArray<string>): string => values.map((value) => `'${value}'`).join(", ")

/** Refuses a body for its first flaw. */
export const refuseFlaw = (flaw: Flaw): Refusal => {
  const { at } = flaw
  if (at.length === 0) {
    return refuse("The request body is not valid JSON: expected value at line 1 column 1 (char 0)")
  }
  const key = at.at(-1)
  switch (flaw._tag) {
    case "Missing":
      return refuse(`${pathOf(at)}: Field required`)
    case "Mistyped": {
      const more = flaw.expected === "object" ? "dictionary or object to extract fields from" : flaw.expected
      return refuse(`${pathOf(at)}: Input should be a valid ${more}`)
    }
    case "Unsupported":
      if (key === "role") {
        return refuse(`messages: Unexpected role "${flaw.value}". Allowed roles are "user" or "assistant"`)
      }
      return refuse(
        flaw.isTag
          ? `${
            pathOf(at.slice(0, -1))
          }: Input tag '${flaw.value}' found using 'type' does not match any of the expected ` +
            `tags: ${quoted(flaw.values)}`
          : `${pathOf(at)}: Input should be ${quoted(flaw.values)}`
      )
    case "Empty":
      return refuse(`${pathOf(at)}: List should have at least 1 item after validation, not 0`)
    case "Unknown":
      return refuse(`${pathOf(at)}: Extra inputs are not permitted`)
    case "Unfit":
      return refuse(`${pathOf(at)}: ${flaw.message}`)
  }
}
