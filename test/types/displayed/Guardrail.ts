import { Context, Effect, Schema } from "effect"
import * as Agent from "../../../src/agent/Agent.ts"
import * as Guardrail from "../../../src/agent/Guardrail.ts"

class Words extends Context.Service<Words, ReadonlySet<string>>()("test/Words") {}
class Down extends Schema.TaggedError<Down>()("Down", {}) {}

const known = Guardrail.make("known", () => Effect.as(Words, Guardrail.pass))
const shaky = Guardrail.make("shaky", () => Effect.fail(new Down()), { on: "toolCall" })
const onName = Guardrail.make("name", (_: { readonly name: string }) => Guardrail.pass, { on: "output" })

// displays: Type 'Guardrail<"text", string, never, Words>' is not assignable to type 'number'.
const text: number = known
// displays: Type 'Guardrail<"toolCall", Json, Down, never>' is not assignable to type 'number'.
const call: number = Guardrail.not(shaky)
// displays: Type 'Guardrail<"text", string, never, Words>' is not assignable to type 'number'.
const together: number = Guardrail.all(known, Guardrail.make("plain", () => Guardrail.pass))
// displays: Type 'Agent<"a", string, never, LanguageModel | Words>' is not assignable to type 'number'.
const agent: number = Agent.make("a", { guardrails: { input: [known], toolCall: [shaky] } })
// displays: Type 'Guardrail<"toolCall", Json, Down, never>' is not assignable to type 'AnyAt<"input", readonly UserPart[]>'.
Agent.make("a", { guardrails: { input: [shaky] } })
// displays: Type 'Guardrail<"output", { readonly name: string; }, never, never>' is not assignable to type 'AnyAt<"output", string>'.
Agent.make("a", { guardrails: { output: [onName] } })
