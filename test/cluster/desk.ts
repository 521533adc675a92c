/**
 * A desk whose agents hand over, call an agent, enter a mode, order what arrives later, and await approvals and results at two depths. The model's script
 * depends on nothing but what it is sent, and every handler says when it starts and ends.
 */
import { Effect, Schema } from "effect"
import { type Prompt, Tool, Toolkit } from "effect/ai"
import { Agent, Handoff, Mode, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const n = Schema.Struct({ n: Schema.Int })

/** May be started once. */
const Charge = Tool.make("charge", { parameters: n, success: Schema.String })
/** May be started again. */
const Look = ToolPolicy.set(Tool.make("look", { parameters: n, success: Schema.String }), { idempotent: true })
/** May be started once, if somebody lets it. */
const Refund = Tool.make("refund", { parameters: n, success: Schema.String, needsApproval: true })

/** May be started once. What it orders arrives later: its result comes from outside. */
const Order = Tool.make("order", { parameters: n, success: Schema.String })

const Everything = Toolkit.make(Charge, Look, Refund, Order)
/** The same desk, if all may be started again: nothing marks a start. */
const Careless = ToolPolicy.setAll(Everything, { idempotent: true })

export const makeDesk = (options: { readonly isCareless?: boolean } = {}) => {
  const toolkit = options.isCareless === true ? Careless : Everything
  const clerk = Agent.make("clerk", { description: "Refunds", toolkit })
  const careful = Mode.make("careful", { invokable: true, description: "Take care", enter: () => Effect.void })
  const billing = Agent.make("billing", {
    description: "Bills",
    toolkit,
    agents: [Agent.asTool(clerk)],
    modes: [careful]
  })
  return Agent.make("triage", { handoffs: [Handoff.to(billing)], toolkit })
}

const call = (name: string, params: object, id: string) => MockResponse.toolCall(name, params, { id })

const textOf = ({ content }: Prompt.UserMessage): string =>
  content.flatMap((part) => part.type === "text" ? [part.text] : []).join("")

/** How often the model has answered since the user spoke last. */
const stepOf = (messages: ReadonlyArray<Prompt.Message>): number =>
  messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1).filter(({ role }) => role === "assistant")
    .length

const ofBilling = [
  () => MockResponse.all(call("charge", { n: 1 }, "c1"), call("look", { n: 2 }, "l2"), call("charge", { n: 3 }, "c3")),
  () => call("enter_careful_mode", {}, "m1"),
  () => MockResponse.all(call("clerk", { task: "refund" }, "a1"), call("charge", { n: 4 }, "c4")),
  () => MockResponse.all(call("refund", { n: 5 }, "r5"), call("look", { n: 6 }, "l6")),
  () => "All is billed."
]

const ofClerk = [
  () =>
    MockResponse.all(call("charge", { n: 7 }, "c7"), call("refund", { n: 8 }, "r8"), call("order", { n: 15 }, "o15")),
  () => call("look", { n: 9 }, "l9"),
  () => "It is refunded."
]

const ofMore = [
  () => MockResponse.all(call("charge", { n: 10 }, "c10"), call("order", { n: 12 }, "o12")),
  () => MockResponse.all(call("look", { n: 11 }, "l11"), call("refund", { n: 14 }, "r14")),
  () => "There is no more."
]

const ofArrival = [() => call("charge", { n: 13 }, "c13"), () => "It is charged."]

/** What is said in a whole conversation, and which calls are approved, denied and given their results, in order. Each message has its key. */
export const messages = [
  { key: "m1", says: "Bill it" },
  { key: "g15", gives: "o15" },
  { key: "a8", approves: "r8" },
  { key: "a5", approves: "r5" },
  { key: "m2", says: "More" },
  { key: "g12", gives: "o12" },
  { key: "d14", denies: "r14" },
  { key: "m3", says: "Order 12 has arrived" }
] as const

/** The tools whose handlers may start once. */
export const startsOnce: ReadonlyArray<string> = ["charge", "refund", "order"]

/** "Bill it" has everything in it, "More" orders something, "Refund" awaits one approval, and anything else is answered at once. */
export const reply = ({ agent, messages }: MockModel.MockRequest): MockResponse.Input => {
  const user = messages.findLast((message) => message.role === "user")
  const text = user === undefined ? "" : textOf(user)
  const step = stepOf(messages)
  if (agent === "clerk") return (ofClerk[step] ?? (() => "Done."))()
  if (text === "More") return (ofMore[step] ?? (() => "Done."))()
  if (text === "Order 12 has arrived") return (ofArrival[step] ?? (() => "Done."))()
  if (text === "Refund") return step === 0 ? call("refund", { n: 1 }, "r1") : "It is refunded."
  if (text !== "Bill it") return `You said ${text}.`
  if (agent === "triage") return call("handoff_to_billing", {}, "h1")
  return (ofBilling[step - 1] ?? (() => "Done."))()
}

export const script = MockModel.make(reply)

/** The result of an order, which comes later. */
export const arrived = "It is here."

/** What a handler did. */
export interface Executed {
  readonly tool: string
  readonly n: number
  readonly phase: "start" | "end"
}

export const handlers = (log: (executed: Executed) => Effect.Effect<void>) => {
  const execute = (tool: string) => ({ n }: { readonly n: number }) =>
    log({ tool, n, phase: "start" }).pipe(
      Effect.andThen(Effect.yieldNow),
      Effect.andThen(log({ tool, n, phase: "end" })),
      Effect.as(`${tool} ${n} is done`)
    )
  return Everything.toLayer({
    charge: execute("charge"),
    look: execute("look"),
    refund: execute("refund"),
    order: (params) => Effect.andThen(execute("order")(params), ToolPolicy.deferResult)
  })
}
