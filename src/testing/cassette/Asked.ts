/**
 * What a model is asked, as data that is the same whenever the same is asked: call ids have names in the order in which they
 * appear, and what providers attach to parts is left out.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import * as Equal from "effect/Equal"
import * as Hash from "effect/Hash"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Count } from "../../domain/Count.ts"
import * as JsonValue from "../../domain/JsonValue.ts"
import * as Offer from "./Offer.ts"
import * as Redact from "./Redact.ts"

/** What is asked of a model. Of a log that wasn't recorded as a tape, `messages` may be all that is known. */
export const Asked = Schema.Struct({
  system: Schema.optionalKey(Schema.String),
  messages: Schema.optionalKey(Schema.Array(Schema.Json)),
  tools: Schema.optionalKey(Schema.Array(Offer.ToolOffer)),
  choice: Schema.optionalKey(Schema.Json),
  format: Schema.optionalKey(Offer.Format)
})

/** What is asked of a model. */
export interface Asked extends Schema.Schema.Type<typeof Asked> {}

type Naming = (id: string) => string

/** Gives call ids their names: `call_1`, `call_2`, … in the order in which they appear. */
const naming = (names: Map<string, string>): Naming => (id) => {
  const name = names.get(id) ?? `call_${names.size + 1}`
  names.set(id, name)
  return name
}

/** A short name for data that nobody reads. */
const digest = (text: string): string => `${text.length} characters, hash ${(Hash.string(text) >>> 0).toString(16)}`

const dataOf = (data: Prompt.FilePart["data"], change: Redact.Change): string => {
  if (data instanceof URL) return change(data.href)
  return digest(typeof data === "string" ? data : Base64.encode(data))
}

const partOf = (part: Prompt.Part, nameOf: Naming, change: Redact.Change): Schema.Json => {
  switch (part.type) {
    case "text":
      return { text: change(part.text) }
    case "reasoning":
      return { reasoning: change(part.text) }
    case "file":
      return { file: part.mediaType, data: dataOf(part.data, change) }
    case "tool-call":
      return {
        call: part.name,
        id: nameOf(part.id),
        params: Redact.everyText(JsonValue.fromUnknown(part.params), change)
      }
    case "tool-result": {
      // A failed result may contain URLs, which a tape has without their queries.
      const clean: Redact.Change = part.isFailure ? (text) => Redact.message(text, change) : change
      return {
        result: Redact.everyText(JsonValue.fromUnknown(part.result), clean),
        of: nameOf(part.id),
        ...(part.isFailure ? { isFailure: true } : undefined),
        ...(part.modelOutput === undefined
          ? undefined
          : { reads: part.modelOutput.map((part) => partOf(part as Prompt.Part, nameOf, change)) })
      }
    }
    case "tool-approval-request":
      return { approval: nameOf(part.toolCallId) }
    case "tool-approval-response":
      return { approved: part.approved, ...(part.reason === undefined ? undefined : { reason: change(part.reason) }) }
  }
}

const isText = (json: Schema.Json | undefined): json is { readonly text: string } =>
  typeof json === "object" && json !== null && "text" in json

const messageOf = (message: Prompt.Message, nameOf: Naming, change: Redact.Change): Schema.Json => {
  if (message.role === "system") return { system: change(message.content) }
  const parts = message.content.map((part) => partOf(part, nameOf, change))
  const [first] = parts
  return { [message.role]: parts.length === 1 && isText(first) ? first.text : parts }
}

/** A converted message: its JSON, the message before it, and how many ids had names once it was converted. */
interface Made {
  readonly json: Schema.Json
  readonly behind: Made | undefined
  readonly names: Map<string, string>
  readonly count: number
}

/** Requests only add messages. So each is converted once, and found again by identity as long as the same messages come before it. */
const known = new WeakMap<Redact.Change, WeakMap<Prompt.Message, Made>>()

const make = (message: Prompt.Message, behind: Made | undefined, change: Redact.Change): Made => {
  // Other conversations that begin with the same messages may have added names.
  const isOwn = behind !== undefined && behind.names.size === behind.count
  const names = isOwn ? behind.names : new Map([...behind?.names ?? []].slice(0, behind?.count))
  const json = messageOf(message, naming(names), change)
  return { json, behind, names, count: names.size }
}

/** What a conversation says, as far as it was sent. */
export const fromMessages = (messages: ReadonlyArray<Prompt.Message>, change: Redact.Change): Asked => {
  let made = known.get(change)
  if (made === undefined) known.set(change, made = new WeakMap())
  let behind: Made | undefined
  const all: Array<Schema.Json> = []
  for (const message of messages) {
    let next = made.get(message)
    if (next === undefined || next.behind !== behind) made.set(message, next = make(message, behind, change))
    all.push(next.json)
    behind = next
  }
  return { messages: all }
}

const choiceOf = (choice: LanguageModel.ToolChoice<string>): Schema.Json => {
  if (typeof choice === "string") return choice
  return "tool" in choice ? { tool: choice.tool } : choice.mode ?? "auto"
}

/** The part of a request that a tape records. */
export type Options = Pick<LanguageModel.ProviderOptions, "prompt" | "tools" | "toolChoice" | "responseFormat">

/** What a provider is given. */
export const fromOptions = (options: Options, change: Redact.Change): Asked => {
  const { content } = options.prompt
  const spoken = content.findIndex((message) => message.role !== "system")
  const first = spoken === -1 ? content.length : spoken
  const system = content.slice(0, first).flatMap((message) => message.role === "system" ? [message.content] : [])
  return {
    system: change(system.join("\n\n")),
    ...fromMessages(content.slice(first), change),
    tools: options.tools.map((tool) => Offer.ofTool(tool, change)),
    choice: options.tools.length === 0 ? "none" : choiceOf(options.toolChoice),
    format: Offer.ofFormat(options.responseFormat, change)
  }
}

/** The empty request, before the first one. */
const nothing: Required<Asked> = { system: "", messages: [], tools: [], choice: "auto", format: "text" }

/** A value as text, with the fields of its records in one order. */
export const text = (json: Schema.Json | undefined): string =>
  JSON.stringify(json, (_, value: unknown) =>
    Predicate.isReadonlyObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([self], [that]) => self < that ? -1 : 1))
      : value) ?? ""

/** The asked message that equals a recorded one: later requests repeat both, which needn't be compared again. */
const met = new WeakMap<object, Schema.Json>()

const isSame = (recorded: Schema.Json, asked: Schema.Json): boolean => {
  if (!Predicate.isObject(recorded)) return Equal.equals(recorded, asked)
  if (met.get(recorded) === asked) return true
  if (!Equal.equals(recorded, asked)) return false
  met.set(recorded, asked)
  return true
}

type Messages = NonNullable<Asked["messages"]>

const areSame = (recorded: Messages, asked: Messages): boolean =>
  recorded.length === asked.length && recorded.every((message, at) => isSame(message, asked[at]!))

/** Checks whether what is known of a request is what was asked. */
export const isMet = ({ messages, ...recorded }: Asked, asked: Asked): boolean =>
  (Object.keys(recorded) as Array<keyof typeof recorded>)
    .every((field) => Equal.equals(recorded[field], asked[field])) &&
  (messages === undefined || areSame(messages, asked.messages ?? []))

/**
 * Returns what is new in a request since the one before: the fields that changed, and the messages after the first `kept` ones, which were
 * sent before.
 */
export const since = (asked: Asked, before: Asked = nothing): AskedSince => {
  const { messages = [], ...rest } = asked
  const sent = before.messages ?? []
  let kept = 0
  while (kept < messages.length && kept < sent.length && Equal.equals(messages[kept], sent[kept])) kept++
  const changed = Object.entries(rest).filter(([field, value]) => !Equal.equals(value, before[field as keyof Asked]))
  return { ...(kept === 0 ? undefined : { kept }), ...Object.fromEntries(changed), messages: messages.slice(kept) }
}

/** A request as a tape has it: what is new since the one before. */
export const AskedSince = Schema.Struct({
  kept: Schema.optionalKey(Count),
  ...Asked.fields
})

/** A request as a tape has it: what is new since the one before. */
export interface AskedSince extends Schema.Schema.Type<typeof AskedSince> {}

/** Returns a whole request from the new parts of it. */
export const after = ({ kept = 0, ...asked }: AskedSince, before: Asked = nothing): Asked => ({
  ...before,
  ...asked,
  messages: [...(before.messages ?? []).slice(0, kept), ...(asked.messages ?? [])]
})
