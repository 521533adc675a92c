/**
 * The model of the desk, embedded: rules that say what a language model would, with no key and no network.
 *
 * A rule tells how a task is done, in the order in which it is done. What it wants to know it asks of the results of the
 * tools; where a result isn't there yet, the model calls the tool, and goes through the rule again once it has answered. So
 * every answer follows from what the customer wrote and from what the tools returned.
 */
import type { Prompt } from "effect/ai"
import { Conversation } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { type Exchange, exchanges, type Move, readAll, together } from "./evidence.ts"
import { rules } from "./rules.ts"

/** What the model says or calls next in a conversation. Tasks that need calls make them side by side. */
export const respond = (conversation: Conversation.Conversation): Move => {
  const all = exchanges(conversation)
  const calls: Exchange["calls"] = all.at(-1)?.calls ?? []
  const { isAgain, isUpset, tasks } = readAll(all)
  const move = together(tasks.map((task) => rules[task.wish](task, calls, isAgain)))
  return isUpset && move._tag === "Say" && !move.text.startsWith("I'm sorry")
    ? { _tag: "Say", text: `I'm sorry for the trouble. ${move.text}` }
    : move
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

const handler = MockModel.make(({ messages, state }) => {
  const move = respond(state?.conversation ?? Conversation.empty)
  return MockResponse.withUsage(toResponse(move), {
    input: tokens(promptLength(messages)),
    output: tokens(outputLength(move))
  })
})

/** The embedded model. */
export const layer = MockModel.layer(handler)
