/**
 * What models were sent through context windows, and what was told of it.
 */
import { Effect } from "effect"
import type { Prompt } from "effect/ai"
import type { Agent, AgentEvent } from "troupe"
import { MockModel } from "troupe/testing"

const textOf = ({ content, role }: Prompt.Message): string =>
  `${role}: ${
    typeof content === "string"
      ? content
      : content.map((part) =>
        part.type === "text" ? part.text : part.type === "tool-result" ? JSON.stringify(part.result) : part.type
      ).join(" ")
  }`

/** The messages of each request so far but the system's, each as who speaks and what is said. */
export const sent = Effect.map(
  MockModel.calls,
  (calls) => calls.map(({ request }) => request.messages.filter(({ role }) => role !== "system").map(textOf))
)

/** The messages of the last request. */
export const lastSent = Effect.map(sent, (requests) => requests.at(-1) ?? [])

/** The system text of the last request. */
export const lastSystem = Effect.map(MockModel.calls, (calls) => calls.at(-1)?.request.system ?? "")

/** What windows made of requests, one after the other, gathered by an observer. */
export const makeWatch = () => {
  const windows: Array<AgentEvent.Window | undefined> = []
  const summaries: Array<
    Omit<AgentEvent.ConversationSummarized, "run" | "path" | "calls" | "step" | "sequence" | "at">
  > = []
  const observer: Agent.Observer = (event) =>
    Effect.sync(() => {
      if (event._tag === "ModelCallStarted") windows.push(event.window)
      if (event._tag !== "ConversationSummarized") return
      const { at: _at, calls: _calls, path: _path, run: _run, sequence: _sequence, step: _step, ...summary } = event
      summaries.push(summary)
    })
  return { windows, summaries, observer }
}

/** Counts a text's characters: a token each. */
export const byCharacter = (text: string): number => text.length
