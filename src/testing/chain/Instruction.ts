/**
 * Chains and their steps as data, in the format in which a conversation carries them.
 *
 * @since 0.1.0
 */
import * as Response from "effect/ai/Response"
import * as Schema from "effect/Schema"
import { RequestUsage } from "../../domain/Usage.ts"

const Words = Schema.Struct({ length: Schema.Natural })

/** A text, or else a number of words. */
const said = { text: Schema.optionalKey(Schema.String), length: Schema.optionalKey(Schema.Natural) }

interface Said {
  readonly text?: string
  readonly length?: number
}

const saysSomething = Schema.makeFilter(({ length, text }: Said) =>
  text === undefined && length === undefined ? "Expected a text or a length" : undefined
)

/** Reasoning. By its `signature`, a provider recognizes the reasoning as its own. */
const Thought = Schema.Struct({ ...said, signature: Schema.optionalKey(Schema.String) }).check(saysSomething)

/**
 * Schema for one of the parallel calls of a message: `args` are `{}` by default, and without an `id` the call gets one when the response is
 * sent.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Call = Schema.Struct({
  name: Schema.NonEmptyString,
  args: Schema.optionalKey(Schema.Json),
  id: Schema.optionalKey(Schema.NonEmptyString)
})

/** One of the parallel calls of a message: `args` are `{}` by default, and without an `id` the call gets one when the response is sent. */
export interface Call extends Schema.Schema.Type<typeof Call> {}

const Url = Schema.String.check(
  Schema.makeFilter((url) => URL.canParse(url) ? undefined : "Expected a URL", { expected: "a URL" })
)

/**
 * Schema for a source that a text cites. Its `title` is the `url` by default.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Citation = Schema.Struct({
  type: Schema.optionalKey(Schema.Literal("url_citation")),
  url: Url,
  title: Schema.optionalKey(Schema.String),
  cited_text: Schema.optionalKey(Schema.String)
})

/** A source that a text cites. Its `title` is the `url` by default. */
export interface Citation extends Schema.Schema.Type<typeof Citation> {}

/** The kinds of messages by their keys, in the order in which they are tried. */
export const messages = {
  text_message: Schema.Struct({ text_message: Words }),
  text: Schema.Struct({ text: Schema.String }),
  reasoning: Schema.Struct({ reasoning: Thought }),
  tool_call: Schema.Struct({ tool_call: Schema.NonEmptyArray(Call) }),
  system_prompt_echo: Schema.Struct({ system_prompt_echo: Schema.Json }),
  tools_list: Schema.Struct({ tools_list: Schema.Json }),
  tools_echo: Schema.Struct({ tools_echo: Schema.Json }),
  tool_schema: Schema.Struct({ tool_schema: Schema.Struct({ name: Schema.optionalKey(Schema.String) }) }),
  request_url_echo: Schema.Struct({ request_url_echo: Schema.Json }),
  request_headers_echo: Schema.Struct({ request_headers_echo: Schema.Json }),
  request_params_echo: Schema.Struct({
    request_params_echo: Schema.Struct({ fields: Schema.optionalKey(Schema.Array(Schema.String)) })
  }),
  server_tool_use: Schema.Struct({
    server_tool_use: Schema.Struct({
      name: Schema.NonEmptyString,
      id: Schema.optionalKey(Schema.NonEmptyString),
      input: Schema.optionalKey(Schema.Json)
    })
  }),
  server_tool_result: Schema.Struct({
    server_tool_result: Schema.Struct({
      name: Schema.NonEmptyString,
      tool_use_id: Schema.optionalKey(Schema.NonEmptyString),
      result: Schema.optionalKey(Schema.Json),
      error_code: Schema.optionalKey(Schema.String)
    })
  }),
  text_with_citations: Schema.Struct({
    text_with_citations: Schema.Struct({
      ...said,
      citations: Schema.optionalKey(Schema.Array(Citation))
    }).check(saysSomething)
  })
}

/**
 * Schema for a message of a step: what the model says, calls or repeats of the request. Each kind has one key, which names it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Message = Schema.Union(Object.values(messages))

/** A message of a step: what the model says, calls or repeats of the request. Each kind has one key, which names it. */
export type Message = typeof Message.Type

/** Headers that say how a response is sent. The server sets them. */
const framing = new Set(["connection", "content-length", "keep-alive", "trailer", "transfer-encoding", "upgrade"])

const headerIssue = (name: string, value: string): string | undefined => {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return "Expected the name of a header"
  if (framing.has(name.toLowerCase())) return "Expected another header: this one says how the response is sent"
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value) ? undefined : "Expected a value that a header can have"
}

const Headers = Schema.Record(Schema.String, Schema.String).check(
  Schema.makeFilter((headers) =>
    Object.entries(headers).flatMap(([name, value]) => {
      const issue = headerIssue(name, value)
      return issue === undefined ? [] : [{ path: [name], issue }]
    })
  )
)

/**
 * Schema for the HTTP error that a step answers with, of a `status` from 400 to 599: at once, or in a stream `after` this number of chunks,
 * 0 by default. Without a `body`, the provider's own error body is sent. Headers such as `content-length`, which the server sets, are
 * invalid.
 *
 * @category schemas
 * @since 0.1.0
 */
export const HttpError = Schema.Struct({
  status: Schema.Int.check(Schema.isBetween({ minimum: 400, maximum: 599 })),
  body: Schema.optionalKey(Schema.Json),
  headers: Schema.optionalKey(Headers),
  after: Schema.optionalKey(Schema.Natural)
})

const Length = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/** All of a step but its messages. */
export const options = {
  id: Schema.optionalKey(Schema.String),
  id_message: Schema.optionalKey(Schema.String),
  reasoning: Schema.optionalKey(Thought),
  error: Schema.optionalKey(HttpError),
  chunks: Schema.optionalKey(Schema.Union([Length, Schema.NonEmptyArray(Schema.Natural)])),
  delay: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  cut: Schema.optionalKey(Schema.Natural),
  hang: Schema.optionalKey(Schema.Union([Schema.Natural, Schema.Literal(true)])),
  usage: Schema.optionalKey(RequestUsage),
  finish: Schema.optionalKey(Response.FinishReason),
  ids: Schema.optionalKey(Schema.Array(Schema.NonEmptyString))
}

const fields = { ...options, messages: Schema.optionalKey(Schema.Array(Message)) }

/** How many words a step may ask for by `length`: more than any model says at once. */
const mostWords = 100_000

const wordsOf = (message: Message): number =>
  ("text_message" in message
    ? message.text_message
    : "reasoning" in message
    ? message.reasoning
    : "text_with_citations" in message
    ? message.text_with_citations
    : undefined)?.length ?? 0

/** Why a step as a whole is invalid, if it is. */
export const problem = (step: Schema.Struct.Type<typeof fields>): string | undefined => {
  const { cut, error, hang, messages = [], reasoning } = step
  if (messages.length === 0 && (error ?? reasoning ?? cut ?? hang) === undefined) {
    return "a step needs messages, reasoning, an error, a cut or a hang"
  }
  const words = messages.reduce((sum, message) => sum + wordsOf(message), reasoning?.length ?? 0)
  if (words > mostWords) return `a step may ask for at most ${mostWords} words by \`length\`, not ${words}`
  const used = new Set<string>()
  for (const message of messages) {
    if ("server_tool_use" in message) used.add(message.server_tool_use.name)
    if (!("server_tool_result" in message)) continue
    const { name, tool_use_id } = message.server_tool_result
    if (tool_use_id === undefined && !used.has(name)) return `no server_tool_use of "${name}" is before its result`
  }
  return undefined
}

/**
 * Schema for one step of a chain: what the model answers to one request.
 *
 * **Details**
 *
 * - `messages` are its parts in order, with `reasoning` before them. The calls of one `tool_call` are parallel.
 * - `error` is an HTTP error instead of the answer, or in a stream `after` some chunks of it.
 * - `cut` breaks the connection after this number of chunks, unless there is an `error`. After `hang` chunks nothing follows; `true` means
 *   0.
 * - `delay` is the time before the answer in milliseconds.
 * - `chunks` is how many characters a chunk has, or a list of such numbers, the last of which repeats. By default, texts and reasoning are
 *   cut after words, and parameters every 16 characters.
 * - `usage` is what the answer reports, and `finish` its finish reason: both by default as in a `MockResponse` without them.
 * - `ids` go to the calls that have none, in order. `id`, or `id_message`, names the step in entries and messages.
 *
 * A step is invalid if it has no messages, `reasoning`, `error`, `cut` or `hang`, if it asks for more than 100,000 words by `length`, or if
 * a `server_tool_result` without a `tool_use_id` has no `server_tool_use` of its name before it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Step = Schema.Struct(fields).check(Schema.makeFilter(problem))

/** One step of a chain: what the model answers to one request. `InstructionChain.step` and `error` make one. */
export interface Step extends Schema.Schema.Type<typeof Step> {}

/**
 * Schema for a chain: a step for each of the model's turns. A turn whose step is `null` is left to the fallback.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InstructionChain = Schema.Struct({ instruction_chain: Schema.Array(Schema.NullOr(Step)) })

/**
 * A chain: a step for each of the model's turns. A turn whose step is `null` is left to the fallback.
 *
 * @category models
 * @since 0.1.0
 */
export interface InstructionChain extends Schema.Schema.Type<typeof InstructionChain> {}
