/**
 * What a model is to answer, turn by turn, written into the conversation itself.
 *
 * 1. The last message of the user that carries a chain counts. The model's turns since are counted, and the step of that
 *    number answers; messages of the assistant that follow each other are one turn.
 * 2. A request alone decides. Retried or beside others, it gets the same answer.
 * 3. Past the end, and if a chain or a step can't be read, the fallback answers. No other step moves up, and no older
 *    chain takes over.
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

/** What stands for a message of a step: a string means `text`. */
export type MessageInput = string | Instruction.Message

/** What stands for a step: a message means a step of that alone, and `null` leaves the turn to the fallback. */
export type StepInput = MessageInput | Instruction.Step | null

/**
 * What can be said of a step beside its messages.
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

/** A message has the key of its kind. Reasoning alone says the same as a step. */
const isMessage = (input: Instruction.Message | Instruction.Step): input is Instruction.Message =>
  !("reasoning" in input) && Object.keys(input).some((key) => key in Instruction.messages)

const toStep = (input: StepInput): Instruction.Step | null =>
  typeof input === "string" || (input !== null && isMessage(input)) ? { messages: [toMessage(input)] } : input

/**
 * Makes a chain of steps, one for each turn of the model. Throws `ChainError` for an invalid one.
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
 * Makes a step that answers with an error of HTTP.
 *
 * @category constructors
 * @since 0.1.0
 */
export const error = (
  status: number,
  options?: { readonly body?: Schema.Json; readonly headers?: Readonly<Record<string, string>> }
): Instruction.Step => ({ error: { status, ...options } })

/**
 * Makes a message of so many words, the same for each number.
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
 * Makes a message that is reasoning: a text, or a number of words. The signature is what its provider checks it by.
 *
 * @category constructors
 * @since 0.1.0
 */
export const reasoning = (
  input: string | number,
  options?: { readonly signature?: string }
): Instruction.Message => ({ reasoning: { ...lengthOrText(input), ...options } })

/**
 * Makes a message that calls a tool.
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
 * Makes a message in which the provider itself calls a tool.
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
 * Makes a message with the result of the provider's last call of a tool, or with the code of its error.
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
 * The message that says the system prompt of the request.
 *
 * @category constants
 * @since 0.1.0
 */
export const systemPromptEcho: Instruction.Message = { system_prompt_echo: true }

/**
 * The message that says the names of the request's tools.
 *
 * @category constants
 * @since 0.1.0
 */
export const toolsList: Instruction.Message = { tools_list: true }

/**
 * The message that says the names and descriptions of the request's tools.
 *
 * @category constants
 * @since 0.1.0
 */
export const toolsEcho: Instruction.Message = { tools_echo: true }

/**
 * Makes a message that says the description and the JSON schema of one of the request's tools.
 *
 * @category constructors
 * @since 0.1.0
 */
export const toolSchema = (name: string): Instruction.Message => ({ tool_schema: { name } })

/**
 * The message that says the URL of the request.
 *
 * @category constants
 * @since 0.1.0
 */
export const urlEcho: Instruction.Message = { request_url_echo: true }

/**
 * The message that says the headers of the request.
 *
 * @category constants
 * @since 0.1.0
 */
export const headersEcho: Instruction.Message = { request_headers_echo: true }

/**
 * Makes a message that says the body of the request, or the fields of it that are named.
 *
 * @category constructors
 * @since 0.1.0
 */
export const paramsEcho = (...fields: ReadonlyArray<string>): Instruction.Message => ({
  request_params_echo: fields.length === 0 ? {} : { fields }
})

/**
 * Puts a chain into a text, behind it.
 *
 * **Example** (Whatever it stands in, the chain comes out)
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
 * Without a fallback it declines if no step answers. What is wrong in a chain is logged as a warning.
 *
 * @category constructors
 * @since 0.1.0
 */
export const handler = <R = never>(fallback?: Reply<R> | Handler<R>): Handler<R> =>
  fallback === undefined ? chains : firstOf(chains, toHandler(fallback)) as Handler<R>
