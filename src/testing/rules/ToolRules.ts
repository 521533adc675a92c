/**
 * The rules of calls and their results.
 *
 * 1. The calls of an assistant message wait until they are answered or an assistant speaks again.
 * 2. A result answers the first call of its id that waits. Ids are remembered across turns.
 * 3. What the provider runs itself waits for nothing: its result may come at any time.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import type { Policy } from "./Policy.ts"
import { type Message, quoted, type Violation, violation } from "./Violation.ts"

/** A call that waits for its result, and at which message it got one. */
interface Waiting {
  readonly id: string
  readonly isAsked: boolean
  answeredAt: number | undefined
}

/** The calls of an assistant message as they are answered. */
interface Window {
  readonly index: number
  readonly calls: ReadonlyArray<Waiting>
  readonly observed: Array<string>
  isInterrupted: boolean
}

const isCall = (part: Prompt.AssistantMessagePart): part is Prompt.ToolCallPart => part.type === "tool-call"

const unique = (ids: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(ids)]

const isPending = (call: Waiting): boolean => call.answeredAt === undefined

/** Returns what is wrong with the ids of an assistant message. `taken` are those of the messages before it. */
const checkIds = (
  calls: ReadonlyArray<Prompt.ToolCallPart>,
  index: number,
  taken: ReadonlySet<string>
): ReadonlyArray<Violation> => {
  const seen = new Set(taken)
  const doubled: Array<string> = []
  for (const { id } of calls) {
    if (id !== "" && seen.has(id)) doubled.push(id)
    seen.add(id)
  }
  const places = calls.flatMap(({ id }, place) => id === "" ? [place] : [])
  return [
    ...(doubled.length === 0 ? [] : [
      violation(
        "DuplicateToolCallIds",
        index,
        unique(doubled),
        `Message ${index} has calls whose ids are taken: ${quoted(unique(doubled))}`
      )
    ]),
    ...(places.length === 0 ? [] : [
      violation(
        "EmptyToolCallId",
        index,
        places.map(() => ""),
        `Message ${index} has calls without an id, at the places ${places.join(", ")} of its calls`
      )
    ])
  ]
}

const open = (content: ReadonlyArray<Prompt.AssistantMessagePart>, index: number): Window => {
  const asked = new Set(content.flatMap((part) => part.type === "tool-approval-request" ? [part.toolCallId] : []))
  return {
    index,
    calls: content.filter(isCall)
      .filter((call) => !call.providerExecuted && call.id !== "")
      .map(({ id }) => ({ id, isAsked: asked.has(id), answeredAt: undefined })),
    observed: [],
    isInterrupted: false
  }
}

/** Returns what is wrong with a window that closes. At the end of a prompt, calls that were asked for may still wait. */
const close = (window: Window, isEnd: boolean, policy: Policy): ReadonlyArray<Violation> => {
  const { index, observed } = window
  const missing = unique(
    window.calls.filter((call) => isPending(call) && !(isEnd && call.isAsked)).map(({ id }) => id)
  )
  const expected = window.calls.filter((call) => !isPending(call)).map(({ id }) => id)
  const isOrdered = expected.every((id, place) => id === observed[place])
  return [
    ...(missing.length === 0 || policy.allowDanglingToolCalls ? [] : [
      violation(
        "MissingToolResponses",
        index,
        missing,
        `Message ${index} has calls without results: ${quoted(missing)}`
      )
    ]),
    ...(isOrdered || !policy.enforceToolResponseOrder ? [] : [
      violation(
        "ToolResponsesOutOfOrder",
        index,
        observed,
        `The results of message ${index} have the order ${quoted(observed)}, its calls ${quoted(expected)}`
      )
    ])
  ]
}

const interrupt = (window: Window, index: number): ReadonlyArray<Violation> => {
  const pending = unique(window.calls.filter(isPending).map(({ id }) => id))
  if (window.isInterrupted || pending.length === 0) return []
  window.isInterrupted = true
  return [
    violation(
      "ToolResponsesNotContiguous",
      index,
      pending,
      `Message ${index} comes between calls of message ${window.index} and their results: ${quoted(pending)}`
    )
  ]
}

/** Returns what breaks the rules of calls and their results. */
export const checkTools = (messages: ReadonlyArray<Message>, policy: Policy): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const taken = new Set<string>()
  const answers = new Map<string, Array<number>>()
  const provided = new Set<string>()
  let window: Window | undefined
  let hasCalls = false

  const answer = ({ id }: Prompt.ToolResultPart, index: number): void => {
    if (id === "") {
      found.push(violation("EmptyToolResponseId", index, [""], `Message ${index} has a result without an id`))
      return
    }
    const call = window?.calls.find((call) => call.id === id && isPending(call))
    const before = answers.get(id)
    if (call !== undefined) {
      call.answeredAt = index
      window?.observed.push(id)
      answers.set(id, [...(before ?? []), index])
    } else if (provided.delete(id)) {
      answers.set(id, [index])
    } else if (before !== undefined) {
      answers.set(id, [...before, index])
      if (!policy.allowDuplicateToolResponse) {
        found.push(
          violation(
            "DuplicateToolResponse",
            index,
            [id],
            `Message ${index} answers the call "${id}" again, after message ${before.join(", ")}`
          )
        )
      }
    } else if (!hasCalls) {
      found.push(
        violation("ToolBeforeAssistant", index, [id], `Message ${index} answers "${id}", and nothing was called before`)
      )
    } else if (!policy.allowUnknownToolResponse) {
      found.push(violation("UnknownToolResponse", index, [id], `Message ${index} answers "${id}", which doesn't wait`))
    }
  }

  messages.forEach((message, index) => {
    if (message.role === "tool") {
      for (const part of message.content) if (part.type === "tool-result") answer(part, index)
      return
    }
    if (window !== undefined && policy.enforceContiguousToolResponses) found.push(...interrupt(window, index))
    if (message.role !== "assistant") return
    if (window !== undefined) found.push(...close(window, false, policy))
    window = open(message.content, index)
    const calls = message.content.filter(isCall)
    found.push(...checkIds(calls, index, taken))
    for (const { id } of calls) taken.add(id)
    hasCalls ||= calls.length > 0
    for (const part of message.content) {
      if (part.type === "tool-call" && part.providerExecuted) provided.add(part.id)
      else if (part.type === "tool-result") answer(part, index)
    }
  })
  if (window !== undefined) found.push(...close(window, true, policy))
  return found
}
