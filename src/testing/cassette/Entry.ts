/**
 * What a tape has: requests to models with their answers, and calls of tools with their outcomes.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import type * as Schema from "effect/Schema"
import type {
  AgentEvent,
  ConversationSummarized,
  ModelCallFailed,
  ModelResponded,
  ReasoningDelta,
  ResultAwaited,
  TextDelta,
  ToolCallSettled,
  ToolCallStarted
} from "../../domain/AgentEvent.ts"
import { crashed, timedOut } from "../../domain/FailedCall.ts"
import type * as Part from "../../domain/Part.ts"
import type { AssistantPart } from "../../domain/StateSchema.ts"
import * as Asked from "./Asked.ts"
import { errorOf } from "./Failure.ts"
import type { Beside, Line } from "./Line.ts"
import { requestsOf } from "./Log.ts"
import type { Change } from "./Redact.ts"

/** Who asks: the agents from the outermost to the one that asks, and the calls that lead there. */
export interface Asking {
  readonly path: ReadonlyArray<string>
  readonly calls: ReadonlyArray<string>
}

/** How a request to a model ended. One that hangs never ends. `heard` is the part of the answer that had arrived. */
export type Answer =
  | Pick<ModelResponded, "_tag" | "parts" | "usage" | "model" | "finishReason">
  | { readonly _tag: "Failed"; readonly error: AiError.AiError; readonly heard: ReadonlyArray<AssistantPart> }
  | { readonly _tag: "Died"; readonly defect: unknown; readonly heard: ReadonlyArray<AssistantPart> }
  | { readonly _tag: "Hangs"; readonly heard: ReadonlyArray<AssistantPart> }

/** A request to a model, with what came of it. `at` is where in the log it ended. */
export interface ModelEntry extends Asking {
  readonly at: number
  readonly asked: Asked.Asked
  readonly answer: Answer
}

/** What came of a call of a tool. The result of a deferred one came later, from outside. */
export type Outcome =
  | {
    readonly _tag: "Settled"
    readonly isFailure: boolean
    readonly result: Schema.Json
    readonly error?: AiError.AiError
  }
  | { readonly _tag: "Died"; readonly defect: unknown }
  | { readonly _tag: "Deferred" }
  | { readonly _tag: "Hangs" }

/** A call of a tool, with its outcome. `at` is where in the log it ended. */
export interface ToolEntry extends Asking {
  readonly at: number
  readonly step: number
  readonly callId: string
  readonly name: string
  readonly params: Schema.Json
  readonly progress: ReadonlyArray<Schema.Json>
  readonly outcome: Outcome
}

/**
 * All requests and calls of a tape or a log, in its order. A tape has them in the order in which they ended, a log in the order of the
 * events that say so.
 */
export interface Entries {
  readonly isTape: boolean
  readonly models: ReadonlyArray<ModelEntry>
  readonly tools: ReadonlyArray<ToolEntry>
}

const failureOf = (event: ModelCallFailed, { defect, error, heard = [] }: Beside): Answer => {
  if (error !== undefined) return { _tag: "Failed", error, heard }
  switch (event.tag) {
    case "Interrupted":
      return { _tag: "Hangs", heard }
    case "Defect":
      return { _tag: "Died", defect: defect ?? new Error(event.message), heard }
    default:
      return { _tag: "Failed", error: errorOf(event), heard }
  }
}

const hasCrashed = ({ name, result }: ToolCallSettled): boolean => result === crashed(name)

const outcomeOf = (event: ToolCallSettled, { defect, error }: Beside): Outcome => {
  const { name, outcome, result } = event
  if (defect !== undefined) return { _tag: "Died", defect }
  if (outcome === "Interrupted" || result === timedOut(name)) return { _tag: "Hangs" }
  return hasCrashed(event)
    ? { _tag: "Died", defect: new Error(`${result}`) }
    : { _tag: "Settled", isFailure: outcome !== "Succeeded", result, ...(error === undefined ? undefined : { error }) }
}

/** Returns the defect of a crashed tool as far as events say it: the end of the run that it ended has its message. */
const defectIn = (lines: ReadonlyArray<Line>, from: number): Pick<Beside, "defect"> => {
  for (let at = from; at < lines.length; at++) {
    const { event } = lines[at]!
    if (event._tag === "RunStarted" && event.calls.length === 0) break
    if (event._tag === "RunFailed" && event.error.tag === "Defect") return { defect: new Error(event.error.message) }
  }
  return {}
}

interface Started extends Asking {
  readonly step: number
  readonly params: Schema.Json
  readonly progress: Array<Schema.Json>
}

const placeOf = ({ calls, path }: Asking): string => Asked.text([calls, path])

const callOf = ({ callId, ...event }: Asking & { readonly callId: string }): string => Asked.text([event.calls, callId])

/** Gathers what lines say of each request and each call. */
class Gathering {
  readonly models: Array<ModelEntry> = []
  readonly tools: Array<ToolEntry> = []
  readonly #asked = new Map<string, Asked.Asked>()
  readonly #before = new Map<string, Asked.Asked>()
  readonly #heard = new Map<string, Array<Part.Text | Part.Reasoning>>()
  readonly #started = new Map<string, Started>()

  ask(event: Asking, known: Asked.Asked | undefined, recorded: Asked.AskedSince | undefined): void {
    const place = placeOf(event)
    this.#heard.delete(place)
    const asked = recorded === undefined ? known ?? {} : Asked.after(recorded, this.#before.get(place))
    if (recorded !== undefined) this.#before.set(place, asked)
    this.#asked.set(place, asked)
  }

  /** Adds a piece of an answer. Of an answer that broke off, a log has nothing but its pieces. */
  hear(event: TextDelta | ReasoningDelta): void {
    const heard = this.heardBy(event)
    const _tag = event._tag === "TextDelta" ? "Text" : "Reasoning"
    const last = heard.at(-1)
    if (last?._tag === _tag) heard[heard.length - 1] = { _tag, text: last.text + event.delta }
    else heard.push({ _tag, text: event.delta })
    this.#heard.set(placeOf(event), heard)
  }

  heardBy(event: Asking): Array<Part.Text | Part.Reasoning> {
    return this.#heard.get(placeOf(event)) ?? []
  }

  answer(event: Asking, answer: Answer, at: number): void {
    const place = placeOf(event)
    const asked = this.#asked.get(place)
    if (asked === undefined) return
    this.#asked.delete(place)
    this.models.push({ at, path: event.path, calls: event.calls, asked, answer })
  }

  /** Adds the request for a summary, which has one event for the request and its answer. */
  summarize(
    { calls, model, path, text, usage = {} }: ConversationSummarized,
    asked: Asked.Asked = {},
    at: number
  ): void {
    const answer: Answer = {
      _tag: "ModelResponded",
      parts: [{ _tag: "Text", text }],
      usage,
      ...(model === undefined ? undefined : { model }),
      finishReason: "stop"
    }
    this.models.push({ at, path, calls, asked, answer })
  }

  start({ callId, calls, params, path, step }: ToolCallStarted): void {
    this.#started.set(callOf({ calls, path, callId }), { path, calls, step, params, progress: [] })
  }

  progress(event: Asking & { readonly callId: string; readonly result: Schema.Json }): void {
    this.#started.get(callOf(event))?.progress.push(event.result)
  }

  defer({ callId, name, ...event }: ResultAwaited, at: number): void {
    const place = callOf({ ...event, callId })
    const started = this.#started.get(place)
    if (started === undefined) return
    this.#started.delete(place)
    this.tools.push({ at, ...started, callId, name, outcome: { _tag: "Deferred" } })
  }

  settle(event: ToolCallSettled, beside: Beside, at: number): void {
    const started = this.#started.get(callOf(event))
    if (started === undefined) return
    this.#started.delete(callOf(event))
    this.tools.push({ at, ...started, callId: event.callId, name: event.name, outcome: outcomeOf(event, beside) })
  }
}

/** Reads the requests and calls, with how they ended, from lines. */
export const fromLines = (lines: ReadonlyArray<Line>, change: Change): Entries => {
  const events = lines.map(({ event }): AgentEvent => event)
  const isTape = lines.some(({ beside }) => beside.asked !== undefined)
  const known = isTape ? undefined : requestsOf(events)
  const askedAt = (index: number): Asked.Asked | undefined => {
    const messages = known?.get(index)
    return messages === undefined ? undefined : Asked.fromMessages(messages, change)
  }
  const gathering = new Gathering()
  for (const [index, { beside, event }] of lines.entries()) {
    switch (event._tag) {
      case "ModelCallStarted":
        gathering.ask(event, askedAt(index), beside.asked)
        break
      case "ConversationSummarized":
        if (event.usage !== undefined) gathering.summarize(event, askedAt(index), index)
        break
      case "TextDelta":
      case "ReasoningDelta":
        gathering.hear(event)
        break
      case "ModelResponded":
        gathering.answer(event, event, index)
        break
      case "ModelCallFailed":
        gathering.answer(event, failureOf(event, { heard: gathering.heardBy(event), ...beside }), index)
        break
      case "ToolCallStarted":
        gathering.start(event)
        break
      case "ToolCallProgressed":
        gathering.progress(event)
        break
      case "ResultAwaited":
        gathering.defer(event, index)
        break
      case "ToolCallSettled":
        gathering.settle(event, hasCrashed(event) ? { ...defectIn(lines, index), ...beside } : beside, index)
        break
      default:
    }
  }
  return { models: gathering.models, tools: gathering.tools, isTape }
}
