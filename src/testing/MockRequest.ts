/**
 * One request to a mock model, as the handler sees it and as it is recorded.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Tool from "effect/ai/Tool"
import type * as Context from "effect/Context"
import type { RunningAgent } from "../agent/journal/CurrentAgent.ts"
import type { AgentState } from "../domain/StateSchema.ts"

/**
 * One request to a mock model.
 *
 * **Details**
 *
 * - `agent`, `path` and `state` are those of the agent that asks: its name, the names from the outermost caller down to it, and its state
 *   when it asked. Outside of a run, and with a mock provider, they are `""`, `[]` and `undefined`.
 * - `iteration` counts the earlier answers in the agent's run, from 0; with a mock provider, the answers since the user last spoke.
 *   `callCount` counts the requests to the layer, from 1.
 * - `prompt` is what the model is sent, and `messages` are its messages. `system` joins the system messages by empty lines, and
 *   `lastUserText` is the text of the last user message; both are `""` if there is none.
 * - `lastToolResults` are the results that came in since the model last spoke, none if no tool has answered.
 * - `tools` are the tools that the model may call, and `toolNames` their names. `toolChoice` and `responseFormat` say how it must answer,
 *   and `streaming` whether the answer is streamed.
 * - `model` and `settings` are the model that the body of a request to a mock provider names, and the request settings in it under the names
 *   that they have there, such as `temperature` or `max_tokens`. With a mock model they are `undefined` and empty.
 * - `context` has the services that a request to a mock model runs with, among them the agent's request settings:
 *   `Context.get(request.context, AiSdkModel.CurrentSettings)`. With a mock provider it is empty.
 *
 * @category models
 * @since 0.1.0
 */
export interface MockRequest {
  readonly agent: string
  readonly path: ReadonlyArray<string>
  readonly state: AgentState | undefined
  readonly iteration: number
  readonly callCount: number
  readonly prompt: Prompt.Prompt
  readonly messages: ReadonlyArray<Prompt.Message>
  readonly system: string
  readonly lastUserText: string
  readonly lastToolResults: ReadonlyArray<Prompt.ToolResultPart>
  readonly tools: ReadonlyArray<Tool.Any>
  readonly toolNames: ReadonlyArray<string>
  readonly toolChoice: LanguageModel.ToolChoice<string>
  readonly responseFormat: LanguageModel.ProviderOptions["responseFormat"]
  readonly streaming: boolean
  readonly model: string | undefined
  readonly settings: Readonly<Record<string, unknown>>
  readonly context: Context.Context<never>
}

/**
 * What a request is made from: what a provider gets and, from a mock provider, the number of earlier answers, and the model and body of the
 * HTTP request.
 */
export interface Asking
  extends Pick<LanguageModel.ProviderOptions, "prompt" | "tools" | "toolChoice" | "responseFormat">
{
  readonly iteration?: number
  readonly model?: string
  readonly body?: object
}

/** The fields of a body that a request has under other names. The rest are request settings. */
const elsewhere: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "input",
  "system",
  "instructions",
  "tools",
  "tool_choice",
  "stream"
])

const noPath: ReadonlyArray<string> = []

const isToolResult = (part: Prompt.ToolMessagePart): part is Prompt.ToolResultPart => part.type === "tool-result"

/** Reads its parts off the prompt only if a handler asks for them. */
class Request implements MockRequest {
  readonly agent: string
  readonly path: ReadonlyArray<string>
  readonly state: AgentState | undefined
  readonly callCount: number
  readonly tools: ReadonlyArray<Tool.Any>
  readonly toolChoice: LanguageModel.ToolChoice<string>
  readonly responseFormat: LanguageModel.ProviderOptions["responseFormat"]
  readonly streaming: boolean
  readonly model: string | undefined
  readonly context: Context.Context<never>
  readonly #sent: Pick<Asking, "prompt">
  readonly #iteration: number | undefined
  readonly #body: object | undefined

  constructor(
    options: Asking,
    running: RunningAgent | undefined,
    callCount: number,
    streaming: boolean,
    context: Context.Context<never>
  ) {
    this.agent = running?.agent ?? ""
    this.path = running?.path ?? noPath
    this.state = running?.state
    this.callCount = callCount
    this.#sent = options
    this.tools = options.tools
    this.toolChoice = options.toolChoice
    this.responseFormat = options.responseFormat
    this.streaming = streaming
    this.model = options.model
    this.context = context
    this.#iteration = options.iteration
    this.#body = options.body
  }

  get prompt(): Prompt.Prompt {
    return this.#sent.prompt
  }

  get settings(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(Object.entries(this.#body ?? {}).filter(([name]) => !elsewhere.has(name)))
  }

  get iteration(): number {
    return this.state?.run.iteration ?? this.#iteration ?? 0
  }

  get messages(): ReadonlyArray<Prompt.Message> {
    return this.prompt.content
  }

  get system(): string {
    return this.messages.flatMap((message) => message.role === "system" ? [message.content] : []).join("\n\n")
  }

  get lastUserText(): string {
    const message = this.messages.findLast((message) => message.role === "user")
    return message === undefined ? "" : message.content.map((part) => part.type === "text" ? part.text : "").join("")
  }

  get lastToolResults(): ReadonlyArray<Prompt.ToolResultPart> {
    const spoke = this.messages.findLastIndex((message) => message.role === "assistant")
    return this.messages.slice(spoke + 1)
      .flatMap((message) => message.role === "tool" ? message.content.filter(isToolResult) : [])
  }

  get toolNames(): ReadonlyArray<string> {
    return this.tools.map((tool) => tool.name)
  }
}

/**
 * Makes the request of what a provider is given.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: Asking,
  running: RunningAgent | undefined,
  callCount: number,
  streaming: boolean,
  context: Context.Context<never>
): MockRequest => new Request(options, running, callCount, streaming, context)
