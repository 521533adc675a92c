/**
 * Requests and responses in a few words, for lines of a log and for the reason why a request has no answer.
 *
 * @since 0.1.0
 */
import { format } from "effect/Formatter"
import * as Predicate from "effect/Predicate"
import type { MockRequest } from "../MockRequest.ts"
import type { MockResponse, ResponsePart } from "../MockResponse.ts"

const maxLength = 80

const cut = (text: string): string => {
  const line = text.replace(/\s+/g, " ")
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line
}

/** A text in quotes, on one line. A long text is cut. */
export const shownText = (text: string): string => JSON.stringify(cut(text))

const isLarge = (value: unknown): boolean =>
  Predicate.hasProperty(value, "content") || Predicate.hasProperty(value, "conversation")

/** A value in a few words. What is large, such as a prompt, is left out. */
export const shown = (value: unknown): string =>
  typeof value === "string"
    ? shownText(value)
    : isLarge(value) || (Array.isArray(value) && value.some((item) => isLarge(item) || typeof item === "function"))
    ? "…"
    : value instanceof RegExp
    ? String(value)
    : cut(format(value))

/** A call in a few words. */
const shownCall = (name: string, params: unknown): string => `${name}(${cut(JSON.stringify(params) ?? "")})`

/** Describes a request: which agent asks, after which words or results. */
export const shownRequest = (request: MockRequest): string => {
  const who = request.path.length === 0 ? "" : ` of ${request.path.join("/")}`
  const results = request.lastToolResults.map((result) => `${result.name} gave ${shown(result.result)}`)
  const what = results.length > 0 ? results.join(", ") : `user says ${shownText(request.lastUserText)}`
  return `request ${request.callCount}${who}${request.streaming ? ", streamed" : ""}: ${what}`
}

const shownPart = (part: ResponsePart): string => {
  switch (part.type) {
    case "text":
      return shownText(part.text)
    case "reasoning":
      return `thinks ${shownText(part.text)}`
    case "tool-call":
      return `calls ${shownCall(part.name, part.params)}`
    case "tool-result":
      return `has ${shown(part.result)} from ${part.name}`
    case "tool-approval-request":
      return "asks for an approval of that"
    default:
      return part.type
  }
}

/** Describes a response: its parts, and how it ends if that is unusual. */
export const shownResponse = (response: MockResponse): string => {
  const { delay, failure, finishReason, hang, parts } = response
  return [
    ...parts.map(shownPart),
    ...(finishReason === undefined ? [] : [`finishes for ${finishReason}`]),
    ...(delay === undefined ? [] : [`after ${format(delay)}`]),
    ...(hang === undefined ? [] : [`hangs after ${hang} chunks`]),
    ...(failure === undefined ? [] : [
      `fails with ${failure.error.reason._tag}: ${shownText(failure.error.message)}${
        failure.after > 0 ? ` after ${failure.after} chunks` : ""
      }`
    ])
  ].join(", ") || "nothing"
}
