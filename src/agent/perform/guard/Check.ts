/**
 * Running guardrails in a loop: each emits its start and its verdict, and has a span of its own.
 *
 * A guardrail that needs no effect costs its two events and its span, and no turn of the runtime.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { GuardrailSettled, GuardrailStarted } from "../../../domain/AgentEvent.ts"
import type { StagedGuardrail } from "../../definition/guardrail/AgentGuardrails.ts"
import { type Context, internalsOf } from "../../definition/guardrail/GuardrailType.ts"
import type { Judged } from "../../definition/guardrail/Judging.ts"
import { type Block, block, type Replace, type Retry, type Verdict } from "../../definition/guardrail/Verdict.ts"
import * as Loop from "../../journal/Loop.ts"
import { SpanRecorder } from "../../journal/SpanRecorder.ts"
import * as Telemetry from "../../journal/Telemetry.ts"
import * as Consequences from "../../rules/VerdictConsequences.ts"
import * as GuardrailEvents from "./GuardrailEvents.ts"
import * as Span from "./Span.ts"
import * as Texts from "./Texts.ts"

type Replaced = GuardrailSettled["replaced"]

/**
 * How a kind of value is judged: which part of it guardrails see, how their replacement is put in its place (or why it doesn't fit), and
 * what the state has afterwards.
 */
export interface Kind<A> {
  readonly at: Consequences.LookedAt
  readonly context: Context
  /** Returns what guardrails of this stage see: the value by default. */
  readonly given?: (value: A) => unknown
  /** Replaces what guardrails of this stage see by what a guardrail returned. */
  readonly put?: (value: A, given: unknown) => Result.Result<A, string>
  /** Returns the texts that guardrails on text see: each text in the value by default. */
  readonly texts?: (value: A) => ReadonlyArray<string>
  /** Judges the texts: each by itself by default. */
  readonly judgeTexts?: typeof Texts.judge
  /** Replaces the texts. */
  readonly putTexts?: (value: A, texts: ReadonlyArray<string>) => Result.Result<A, string>
  readonly replaced?: (value: A) => Replaced
  /** Whether the state holds data that guardrails didn't see. Then the value replaces that data, even if it passed unchanged. */
  readonly holdsMore?: boolean
  /** Returns what the state has instead of a blocked value. */
  readonly blocked?: (refused: Consequences.Refused) => Replaced
}

/** The result of a check: the value passed, possibly replaced, or was refused. */
export type Checked<A> = { readonly _tag: "Passed"; readonly value: A; readonly isReplaced: boolean } | Refused

/** A guardrail refused a value. */
export interface Refused extends Consequences.Refused {
  readonly _tag: "Refused"
}

/** Checks whether a result is a refusal. */
export const isRefused = (u: unknown): u is Refused => u instanceof Refusal

class Refusal implements Refused {
  readonly _tag = "Refused"
  readonly guardrail: string
  readonly verdict: Block | Retry
  constructor(guardrail: string, verdict: Block | Retry) {
    this.guardrail = guardrail
    this.verdict = verdict
  }
}

/** A value on its way through the guardrails of a stage. */
class Passage<A> {
  readonly loop: Loop.Loop
  readonly kind: Kind<A>
  readonly held: GuardrailEvents.WaitingEvents | undefined
  value: A
  isReplaced = false
  refusal: Refusal | undefined = undefined
  #texts: ReadonlyArray<string> | undefined = undefined
  constructor(loop: Loop.Loop, value: A, kind: Kind<A>, held: GuardrailEvents.WaitingEvents | undefined) {
    this.loop = loop
    this.value = value
    this.kind = kind
    this.held = held
  }
  /** The texts in the value, found once. */
  get texts(): ReadonlyArray<string> {
    return this.#texts ??= (this.kind.texts ?? Texts.textsIn)(this.value)
  }
  /** Takes in a verdict that counts. */
  apply(guardrail: string, verdict: Counting<A>): void {
    switch (verdict._tag) {
      case "Pass":
      case "Warn":
        return
      case "Replace":
        this.value = verdict.value
        this.isReplaced = true
        this.#texts = undefined
        return
      case "Retry":
        this.refusal = new Refusal(guardrail, verdict)
        return
      case "Block":
        this.refusal = new Refusal(verdict.guardrail ?? guardrail, verdict)
    }
  }
}

/** A verdict that counts: its replacement is a whole value. */
type Counting<A> = Exclude<Verdict<unknown>, Replace<unknown>> | Replace<A>

const judge = <A>(passage: Passage<A>, { guardrail }: StagedGuardrail): Judged => {
  const { kind, value } = passage
  const { judge, on } = internalsOf(guardrail)
  // A kind has the context and value that its guardrails judge, but the type of any guardrail doesn't say which these are.
  const context = kind.context as never
  return on === "text"
    ? (kind.judgeTexts ?? Texts.judge)(passage.texts, (text) => judge(text as never, context))
    : judge((kind.given === undefined ? value : kind.given(value)) as never, context)
}

/** Puts a guardrail's replacement in the place of what the guardrail saw. */
const putBack = <A>(
  { kind, value }: Passage<A>,
  { guardrail }: StagedGuardrail,
  given: unknown
): Result.Result<A, string> => {
  if (internalsOf(guardrail).on !== "text") {
    return kind.put === undefined ? Result.succeed(given as A) : kind.put(value, given)
  }
  const texts = given as ReadonlyArray<string>
  return kind.putTexts === undefined
    ? Result.succeed(Texts.withTexts(value, texts))
    : kind.putTexts(value, texts)
}

/**
 * Returns the verdict that counts for a kind of value. A replacement that doesn't fit counts as a block, and so does a retry if no other
 * try is possible. A replacement of a value that mustn't change counts as a refusal.
 */
const counting = <A>(passage: Passage<A>, staged: StagedGuardrail, given: Verdict<unknown>): Counting<A> => {
  const { kind: { at }, loop: { definition, state } } = passage
  const verdict = given._tag === "Retry" ? Consequences.counting(given, at, definition, state) : given
  if (verdict._tag !== "Replace") return verdict
  const put = putBack(passage, staged, verdict.value)
  if (Result.isFailure(put)) return block(`its replacement doesn't fit: ${put.failure}`)
  return Consequences.mayReplace(at) || Equal.equals(put.success, passage.value)
    ? { ...verdict, value: put.success }
    : Consequences.insteadOfReplacing
}

/** Emits the start of a guardrail, at a time in epoch milliseconds. */
const start = <A>({ held, kind, loop }: Passage<A>, { guardrail }: StagedGuardrail, at: number): GuardrailStarted =>
  GuardrailEvents.start(loop, held, guardrail.name, kind.context, at)

/**
 * Returns what replaces the value in the state after the last guardrail. Earlier replacements aren't emitted, because a later guardrail may
 * mask or refuse what they hold.
 */
const replacementOf = <A>({ isReplaced, kind, refusal, value }: Passage<A>): Replaced =>
  refusal !== undefined
    ? kind.blocked?.(refusal)
    : isReplaced || kind.holdsMore === true
    ? kind.replaced?.(value)
    : undefined

/** Returns the other fields of a verdict's event: the reason, and, if no guardrail follows, what replaces the value in the state. */
const more = <A>(
  passage: Passage<A>,
  given: Counting<A> | undefined,
  isLast: boolean
): Pick<GuardrailSettled, "reason" | "replaced"> | undefined => {
  const isOver = isLast || given === undefined || passage.refusal !== undefined
  const replaced = isOver ? replacementOf(passage) : undefined
  const reason = given === undefined || given._tag === "Pass"
    ? undefined
    : given._tag === "Retry"
    ? given.feedback
    : given.reason
  return reason === undefined && replaced === undefined ? undefined : {
    ...(reason === undefined ? undefined : { reason }),
    ...(replaced === undefined ? undefined : { replaced })
  }
}

/** Emits the verdict of a guardrail, and returns the time. Without a verdict it was interrupted, or had a defect. */
const end = <A>(
  passage: Passage<A>,
  begun: GuardrailStarted,
  given: Counting<A> | undefined,
  isLast: boolean
): number => {
  const { held, loop } = passage
  if (given !== undefined) passage.apply(begun.guardrail, given)
  const at = Loop.now(loop)
  GuardrailEvents.settle(loop, held, begun, given?._tag ?? "Interrupted", at, more(passage, given, isLast))
  return at
}

/** Waits for a verdict. Whatever happens meanwhile, a start that was emitted gets its end. */
const wait = <A>(
  passage: Passage<A>,
  staged: StagedGuardrail,
  judged: Exclude<Judged, Verdict<unknown>>,
  isLast: boolean
): Effect.Effect<void, never, unknown> => {
  const { loop } = passage
  let told: GuardrailStarted | undefined
  const waiting = Effect.suspend(() => {
    told = start(passage, staged, Loop.now(loop))
    const counted = Effect.map(judged, (verdict) => counting(passage, staged, verdict))
    return loop.journal.isObserved ? Effect.andThen(loop.journal.flush, counted) : counted
  })
  return Span.around(staged, (span) =>
    Effect.onExit(waiting, (exit) =>
      Effect.sync(() => {
        const counted = Exit.isSuccess(exit) ? exit.value : undefined
        Span.end(span, counted?._tag ?? "Interrupted")
        Telemetry.endFailed(span, loop, exit)
        if (told !== undefined) end(passage, told, counted, isLast)
      })))
}

/** Runs guardrails, beginning with the one at an index. Those that need no effect cost no turn of the runtime. */
const askFrom = <A>(
  passage: Passage<A>,
  guardrails: ReadonlyArray<StagedGuardrail>,
  first: number,
  spans: SpanRecorder
): Effect.Effect<void, never, unknown> => {
  // One begins when the one before it ends, so clocks are read once for both.
  let time = spans.now
  let at = Loop.now(passage.loop)
  for (let index = first; index < guardrails.length && passage.refusal === undefined; index++) {
    const staged = guardrails[index]!
    const isLast = index === guardrails.length - 1
    let counted: Counting<A>
    try {
      const judged = judge(passage, staged)
      if (Effect.isEffect(judged)) {
        return Effect.flatMap(
          wait(passage, staged, judged, isLast),
          () => askFrom(passage, guardrails, index + 1, spans)
        )
      }
      counted = counting(passage, staged, judged)
    } catch (defect) {
      const died = Exit.die(defect)
      end(passage, start(passage, staged, at), undefined, isLast)
      Span.record(spans, staged, time, "Interrupted", died, passage.loop.journal.recordsContent)
      return died
    }
    at = end(passage, start(passage, staged, at), counted, isLast)
    time = Span.record(spans, staged, time, counted._tag, Exit.void)
  }
  return Effect.void
}

/**
 * Runs guardrails one after the other, each on what the one before it passed on, until one refuses. With `held`, their events wait there
 * for `GuardrailEvents.emitWaiting`.
 */
export const check = <A>(
  loop: Loop.Loop,
  guardrails: ReadonlyArray<StagedGuardrail>,
  value: A,
  kind: Kind<A>,
  held?: GuardrailEvents.WaitingEvents
): Effect.Effect<Checked<A>, never, unknown> =>
  Effect.withFiber((fiber) => {
    const passage = new Passage(loop, value, kind, held)
    return Effect.map(
      askFrom(passage, guardrails, 0, new SpanRecorder(fiber)),
      (): Checked<A> => passage.refusal ?? { _tag: "Passed", value: passage.value, isReplaced: passage.isReplaced }
    )
  })
