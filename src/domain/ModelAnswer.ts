/**
 * The model's answer as parts of a turn, from the parts of a response, whole or streamed.
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"
import type * as Schema from "effect/Schema"
import { maxLevels } from "./ForeignValue.ts"
import * as JsonValue from "./JsonValue.ts"
import { fromOutput } from "./PartCopy.ts"
import { dataOf, withMetadata } from "./PartFields.ts"
import type { AssistantPart, Call, Settled } from "./StateSchema.ts"
import type { RequestUsage } from "./Usage.ts"

/** The model's whole answer. */
export interface Answer {
  readonly parts: ReadonlyArray<AssistantPart>
  readonly usage: RequestUsage
  readonly model: string | undefined
  readonly finishReason: Response.FinishReason
}

/**
 * What arrives in pieces: the texts and reasonings that have begun, and the names of the calls. Texts and reasonings are apart, because some
 * providers give a text the id of a reasoning.
 */
interface Pieces {
  readonly Text: Map<string, ArrivingText>
  readonly Reasoning: Map<string, ArrivingText>
  readonly names: Map<string, string>
}

/**
 * An answer while its parts arrive. A text or a reasoning that streams has a slot in `parts`, which is filled when it ends. An answer that
 * comes whole has no `pieces`.
 */
export interface Arriving {
  readonly parts: Array<AssistantPart | undefined>
  pieces: Pieces | undefined
  usage: RequestUsage
  model: string | undefined
  finishReason: Response.FinishReason
}

interface ArrivingText {
  readonly index: number
  text: string
  metadata: Attached
}

/** Begins an answer. */
export const begin = (): Arriving => ({
  parts: [],
  pieces: undefined,
  usage: {},
  model: undefined,
  finishReason: "unknown"
})

/** Checks whether something of an answer has arrived. */
export const hasBegun = ({ parts, pieces }: Arriving): boolean => parts.length > 0 || pieces !== undefined

type Decoded =
  | Response.AllParts<{}>
  | Response.ToolCallPart<string, unknown>
  | Response.ToolResultPart<string, unknown, unknown>

type Attached = Response.ProviderMetadata | undefined

type ReadOf<Part> = Part extends Decoded
  ? Omit<Part, "~effect/ai/Response/Part" | "metadata"> & { readonly metadata?: Attached }
  : never

/** A part as a model returns it. Calls aren't decoded yet. */
export type Incoming = ReadOf<Decoded>

type Of<Type extends Incoming["type"]> = Extract<Incoming, { readonly type: Type }>

type Spoken = "Text" | "Reasoning"

const spoken = (tag: Spoken, text: string, metadata: Attached): AssistantPart => ({
  _tag: tag,
  text,
  ...withMetadata(metadata)
})

/** Checks whether a text is kept. An empty one is kept if its provider attached metadata to it. */
const says = (spoken: { readonly text: string; readonly metadata?: Attached }): boolean =>
  spoken.text !== "" || Object.keys(spoken.metadata ?? {}).length > 0

const merge = (before: Attached, more: Attached): Attached => {
  for (const _ in more) {
    const merged: Record<string, Schema.Json> = { ...before }
    for (const [provider, value] of Object.entries(more)) {
      const earlier = merged[provider]
      merged[provider] = isRecord(earlier) && isRecord(value) ? { ...earlier, ...value } : value
    }
    return merged
  }
  return before
}

const isRecord = (json: Schema.Json | undefined): json is { readonly [key: string]: Schema.Json } =>
  typeof json === "object" && json !== null && !Array.isArray(json)

const counted = (tokens: number | undefined, most = Number.MAX_SAFE_INTEGER): number | undefined =>
  Number.isSafeInteger(tokens) && tokens! >= 0 && tokens! <= most ? tokens : undefined

/** Returns the tokens that a provider reports. An impossible number, such as a negative one, counts as unknown, like a missing one. */
const usageOf = ({ inputTokens, outputTokens }: Response.Usage): RequestUsage => {
  const input = counted(inputTokens.total)
  const output = counted(outputTokens.total)
  const reasoning = counted(outputTokens.reasoning, output)
  const cached = counted(inputTokens.cacheRead, input)
  const usage: { -readonly [Kind in keyof RequestUsage]: RequestUsage[Kind] } = {}
  if (input !== undefined) usage.input = input
  if (output !== undefined) usage.output = output
  if (reasoning !== undefined) usage.reasoning = reasoning
  if (cached !== undefined) usage.cached = cached
  return usage
}

/** Settles a call whose parameters or result are nested too deeply: some programs couldn't read a state that holds them. */
const tooDeep = (what: string): Settled => ({
  _tag: "Settled",
  outcome: "Failed",
  result: `${what} nested more than ${maxLevels} levels deep.`
})

const callOf = (part: Of<"tool-call">): Call => {
  const params = JsonValue.within(part.params)
  return {
    _tag: "Call",
    id: part.id,
    name: part.name,
    params: params ?? {},
    state: params === undefined ? tooDeep("This call was not run: its parameters are") : { _tag: "Pending" },
    ...(part.providerExecuted ? { providerExecuted: true } : undefined),
    ...withMetadata(part.metadata)
  }
}

const settledOf = (part: Of<"tool-result">): Settled => {
  const result = JsonValue.within(part.encodedResult)
  return result === undefined ? tooDeep("The provider gave a result that is") : {
    _tag: "Settled",
    outcome: part.isFailure ? "Failed" : "Succeeded",
    result,
    ...(part.modelOutput === undefined
      ? undefined
      : { modelOutput: fromOutput("a provider's result", part.modelOutput) }),
    ...withMetadata(part.metadata)
  }
}

/**
 * Puts a result into the call that the provider ran: of the calls with its id and no result, the one of its name, or else the first. If
 * there is no such call, one is made from the result.
 */
const settle = (self: Arriving, part: Of<"tool-result">): void => {
  if (part.preliminary) return
  const state = settledOf(part)
  const open = self.parts.filter((other): other is Call =>
    other?._tag === "Call" && other.id === part.id && other.state._tag !== "Settled"
  )
  const call = open.find(({ name }) => name === part.name) ?? open[0]
  if (call !== undefined) self.parts[self.parts.indexOf(call)] = { ...call, state }
  else {
    self.parts.push({ _tag: "Call", id: part.id, name: part.name, params: {}, state, providerExecuted: true })
  }
}

/** Takes in a part of a response. */
export const add = (self: Arriving, part: Incoming): void => {
  switch (part.type) {
    case "text":
      if (says(part)) self.parts.push(spoken("Text", part.text, part.metadata))
      break
    case "reasoning":
      if (says(part)) self.parts.push(spoken("Reasoning", part.text, part.metadata))
      break
    case "text-start":
      start(self, "Text", part.id, part.metadata)
      break
    case "reasoning-start":
      start(self, "Reasoning", part.id, part.metadata)
      break
    case "text-delta":
      grow(self, "Text", part)
      break
    case "reasoning-delta":
      grow(self, "Reasoning", part)
      break
    case "text-end":
      end(self, "Text", part.id, part.metadata)
      break
    case "reasoning-end":
      end(self, "Reasoning", part.id, part.metadata)
      break
    case "file":
      self.parts.push({
        _tag: "File",
        mediaType: part.mediaType,
        data: dataOf(part.data),
        ...withMetadata(part.metadata)
      })
      break
    case "source":
      self.parts.push(
        part.sourceType === "url"
          ? { _tag: "Source", id: part.id, title: part.title, url: part.url.href, ...withMetadata(part.metadata) }
          : {
            _tag: "Source",
            id: part.id,
            title: part.title,
            mediaType: part.mediaType,
            ...(part.fileName === undefined ? undefined : { fileName: part.fileName }),
            ...withMetadata(part.metadata)
          }
      )
      break
    case "tool-call":
      self.parts.push(callOf(part))
      break
    case "tool-result":
      settle(self, part)
      break
    case "finish":
      self.finishReason = part.reason
      self.usage = usageOf(part.usage)
      break
    case "tool-params-start":
      piecesOf(self).names.set(part.id, part.name)
      break
    case "response-metadata":
      self.model = part.modelId ?? self.model
      break
    case "tool-approval-request": {
      const at = self.parts.findLastIndex((other) => other?._tag === "Call" && other.id === part.toolCallId)
      const call = self.parts[at]
      if (call?._tag === "Call" && call.providerExecuted === true && call.state._tag === "Pending") {
        self.parts[at] = { ...call, approvalId: part.approvalId }
      }
      break
    }
    case "tool-params-delta":
    case "tool-params-end":
    case "error":
      break
  }
}

const piecesOf = (self: Arriving): Pieces => self.pieces ??= { Text: new Map(), Reasoning: new Map(), names: new Map() }

const start = (self: Arriving, tag: Spoken, id: string, metadata: Attached): ArrivingText => {
  end(self, tag, id, undefined)
  const text: ArrivingText = { index: self.parts.length, text: "", metadata }
  piecesOf(self)[tag].set(id, text)
  self.parts.push(undefined)
  return text
}

/** Adds a piece. A piece whose start never came begins a text or a reasoning itself, because it was shown like any other piece. */
const grow = (self: Arriving, tag: Spoken, part: Of<"text-delta" | "reasoning-delta">): void => {
  const text = piecesOf(self)[tag].get(part.id) ?? start(self, tag, part.id, undefined)
  text.text += part.delta
  text.metadata = merge(text.metadata, part.metadata)
}

const end = (self: Arriving, tag: Spoken, id: string, metadata: Attached): void => {
  const text = self.pieces?.[tag].get(id)
  if (text === undefined) return
  self.pieces?.[tag].delete(id)
  text.metadata = merge(text.metadata, metadata)
  if (says(text)) self.parts[text.index] = spoken(tag, text.text, text.metadata)
}

/** Finish reasons of a response that ended before the model was done, so that its calls may be incomplete. */
const cutShort: ReadonlyArray<Response.FinishReason> = ["length", "content-filter", "error"]

/** Settles the calls that no handler may run: those that the provider ran, and those that were cut short. */
const settleAtOnce = (call: Call, finishReason: Response.FinishReason): Call => {
  if (call.state._tag === "Settled") return call
  if (call.providerExecuted === true && call.approvalId === undefined) {
    const result = "The provider gave no result for this call."
    return { ...call, state: { _tag: "Settled", outcome: "Interrupted", result } }
  }
  if (!cutShort.includes(finishReason)) return call
  const result = `This call was not run: the response ended early ("${finishReason}").`
  return { ...call, state: { _tag: "Settled", outcome: "Interrupted", result } }
}

/** Ends an answer. Unfinished text is kept. Unfinished reasoning may lack its signature, so it is dropped. */
export const finish = (self: Arriving): Answer => {
  for (const id of self.pieces?.Text.keys() ?? []) end(self, "Text", id, undefined)
  const parts: Array<AssistantPart> = []
  for (const part of self.parts) {
    if (part !== undefined) parts.push(part._tag === "Call" ? settleAtOnce(part, self.finishReason) : part)
  }
  // A copy has no room for more parts.
  return { parts: parts.slice(), usage: self.usage, model: self.model, finishReason: self.finishReason }
}

/** Makes an answer from all of its parts. */
export const fromParts = (parts: Iterable<Incoming>): Answer => {
  const answer = begin()
  for (const part of parts) add(answer, part)
  return finish(answer)
}
