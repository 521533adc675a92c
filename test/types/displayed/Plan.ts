import { Effect, Schema } from "effect"
import * as Agent from "../../../src/agent/Agent.ts"
import * as Plan from "../../../src/handoff/Plan.ts"

class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}

const outline = Agent.make("outline")
const length = Plan.node("length", (text: string) => text === "" ? Effect.fail(new Refused()) : Effect.succeed(1))
const report = Plan.node("report", (of: { readonly length: number }) => Effect.succeed(`${of.length}`))

// displays: Type 'Node<"length", string, number, Refused, never>' is not assignable to type 'number'.
const node: number = length
// displays: Type 'Edge<"outline", "length", string, "Always", never, never>' is not assignable to type 'number'.
const edge: number = Plan.edge(outline, length)
const plan = Plan.make({ nodes: [outline, length], edges: [Plan.edge(outline, length)] })
// displays: Type 'Plan<string, { readonly length: number; }, AgentError | NoAnswer | Refused, LanguageModel>' is not assignable to type 'number'.
const made: number = plan
// displays: Type 'Effect<{ readonly length: number; }, PlanError<AgentError | NoAnswer | Refused>, LanguageModel>' is not assignable to type 'number'.
const run: number = Plan.run(plan, "Hello")
// displays: Type 'number' is not assignable to type 'string | Effect<string, never, never>'.
const wrong = Plan.edge(length, outline, (n) => n)
// displays: Type 'Node<"report", { readonly length: number; }, string, never, never>' is not assignable to type 'Node<"report", { readonly length: number; }, string, never, never> & Taking<number>'.
// Type 'Node<"report", { readonly length: number; }, string, never, never>' is not assignable to type 'Taking<number>'.
// Type 'number' is not assignable to type '{ readonly length: number; }'.
Plan.make({ nodes: [length, report], edges: [Plan.edge(length, report)] })
