/**
 * The answers of a model, step by step, written into the conversation itself.
 *
 * 1. The last chain in a message of the user is used. Its first step answers first, and each turn of the model since that message counts
 *    one step. Assistant messages that follow each other are one turn.
 * 2. Only the request decides: a retry gets the same answer, and parallel requests don't disturb each other.
 * 3. Past the end, and if a chain or a step is invalid, the fallback answers. The other steps keep their places, and no earlier chain
 *    answers instead.
 * 4. Chains nest: one inside the parameters of a call drives the agent that is called with them.
 *
 * **Example** (Two agents, and one text that drives both)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentState } from "troupe"
 * import { InstructionChain, MockModel } from "troupe/testing"
 *
 * const researcher = Agent.make("researcher", { description: "Looks things up" })
 * const writer = Agent.make("writer", { agents: [Agent.asTool(researcher)] })
 *
 * const chain = InstructionChain.make(
 *   InstructionChain.toolCall("researcher", {
 *     task: InstructionChain.embed("Find the year.", InstructionChain.make("It was 1969."))
 *   }),
 *   "They landed in 1969."
 * )
 *
 * const program = Agent.run(writer, InstructionChain.embed("When was it?", chain)).pipe(
 *   Effect.map(AgentState.text),
 *   Effect.provide(MockModel.layer(InstructionChain.handler()))
 * )
 *
 * await Effect.runPromise(program) // => "They landed in 1969."
 * ```
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Schema from "effect/Schema"
import { type Choice, choose } from "./chain/Choose.ts"
import { fromPrompt } from "./chain/Find.ts"
import * as Instruction from "./chain/Instruction.ts"
import { checked } from "./chain/Parse.ts"
import * as Tags from "./chain/Tags.ts"
import { type Answer, decline, fromMake, type Handler, type Reply, toHandler } from "./Handler.ts"
import { firstOf } from "./handler/Combined.ts"
import type { MockRequest } from "./MockRequest.ts"

export { type Choice, choose, type Chosen, type NotChosen, type Place, type Request } from "./chain/Choose.ts"
export { Call, Citation, HttpError, InstructionChain, Message, Step } from "./chain/Instruction.ts"
export { ChainError, formatWarning, parse, type Parsed, type Warning } from "./chain/Parse.ts"

/** A message of a step, or a string, which means `text`. */
export type MessageInput = string | Instruction.Message

/** A step, or a message, which means a step of only this message, or `null`, which leaves the turn to the fallback. */
export type StepInput = MessageInput | Instruction.Step | null

/**
 * The fields of a step beside its messages: `Step` says what they are. Here `delay` is any duration; a number is in milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface StepOptions extends Omit<Instruction.Step, "messages" | "delay"> {
  readonly delay?: Duration.Input
}

const toMessage = (input: MessageInput): Instruction.Message => typeof input === "string" ? { text: input } : input

const isList = (input: MessageInput | ReadonlyArray<MessageInput>): input is ReadonlyArray<MessageInput> =>
  Array.isArray(input)

/** Checks whether an input is a message, which has the key of its kind. `reasoning` alone means the same as a step, and counts as one. */
const isMessage = (input: Instruction.Message | Instruction.Step): input is Instruction.Message =>
  !("reasoning" in input) && Object.keys(input).some((key) => key in Instruction.messages)

const toStep = (input: StepInput): Instruction.Step | null =>
  typeof input === "string" || (input !== null && isMessage(input)) ? { messages: [toMessage(input)] } : input

/**
 * Makes a chain of steps, one for each turn of the model. Throws `ChainError` if a step is invalid; the other constructors check nothing.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (...steps: ReadonlyArray<StepInput>): Instruction.InstructionChain =>
  checked({ instruction_chain: steps.map(toStep) })

/**
 * Makes a step of messages, its parts in order.
 *
 * @category constructors
 * @since 0.1.0
 */
export const step = (
  messages: MessageInput | ReadonlyArray<MessageInput>,
  options: StepOptions = {}
): Instruction.Step => {
  const { delay, ...rest } = options
  return {
    ...rest,
    ...(delay === undefined ? undefined : { delay: Duration.toMillis(Duration.fromInputUnsafe(delay)) }),
    messages: (isList(messages) ? messages : [messages]).map(toMessage)
  }
}

/**
 * Makes a step that answers with an HTTP error, with a status from 400 to 599. Without a `body`, a `MockProvider` sends the provider's own
 * error body.
 *
 * @category constructors
 * @since 0.1.0
 */
export const error = (
  status: number,
  options?: { readonly body?: Schema.Json; readonly headers?: Readonly<Record<string, string>> }
): Instruction.Step => ({ error: { status, ...options } })

/**
 * Makes a message of `length` words of lorem ipsum, which are the same each time. A step may have at most 100,000 of them.
 *
 * @category constructors
 * @since 0.1.0
 */
export const words = (length: number): Instruction.Message => ({ text_message: { length } })

/**
 * Makes a message that is text.
 *
 * @category constructors
 * @since 0.1.0
 */
export const text = (text: string): Instruction.Message => ({ text })

const lengthOrText = (input: string | number) => typeof input === "string" ? { text: input } : { length: input }

/**
 * Makes a message that is reasoning: a text, or a number of words. By the `signature` a provider recognizes its own reasoning when it is
 * sent back.
 *
 * @category constructors
 * @since 0.1.0
 */
export const reasoning = (
  input: string | number,
  options?: { readonly signature?: string }
): Instruction.Message => ({ reasoning: { ...lengthOrText(input), ...options } })

/**
 * Makes a message that calls a tool, by default with the parameters `{}`. Without an `id`, the call gets one when the response is sent.
 *
 * @category constructors
 * @since 0.1.0
 */
export const toolCall = (
  name: string,
  args: Schema.Json = {},
  options?: { readonly id?: string }
): Instruction.Message => ({ tool_call: [{ name, args, ...options }] })

/**
 * Makes a message that calls several tools at once.
 *
 * @category constructors
 * @since 0.1.0
 */
export const toolCalls = (...calls: NonEmptyReadonlyArray<Instruction.Call>): Instruction.Message => ({
  tool_call: calls
})

/**
 * Makes a message of a text, or a number of words, that cites sources.
 *
 * @category constructors
 * @since 0.1.0
 */
export const cited = (
  input: string | number,
  ...citations: ReadonlyArray<Instruction.Citation>
): Instruction.Message => ({ text_with_citations: { ...lengthOrText(input), citations } })

/**
 * Makes a message in which the provider itself calls a tool, by default with the input `{}`. `serverToolResult` makes its result.
 *
 * @category constructors
 * @since 0.1.0
 */
export const serverToolUse = (
  name: string,
  input: Schema.Json = {},
  options?: { readonly id?: string }
): Instruction.Message => ({ server_tool_use: { name, input, ...options } })

/**
 * Makes a message with the result of a call that the provider ran itself, or with the code of its error.
 *
 * Without a `tool_use_id` it answers the last `serverToolUse` of this tool before it in the step. If there is none, `make` throws
 * `ChainError`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const serverToolResult = (
  name: string,
  result: { readonly result: Schema.Json } | { readonly error_code: string },
  options?: { readonly tool_use_id?: string }
): Instruction.Message => ({ server_tool_result: { name, ...result, ...options } })

/**
 * The message that repeats the system prompt of the request, or says that there is none.
 *
 * @category constants
 * @since 0.1.0
 */
export const systemPromptEcho: Instruction.Message = { system_prompt_echo: true }

/**
 * The message that lists the names of the request's tools, or says that there are none.
 *
 * @category constants
 * @since 0.1.0
 */
export const toolsList: Instruction.Message = { tools_list: true }

/**
 * The message that lists the names and descriptions of the request's tools, or says that there are none.
 *
 * @category constants
 * @since 0.1.0
 */
export const toolsEcho: Instruction.Message = { tools_echo: true }

/**
 * Makes a message that repeats the description and the JSON schema of one of the request's tools, or says that there is no such tool.
 *
 * @category constructors
 * @since 0.1.0
 */
export const toolSchema = (name: string): Instruction.Message => ({ tool_schema: { name } })

/**
 * The message that repeats the URL of a request to a `MockProvider`. With a mock model it is `No URL`.
 *
 * @category constants
 * @since 0.1.0
 */
export const urlEcho: Instruction.Message = { request_url_echo: true }

/**
 * The message that repeats the headers of a request to a `MockProvider`. With a mock model it is `No headers`.
 *
 * @category constants
 * @since 0.1.0
 */
export const headersEcho: Instruction.Message = { request_headers_echo: true }

/**
 * Makes a message that repeats the body of a request to a `MockProvider`, or the named fields of it, as JSON. With a mock model, the body
 * has only `stream` and `tool_choice`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const paramsEcho = (...fields: ReadonlyArray<string>): Instruction.Message => ({
  request_params_echo: fields.length === 0 ? {} : { fields }
})

/**
 * Puts a chain into a text, after its words.
 *
 * **Example** (A chain that is put into a text and read again)
 *
 * ```ts
 * import { Result } from "effect"
 * import { InstructionChain } from "troupe/testing"
 *
 * const chain = InstructionChain.make("Hello!", InstructionChain.toolCall("get_weather", { city: "Paris" }))
 * const text = InstructionChain.embed("How warm is it?", chain)
 *
 * Result.map(InstructionChain.parse(text), ({ chain }) => chain) // => Result.succeed(chain)
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const embed: {
  (chain: Instruction.InstructionChain): (text: string) => string
  (text: string, chain: Instruction.InstructionChain): string
} = dual(2, (text: string, chain: Instruction.InstructionChain): string => {
  const marked = Tags.mark(JSON.stringify(chain))
  return text === "" ? marked : `${text}\n${marked}`
})

const chooseFor = ({ prompt, streaming, system, toolChoice, tools }: MockRequest): Choice =>
  choose({
    messages: fromPrompt(prompt),
    system,
    tools,
    body: { stream: streaming, tool_choice: toolChoice as Schema.Json }
  })

const answer: Answer = (request, note) => {
  const choice = chooseFor(request)
  if (choice._tag === "Chosen") note?.(choice.by)
  const answered: ReturnType<Answer> = choice._tag === "Chosen"
    ? Effect.succeed(choice.response)
    : decline(choice.reason)
  const { warnings } = choice
  return warnings.length === 0 ? answered : Effect.andThen(Effect.logWarning(...warnings), answered)
}

const chains: Handler = fromMake(Effect.succeed(answer))

/**
 * Makes a handler of a mock model that answers with the chain in the prompt, or else as the fallback does.
 *
 * Without a fallback it declines if no step answers. Mistakes in a chain are logged as warnings.
 *
 * @category constructors
 * @since 0.1.0
 */
export const handler = <R = never>(fallback?: Reply<R> | Handler<R>): Handler<R> =>
  fallback === undefined ? chains : firstOf(chains, toHandler(fallback)) as Handler<R>
