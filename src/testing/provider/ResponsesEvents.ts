/**
 * The events of a streamed response.
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"
import { isSource } from "./Part.ts"
import type { Fields, WireEvent } from "./Protocol.ts"
import { annotation, type Item, type Items, outputText, summaryText } from "./ResponsesItems.ts"

/** An item that is being written. */
interface Open {
  readonly item: Item
  readonly index: number
  readonly annotations: Array<Fields>
  text: string
}

type StreamPart = Response.StreamPartEncoded

const waits: Readonly<Record<string, ReadonlyArray<string>>> = {
  web_search_call: ["in_progress", "searching", "completed"],
  image_generation_call: ["in_progress", "generating", "completed"],
  mcp_call: ["in_progress", "completed"]
}

/** Writes the events of a stream's parts, item after item. */
export class Events {
  readonly done: Array<Fields> = []
  readonly #items: Items
  readonly #metadata: ReadonlyMap<string, StreamPart["metadata"]>
  readonly #open = new Map<string, Open>()
  readonly #called = new Set<string>()
  #count = 0
  #cited: Open | undefined

  constructor(parts: ReadonlyArray<StreamPart>, items: Items) {
    this.#items = items
    this.#metadata = new Map(
      parts.flatMap((part) => part.type === "reasoning-end" ? [[part.id, part.metadata] as const] : [])
    )
  }

  /** The events of a part. Text that is cited by the `next` part stays open for it. */
  of(part: StreamPart, next: StreamPart | undefined): ReadonlyArray<WireEvent> {
    switch (part.type) {
      case "text-start":
        return this.#startText(part.id)
      case "text-delta":
        return this.#delta(part, "response.output_text.delta", { content_index: 0 }, { logprobs: [] })
      case "text-end": {
        const open = this.#open.get(part.id)
        if (open === undefined) return []
        this.#cited = isSource(next) ? open : undefined
        return this.#cited === undefined ? this.#endText(open) : []
      }
      case "reasoning-start":
        return this.#start(part.id, this.#items.reasoning(this.#metadata.get(part.id)))
      case "reasoning-delta":
        return [
          ...this.#startSummary(part.id),
          ...this.#delta(part, "response.reasoning_summary_text.delta", { summary_index: 0 })
        ]
      case "reasoning-end":
        return this.#endSummary(part.id)
      case "tool-params-start":
        if (part.providerExecuted === true) return []
        this.#called.add(part.id)
        return this.#start(part.id, this.#items.call(part))
      case "tool-params-delta":
        return this.#delta(part, "response.function_call_arguments.delta")
      case "tool-params-end":
        return this.#endCall(part.id)
      case "tool-call":
        if (part.providerExecuted === true) return this.#whole(this.#items.serverCall(part))
        return this.#called.has(part.id) ? [] : [
          ...this.#start(part.id, this.#items.call(part)),
          ...this.#delta(
            { id: part.id, delta: JSON.stringify(part.params ?? {}) },
            "response.function_call_arguments.delta"
          ),
          ...this.#endCall(part.id)
        ]
      case "source": {
        const started = this.#cited === undefined ? this.#startText(part.id) : []
        const open = this.#cited ?? this.#open.get(part.id)!
        const annotated = annotation(part, open.text.length)
        const at = { item_id: open.item.id, output_index: open.index, content_index: 0 }
        const annotation_index = open.annotations.push(annotated) - 1
        this.#cited = isSource(next) ? open : undefined
        return [
          ...started,
          { type: "response.output_text.annotation.added", ...at, annotation_index, annotation: annotated },
          ...(this.#cited === undefined ? this.#endText(open) : [])
        ]
      }
      case "file":
        return this.#whole(this.#items.image(part))
      default:
        return []
    }
  }

  #start(id: string, item: Item): ReadonlyArray<WireEvent> {
    const index = this.#count++
    this.#open.set(id, { item, index, annotations: [], text: "" })
    return [{ type: "response.output_item.added", output_index: index, item }]
  }

  #delta(
    { delta, id }: { readonly id: string; readonly delta: string },
    type: string,
    at: Fields = {},
    more: Fields = {}
  ): ReadonlyArray<WireEvent> {
    const open = this.#open.get(id)
    if (open === undefined) return []
    open.text += delta
    return [{ type, item_id: open.item.id, output_index: open.index, ...at, delta, ...more }]
  }

  #end({ index }: Open, item: Fields): WireEvent {
    this.done.push(item)
    return { type: "response.output_item.done", output_index: index, item }
  }

  #startText(id: string): ReadonlyArray<WireEvent> {
    const item = this.#items.message()
    const output_index = this.#count
    return [
      ...this.#start(id, item),
      {
        type: "response.content_part.added",
        item_id: item.id,
        output_index,
        content_index: 0,
        part: outputText("", [])
      }
    ]
  }

  #endText(open: Open): ReadonlyArray<WireEvent> {
    const { annotations, index, item, text } = open
    const at = { item_id: item.id, output_index: index, content_index: 0 }
    const part = outputText(text, annotations.slice())
    return [
      { type: "response.output_text.done", ...at, text, logprobs: [] },
      { type: "response.content_part.done", ...at, part },
      this.#end(open, { ...item, status: "completed", content: [part] })
    ]
  }

  #startSummary(id: string): ReadonlyArray<WireEvent> {
    const open = this.#open.get(id)
    if (open === undefined || open.text !== "") return []
    const at = { item_id: open.item.id, output_index: open.index, summary_index: 0 }
    return [{ type: "response.reasoning_summary_part.added", ...at, part: summaryText("") }]
  }

  #endSummary(id: string): ReadonlyArray<WireEvent> {
    const open = this.#open.get(id)
    if (open === undefined) return []
    const { index, item, text } = open
    if (text === "") return [this.#end(open, item)]
    const at = { item_id: item.id, output_index: index, summary_index: 0 }
    const part = summaryText(text)
    return [
      { type: "response.reasoning_summary_text.done", ...at, text },
      { type: "response.reasoning_summary_part.done", ...at, part },
      this.#end(open, { ...item, summary: [part] })
    ]
  }

  #endCall(id: string): ReadonlyArray<WireEvent> {
    const open = this.#open.get(id)
    if (open === undefined) return []
    const { index, item, text } = open
    const at = { item_id: item.id, output_index: index }
    return [
      { type: "response.function_call_arguments.done", ...at, name: item.name ?? null, arguments: text },
      this.#end(open, { ...item, status: "completed", arguments: text })
    ]
  }

  /** An item that comes at once. */
  #whole(item: Item): ReadonlyArray<WireEvent> {
    const index = this.#count++
    const at = { item_id: item.id, output_index: index }
    const { status, type } = item
    const states = (waits[type] ?? []).map((state) => ({
      type: `response.${type}.${state === "completed" && status === "failed" ? "failed" : state}`,
      ...at
    }))
    this.done.push(item)
    // A request for an approval has no status.
    const begun = status === undefined ? item : { ...item, status: "in_progress" }
    return [
      { type: "response.output_item.added", output_index: index, item: begun },
      ...states,
      { type: "response.output_item.done", output_index: index, item }
    ]
  }
}
