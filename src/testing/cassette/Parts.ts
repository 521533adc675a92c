/**
 * Parts of answers on their way: as a model returns them, as a provider sends them, and as a tape has them.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as DateTime from "effect/DateTime"
import * as Base64 from "effect/encoding/Base64"
import * as Schema from "effect/Schema"
import type { Incoming } from "../../domain/ModelAnswer.ts"
import type { AssistantPart, Call } from "../../domain/StateSchema.ts"
import type { ResponsePart } from "../MockResponse.ts"

const encodeModelOutput = Schema.encodeSync(Schema.Array(Prompt.ToolModelOutputPart))

const finish = (
  { metadata, reason, usage }: Extract<Incoming, { readonly type: "finish" }>
): Response.FinishPartEncoded => ({
  type: "finish",
  reason,
  usage: { inputTokens: { ...usage.inputTokens }, outputTokens: { ...usage.outputTokens } },
  metadata
})

/** Returns a part of a model's answer in the form in which its provider sent it. */
export const encode = (part: Incoming): Response.AllPartsEncoded => {
  switch (part.type) {
    case "tool-result": {
      const { encodedResult, id, isFailure, metadata, modelOutput, name, preliminary, providerExecuted, type } = part
      const result = {
        type,
        id,
        name,
        result: encodedResult as unknown,
        isFailure,
        preliminary,
        providerExecuted,
        metadata
      }
      return modelOutput === undefined ? result : { ...result, modelOutput: encodeModelOutput(modelOutput) }
    }
    case "file":
      return { type: "file", mediaType: part.mediaType, data: Base64.encode(part.data), metadata: part.metadata }
    case "source":
      return part.sourceType === "url" ? { ...part, url: part.url.href } : part
    case "finish":
      return finish(part)
    case "response-metadata": {
      const { request: _, timestamp, ...rest } = part as typeof part & { readonly request?: unknown }
      return timestamp === undefined ? { ...rest, timestamp } : { ...rest, timestamp: DateTime.formatIso(timestamp) }
    }
    default:
      return part as Response.AllPartsEncoded
  }
}

interface Metadata {
  readonly metadata?: AssistantPart["metadata"]
}

const metadataOf = ({ metadata }: Metadata): Metadata | undefined => metadata === undefined ? undefined : { metadata }

/** A call, followed by its result if the provider has run it, or by the provider's request for an approval. */
const call = (part: Call): ReadonlyArray<ResponsePart> => {
  const { approvalId, id, name, params, providerExecuted, state } = part
  const asked: ResponsePart = {
    type: "tool-call",
    id,
    name,
    params,
    ...(providerExecuted === true ? { providerExecuted } : undefined),
    ...metadataOf(part)
  }
  if (approvalId !== undefined) return [asked, { type: "tool-approval-request", approvalId, toolCallId: id }]
  if (providerExecuted !== true || state._tag !== "Settled" || state.outcome === "Interrupted") return [asked]
  const { modelOutput, outcome, result } = state
  return [asked, {
    type: "tool-result",
    id,
    name,
    result,
    isFailure: outcome !== "Succeeded",
    providerExecuted,
    ...(modelOutput === undefined ? undefined : { modelOutput: encodeModelOutput(modelOutput) }),
    ...metadataOf(state)
  }]
}

const dataOf = (data: Prompt.FilePart["data"]): string =>
  typeof data === "string" ? data : data instanceof URL ? data.href : Base64.encode(data)

/** Returns a part of a turn as a provider sends it. */
export const fromTurn = (part: AssistantPart): ReadonlyArray<ResponsePart> => {
  switch (part._tag) {
    case "Text":
      return [{ type: "text", text: part.text, ...metadataOf(part) }]
    case "Reasoning":
      return [{ type: "reasoning", text: part.text, ...metadataOf(part) }]
    case "File":
      return [{ type: "file", mediaType: part.mediaType, data: dataOf(part.data), ...metadataOf(part) }]
    case "Source": {
      const { fileName, id, mediaType = "", title, url } = part
      const source = { type: "source", id, title, ...metadataOf(part) } as const
      return url === undefined
        ? [{ ...source, sourceType: "document", mediaType, ...(fileName === undefined ? undefined : { fileName }) }]
        : [{ ...source, sourceType: "url", url }]
    }
    case "Call":
      return call(part)
  }
}
