/**
 * Makes the response of a step.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as MockResponse from "../MockResponse.ts"
import * as Echo from "./Echo.ts"
import type { Citation, Message, Step } from "./Instruction.ts"
import * as Lorem from "./Lorem.ts"

type Parts = ReadonlyArray<MockResponse.ResponsePart>

const said = ({ length = 0, text }: { readonly text?: string; readonly length?: number }): string =>
  text ?? Lorem.words(length)

const text = (text: string): Parts => [{ type: "text", text }]

/** Providers have a signature at different places. */
const thought = ({ signature, ...rest }: Extract<Message, { readonly reasoning: unknown }>["reasoning"]) => {
  const metadata = signature === undefined
    ? undefined
    : { anthropic: { info: { type: "thinking", signature } }, openai: { encryptedContent: signature } }
  return { type: "reasoning", text: said(rest), ...(metadata === undefined ? undefined : { metadata }) } as const
}

const source = ({ cited_text, title, url }: Citation, index: number): MockResponse.ResponsePart => ({
  type: "source",
  sourceType: "url",
  id: `source_${index + 1}`,
  url,
  title: title ?? url,
  ...(cited_text === undefined ? undefined : { metadata: { anthropic: { source: "url", citedText: cited_text } } })
})

const lengths = (chunks: NonNullable<Step["chunks"]>) => typeof chunks === "number" ? [chunks] as const : chunks

/** Turns the messages of one step into parts. Ids that the step chose go to the calls that have none. */
class Writer {
  readonly #ids: Array<string>
  readonly #echoed: Echo.Echoed
  readonly #used: Array<{ readonly name: string; readonly id: string }> = []

  constructor(ids: ReadonlyArray<string>, echoed: Echo.Echoed) {
    this.#ids = [...ids]
    this.#echoed = echoed
  }

  write(message: Message): Parts {
    if ("text_message" in message) return text(said(message.text_message))
    if ("text" in message) return text(message.text)
    if ("reasoning" in message) return [thought(message.reasoning)]
    if ("tool_call" in message) return message.tool_call.map(({ args = {}, id, name }) => this.#call(name, args, id))
    if ("system_prompt_echo" in message) return text(Echo.systemPrompt(this.#echoed))
    if ("tools_list" in message) return text(Echo.toolNames(this.#echoed))
    if ("tools_echo" in message) return text(Echo.toolLines(this.#echoed))
    if ("tool_schema" in message) return text(Echo.toolSchema(this.#echoed, message.tool_schema.name))
    if ("request_url_echo" in message) return text(Echo.url(this.#echoed))
    if ("request_headers_echo" in message) return text(Echo.headers(this.#echoed))
    if ("request_params_echo" in message) return text(Echo.params(this.#echoed, message.request_params_echo.fields))
    if ("server_tool_use" in message) return [this.#serverCall(message.server_tool_use)]
    if ("server_tool_result" in message) return [this.#serverResult(message.server_tool_result)]
    const { citations = [] } = message.text_with_citations
    return [...text(said(message.text_with_citations)), ...citations.map(source)]
  }

  #call(name: string, params: unknown, chosen: string | undefined): MockResponse.ToolCall {
    const id = chosen ?? this.#ids.shift()
    return { type: "tool-call", name, params, ...(id === undefined ? undefined : { id }) }
  }

  #serverCall(use: { readonly name: string; readonly id?: string; readonly input?: unknown }): MockResponse.ToolCall {
    const { name } = use
    const id = use.id ?? this.#ids.shift() ?? `srvtoolu_${this.#used.length + 1}`
    this.#used.push({ name, id })
    return { type: "tool-call", id, name, params: use.input ?? {}, providerExecuted: true }
  }

  #serverResult(given: {
    readonly name: string
    readonly tool_use_id?: string
    readonly result?: unknown
    readonly error_code?: string
  }): MockResponse.ToolResult {
    const { error_code, name, result } = given
    const id = given.tool_use_id ?? this.#used.findLast((used) => used.name === name)!.id
    const common = { type: "tool-result", id, name, providerExecuted: true } as const
    return error_code === undefined
      ? { ...common, result: result ?? {}, isFailure: false }
      : { ...common, result: { type: `${name}_tool_result_error`, error_code }, isFailure: true }
  }
}

/** A response that is an error, or becomes one after a number of chunks. */
const failed = (
  said: MockResponse.MockResponse,
  { after = 0, ...http }: NonNullable<Step["error"]>
): MockResponse.MockResponse => {
  const failed = MockResponse.httpError(http.status, http)
  const { failure } = failed
  return after === 0 || failure === undefined ? failed : { ...said, http, failure: { ...failure, after } }
}

const content = (step: Step, echoed: Echo.Echoed): MockResponse.MockResponse => {
  const writer = new Writer(step.ids ?? [], echoed)
  const messages = (step.messages ?? []).flatMap((message) => writer.write(message))
  const thought = step.reasoning === undefined ? [] : writer.write({ reasoning: step.reasoning })
  return {
    _tag: "MockResponse",
    parts: [...thought, ...messages],
    ...(step.usage === undefined ? undefined : { usage: step.usage }),
    ...(step.finish === undefined ? undefined : { finishReason: step.finish }),
    ...(step.chunks === undefined ? undefined : { chunks: lengths(step.chunks) })
  }
}

/**
 * Makes the response of a step to a request.
 *
 * @category converting
 * @since 0.1.0
 */
export const respond = (step: Step, echoed: Echo.Echoed): MockResponse.MockResponse => {
  const { cut, delay, error, hang } = step
  const said = content(step, echoed)
  let response = error === undefined ? said : failed(said, error)
  if (cut !== undefined && error === undefined) response = MockResponse.cut(response, cut)
  if (hang !== undefined) response = MockResponse.hang(response, hang === true ? 0 : hang)
  return delay === undefined ? response : { ...response, delay: Duration.millis(delay) }
}
