/**
 * The model of the desk, embedded: rules that say what a language model would, with no key and no network.
 *
 * Every agent reads what the customer wrote into tasks. It does those that are its own, by a rule for each, and hands over
 * to whoever looks after the others. What a rule wants to know it asks of the results of the tools; where a result isn't
 * there yet, the model calls the tool, and goes through the rule again once it has answered. So every answer follows from
 * what the customer wrote and from what the tools returned.
 */
import type { Prompt } from "effect/ai"
import { AgentState, type Conversation } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { desk } from "../agents/desk.ts"
import { supervisedRefund } from "../agents/supervision.ts"
import { exchanges, type Move, readAll, together } from "./evidence.ts"
import { stuck } from "./refusals.ts"
import { type Agent, routeOf, ruleOf } from "./routes.ts"
import { supervise } from "./supervision.ts"

/** What the model of an agent says or calls next. Tasks that need calls make them side by side. */
export const respond = (agent: Agent, { conversation, modes }: AgentState.AgentState): Move =>
  supervise(moveOf(agent, conversation), modes.some(({ name }) => name === supervisedRefund.name))

const moveOf = (agent: Agent, conversation: Conversation.Conversation): Move => {
  const all = exchanges(conversation)
  const { calls, passed } = all.at(-1) ?? { calls: [], passed: [] }
  const { isAgain, isUpset, tasks } = readAll(all)
  const own = tasks.flatMap((task) => {
    const rule = ruleOf(agent, task.wish)
    return rule === undefined ? [] : [rule(task, calls, isAgain)]
  })
  const move = together(own)
  if (move._tag === "Call") return move

  const isFirst = passed.every(({ text }) => text === "")
  const text = isUpset && isFirst && move.text !== "" && !move.text.startsWith("I'm sorry")
    ? `I'm sorry for the trouble. ${move.text}`
    : move.text
  const next = tasks
    .filter(({ wish }) => ruleOf(agent, wish) === undefined)
    .flatMap((task) => routeOf(task) ?? [])
    .find(({ target }) => passed.every((before) => before.agent !== target))
  if (next !== undefined) return { _tag: "Call", calls: [next.call], ...(text === "" ? undefined : { remark: text }) }
  return { _tag: "Say", text: own.length > 0 ? text : stuck }
}

const toResponse = (move: Move): MockResponse.MockResponse =>
  move._tag === "Say"
    ? MockResponse.text(move.text)
    : MockResponse.all(
      ...(move.remark === undefined ? [] : [move.remark]),
      ...move.calls.map(({ name, params }) => MockResponse.toolCall(name, params))
    )

/** A token is about four characters. */
const tokens = (characters: number): number => Math.ceil(characters / 4)

const promptLength = (messages: ReadonlyArray<Prompt.Message>): number => JSON.stringify(messages).length

const outputLength = (move: Move): number => move._tag === "Say" ? move.text.length : JSON.stringify(move).length

const modelOf = (agent: Agent) =>
  MockModel.make(({ messages, state }) => {
    const move = respond(agent, state ?? AgentState.make(agent))
    return MockResponse.withUsage(toResponse(move), {
      input: tokens(promptLength(messages)),
      output: tokens(outputLength(move))
    })
  })

/** The embedded model: one for each agent of the desk. */
export const layer = MockModel.layer(MockModel.byAgent(desk, {
  triage: modelOf("triage"),
  refunds: modelOf("refunds"),
  orders: modelOf("orders"),
  sales: modelOf("sales")
}))
