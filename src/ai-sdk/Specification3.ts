/**
 * Requests in specification 3: the data of files is untagged, and some kinds of parts don't exist.
 *
 * @since 0.1.0
 */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3DataContent,
  LanguageModelV3Message,
  LanguageModelV3ToolResultOutput,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
  SharedV4FileData
} from "@ai-sdk/provider"
import * as Base64 from "effect/encoding/Base64"

const toData = (data: SharedV4FileData): LanguageModelV3DataContent => {
  switch (data.type) {
    case "data":
      return data.data
    case "url":
      return data.url
    case "text":
      return Base64.encode(data.text)
    case "reference":
      return Object.values(data.reference)[0] ?? ""
  }
}

type Content4 = Extract<LanguageModelV4ToolResultOutput, { readonly type: "content" }>["value"][number]
type Content3 = Extract<LanguageModelV3ToolResultOutput, { readonly type: "content" }>["value"][number]

const toContent = (part: Content4): Content3 => {
  if (part.type !== "file") return part
  const { data: file, filename, mediaType, ...rest } = part
  const data = toData(file)
  const isImage = /^image(\/|$)/i.test(mediaType)
  if (data instanceof URL) return { ...rest, type: isImage ? "image-url" : "file-url", url: data.href }
  const base64 = typeof data === "string" ? data : Base64.encode(data)
  return isImage
    ? { ...rest, type: "image-data", data: base64, mediaType }
    : { ...rest, type: "file-data", data: base64, mediaType, ...(filename === undefined ? undefined : { filename }) }
}

const toOutput = (output: LanguageModelV4ToolResultOutput): LanguageModelV3ToolResultOutput =>
  output.type === "content" ? { ...output, value: output.value.map(toContent) } : output

type Parts4 = Exclude<LanguageModelV4Message["content"], string>[number]
type Parts3 = Exclude<LanguageModelV3Message["content"], string>[number]

/** Returns the parts of a message. Parts that the specification doesn't know are left out. */
const toParts = (part: Parts4): ReadonlyArray<Parts3> => {
  switch (part.type) {
    case "file":
      return [{ ...part, data: toData(part.data) }]
    case "tool-result":
      return [{ ...part, output: toOutput(part.output) }]
    case "custom":
    case "reasoning-file":
      return []
    default:
      return [part]
  }
}

/** Returns a message in the older form. Parts that the specification doesn't know are left out. */
export const toMessage = (message: LanguageModelV4Message): LanguageModelV3Message =>
  (message.role === "system"
    ? message
    : { ...message, content: (message.content as ReadonlyArray<Parts4>).flatMap(toParts) }) as LanguageModelV3Message

/** Says what a model of specification 3 isn't sent of a request, if anything. */
export const unsupported = ({ reasoning }: Pick<LanguageModelV4CallOptions, "reasoning">): string | undefined =>
  reasoning === undefined || reasoning === "provider-default"
    ? undefined
    : "unsupported: reasoning (this model is of specification 3: use the provider's own option)"

/** Returns a call's options as a model of specification 3 reads them. */
export const toCallOptions = (
  options: Omit<LanguageModelV4CallOptions, "prompt">
): Omit<LanguageModelV3CallOptions, "prompt"> => {
  const { reasoning: _, ...rest } = options
  return rest
}
