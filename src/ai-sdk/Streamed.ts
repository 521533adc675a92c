/**
 * An answer that arrives part by part.
 *
 * @since 0.1.0
 */
import type { LanguageModelV3StreamPart, LanguageModelV4StreamPart, SharedV4Warning } from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Result from "effect/Result"
import { type Asked, citing, type Content, toPart, withApprovals } from "./Content.ts"
import { cutOff } from "./Failure.ts"
import { type Ending, finishPart, issueOf } from "./Finish.ts"
import { toMetadata } from "./Metadata.ts"
import { shown } from "./ShownHeaders.ts"
import { parse } from "./Thrown.ts"

/** A part of a stream, in either specification. */
export type Part = LanguageModelV3StreamPart | LanguageModelV4StreamPart

type Of<Type extends Content["type"]> = Extract<Content, { readonly type: Type }>

/** A call that the provider runs by a tool that wasn't offered, or what it says of one. */
type Theirs = Of<"tool-call" | "tool-result" | "tool-approval-request">

/** What is known of the answer so far, besides its parts. */
export interface Arriving {
  readonly asked: Asked
  readonly headers: Readonly<Record<string, string>> | undefined
  warnings: ReadonlyArray<SharedV4Warning>
  hasFinished: boolean
  calls: number
  isSpeaking: boolean
  carried: number
  /** The parameters of each call so far. Calls may arrive at once, and packages may send all of them at the end. */
  readonly written: Map<string, string>
  /** Calls of a provider's own tools, and what it says of them: the next part may ask for the approval of one. */
  held: Array<Theirs>
  /** Calls of a provider's own tools that were passed on as running, and have no result yet. */
  readonly running: Map<string, Of<"tool-call">>
  /** Calls that aren't shown, because the provider runs them with its own tools. */
  readonly hidden: Set<string>
  /** The list of the part that was read last, if it became one part, and the same list as a result. */
  readonly list: Array<Response.StreamPartEncoded>
  readonly read: Read
}

/** Begins an answer. */
export const begin = (asked: Asked, headers: Arriving["headers"]): Arriving => {
  const list: Arriving["list"] = []
  return {
    asked,
    headers,
    warnings: [],
    hasFinished: false,
    calls: 0,
    isSpeaking: false,
    carried: 0,
    written: new Map(),
    held: [],
    running: new Map(),
    hidden: new Set(),
    list,
    read: Result.succeed(list)
  }
}

/** Checks whether a part brings something of the answer. Packages and servers send other parts only as a sign of life. */
export const isNews = ({ type }: Part): boolean => type !== "stream-start" && type !== "ping" && type !== "raw"

type Read = Result.Result<ReadonlyArray<Response.StreamPartEncoded>, AiError.AiErrorReason>

const none: Read = Result.succeed([])

/** Returns the answer's list of one part, so that a delta costs no list. The next part takes its place. */
const one = ({ list, read }: Arriving, part: Response.StreamPartEncoded): Read => {
  list[0] = part
  return read
}

/** A reasoning part that carries something arrives whole, and is streamed as a start and an end. */
const streamed = (
  self: Arriving,
  part: Response.PartEncoded
): ReadonlyArray<Response.StreamPartEncoded> => {
  if (part.type === "text") return []
  if (part.type !== "reasoning") return [part]
  const id = `carried_${self.carried++}`
  return [
    { type: "reasoning-start", id, ...(part.metadata === undefined ? undefined : { metadata: part.metadata }) },
    { type: "reasoning-end", id }
  ]
}

const pageType = /^(text\/html|application\/(json|(xhtml\+)?xml))\b/i

/** Checks whether the response is a page, such as a proxy's, and nothing of an answer was in it. */
export const isPage = ({ calls, headers = {}, isSpeaking }: Arriving): boolean =>
  pageType.test(headers["content-type"] ?? "") && calls === 0 && !isSpeaking

/** Returns the reason of a stream that ended before the answer did. If the response is a page, a retry doesn't help. */
export const ended = (self: Arriving): AiError.AiErrorReason => {
  const { headers = {} } = self
  const type = headers["content-type"] ?? ""
  return isPage(self)
    ? new AiError.InvalidResponseError({
      description: `The response isn't a stream but ${type}`,
      http: { response: { status: 200, headers: shown(headers) } }
    })
    : cutOff()
}

/**
 * Checks whether a finish reason was made up by a package because the provider sent none, so that the stream ended too early. Packages then
 * say `other`, an interruption, or tool calls; a provider that says tool calls itself also reports its usage.
 */
const isCutOff = ({ finishReason: { raw, unified }, usage: { inputTokens, outputTokens } }: Ending): boolean =>
  unified === "interrupted" || (typeof raw !== "string" &&
    (unified === "other" || (unified === "tool-calls" && (inputTokens.total ?? outputTokens.total) === undefined)))

const finish = (self: Arriving, part: Extract<Part, { readonly type: "finish" }>): Read => {
  const issue = isCutOff(part) ? ended(self) : issueOf(part, self)
  if (issue !== undefined) return Result.fail(issue)
  self.hasFinished = true
  return one(self, finishPart(part, self))
}

type Taken = Exclude<Part, { readonly type: "error" }>

const isKnown = ({ held, running }: Arriving, { toolCallId }: Theirs): boolean =>
  held.length > 0 || running.has(toolCallId)

/** Checks whether a part is about a call that the provider runs by a tool that wasn't offered. */
const isTheirs = (self: Arriving, part: Taken): part is Theirs => {
  const { asked } = self
  switch (part.type) {
    case "tool-call":
      return part.providerExecuted === true && !asked.isOffered(asked.nameOf(part.toolName))
    case "tool-result":
      return isKnown(self, part) && !asked.isOffered(asked.nameOf(part.toolName))
    case "tool-approval-request":
      return isKnown(self, part)
    default:
      return false
  }
}

/** Holds a part until a part of another kind arrives. If it asks for the approval of a call that was passed on, holds that call too. */
const hold = (self: Arriving, part: Theirs): void => {
  const { held, running } = self
  if (part.type === "tool-call") self.calls++
  const again = part.type === "tool-approval-request" ? running.get(part.toolCallId) : undefined
  if (again !== undefined && !held.includes(again)) held.push(again)
  held.push(part.type === "tool-call" ? asWritten(self, part) : part)
}

/** Checks whether a part is a running call that was passed on before. Also notes in `running` whether the part's call runs. */
const isPassed = ({ running }: Arriving, part: Theirs, asked: Asked): boolean => {
  if (part.type === "tool-approval-request") return false
  const { toolCallId } = part
  if (part.type === "tool-result" || asked.awaitsApproval(toolCallId)) {
    running.delete(toolCallId)
    return false
  }
  if (running.get(toolCallId) === part) return true
  running.set(toolCallId, part)
  return false
}

/** Takes a part, and returns the parts that it becomes. Parts that report an error are handled elsewhere. */
export const take = (self: Arriving, part: Taken): Read => {
  if (isTheirs(self, part)) {
    hold(self, part)
    return none
  }
  const { held } = self
  if (held.length === 0 || !isNews(part)) return takeOne(self, part)
  const own = takeOne(self, part)
  // Parameters of a call that isn't shown: the call itself follows, and is held too.
  if (own === none && part.type.startsWith("tool-input-")) return none
  self.held = []
  const asked = withApprovals(self.asked, held)
  let before: Read = none
  for (const each of held) {
    if (isPassed(self, each, asked)) continue
    before = Result.flatMap(before, (parts) => Result.map(spoken(self, each, asked), (more) => [...parts, ...more]))
  }
  return Result.flatMap(before, (before) => Result.map(own, (parts) => [...before, ...parts]))
}

const takeOne = (self: Arriving, part: Taken): Read => {
  if (part.type === "tool-call") self.calls++
  if (part.type === "text-delta" || part.type === "file") self.isSpeaking ||= part.type === "file" || part.delta !== ""
  switch (part.type) {
    case "text-start":
    case "reasoning-start":
    case "reasoning-end":
      return one(self, { type: part.type, id: part.id, ...toMetadata(part.providerMetadata) })
    case "text-end":
      return one(self, { type: "text-end", id: part.id, ...toMetadata(part.providerMetadata, citing(part)) })
    case "text-delta":
    case "reasoning-delta":
      // Without metadata, a delta is passed on as it is.
      return part.providerMetadata !== undefined
        ? one(self, { type: part.type, id: part.id, delta: part.delta, ...toMetadata(part.providerMetadata) })
        : part.delta === ""
        ? none
        : one(self, part)
    case "tool-input-start": {
      self.written.set(part.id, "")
      const name = self.asked.nameOf(part.toolName)
      const isTheirs = part.providerExecuted === true
      if (isTheirs && !self.asked.isOffered(name)) {
        self.hidden.add(part.id)
        return none
      }
      return one(self, {
        type: "tool-params-start",
        id: part.id,
        name,
        ...(isTheirs ? { providerExecuted: true } : undefined),
        ...toMetadata(part.providerMetadata)
      })
    }
    case "tool-input-delta":
      self.written.set(part.id, (self.written.get(part.id) ?? "") + part.delta)
      return self.hidden.has(part.id)
        ? none
        : one(self, { type: "tool-params-delta", id: part.id, delta: part.delta, ...toMetadata(part.providerMetadata) })
    case "tool-input-end":
      return self.hidden.has(part.id)
        ? none
        : one(self, { type: "tool-params-end", id: part.id, ...toMetadata(part.providerMetadata) })
    case "stream-start":
      self.warnings = part.warnings
      return none
    case "response-metadata":
      return one(self, responsePart(part))
    case "finish":
      return finish(self, part)
    case "ping":
    case "raw":
      return none
    case "custom":
      // The start of a message shows that the stream is alive, and has no content.
      return part.kind.endsWith(".message_start") ? none : spoken(self, part)
    case "tool-call":
      return spoken(self, asWritten(self, part))
    default:
      return spoken(self, part)
  }
}

/** Returns a call with the parameters that the model wrote: a package may have replaced what it couldn't read by empty ones. */
const asWritten = ({ written }: Arriving, part: Of<"tool-call">): Of<"tool-call"> => {
  const text = part.input === "{}" ? written.get(part.toolCallId) : undefined
  return text === undefined || parse(text) !== undefined ? part : { ...part, input: text }
}

const spoken = (self: Arriving, part: Content, asked = self.asked): Read =>
  Result.map(toPart(part, asked), (made) => made === undefined ? [] : streamed(self, made))

/** Returns the part with the response's id, its model and its time. */
export const responsePart = (
  { id, modelId, timestamp }: {
    readonly id?: string | undefined
    readonly modelId?: string | undefined
    readonly timestamp?: Date | undefined
  }
): Response.ResponseMetadataPartEncoded => ({
  type: "response-metadata",
  ...(id === undefined ? undefined : { id }),
  ...(modelId === undefined ? undefined : { modelId }),
  ...(timestamp === undefined || Number.isNaN(timestamp.getTime()) ? undefined : { timestamp: timestamp.toISOString() })
})
