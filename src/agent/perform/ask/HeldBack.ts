/**
 * Shows a streamed answer piece by piece: as it arrives, or once guardrails have let it pass.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Answer from "../../../domain/ModelAnswer.ts"
import * as Loop from "../../journal/Loop.ts"
import * as AnswerGuard from "../guard/AnswerGuard.ts"
import * as ScreenCalls from "../guard/ScreenCalls.ts"

/** The pieces of an answer that have arrived and may not be shown yet. Once it is open, pieces are shown as they arrive. */
export interface HeldBack {
  answer: Answer.Arriving | undefined
  parts: Array<Answer.Incoming>
  isOpen: boolean
}

const tellPart = (
  loop: Loop.Loop,
  where: Loop.Where,
  answer: Answer.Arriving,
  part: Answer.Incoming,
  at: number
): void => {
  switch (part.type) {
    case "text-delta":
      return Loop.emitDelta(loop, where, "TextDelta", part.delta, at)
    case "reasoning-delta":
      return AnswerGuard.hidesThoughts(loop) ? undefined : Loop.emitDelta(loop, where, "ReasoningDelta", part.delta, at)
    case "tool-params-delta": {
      const name = answer.names.get(part.id) ?? ""
      if (ScreenCalls.isHidden(loop, name)) return
      return Loop.emit(loop, { _tag: "ToolParamsDelta", callId: part.id, name, delta: part.delta })
    }
    default:
      return
  }
}

/** Shows a piece, or holds it back. */
export const showOrHold = (
  loop: Loop.Loop,
  held: HeldBack | undefined,
  where: Loop.Where,
  answer: Answer.Arriving,
  part: Answer.Incoming,
  at: number
): void => {
  if (held === undefined || held.isOpen) tellPart(loop, where, answer, part, at)
  else held.parts.push(part)
}

/** Drops the held-back pieces of an answer that broke off. */
export const drop = (held: HeldBack | undefined): void => {
  if (held === undefined) return
  held.answer = undefined
  held.parts = []
}

/** Shows the held-back pieces that may be shown, and from now on each piece as it arrives. */
export const release = (
  loop: Loop.Loop,
  held: HeldBack | undefined,
  shows: AnswerGuard.Seen["shows"]
): Effect.Effect<void> => {
  if (held === undefined || held.isOpen) return Effect.void
  const { answer, parts } = held
  const { path, step } = loop
  held.isOpen = true
  held.parts = []
  if (answer === undefined) return Effect.void
  // The pieces are shown one by one at the readers' pace, so that an interruption stops them.
  return Effect.forEach(parts.filter(shows), (part) => {
    tellPart(loop, { path, step }, answer, part, Loop.now(loop))
    return loop.journal.flush
  }, { discard: true })
}

/** Shows the parts of an answer that guardrails have let pass. */
export const show = (
  loop: Loop.Loop,
  { instead, shows }: AnswerGuard.Seen,
  held: HeldBack | undefined
): Effect.Effect<void> => {
  if (!loop.journal.isStreaming) return Effect.void
  const shown = release(loop, held, shows)
  if (instead.length === 0) return shown
  return Effect.flatMap(shown, () => {
    for (const piece of instead) Loop.emit(loop, piece)
    return loop.journal.flush
  })
}
