/**
 * A handler that follows a conversation as it should go: it says what the model says there, and checks what others say.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import type { RequestUsage } from "../../domain/Usage.ts"
import { decline, type Handler, stateful } from "../Handler.ts"
import type { MockRequest } from "../MockRequest.ts"
import * as MockResponse from "../MockResponse.ts"
import { matches, truth } from "./Conditional.ts"
import { shown, shownText } from "./Shown.ts"

/** What should have been said: this text, a text that matches, or a text for which the function returns true. */
export type Expected = string | RegExp | ((text: string) => boolean)

/** A call in a transcript. Its `params` are `{}` by default. Without an `id` it gets one when the response is sent. */
export interface TranscriptCall extends MockResponse.CallOptions {
  readonly name: string
  readonly params?: unknown
}

/**
 * One entry of a transcript. The model says the assistant's entries. The others are checked against the request that the next entry of the
 * assistant answers.
 *
 * The `content` of a tool's entry is the result that one of the tool's calls must have, or a function that returns true for it. Without a
 * `name` any tool may have given the result. Each entry needs a result of its own. Without `usage`, an assistant's entry has the usage of
 * its `content`, which is unknown by default.
 *
 * @category models
 * @since 0.1.0
 */
export type TranscriptEntry =
  | { readonly role: "system" | "user"; readonly content: Expected }
  | { readonly role: "tool"; readonly name?: string; readonly content: unknown }
  | {
    readonly role: "assistant"
    readonly content?: MockResponse.Input
    readonly reasoning?: string
    readonly toolCalls?: ReadonlyArray<TranscriptCall>
    readonly usage?: RequestUsage
  }

type Assistant = Extract<TranscriptEntry, { readonly role: "assistant" }>
type Check = Exclude<TranscriptEntry, Assistant>

const roles: ReadonlyArray<string> = ["system", "user", "tool", "assistant"] satisfies ReadonlyArray<
  TranscriptEntry["role"]
>

const responseOf = ({ content, reasoning, toolCalls = [], usage }: Assistant): MockResponse.MockResponse => {
  const response = MockResponse.all(
    ...(reasoning === undefined ? [] : [MockResponse.reasoning(reasoning)]),
    ...(content === undefined || content === "" ? [] : [content]),
    ...toolCalls.map(({ name, params = {}, ...options }) => MockResponse.toolCall(name, params, options))
  )
  return usage === undefined ? response : MockResponse.withUsage(response, usage)
}

const isAsExpected = (text: string, expected: Expected): boolean =>
  typeof expected === "function" ? truth(expected(text)) : matches(text, expected)

const shownExpected = (expected: unknown): string =>
  typeof expected === "function" ? expected.name || expected.toString().replace(/\s+/g, " ") : shown(expected)

/** What the user said since the model last spoke. */
const saidSince = ({ messages }: MockRequest): ReadonlyArray<string> =>
  messages.slice(messages.findLastIndex((message) => message.role === "assistant") + 1).flatMap((message) =>
    message.role === "user"
      ? [message.content.map((part) => part.type === "text" ? part.text : "").join("")]
      : []
  )

type ToolCheck = Extract<Check, { readonly role: "tool" }>
type Given = MockRequest["lastToolResults"][number]

const isGiven = ({ content, name: wanted }: ToolCheck, { name, result }: Given): boolean =>
  (wanted === undefined || wanted === name) &&
  (typeof content === "function" ? truth(content(result)) : Equal.equals(result, content))

/** Pairs entries of tools with results, so that each entry has its own. A new entry may give an earlier one another result. */
class Pairs {
  readonly #results: ReadonlyArray<Given>
  readonly #of = new Map<Given, ToolCheck>()

  constructor(results: ReadonlyArray<Given>) {
    this.#results = results
  }

  /** Returns whether there is a result for an entry too. */
  add(check: ToolCheck, tried = new Set<Given>()): boolean {
    return this.#results.some((result) => {
      if (tried.has(result) || !isGiven(check, result)) return false
      tried.add(result)
      const other = this.#of.get(result)
      if (other !== undefined && !this.add(other, tried)) return false
      this.#of.set(result, check)
      return true
    })
  }
}

/** Returns how a request differs from the entries, if it does. */
const mismatch = (checks: ReadonlyArray<Check>, first: number, request: MockRequest): string | undefined => {
  const users = checks.filter((check) => check.role === "user")
  const said = saidSince(request)
  const results = request.lastToolResults
  const pairs = new Pairs(results)
  let user = said.length - users.length
  for (const [index, check] of checks.entries()) {
    const place = `transcript entry ${first + index + 1}`
    if (check.role === "tool") {
      if (pairs.add(check)) continue
      const more = results.some((result) => isGiven(check, result)) ? " for another call" : ""
      const given = results.map(({ name, result }) => `${name} gave ${shown(result)}`).join(", ") ||
        "no tool gave a result"
      return `${place} wants ${check.name ?? "a tool"} to give ${shownExpected(check.content)}${more}, and ${given}`
    }
    const text = check.role === "system" ? request.system : said[user++]
    if (text !== undefined && isAsExpected(text, check.content)) continue
    const actual = text === undefined ? "said nothing" : `said ${shownText(text)}`
    return `${place} wants the ${check.role} to say ${shownExpected(check.content)}, and the ${check.role} ${actual}`
  }
  return undefined
}

/**
 * Makes a handler that follows a transcript: each request is answered by the next entry of the assistant.
 *
 * An entry of the user checks what the user said since the model last spoke, an entry of a tool checks a result, and an entry of the system
 * checks all system messages, joined by empty lines. A request that differs, or comes when all entries are used up, has no answer: the
 * handler declines, and the transcript stays where it is. Throws a `TypeError` for an entry with another role.
 *
 * **Example** (A conversation with a tool)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { MockModel } from "troupe/testing"
 *
 * const handler = MockModel.transcript([
 *   { role: "user", content: /weather/i },
 *   { role: "assistant", content: "I'll check.", toolCalls: [{ name: "get_weather", params: { city: "Paris" } }] },
 *   { role: "assistant", content: "It is sunny." }
 * ])
 *
 * const ask = LanguageModel.generateText({
 *   prompt: "How is the weather?",
 *   disableToolCallResolution: true,
 *   toolCallValidation: "deferred"
 * })
 * const [first, second] = await Effect.runPromise(
 *   Effect.all([ask, ask]).pipe(Effect.provide(MockModel.layer(handler)))
 * )
 *
 * first.text // => "I'll check."
 * first.toolCalls.map((call) => call.name) // => ["get_weather"]
 * second.text // => "It is sunny."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const transcript = (entries: ReadonlyArray<TranscriptEntry>): Handler => {
  const steps: Array<
    { readonly checks: ReadonlyArray<Check>; readonly first: number; readonly response: MockResponse.MockResponse }
  > = []
  let checks: Array<Check> = []
  for (const [index, entry] of entries.entries()) {
    if (!roles.includes(entry.role)) {
      throw new TypeError(
        `Transcript entry ${index + 1} has the role ${shown(entry.role)}, which is none of ${roles.join(", ")}`
      )
    }
    if (entry.role !== "assistant") checks.push(entry)
    else {
      steps.push({ checks, first: index - checks.length, response: responseOf(entry) })
      checks = []
    }
  }
  return stateful(() => {
    let next = 0
    return [
      (request, note) => {
        const step = steps[next]
        if (step === undefined) {
          return decline(
            `all ${steps.length} responses of the transcript, which has ${entries.length} entries, are used up`
          )
        }
        const why = mismatch(step.checks, step.first, request)
        if (why !== undefined) return decline(why)
        next++
        note?.(`transcript entry ${step.first + step.checks.length + 1} of ${entries.length}`)
        return Effect.succeed(step.response)
      },
      {
        left: () =>
          next < steps.length
            ? `${steps.length - next} of ${steps.length} responses of a transcript`
            : checks.length > 0
            ? `${checks.length} entries at the end of a transcript, after which the model says nothing`
            : undefined
      }
    ]
  })
}
