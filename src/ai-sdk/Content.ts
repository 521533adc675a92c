/**
 * The content of a model's answer, as parts of a response.
 *
 * @since 0.1.0
 */
import type { LanguageModelV3Content, LanguageModelV4Content } from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Result from "effect/Result"
import { carry } from "./Carried.ts"
import { fromData } from "./FileData.ts"
import { toMetadata } from "./Metadata.ts"
import { paramsOf } from "./StrictTool.ts"

/** A piece of content, in either specification. */
export type Content = LanguageModelV3Content | LanguageModelV4Content

type Of<Type extends Content["type"]> = Extract<Content, { readonly type: Type }>

/** The facts of a request that are needed to read its answer. */
export interface Asked {
  /** Returns a tool's name in the program from the name that the model knows. */
  readonly nameOf: (name: string) => string
  readonly isOffered: (name: string) => boolean
  /** Returns a call's parameters in the form of the tool with this name. */
  readonly paramsOf: (name: string, params: unknown) => unknown
  /** Whether the provider asks for an approval before it runs a call. */
  readonly awaitsApproval: (id: string) => boolean
  /** Whether the caller checks the calls, including those whose parameters can't be read. */
  readonly isDeferred: boolean
}

/** Returns the facts of a request that are needed to read its answer. */
export const askedOf = (
  { toolCallValidation, tools }: Pick<LanguageModel.ProviderOptions, "toolCallValidation" | "tools">,
  transformer: LanguageModel.CodecTransformer
): Asked => {
  const offered = (name: string) => tools.find((tool) => tool.name === name)
  return {
    nameOf: (name) => offered(name) === undefined ? new Tool.NameMapper(tools).getCustomName(name) : name,
    isOffered: (name) => offered(name) !== undefined,
    paramsOf: (name, params) => paramsOf(offered(name), transformer, params),
    awaitsApproval: () => false,
    isDeferred: toolCallValidation === "deferred"
  }
}

type Read = Result.Result<Response.PartEncoded, AiError.AiErrorReason>

const parse = ({ input, toolName }: Of<"tool-call">, { isDeferred }: Asked) => {
  if (input.trim() === "") return Result.succeed<unknown>({})
  return Result.try({
    try: () => Tool.unsafeSecureJsonParse(input),
    catch: (error) =>
      new AiError.ToolParameterValidationError({
        toolName,
        description: `The parameters aren't JSON: ${error instanceof Error ? error.message : String(error)}`
      })
  }).pipe(Result.orElse((error) => isDeferred ? Result.succeed<unknown>(input) : Result.fail(error)))
}

/** Adds the calls for which an answer asks for approval. Only an agent can wait for that, so nothing is added for other callers. */
export const withApprovals = (asked: Asked, content: ReadonlyArray<Content>): Asked => {
  const ids = asked.isDeferred
    ? content.flatMap((part) => part.type === "tool-approval-request" ? [part.toolCallId] : [])
      .filter((id) => !content.some((part) => part.type === "tool-result" && part.toolCallId === id))
    : []
  return ids.length === 0 ? asked : { ...asked, awaitsApproval: (id) => ids.includes(id) }
}

/**
 * Returns the part for a call. If the provider ran it by a tool that wasn't offered, it is only carried and sent back, unless the provider
 * asks for an approval first.
 */
const toCall = (part: Of<"tool-call">, asked: Asked): Read => {
  if (part.toolName.trim() === "") {
    return Result.fail(new AiError.InvalidOutputError({ description: "The model called a tool without a name" }))
  }
  const name = asked.nameOf(part.toolName)
  const isTheirs = part.providerExecuted === true
  return Result.map(
    parse(part, asked),
    (params) =>
      isTheirs && !asked.isOffered(name) && !asked.awaitsApproval(part.toolCallId)
        ? carry({
          type: "tool-call",
          toolCallId: part.toolCallId,
          toolName: part.toolName,
          input: params,
          providerExecuted: true
        }, part.providerMetadata)
        : {
          type: "tool-call",
          id: part.toolCallId,
          name,
          params: asked.paramsOf(name, params),
          ...(isTheirs ? { providerExecuted: true } : undefined),
          ...toMetadata(part.providerMetadata)
        }
  )
}

const toResult = (part: Of<"tool-result">, asked: Asked): Response.PartEncoded | undefined => {
  const name = asked.nameOf(part.toolName)
  const isFailure = part.isError === true
  if (asked.isOffered(name)) {
    return {
      type: "tool-result",
      id: part.toolCallId,
      name,
      result: part.result,
      isFailure,
      providerExecuted: true,
      ...(part.preliminary === true ? { preliminary: true } : undefined),
      ...toMetadata(part.providerMetadata)
    }
  }
  // Only the final result is sent back.
  return part.preliminary === true
    ? undefined
    : carry({
      type: "tool-result",
      toolCallId: part.toolCallId,
      toolName: part.toolName,
      output: { type: isFailure ? "error-json" : "json", value: part.result }
    }, part.providerMetadata)
}

const toFile = (part: Of<"file">): Response.PartEncoded => {
  const data = fromData(part.data)
  return {
    type: "file",
    mediaType: part.mediaType,
    data: "url" in data ? "" : data.base64,
    // A file of `effect/ai` has bytes. A file that has only an address is carried and sent back.
    ...toMetadata(
      part.providerMetadata,
      "url" in data ? { carries: { type: "file", mediaType: part.mediaType, data: data.url } } : undefined
    )
  }
}

const toSource = (part: Of<"source">): Response.PartEncoded | undefined => {
  const { id, providerMetadata } = part
  if (part.sourceType === "url") {
    const { title = part.url, url } = part
    if (!URL.canParse(url)) return undefined
    return { type: "source", sourceType: "url", id, url, title, ...toMetadata(providerMetadata) }
  }
  const { filename, mediaType, title } = part
  return {
    type: "source",
    sourceType: "document",
    id,
    mediaType,
    title,
    ...(filename === undefined ? undefined : { fileName: filename }),
    ...toMetadata(providerMetadata)
  }
}

const carriedFile = (part: Of<"reasoning-file">): Response.PartEncoded => {
  const data = fromData(part.data)
  return carry({
    type: "reasoning-file",
    mediaType: part.mediaType,
    data: "url" in data ? data.url : data.base64
  }, part.providerMetadata)
}

/** Citations of a text are in its metadata, under `ai-sdk`. */
export const citing = (part: object): { readonly citations: ReadonlyArray<unknown> } | undefined =>
  "citations" in part && Array.isArray(part.citations) && part.citations.length > 0
    ? { citations: part.citations }
    : undefined

/** Returns the part for a piece of content, if there is one. */
export const toPart = (
  part: Content,
  asked: Asked
): Result.Result<Response.PartEncoded | undefined, AiError.AiErrorReason> => {
  switch (part.type) {
    case "text":
      return Result.succeed({ type: "text", text: part.text, ...toMetadata(part.providerMetadata, citing(part)) })
    case "reasoning":
      return Result.succeed({ type: "reasoning", text: part.text, ...toMetadata(part.providerMetadata) })
    case "file":
      return Result.succeed(toFile(part))
    case "source":
      return Result.succeed(toSource(part))
    case "tool-call":
      return toCall(part, asked)
    case "tool-result":
      return Result.succeed(toResult(part, asked))
    case "tool-approval-request":
      return Result.succeed({
        type: "tool-approval-request",
        approvalId: part.approvalId,
        toolCallId: part.toolCallId,
        ...toMetadata(part.providerMetadata)
      })
    case "custom":
      return Result.succeed(carry({ type: "custom", kind: part.kind }, part.providerMetadata))
    case "reasoning-file":
      return Result.succeed(carriedFile(part))
    default:
      throw new TypeError(`there is no part of type "${String((part as { readonly type: unknown }).type)}"`)
  }
}
