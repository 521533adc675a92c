/**
 * Writes a tape, a line for each event. The lines of a request or a call are written together, once it has ended.
 *
 * A tape has neither times nor durations, so that a recording of the same run has the same lines.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { crashed } from "../../domain/FailedCall.ts"
import { type Happening, toEvent } from "../../domain/Happening.ts"
import type { Answer } from "../../domain/ModelAnswer.ts"
import type { AssistantPart } from "../../domain/StateSchema.ts"
import * as Asked from "./Asked.ts"
import type { Asking, Outcome } from "./Entry.ts"
import * as Line from "./Line.ts"
import * as Redact from "./Redact.ts"

/** Who asks a model or calls a tool, and in which step. */
export interface Place extends Asking {
  readonly path: readonly [string, ...Array<string>]
  readonly step: number
}

/** How a request ended. */
export type Ending =
  | { readonly _tag: "Answered"; readonly answer: Answer }
  | { readonly _tag: "Failed"; readonly error: AiError.AiError }
  | { readonly _tag: "Died"; readonly defect: unknown }
  | { readonly _tag: "Interrupted" }

/** A call of a tool that ended. */
export interface EndedCall {
  readonly callId: string
  readonly name: string
  readonly params: Schema.Json
  readonly progress: ReadonlyArray<Schema.Json>
  readonly outcome: Outcome
}

/** Gives a call without an id the id `call`, as agents do. */
const named = (part: AssistantPart): AssistantPart =>
  part._tag === "Call" && part.id === "" ? { ...part, id: "call" } : part

/** A tape that is written. */
export class Recorder {
  readonly change: Redact.Change
  readonly #write: (text: string) => Effect.Effect<void>
  readonly #turn = Semaphore.makeUnsafe(1)
  readonly #before = new Map<string, Asked.Asked>()
  readonly #attempts = new Map<string, number>()
  #sequence = 0

  constructor(change: Redact.Change, write: (text: string) => Effect.Effect<void>) {
    this.change = change
    this.#write = write
  }

  /** Writes a request and how it ended. `heard` is what had arrived of an answer that didn't come to its end. */
  model(place: Place, asked: Asked.Asked, ending: Ending, heard: ReadonlyArray<AssistantPart>): Effect.Effect<void> {
    return this.#append(() => {
      const who = Asked.text([place.path, place.calls])
      const at = `${who} ${place.step}`
      const attempt = this.#attempts.get(at) ?? 0
      if (ending._tag === "Answered") this.#attempts.delete(at)
      else this.#attempts.set(at, attempt + 1)
      const since = Asked.since(asked, this.#before.get(who))
      this.#before.set(who, asked)
      return [
        this.#line(place, { _tag: "ModelCallStarted", attempt }, { asked: since }),
        this.#ended(place, attempt, ending, heard.map(named))
      ]
    })
  }

  /** Writes a call and how it ended. */
  tool(place: Place, { callId, name, outcome, params, progress }: EndedCall): Effect.Effect<void> {
    const call = { callId, name }
    const clean = (json: Schema.Json) => Redact.everyText(json, this.change)
    return this.#append(() => [
      this.#line(place, { _tag: "ToolCallStarted", ...call, params: clean(params) }),
      ...progress.map((result) => this.#line(place, { _tag: "ToolCallProgressed", ...call, result: clean(result) })),
      outcome._tag === "Deferred"
        ? this.#line(place, { _tag: "ResultAwaited", ...call, params: clean(params) })
        : this.#settled(place, call, outcome)
    ])
  }

  #settled(
    place: Place,
    call: { readonly callId: string; readonly name: string },
    outcome: Exclude<Outcome, { readonly _tag: "Deferred" }>
  ): Line.Written {
    const change = "error" in outcome ? this.#cleanFailure : this.change
    const settle = (how: "Succeeded" | "Failed" | "Interrupted", result: Schema.Json, beside?: Line.Beside) =>
      this.#line(
        place,
        {
          _tag: "ToolCallSettled",
          ...call,
          outcome: how,
          result: Redact.everyText(result, change),
          duration: 0
        },
        beside
      )
    switch (outcome._tag) {
      case "Settled":
        return settle(
          outcome.isFailure ? "Failed" : "Succeeded",
          outcome.result,
          outcome.error === undefined ? undefined : { error: outcome.error }
        )
      case "Died":
        return settle("Failed", crashed(call.name), { defect: readable(outcome.defect) })
      case "Hangs":
        return settle("Interrupted", "This call was interrupted.")
    }
  }

  #ended(place: Place, attempt: number, ending: Ending, heard: ReadonlyArray<AssistantPart>): Line.Written {
    const beside = heard.length === 0 ? undefined : { heard }
    const fail = (tag: string, message: string, more?: Line.Beside) =>
      this.#line(
        place,
        { _tag: "ModelCallFailed", attempt, tag, message: Redact.message(message, this.change) },
        { ...more, ...beside }
      )
    switch (ending._tag) {
      case "Answered": {
        const { finishReason, model, parts, usage } = ending.answer
        return this.#line(place, {
          _tag: "ModelResponded",
          parts: parts.map(named),
          usage,
          ...(model === undefined ? undefined : { model }),
          finishReason
        })
      }
      case "Failed":
        return fail(ending.error.reason._tag, ending.error.message, { error: ending.error })
      case "Died": {
        const defect = readable(ending.defect)
        return fail("Defect", messageOf(defect), { defect })
      }
      case "Interrupted":
        return fail("Interrupted", "The request was interrupted.")
    }
  }

  /** Encodes a line and takes out what mustn't be read. */
  #line({ calls, path, step }: Place, happening: Happening, beside: Line.Beside = {}): Line.Written {
    const event = toEvent(happening, { run: "", path, calls, step, sequence: this.#sequence++, at: 0 })
    const { defect, error, heard, parts, ...line } = Line.encode({ event, beside })
    return {
      ...line,
      ...(parts === undefined ? undefined : { parts: Redact.parts(parts, this.change) }),
      ...(heard === undefined ? undefined : { heard: Redact.parts(heard, this.change) }),
      ...(error === undefined ? undefined : { error: Redact.failure(error, this.change) }),
      ...(defect === undefined ? undefined : { defect: Redact.everyText(defect, this.#cleanFailure) })
    }
  }

  readonly #cleanFailure = (text: string): string => Redact.message(text, this.change)

  #append(lines: () => ReadonlyArray<Line.Written>): Effect.Effect<void> {
    return Effect.suspend(() => this.#write(lines().map((line) => `${JSON.stringify(line)}\n`).join(""))).pipe(
      Semaphore.withPermit(this.#turn),
      Effect.uninterruptible
    )
  }
}

const encodeDefect = Schema.encodeUnknownSync(Schema.toCodecJson(Schema.Defect()))

/** Returns a defect that can be written. Any value may be one, also one whose fields throw. */
const readable = (defect: unknown): unknown => {
  try {
    encodeDefect(defect)
    messageOf(defect)
    return defect
  } catch {
    return new Error("A defect that can't be read")
  }
}

const messageOf = (defect: unknown): string => defect instanceof Error ? defect.message : String(defect)
