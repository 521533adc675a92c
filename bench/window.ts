/**
 * What a context window costs: the steps of a run behind 500 turns, of which as many are sent as had room at first, beside the same
 * steps with all turns sent. The answer has the number of messages that the model was sent last in it, so that no window can be left
 * out.
 */
import { Effect } from "effect"
import { Agent, AgentState, ContextWindow, Conversation, StopWhen } from "../src/index.ts"
import * as model from "./effectModel.ts"
import { ten } from "./guardrails.ts"
import { type Calls, question, remember, system } from "./script.ts"

const rounds = 250

/** A question, a call and its result, again and again. */
const history = Conversation.make(
  Array.from({ length: rounds }, (_, at) => [
    Conversation.user(question),
    Conversation.assistant("counter", [
      Conversation.call(`old_${at}`, "next", { after: at }, { _tag: "Settled", outcome: "Succeeded", result: at + 1 })
    ])
  ]).flat()
)

const options = { instructions: system, toolkit: model.Counting, stopWhen: StopWhen.maxSteps(10_000) }

/** How many tokens the history, a question and what stands beside them are, by the estimate. */
const tokens = 3350

/** The steps of a run behind the history. */
export interface Windowed {
  readonly calls: Calls
  /** Gives what the model says in the end. */
  readonly run: (steps: number) => Promise<string>
  /** How many messages it is sent before it says that. */
  readonly messages: (steps: number) => readonly [least: number, most: number]
}

const windowed = (
  contextWindow: ContextWindow.ContextWindow | undefined,
  messages: Windowed["messages"],
  guardrails: Partial<typeof ten> = {}
): Windowed => {
  const calls: Calls = { model: 0, tool: 0 }
  const counter = Agent.make("counter", { ...options, contextWindow, guardrails })
  const runWith = remember((steps: number) =>
    Effect.runPromiseWith(model.services(model.countingMessages(calls, steps), calls))
  )
  const start = AgentState.make("counter", { conversation: history })
  return {
    calls,
    messages,
    run: (steps) => runWith(steps)(Effect.map(Agent.continueConversation(counter, start, question), AgentState.text))
  }
}

/** All: the system message, three messages a round, the question, and two messages a step. */
export const unwindowed = windowed(undefined, (steps) => {
  const all = 1 + 3 * rounds + 1 + 2 * steps
  return [all, all]
})

const within: Windowed["messages"] = () => [2 * rounds, 4 * rounds]

export const byTurns = windowed(ContextWindow.make({ maxTurns: 2 * rounds }), within)

export const byTokens = windowed(ContextWindow.make({ maxTokens: tokens }), within)

/** In a window and under ten guardrails at once. */
export const guardedByTurns = windowed(ContextWindow.make({ maxTurns: 2 * rounds }), within, ten)
