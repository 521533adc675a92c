/**
 * The items of a response: their shapes and their ids.
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"
import * as Predicate from "effect/Predicate"
import { isSource, type Metadata, type Part, type Source } from "./Part.ts"
import type { Fields, Ids } from "./Protocol.ts"

/** Whether a file is what a model of this provider makes: an image. */
const isImage = (part: Part): part is Response.FilePartEncoded =>
  part.type === "file" && part.mediaType.startsWith("image/")

/** Whether a part shows in a response. The result of a provider's tool is in the item of its call, and so is a request for an approval. */
export const shows = (part: Part): boolean =>
  part.type !== "finish" && part.type !== "response-metadata" && part.type !== "tool-result" &&
  part.type !== "tool-approval-request" &&
  (part.type !== "file" || isImage(part))

const ownString = (metadata: Metadata, key: string): string | undefined => {
  const own = metadata?.openai
  return Predicate.hasProperty(own, key) && typeof own[key] === "string" ? own[key] : undefined
}

/** The id of the reasoning that the call of this id came with. */
export const thoughtOf = (callId: string): string | undefined => {
  const found = /^fc_(.+)_rs\d+$/.exec(callId)
  return found === null ? undefined : `rs_${found[1]}`
}

/** An item of a response, whatever its type. */
export interface Item extends Fields {
  readonly id: string
  readonly type: string
}

/** Makes the items of one response, in order. A call that comes with reasoning has an id that says so. */
export class Items {
  readonly #ids: Ids
  readonly #isEncrypted: boolean
  readonly #results: ReadonlyMap<string, Response.ToolResultPartEncoded>
  readonly #approvals: ReadonlyMap<string, string>
  #thought: string | undefined
  #calls = 0

  constructor(parts: ReadonlyArray<Part>, ids: Ids, isEncrypted: boolean) {
    this.#ids = ids
    this.#isEncrypted = isEncrypted
    this.#results = new Map(
      parts.flatMap((part) => part.type === "tool-result" ? [[part.id, part] as const] : [])
    )
    this.#approvals = new Map(
      parts.flatMap((part) =>
        part.type === "tool-approval-request" ? [[part.toolCallId, part.approvalId] as const] : []
      )
    )
  }

  message(): Item {
    return { id: this.#ids.next("msg_"), type: "message", status: "in_progress", content: [], role: "assistant" }
  }

  reasoning(metadata: Metadata): Item {
    const id = ownString(metadata, "itemId") ?? this.#ids.next("rs_")
    this.#thought = id.startsWith("rs_") ? id : undefined
    const encrypted = ownString(metadata, "encryptedContent") ??
      (this.#isEncrypted ? this.#ids.next("gAAAAAB") : undefined)
    return { id, type: "reasoning", summary: [], ...(encrypted === undefined ? {} : { encrypted_content: encrypted }) }
  }

  call(part: { readonly id: string; readonly name: string }): Item {
    const id = this.#thought === undefined
      ? this.#ids.next("fc_")
      : `fc_${this.#thought.slice("rs_".length)}_rs${this.#calls++}`
    return { id, type: "function_call", status: "in_progress", arguments: "", call_id: part.id, name: part.name }
  }

  image(part: Response.FilePartEncoded): Item {
    const id = this.#ids.next("ig_")
    return { id, type: "image_generation_call", status: "completed", result: part.data }
  }

  /** A call that the provider runs, with its result: a search, or a call of a tool server, which may first ask for an approval. */
  serverCall({ id: callId, metadata, name, params }: Response.ToolCallPartEncoded): Item {
    const approval = this.#approvals.get(callId)
    if (approval !== undefined) {
      const asked = { id: approval, type: "mcp_approval_request", name, server_label: "troupe" }
      return { ...asked, arguments: JSON.stringify(params ?? {}) }
    }
    const given = this.#results.get(callId)
    const isFailure = given?.isFailure === true
    if (name === "web_search" || name === "web_search_preview") {
      const query = Predicate.hasProperty(params, "query") ? String(params.query) : ""
      const id = this.#ids.next("ws_")
      return {
        id,
        type: "web_search_call",
        status: isFailure ? "failed" : "completed",
        action: { type: "search", query, queries: [query] }
      }
    }
    const result = given === undefined ? null : JSON.stringify(given.result ?? null)
    return {
      id: this.#ids.next("mcp_"),
      type: "mcp_call",
      status: isFailure ? "failed" : "completed",
      approval_request_id: ownString(metadata, "approvalRequestId") ?? null,
      arguments: JSON.stringify(params ?? {}),
      error: isFailure ? result : null,
      name,
      output: isFailure ? null : result,
      server_label: "troupe"
    }
  }
}

/** A part of a message's content. */
export const outputText = (text: string, annotations: ReadonlyArray<Fields>): Fields => ({
  type: "output_text",
  annotations,
  logprobs: [],
  text
})

/** A part of the summary of reasoning. */
export const summaryText = (text: string): Fields => ({ type: "summary_text", text })

/** A citation at the end of what is said so far. */
export const annotation = (source: Source, position: number): Fields =>
  source.sourceType === "url"
    ? { type: "url_citation", start_index: position, end_index: position, title: source.title, url: source.url }
    : { type: "file_citation", file_id: source.id, filename: source.fileName ?? source.title, index: position }

/** All items of a response. */
export const itemsOf = (parts: ReadonlyArray<Response.PartEncoded>, items: Items): ReadonlyArray<Fields> => {
  const made: Array<Fields> = []
  let said: { readonly item: Fields; readonly text: string; readonly annotations: Array<Fields> } | undefined
  for (const part of parts.filter(shows)) {
    if (said !== undefined && !isSource(part)) said = undefined
    if (part.type === "text" || (isSource(part) && said === undefined)) {
      said = { item: items.message(), text: part.type === "text" ? part.text : "", annotations: [] }
      made.push({ ...said.item, status: "completed", content: [outputText(said.text, said.annotations)] })
    }
    if (isSource(part)) said!.annotations.push(annotation(part, said!.text.length))
    if (part.type === "reasoning") {
      made.push({ ...items.reasoning(part.metadata), summary: part.text === "" ? [] : [summaryText(part.text)] })
    }
    if (isImage(part)) made.push(items.image(part))
    if (part.type === "tool-call") {
      made.push(
        part.providerExecuted === true
          ? items.serverCall(part)
          : { ...items.call(part), status: "completed", arguments: JSON.stringify(part.params ?? {}) }
      )
    }
  }
  return made
}
