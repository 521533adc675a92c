import { Context, Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import * as Agent from "../../../src/agent/Agent.ts"

class Database extends Context.Service<Database, string>()("test/Database") {}
class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}

const Desk = Toolkit.make(
  Tool.make("refund", { failure: Refused, dependencies: [Database] }),
  Tool.make("look", { success: Schema.String })
)
const plain = Agent.make("plain")
const desk = Agent.make("desk", {
  toolkit: Desk,
  fatal: ["refund"],
  output: Schema.Struct({ done: Schema.Boolean }),
  agents: [Agent.asTool(plain)]
})

// displays: Type 'Agent<"plain", string, never, LanguageModel>' is not assignable to type 'number'.
const agent: number = plain
// displays: Type 'Agent<"desk", { readonly done: boolean; }, Refused, Database | Handler<"look"> | Handler<"refund"> | LanguageModel>' is not assignable to type 'number'.
const equipped: number = desk
// displays: Type 'Effect<AgentState, AgentError, LanguageModel>' is not assignable to type 'number'.
const run: number = Agent.run(plain, "Hello")
// displays: Type 'Effect<AgentState, AgentError | Refused, Database | Handler<"look"> | Handler<"refund"> | LanguageModel>' is not assignable to type 'number'.
const fatal: number = Agent.run(desk, "Hello")
// displays: Type 'Stream<AgentEvent, AgentError | Refused, Database | Handler<"look"> | Handler<"refund"> | LanguageModel>' is not assignable to type 'number'.
const events: number = Agent.stream(desk, "Hello")
// displays: Argument of type 'Effect<AgentState, AgentError, LanguageModel>' is not assignable to parameter of type 'Effect<AgentState, AgentError, never>' with 'exactOptionalPropertyTypes: true'. Consider adding 'undefined' to the types of the target's properties.
const unprovided: Promise<unknown> = Effect.runPromise(Agent.run(plain, "Hello"))
