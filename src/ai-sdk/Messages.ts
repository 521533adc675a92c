/**
 * A prompt as the messages that a provider is sent.
 *
 * @since 0.1.0
 */
import type {
  JSONValue,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolApprovalResponsePart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart
} from "@ai-sdk/provider"
import type * as Prompt from "effect/ai/Prompt"
import * as Predicate from "effect/Predicate"
import type * as NativeModel from "../model/NativeModel.ts"
import type { Form } from "../model/Projection.ts"
import { carried } from "./Carried.ts"
import { hasAddress } from "./Download.ts"
import { toData } from "./FileData.ts"
import { freeze } from "./Frozen.ts"
import { toJson, toProviderOptions } from "./Metadata.ts"

type Content<Role extends LanguageModelV4Message["role"]> = Extract<
  LanguageModelV4Message,
  { readonly role: Role }
>["content"]

/** Returns the names of tools that take a text instead of an object. Providers define such tools. */
type TakesText = (toolName: string) => boolean

/** What a provider accepts: whether results may contain files, and which tools take a text. */
export interface Takes {
  readonly takesText: TakesText
  readonly takesFiles: boolean
}

const textPart = (part: Prompt.TextPart): LanguageModelV4TextPart => ({
  type: "text",
  text: part.text,
  ...toProviderOptions(part.options)
})

const filePart = (part: Prompt.FilePart): LanguageModelV4FilePart => ({
  type: "file",
  mediaType: part.mediaType,
  data: toData(part.data),
  ...(part.fileName === undefined ? undefined : { filename: part.fileName }),
  ...toProviderOptions(part.options)
})

/** Empty text is left out, unless it has metadata, because providers refuse it. */
const says = (part: { readonly text: string; readonly options: Prompt.ProviderOptions }): boolean =>
  part.text !== "" || toProviderOptions(part.options) !== undefined

const callPart = (part: Prompt.ToolCallPart, takesText: TakesText): LanguageModelV4ToolCallPart => ({
  type: "tool-call",
  toolCallId: part.id,
  toolName: part.name,
  // Providers accept only an object as parameters, so parameters that couldn't be read become an empty one.
  input: Predicate.isObject(part.params) || takesText(part.name) ? part.params : {},
  ...(part.providerExecuted ? { providerExecuted: true } : undefined),
  ...toProviderOptions(part.options)
})

const isDenial = (result: unknown): result is { readonly reason?: string } =>
  Predicate.hasProperty(result, "type") && result.type === "execution-denied"

const isText = (part: Prompt.ToolModelOutputPart): part is Prompt.TextPart => part.type === "text"

/** The note for a file in a result that can't be sent. */
const noteOf = (part: Prompt.ToolModelOutputPart): string =>
  isText(part) ? part.text : `[A file of type ${part.mediaType}: this provider takes none in results.]`

/** Returns what a model is told of a result. Only the text form can mark a failure, content can't. */
const outputOf = (part: Prompt.ToolResultPart, takesFiles: boolean): LanguageModelV4ToolResultOutput => {
  const { isFailure, modelOutput, providerExecuted, result } = part
  if (modelOutput !== undefined) {
    const isPlain = modelOutput.every(isText)
    if ((isFailure && isPlain) || !(takesFiles || isPlain)) {
      return { type: isFailure ? "error-text" : "text", value: modelOutput.map(noteOf).join("\n") }
    }
    return { type: "content", value: modelOutput.map((output) => isText(output) ? textPart(output) : filePart(output)) }
  }
  if (isFailure && isDenial(result)) {
    return {
      type: "execution-denied",
      ...(typeof result.reason === "string" ? { reason: result.reason } : undefined)
    }
  }
  if (typeof result === "string" && !(isFailure && providerExecuted)) {
    return { type: isFailure ? "error-text" : "text", value: result }
  }
  // JSON is a `JSONValue` of the AI SDK, whose arrays and objects aren't readonly.
  return { type: isFailure ? "error-json" : "json", value: toJson(result) as JSONValue }
}

const resultPart = (part: Prompt.ToolResultPart, takesFiles: boolean): LanguageModelV4ToolResultPart => ({
  type: "tool-result",
  toolCallId: part.id,
  toolName: part.name,
  output: outputOf(part, takesFiles),
  ...toProviderOptions(part.options)
})

const userContent = ({ content }: Prompt.UserMessage): Content<"user"> =>
  content.flatMap((part): Content<"user"> =>
    part.type === "file" ? [filePart(part)] : says(part) ? [textPart(part)] : []
  )

const assistantContent = (
  { content }: Prompt.AssistantMessage,
  { takesFiles, takesText }: Takes
): Content<"assistant"> =>
  content.flatMap((part): Content<"assistant"> => {
    switch (part.type) {
      case "text":
        return says(part) ? [textPart(part)] : []
      case "reasoning": {
        const other = carried(part)
        if (other !== undefined) return [other]
        return says(part) ? [{ type: "reasoning", text: part.text, ...toProviderOptions(part.options) }] : []
      }
      case "file":
        return [carried(part) ?? filePart(part)]
      case "tool-call":
        return [callPart(part, takesText)]
      case "tool-result":
        return [resultPart(part, takesFiles)]
      case "tool-approval-request":
        return []
    }
  })

/** Only approvals that the provider asked for are left here: `effect/ai` and agents have answered all others. */
const approvalPart = (part: Prompt.ToolApprovalResponsePart): LanguageModelV4ToolApprovalResponsePart => ({
  type: "tool-approval-response",
  approvalId: part.approvalId,
  approved: part.approved,
  ...(part.reason === undefined ? undefined : { reason: part.reason }),
  ...toProviderOptions(part.options)
})

const toolContent = ({ content }: Prompt.ToolMessage, takesFiles: boolean): Content<"tool"> =>
  content.map((part) => part.type === "tool-result" ? resultPart(part, takesFiles) : approvalPart(part))

const toMessage = (message: Prompt.Message, takes: Takes): LanguageModelV4Message => {
  const options = toProviderOptions(message.options)
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content, ...options }
    case "user":
      return { role: "user", content: userContent(message), ...options }
    case "assistant":
      return { role: "assistant", content: assistantContent(message, takes), ...options }
    case "tool":
      return { role: "tool", content: toolContent(message, takes.takesFiles), ...options }
  }
}

/** Checks whether a message has the same form whichever tools are offered with it. */
const isSettled = (message: Prompt.Message): boolean =>
  message.role !== "assistant" ||
  message.content.every((part) => part.type !== "tool-call" || Predicate.isObject(part.params))

/** The form that all requests to providers of a kind share. Later requests hold the same message values, so each is converted once. */
interface Shared extends Form<LanguageModelV4Message> {
  readonly known: WeakMap<Prompt.Message, LanguageModelV4Message>
}

const noText: TakesText = () => false

const sharing = (takesFiles: boolean): Shared => ({
  known: new WeakMap(),
  convert: (message) => {
    if (!isSettled(message)) return undefined
    const converted = freeze(toMessage(message, { takesFiles, takesText: noText }))
    return converted.content.length === 0 ? undefined : converted
  },
  marks: hasAddress
})

const shared = { withFiles: sharing(true), withoutFiles: sharing(false) }

const convert = (message: Prompt.Message, takes: Takes, { known }: Shared): LanguageModelV4Message => {
  const before = known.get(message)
  if (before !== undefined) return before
  const converted = toMessage(message, takes)
  if (isSettled(message)) known.set(message, freeze(converted))
  return converted
}

/** Prompts that contain files by address. */
const addressed = new WeakSet<LanguageModelV4Prompt>()

/** Checks whether a prompt that was made here contains files by address. */
export const hasAddresses = (prompt: LanguageModelV4Prompt): boolean => addressed.has(prompt)

const marked = (prompt: LanguageModelV4Prompt, isMarked: boolean): LanguageModelV4Prompt => {
  if (isMarked) addressed.add(prompt)
  return prompt
}

/** The prompt to convert, and the projection that it ends with, if that is known. */
export type Sent = { readonly prompt: Prompt.Prompt } & Partial<Pick<NativeModel.Request, "system" | "projection">>

/** Returns the messages of a prompt. Empty messages are left out. */
export const toMessages = (sent: Sent, takes: Takes): LanguageModelV4Prompt => {
  const form = takes.takesFiles ? shared.withFiles : shared.withoutFiles
  const { system } = sent
  const projection = sent.projection?.in(form)
  if (projection !== undefined) {
    const { isMarked, messages } = projection
    return marked(system === undefined ? messages.slice() : [toMessage(system, takes)].concat(messages), isMarked)
  }
  const all = sent.prompt.content.map((message) => convert(message, takes, form))
    .filter(({ content }) => content.length > 0)
  return marked(all, all.some(hasAddress))
}
