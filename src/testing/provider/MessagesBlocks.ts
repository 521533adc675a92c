/**
 * The blocks of a message: whole, and in the events of a stream.
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"
import * as Predicate from "effect/Predicate"
import { isSource, type Metadata, type Part, type Source } from "./Part.ts"
import { type Fields, type Ids, jsonOf, type WireEvent } from "./Protocol.ts"

const direct = { type: "direct" }

/** Returns the provider's own metadata of a part. */
export const ofAnthropic = (metadata: Metadata): Readonly<Record<string, unknown>> => {
  const own = metadata?.anthropic
  return Predicate.isReadonlyObject(own) ? Predicate.isReadonlyObject(own.info) ? own.info : own : {}
}

const stringOf = (value: unknown): string | undefined => typeof value === "string" ? value : undefined

/** The encrypted data of reasoning whose text the provider doesn't show. */
const redacted = (metadata: Metadata): string | undefined => stringOf(ofAnthropic(metadata).redactedData)

const signatureOf = (metadata: Metadata, ids: Ids): string =>
  stringOf(ofAnthropic(metadata).signature) ?? ids.next("EqQBCgIYAhIM")

const toolUse = (
  { id, name, providerExecuted }: {
    readonly id: string
    readonly name: string
    readonly providerExecuted?: boolean | undefined
  },
  input: unknown
): Fields => ({
  type: providerExecuted === true ? "server_tool_use" : "tool_use",
  id,
  name,
  input: jsonOf(input),
  caller: direct
})

const withoutCaller = /^(?!web_)/

/** Adds the fields that results of a search have and scripts leave out. */
const contentOf = (name: string, result: unknown): unknown =>
  name === "web_search" && Array.isArray(result)
    ? result.map((found: unknown) =>
      Predicate.isReadonlyObject(found)
        ? { type: "web_search_result", title: "", encrypted_content: "", page_age: null, ...found }
        : found
    )
    : result

const toolResult = ({ id, name, result }: Response.ToolResultPartEncoded): Fields => ({
  type: name.startsWith("tool_search_tool") ? "tool_search_tool_result" : `${name}_tool_result`,
  tool_use_id: id,
  content: jsonOf(contentOf(name, result)),
  ...(withoutCaller.test(name) ? undefined : { caller: direct })
})

const citation = (source: Source, ids: Ids): Fields => {
  const own = ofAnthropic(source.metadata)
  const cited = stringOf(own.citedText) ?? ""
  if (source.sourceType === "url") {
    return {
      type: "web_search_result_location",
      cited_text: cited,
      url: source.url,
      title: source.title,
      encrypted_index: stringOf(own.encryptedIndex) ?? ids.next("Eo8BCioIAhgB")
    }
  }
  const numberOf = (value: unknown, otherwise: number): number => typeof value === "number" ? value : otherwise
  const start = numberOf(own.startCharIndex, 0)
  return {
    type: "char_location",
    cited_text: cited,
    document_index: numberOf(own.documentIndex, 0),
    document_title: source.title,
    file_id: null,
    start_char_index: start,
    end_char_index: numberOf(own.endCharIndex, start + cited.length)
  }
}

/** Whether a part shows in a message. Files don't, since a model of this provider makes none. */
export const shows = ({ type }: Part): boolean =>
  type !== "file" && type !== "finish" && type !== "response-metadata" && type !== "tool-approval-request"

/** All blocks of a message. A source is cited by the text before it. */
export const blocksOf = (parts: ReadonlyArray<Response.PartEncoded>, ids: Ids): ReadonlyArray<Fields> => {
  const blocks: Array<Fields> = []
  let citations: Array<Fields> | undefined
  for (const part of parts.filter(shows)) {
    if (!isSource(part)) citations = undefined
    if (part.type === "text") blocks.push({ type: "text", text: part.text })
    if (part.type === "reasoning") {
      const data = redacted(part.metadata)
      blocks.push(
        data === undefined
          ? { type: "thinking", thinking: part.text, signature: signatureOf(part.metadata, ids) }
          : { type: "redacted_thinking", data }
      )
    }
    if (part.type === "tool-call") blocks.push(toolUse(part, part.params ?? {}))
    if (part.type === "tool-result") blocks.push(toolResult(part))
    if (isSource(part)) {
      if (citations === undefined) {
        const said = blocks.at(-1)?.type === "text" ? blocks.pop() : undefined
        blocks.push({ type: "text", text: "", ...said, citations: citations = [] })
      }
      citations.push(citation(part, ids))
    }
  }
  return blocks
}

/** Writes the events of a stream's parts, block after block. */
export class Events {
  readonly #ids: Ids
  readonly #redacted: ReadonlyMap<string, string>
  readonly #indices = new Map<string, number>()
  readonly #called = new Set<string>()
  #count = 0
  #isCiting = false

  constructor(parts: ReadonlyArray<Response.StreamPartEncoded>, ids: Ids) {
    this.#ids = ids
    this.#redacted = new Map(parts.flatMap((part) => {
      if (part.type !== "reasoning-end") return []
      const data = redacted(part.metadata)
      return data === undefined ? [] : [[part.id, data] as const]
    }))
  }

  /** The events of a part. Text that is cited by the `next` part stays open for it. */
  of(part: Response.StreamPartEncoded, next: Response.StreamPartEncoded | undefined): ReadonlyArray<WireEvent> {
    switch (part.type) {
      case "text-start":
        return [this.#start(part.id, { type: "text", text: "" })]
      case "text-delta":
        return [this.#delta(part.id, { type: "text_delta", text: part.delta })]
      case "text-end":
        this.#isCiting = isSource(next)
        return this.#isCiting ? [] : [this.#stop(part.id)]
      case "reasoning-start": {
        const data = this.#redacted.get(part.id)
        return [this.#start(
          part.id,
          data === undefined ? { type: "thinking", thinking: "", signature: "" } : { type: "redacted_thinking", data }
        )]
      }
      case "reasoning-delta":
        return this.#redacted.has(part.id)
          ? []
          : [this.#delta(part.id, { type: "thinking_delta", thinking: part.delta })]
      case "reasoning-end":
        return this.#redacted.has(part.id) ? [this.#stop(part.id)] : [
          this.#delta(part.id, { type: "signature_delta", signature: signatureOf(part.metadata, this.#ids) }),
          this.#stop(part.id)
        ]
      case "tool-params-start":
        this.#called.add(part.id)
        return [this.#start(part.id, toolUse(part, {})), this.#input(part.id, "")]
      case "tool-params-delta":
        return [this.#input(part.id, part.delta)]
      case "tool-params-end":
        return [this.#stop(part.id)]
      case "tool-call":
        return this.#called.has(part.id) ? [] : [
          this.#start(part.id, toolUse(part, {})),
          this.#input(part.id, JSON.stringify(part.params ?? {})),
          this.#stop(part.id)
        ]
      case "tool-result":
        return [this.#start(part.id, toolResult(part)), this.#stop(part.id)]
      case "source":
        return this.#cite(part, isSource(next))
      default:
        return []
    }
  }

  #cite(source: Source, isCitedOn: boolean): ReadonlyArray<WireEvent> {
    const opened = this.#isCiting ? [] : [this.#start(source.id, { type: "text", text: "" })]
    this.#isCiting = isCitedOn
    const index = this.#count - 1
    return [
      ...opened,
      { type: "content_block_delta", index, delta: { type: "citations_delta", citation: citation(source, this.#ids) } },
      ...(isCitedOn ? [] : [{ type: "content_block_stop", index }])
    ]
  }

  #input(id: string, json: string): WireEvent {
    return this.#delta(id, { type: "input_json_delta", partial_json: json })
  }

  #start(id: string, block: Fields): WireEvent {
    const index = this.#count++
    this.#indices.set(id, index)
    return { type: "content_block_start", index, content_block: block }
  }

  #index(id: string): number {
    return this.#indices.get(id) ?? this.#count
  }

  #delta(id: string, delta: Fields): WireEvent {
    return { type: "content_block_delta", index: this.#index(id), delta }
  }

  #stop(id: string): WireEvent {
    return { type: "content_block_stop", index: this.#index(id) }
  }
}
