/**
 * Texts that are JSON.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Guardrail } from "../../definition/guardrail/GuardrailType.ts"
import { block, pass } from "../../definition/guardrail/Verdict.ts"
import { make } from "../MakeGuardrail.ts"

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * Blocks a text that isn't JSON, or that a schema doesn't decode.
 *
 * JSON is as in RFC 8259: any value, with white space around it, but without comments, trailing commas or a code fence. With a schema the
 * reason says what is wrong, and at which path. To get the value itself as an agent's answer, use the agent's `output` instead.
 *
 * **Example** (An answer that goes back until it fits)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, AgentState, Guardrail } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const Report = Schema.Struct({ title: Schema.String, lines: Schema.Array(Schema.String) })
 *
 * const reporter = Agent.make("reporter", {
 *   guardrails: {
 *     output: [Guardrail.json(Report).pipe(Guardrail.mapBlock(({ reason }) => Guardrail.retry(reason)))]
 *   }
 * })
 *
 * const program = Agent.run(reporter, "Report.").pipe(
 *   Effect.map(AgentState.text),
 *   Effect.provide(MockModel.layer(MockModel.queue(`{ "title": "Today" }`, `{ "title": "Today", "lines": [] }`)))
 * )
 *
 * await Effect.runPromise(program) // => `{ "title": "Today", "lines": [] }`
 * ```
 *
 * @category built-in
 * @since 0.1.0
 */
export const json: {
  (): Guardrail
  <S extends Schema.Constraint>(schema: S): Guardrail<"text", string, never, S["DecodingServices"]>
} = (schema?: Schema.Constraint): Guardrail<"text", string, never, never> => {
  if (schema === undefined) return make("json", (text) => isJson(text) ? pass : block("isn't JSON"))
  const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(schema))
  return make("json", (text) =>
    Effect.match(decode(text), {
      onSuccess: () => pass,
      onFailure: (error) => block(isJson(text) ? `doesn't fit the schema: ${error.message}` : "isn't JSON")
    })) as Guardrail
}
