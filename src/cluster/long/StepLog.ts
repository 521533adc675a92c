/**
 * The log of a long run at its owner: what is kept so far, and how more is added.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import * as Semaphore from "effect/Semaphore"
import type { SessionError } from "../../agent/session/SessionError.ts"
import * as Answer from "../Answer.ts"
import type { Told } from "../Journal.ts"
import { LogWriter, unavailable, unreadable } from "../LogWriter.ts"
import type { Service } from "../store/Stored.ts"
import type { UnknownCall } from "../UnknownCall.ts"
import * as Steps from "./Steps.ts"

/** The log of a long run at its owner. */
export class StepLog<State, Step> {
  kept: Steps.Kept<State>
  readonly #kind: Steps.Kind<State, Step>
  readonly #writer: LogWriter
  readonly #told: PubSub.PubSub<Told<Step>>
  readonly #alone = Semaphore.makeUnsafe(1)

  constructor(
    kind: Steps.Kind<State, Step>,
    writer: LogWriter,
    told: PubSub.PubSub<Told<Step>>,
    kept: Steps.Kept<State>
  ) {
    this.#kind = kind
    this.#writer = writer
    this.#told = told
    this.kept = kept
  }

  get isClosed(): boolean {
    return this.#writer.isClosed
  }

  /** Whether nothing is stored. */
  get isEmpty(): boolean {
    return this.#writer.isEmpty
  }

  /** Closes the log: nothing more is kept. */
  close(): void {
    this.#writer.close()
  }

  /** Closes the log, and first stores its state whole, so that the next owner has less to read. */
  get end(): Effect.Effect<void> {
    return this.#writer.end(() => Steps.toText(this.#kind, this.kept), this.kept.steps)
  }

  /** Keeps steps, and the calls of which nobody knows whether they took effect. */
  keep(steps: ReadonlyArray<Step>, unknown: ReadonlyArray<UnknownCall> = []): Effect.Effect<void, SessionError> {
    return this.append({ steps, unknown })
  }

  /** Answers a message, by what is kept once nothing else is being appended. */
  answer(
    key: string,
    answerIn: (kept: Steps.Kept<State>) => Answer.Answer
  ): Effect.Effect<Answer.Answer, SessionError> {
    const taken = this.kept.message === key ? undefined : key
    let answer: Answer.Answer
    const appending = this.append({ steps: [], answered: key, taken }, (kept) => answer = answerIn(kept))
    return Effect.map(appending, () => answer)
  }

  /** Appends an entry. */
  append(
    entry: Steps.Entry<State, Step>,
    answerIn?: (kept: Steps.Kept<State>) => Answer.Answer
  ): Effect.Effect<void, SessionError> {
    const appending = Effect.suspend(() => {
      const before = this.kept
      const answer = answerIn?.(before)
      const next = Steps.take(this.#kind, before, entry)
      const written = this.#writer.write({
        text: Steps.toText(this.#kind, entry),
        lastEvent: next.steps,
        taken: entry.taken,
        answered: entry.answered,
        answer: answer === undefined ? undefined : Answer.toText(answer, entry.taken === undefined)
      })
      return Effect.flatMap(written, () => {
        this.kept = next
        entry.steps.forEach((event, at) => PubSub.publishUnsafe(this.#told, { cursor: before.steps + at + 1, event }))
        return this.#writer.snapshot(() => Steps.toText(this.#kind, this.kept), this.kept.steps)
      })
    })
    return Effect.uninterruptible(this.#alone.withPermit(appending))
  }
}

/** Claims a long run, and reads what is kept of it. */
export const open = Effect.fnUntraced(function*<State, Step>(
  kind: Steps.Kind<State, Step>,
  { id, store, told }: { readonly id: string; readonly store: Service; readonly told: PubSub.PubSub<Told<Step>> }
) {
  const claimed = yield* Effect.mapError(store.claim(id), unavailable(id, "read"))
  const { entries, snapshot } = claimed
  const readable = Effect.mapError(unreadable(id))
  let kept = snapshot === undefined
    ? Steps.begin(kind)
    : yield* readable(Effect.fromResult(Steps.fromText(kind, snapshot.text)))
  for (const { text } of entries) {
    kept = Steps.take(kind, kept, yield* readable(Effect.fromResult(Steps.entryFromText(kind, text))))
  }
  return new StepLog(kind, new LogWriter({ id, store }, claimed), told, kept)
})
