import { Context, Effect, ExecutionPlan, Layer, Schema } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import * as Agent from "../../../src/agent/Agent.ts"
import * as Session from "../../../src/agent/Session.ts"
import * as Mode from "../../../src/modes/Mode.ts"

class Database extends Context.Service<Database, string>()("test/Database") {}
class Key extends Context.Service<Key, string>()("test/Key") {}
class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}
class Busy extends Schema.TaggedError<Busy>()("Busy", {}) {}

const model = {} as Layer.Layer<LanguageModel.LanguageModel, never, Key>

const quiet = Mode.make("quiet", { enter: () => Effect.void })
const refund = Mode.make("refund", {
  params: Schema.Struct({ order: Schema.FiniteFromString, note: Schema.optionalKey(Schema.String) }),
  enter: () => Effect.andThen(Effect.scope, Effect.andThen(Database, Effect.fail(new Busy()))),
  recover: () => Effect.succeed("later"),
  toolkit: Toolkit.make(Tool.make("refund", { failure: Refused })),
  model: ExecutionPlan.make({ provide: model })
})
const clerk = Agent.make("clerk", { modes: [quiet, refund] })

// displays: Type 'Mode<"quiet", {}, never, never, never>' is not assignable to type 'number'.
const plain: number = quiet
// displays: Type 'Mode<"refund", { readonly order: number; readonly note?: string; }, Busy, Database | Handler<"refund"> | Key, string>' is not assignable to type 'number'.
const mode: number = refund
// displays: Type 'Agent<"clerk", string, Busy, Database | Handler<"refund"> | Key | LanguageModel>' is not assignable to type 'number'.
const agent: number = clerk
// displays: Type 'Effect<AgentState, AgentError | Busy, Database | Handler<"refund"> | Key | LanguageModel>' is not assignable to type 'number'.
const run: number = Agent.run(clerk, "Hello")
// displays: Type 'Agent<"a", string, never, Key | LanguageModel>' is not assignable to type 'number'.
const named: number = Agent.withModels(Agent.make("a"), { fast: model })
// displays: Type 'Effect<Session<string, Busy>, never, Database | Handler<"refund"> | Key | LanguageModel | Scope>' is not assignable to type 'number'.
const session: number = Session.make(Agent.make("a"), { modes: [quiet, refund] })
// displays: Type 'Effect<void, Busy | ModeError, Database | Handler<"refund"> | Host | Key | Scope>' is not assignable to type 'number'.
const entered: number = Mode.enter(refund, { order: 7 })
// displays: Type 'Effect<string | number, Busy | ModeError, Database | Handler<"refund"> | Host | Key>' is not assignable to type 'number'.
const within: number = Mode.within(Effect.succeed(1), refund, { order: 7 })
// displays: Type 'string' is not assignable to type 'number'.
const text = Mode.enter(refund, { order: "7" })
// displays: Expected 2 arguments, but got 1.
const missing = Mode.enter(refund)
// displays: Type 'number' is not assignable to type 'never'.
const none = Mode.enter(quiet, { order: 7 })
