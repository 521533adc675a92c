import { Context, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import * as Agent from "../../../src/agent/Agent.ts"
import * as AgentPicker from "../../../src/handoff/AgentPicker.ts"
import * as Group from "../../../src/handoff/Group.ts"
import * as Handoff from "../../../src/handoff/Handoff.ts"
import * as HandoffPolicy from "../../../src/handoff/HandoffPolicy.ts"

class Database extends Context.Service<Database, string>()("test/Database") {}
class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}

const Refunds = Toolkit.make(Tool.make("refund", { failure: Refused, dependencies: [Database] }))
const refunds = Agent.make("refunds", { toolkit: Refunds, fatal: ["refund"] })
const sales = Agent.make("sales")
const triage = Agent.make("triage", { handoffs: [Handoff.to(refunds), Handoff.to(sales)] })
const desk = Group.make({ triage, sales }, {
  start: AgentPicker.match([[/buy/, "sales"]], "triage"),
  policy: HandoffPolicy.explicit("sales")
})

// displays: Type 'Agent<"triage", string, Refused, Database | Handler<"refund"> | LanguageModel>' is not assignable to type 'number'.
const agent: number = triage
// displays: Type 'Effect<AgentState, AgentError | Refused, Database | Handler<"refund"> | LanguageModel>' is not assignable to type 'number'.
const run: number = Agent.run(triage, "Hello")
// displays: Type 'Effect<AgentState, AgentError | Refused, Database | Handler<"refund"> | LanguageModel>' is not assignable to type 'number'.
const together: number = Agent.run(desk, "Hello")
// displays: Type 'Handoff<"sales", Parameters, string, never, LanguageModel, "handoff_to_sales">' is not assignable to type 'number'.
const offer: number = Handoff.to(sales)
// displays: Type 'AgentPicker<"buying" | "sales", never, never>' is not assignable to type '"sales" | AgentPicker<"sales", never, never>'.
const unknown = Group.make({ sales }, { start: AgentPicker.match([[/buy/, "buying"]], "sales") })
