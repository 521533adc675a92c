/**
 * A message as a provider is sent it, in specification 4.
 *
 * @since 0.1.0
 */
import type {
  JSONValue,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
  LanguageModelV4ToolApprovalResponsePart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart
} from "@ai-sdk/provider"
import type * as Prompt from "effect/ai/Prompt"
import * as Predicate from "effect/Predicate"
import { carried } from "./Carried.ts"
import { toData } from "./FileData.ts"
import { copy } from "./Frozen.ts"
import { toJson, toProviderOptions } from "./Metadata.ts"

type Content<Role extends LanguageModelV4Message["role"]> = Extract<
  LanguageModelV4Message,
  { readonly role: Role }
>["content"]

/** What a provider accepts: whether results may contain files, and the names of the tools that may take a text instead of an object. */
export interface Takes {
  readonly takesFiles: boolean
  readonly textTools: ReadonlyArray<string>
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

const callPart = (part: Prompt.ToolCallPart, textTools: Takes["textTools"]): LanguageModelV4ToolCallPart => ({
  type: "tool-call",
  toolCallId: part.id,
  toolName: part.name,
  // Providers accept only an object as parameters, so parameters that couldn't be read become an empty one.
  input: Predicate.isObject(part.params) || textTools.includes(part.name) ? copy(part.params) : {},
  ...(part.providerExecuted ? { providerExecuted: true } : undefined),
  ...toProviderOptions(part.options)
})

const isDenial = (result: unknown): result is { readonly reason?: string } =>
  Predicate.hasProperty(result, "type") && result.type === "execution-denied"

const isText = (part: Prompt.ToolModelOutputPart): part is Prompt.TextPart => part.type === "text"

/** The note for a file in a result that can't be sent. */
const noteOf = (part: Prompt.ToolModelOutputPart): string =>
  isText(part) ? part.text : `[A file of type ${part.mediaType}: this provider takes none in results.]`

/**
 * Returns what a model is told of a result. Text and JSON can mark a failure, content can't: a failure with several texts becomes one
 * text, and a failure with files is sent unmarked if the provider accepts files.
 */
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

/**
 * Checks whether the call that a reasoning part carries has a part of its own too: a stream passed it on before its provider asked for an
 * approval.
 */
const isTold = (content: Prompt.AssistantMessage["content"], other: Content<"assistant">[number]): boolean =>
  other.type === "tool-call" && content.some((part) => part.type === "tool-call" && part.id === other.toolCallId)

const assistantContent = (
  { content }: Prompt.AssistantMessage,
  { takesFiles, textTools }: Takes
): Content<"assistant"> =>
  content.flatMap((part): Content<"assistant"> => {
    switch (part.type) {
      case "text":
        return says(part) ? [textPart(part)] : []
      case "reasoning": {
        const other = carried(part)
        if (other !== undefined) return isTold(content, other) ? [] : [other]
        return says(part) ? [{ type: "reasoning", text: part.text, ...toProviderOptions(part.options) }] : []
      }
      case "file":
        return [carried(part) ?? filePart(part)]
      case "tool-call":
        return [callPart(part, textTools)]
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

/** Returns a message as providers take it. */
export const toMessage = (message: Prompt.Message, takes: Takes): LanguageModelV4Message => {
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

/** Checks whether the form of a message depends on which tools are offered with it: a call's parameters may be a text. */
export const varies = (message: Prompt.Message): boolean =>
  message.role === "assistant" &&
  message.content.some((part) => part.type === "tool-call" && !Predicate.isObject(part.params))
