/**
 * A handler that has no script: it makes up what it says from the schemas of what it is offered.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Arbitrary from "effect/Arbitrary"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { format } from "effect/Formatter"
import type * as Schema from "effect/Schema"
import { toolName as finalAnswer } from "../../domain/FinalAnswer.ts"
import { decline, type Declined, fromMake, type Handler } from "../Handler.ts"
import type { MockRequest } from "../MockRequest.ts"
import * as MockResponse from "../MockResponse.ts"
import { jsonOf, paramsOf } from "../ToolParams.ts"

/**
 * How values are made up.
 *
 * **Details**
 *
 * - `seed`: the same seed makes the same values; 0 by default.
 * - `size`: the greater it is, the longer texts and lists are; 8 by default.
 * - `answer`: the text that the model answers with in the end; `"Done."` by default.
 *
 * @category models
 * @since 0.1.0
 */
export interface FromSchemasOptions {
  readonly seed?: string | number
  readonly size?: number
  readonly answer?: string
}

const sampled = (values: () => Arbitrary.Arbitrary<Schema.Json>, seed: string, size: number) =>
  Effect.suspend(() =>
    Effect.map(Arbitrary.sampleEffect(values(), { count: 1, seed, size }), ([value]) => value ?? null)
  )

/** Returns the names of the calls since the user last spoke, in order. */
const calledSince = ({ messages }: MockRequest): ReadonlyArray<string> =>
  messages.slice(messages.findLastIndex((message) => message.role === "user") + 1).flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((part) => part.type === "tool-call" ? [part.name] : [])
      : []
  )

/** Returns the tools to call next: all that weren't called yet, or if there are none, `final_answer`. */
const nextOf = (request: MockRequest): ReadonlyArray<Tool.Any> => {
  const { toolChoice, tools } = request
  if (toolChoice === "none") return []
  const called = calledSince(request)
  const wanted = typeof toolChoice !== "object"
    ? undefined
    : "tool" in toolChoice
    ? [toolChoice.tool]
    : toolChoice.oneOf
  const offered = tools.filter((tool) =>
    (!Tool.isProviderDefined(tool) || tool.requiresHandler) && wanted?.includes(tool.name) !== false
  )
  const fresh = offered.filter((tool) => tool.name !== finalAnswer && !called.includes(tool.name))
  if (fresh.length > 0) return fresh
  const answer = offered.find((tool) => tool.name === finalAnswer)
  if (answer !== undefined) return [answer]
  const isForced = toolChoice === "required" ||
    (typeof toolChoice === "object" && ("tool" in toolChoice || toolChoice.mode === "required"))
  return isForced ? offered.slice(0, 1) : []
}

/**
 * Makes a handler without a script: it calls each tool that it is offered once, with parameters made up from its schema, and
 * then answers.
 *
 * **When to use**
 *
 * Use to see whether an agent works with its tools, before you write a script. If the handler of a tool rejects the parameters, the
 * run doesn't fail: look at the results of the calls.
 *
 * **Details**
 *
 * All tools that weren't called since the user last spoke are called in one turn, except for those that the provider runs itself. Then the
 * answer is a call of `final_answer` if that is offered, or else the text `answer`. A request for JSON, as of `generateObject`, gets a
 * value of its schema at once, and no tool is called. A `toolChoice` is respected. The values depend only on the seed, the size, the
 * agent's path, the tool or schema, and how often the tool was called since the user last spoke.
 *
 * **Gotchas**
 *
 * If no value of a schema can be made, the handler declines: the request dies with `UnansweredRequest`, which says why.
 *
 * **Example** (An object that fits its schema)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { MockModel } from "troupe/testing"
 *
 * const Invoice = Schema.Struct({ number: Schema.NonEmptyString, cents: Schema.Int })
 *
 * const program = LanguageModel.generateObject({ prompt: "Read the invoice.", schema: Invoice }).pipe(
 *   Effect.map((response) => Schema.is(Invoice)(response.value)),
 *   Effect.provide(MockModel.layer(MockModel.fromSchemas({ seed: 1 })))
 * )
 *
 * await Effect.runPromise(program) // => true
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromSchemas = (options: FromSchemasOptions = {}): Handler => {
  const { answer = "Done.", seed = 0, size = 8 } = options
  const refuse = (what: string) => (cause: Cause.Cause<unknown>): Effect.Effect<Declined> => {
    const error = Cause.squash(cause)
    return decline(`nothing can be made up for ${what}: ${error instanceof Error ? error.message : format(error)}`)
  }
  const call = (request: MockRequest, tool: Tool.Any) => {
    const times = calledSince(request).filter((name) => name === tool.name).length
    return sampled(() => paramsOf(tool), `${seed}/${request.path.join("/")}/${tool.name}/${times}`, size).pipe(
      Effect.map((params) => MockResponse.toolCall(tool.name, params)),
      Effect.catchCause(refuse(`the parameters of "${tool.name}"`))
    )
  }
  return fromMake(Effect.succeed((request, note) => {
    note?.("made up from schemas")
    const { responseFormat } = request
    if (responseFormat.type === "json") {
      const { objectName, schema } = responseFormat
      return sampled(() => jsonOf(schema), `${seed}/${request.path.join("/")}/${objectName}`, size).pipe(
        Effect.map(MockResponse.json),
        Effect.catchCause(refuse(`"${objectName}"`))
      )
    }
    const tools = nextOf(request)
    if (tools.length === 0) return Effect.succeed(MockResponse.text(answer))
    return Effect.map(
      Effect.forEach(tools, (tool) => call(request, tool)),
      (calls) =>
        calls.find((call) => call._tag === "Declined") ??
          MockResponse.all(...calls.filter((call) => call._tag === "MockResponse"))
    )
  }))
}
