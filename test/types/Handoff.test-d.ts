import { Context, Effect, Layer, type Option, Schema } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { describe, expectTypeOf, it } from "vitest"
import {
  Agent,
  type AgentError,
  AgentPicker,
  AgentState,
  type Conversation,
  Group,
  Handoff,
  HandoffPolicy
} from "../../src/index.ts"
import { MockModel } from "../../src/testing/index.ts"

class Database extends Context.Service<Database, string>()("test/Database") {}
class Archive extends Context.Service<Archive, string>()("test/Archive") {}
class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}
class Lost extends Schema.TaggedError<Lost>()("Lost", {}) {}

const Refunds = Toolkit.make(Tool.make("refund", { failure: Refused, dependencies: [Database] }))
const refunds = Agent.make("refunds", { toolkit: Refunds, fatal: ["refund"] })
const count = Agent.make("count", { output: Schema.Struct({ n: Schema.Finite }) })
const sales = Agent.make("sales")

type RefundsR = LanguageModel.LanguageModel | Tool.Handler<"refund"> | Database
type Run<E, R> = Effect.Effect<AgentState.AgentState, AgentError.AgentError | E, R>

describe("Handoff", () => {
  it("brings the target's errors, needs and answers into the run", () => {
    const triage = Agent.make("triage", { handoffs: [Handoff.to(refunds), Handoff.to(sales, { reason: "Buying" })] })
    expectTypeOf(triage).toEqualTypeOf<Agent.Agent<"triage", string, Refused, RefundsR>>()
    expectTypeOf(Agent.run(triage, "Hi")).toEqualTypeOf<Run<Refused, RefundsR>>()
    const counting = Agent.make("counting", { handoffs: [Handoff.to(count)] })
    expectTypeOf(AgentState.output(counting, AgentState.make("counting"))).toEqualTypeOf<
      ReturnType<typeof AgentState.output<string | { readonly n: number }>>
    >()
  })

  it("brings them over several agents, and what a history needs", () => {
    const desk = Agent.make("desk", {
      handoffs: [
        Handoff.to(refunds, {
          history: Handoff.summary(() => Effect.andThen(Archive, Effect.fail(new Lost())))
        })
      ]
    })
    const front = Agent.make("front", { handoffs: [Handoff.to(desk)] })
    expectTypeOf(Agent.run(front, "Hi")).toEqualTypeOf<Run<Refused | Lost, RefundsR | Archive>>()
  })

  it("needs nothing more for a name", () => {
    const a = Agent.make("a", { handoffs: [Handoff.to("b"), Handoff.suspend("sales", () => sales)] })
    expectTypeOf(a).toEqualTypeOf<Agent.Agent<"a", string, never, LanguageModel.LanguageModel>>()
  })

  it("says its target, and gives the target what the model said with it", () => {
    const handoff = Handoff.to(refunds, { parameters: Schema.Struct({ order: Schema.FiniteFromString }) })
    expectTypeOf(handoff.target).toEqualTypeOf<"refunds">()
    expectTypeOf(Handoff.received(handoff, AgentState.make("refunds"))).toEqualTypeOf<
      Option.Option<{ readonly order: number }>
    >()
    expectTypeOf(Handoff.received(Handoff.to("sales"), AgentState.make("sales"))).toEqualTypeOf<
      Option.Option<Handoff.Parameters>
    >()
  })

  it("takes what makes the conversation that crosses, a policy too", () => {
    type Made<E = never, R = never> = Effect.Effect<Conversation.Conversation | undefined, E, R>
    const state = AgentState.make("a")
    const request = { target: "b" }
    const toB = Handoff.to("b", { history: Handoff.summary(() => Effect.andThen(Archive, Effect.fail(new Lost()))) })
    const policy = HandoffPolicy.mapConversation(() => Effect.andThen(Database, Effect.fail(new Refused())), {
      onFailure: "fail"
    })
    expectTypeOf(Handoff.cross(state, toB, request)).toEqualTypeOf<Made<Lost, Archive>>()
    expectTypeOf(Handoff.cross(state, toB, request, { policy, target: sales })).toEqualTypeOf<
      Made<Lost | Refused, Archive | Database>
    >()
    expectTypeOf(Handoff.cross(state, undefined, request, { policy })).toEqualTypeOf<Made<Refused, Database>>()
    expectTypeOf(Handoff.cross(state, Handoff.to("b"), request)).toEqualTypeOf<Made>()
    const group = Group.make({ sales }, { start: "sales" })
    // @ts-expect-error A group can't take over.
    Handoff.buildHandoffState(state, toB, request, { target: group })
  })

  it("lets a choice of tools name it", () => {
    Agent.make("a", { handoffs: [Handoff.to(sales)], toolChoice: { tool: "handoff_to_sales" } })
    Agent.make("a", { handoffs: [Handoff.to(sales, { toolName: "buy" })], toolChoice: { tool: "buy" } })
    // @ts-expect-error no such tool
    Agent.make("a", { handoffs: [Handoff.to(sales)], toolChoice: { tool: "handoff_to_refunds" } })
    // @ts-expect-error no such tool
    Agent.make("a", { handoffs: [Handoff.to(sales, { toolName: "buy" })], toolChoice: { tool: "handoff_to_sales" } })
  })

  it("takes agents only", () => {
    const group = Group.make({ sales }, { start: "sales" })
    // @ts-expect-error a group can't take over
    Handoff.to(group)
    // @ts-expect-error not a handoff
    Agent.make("a", { handoffs: [sales] })
    // @ts-expect-error the name is another one
    Handoff.suspend("refunds", () => sales)
  })

  it("leaves a model of its own to the agent that has it", () => {
    const own = Layer.succeed(LanguageModel.LanguageModel, {} as never)
    const triage = Agent.make("triage", { handoffs: [Handoff.to(Agent.withModel(sales, own))] })
    expectTypeOf(triage).toEqualTypeOf<Agent.Agent<"triage", string, never, LanguageModel.LanguageModel>>()
    expectTypeOf(Agent.withModel(triage, own)).toEqualTypeOf<Agent.Agent<"triage">>()
  })
})

describe("Group", () => {
  const desk = Group.make({ sales, refunds }, {
    start: AgentPicker.match([[/money/, "refunds"]], "sales"),
    policy: HandoffPolicy.compose(HandoffPolicy.explicit("refunds"), HandoffPolicy.sequential(["sales", "refunds"]))
  })

  it("collects what its members, its picker and its policy fail with and need", () => {
    expectTypeOf(Agent.run(desk, "Hi")).toEqualTypeOf<Run<Refused, RefundsR>>()
    expectTypeOf(Agent.continueConversation(desk, AgentState.make("sales"), "Hi", { control: "first" }))
      .toEqualTypeOf<Run<Refused, RefundsR>>()
    const picked = Group.make({ sales, count }, {
      start: AgentPicker.make(() => Effect.andThen(Archive, Effect.fail(new Lost())).pipe(Effect.as("count" as const))),
      policy: HandoffPolicy.mapConversation(() => Effect.fail(new Refused()), { onFailure: "fail" })
    })
    expectTypeOf(Agent.run(picked, "Hi")).toEqualTypeOf<
      Run<Lost | Refused, LanguageModel.LanguageModel | Archive>
    >()
    expectTypeOf(AgentState.output(picked, AgentState.make("sales"))).toEqualTypeOf<
      ReturnType<typeof AgentState.output<string | { readonly n: number }>>
    >()
  })

  it("knows its names", () => {
    expectTypeOf<Group.Names<typeof desk>>().toEqualTypeOf<"sales" | "refunds">()
    expectTypeOf(desk.agents.sales).toEqualTypeOf(sales)
  })

  it("takes no name that isn't a key", () => {
    // @ts-expect-error not a member
    Group.make({ sales }, { start: "refunds" })
    // @ts-expect-error not a member
    Group.make({ sales }, { start: AgentPicker.match([[/money/, "refunds"]], "sales") })
    // @ts-expect-error not a member
    Group.make({ sales }, { start: "sales", policy: HandoffPolicy.explicit("refunds") })
    // @ts-expect-error not a member
    Group.make({ sales }, { start: "sales", policy: HandoffPolicy.sequential(["sales", "refunds"]) })
    // @ts-expect-error not the agent's name
    Group.make({ buying: sales }, { start: "buying" })
    MockModel.byAgent(desk, { sales: MockModel.queue("a") })
    // @ts-expect-error not a member
    MockModel.byAgent(desk, { sales: MockModel.queue("a"), triage: MockModel.queue("b") })
  })

  it("runs where an agent does", () => {
    expectTypeOf(Agent.resume(desk, AgentState.make("sales"))).toEqualTypeOf<Run<Refused, RefundsR>>()
    const top = Agent.make("top", { agents: [Agent.asTool(desk, { name: "ask_desk" })] })
    expectTypeOf(top).toEqualTypeOf<Agent.Agent<"top", string, never, RefundsR>>()
  })
})
