/**
 * Shows a streamed answer piece by piece: as it arrives, or once guardrails have let it pass.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Answer from "../../../domain/ModelAnswer.ts"
import { hidesThoughts } from "../../definition/guardrail/AgentGuardrails.ts"
import * as Loop from "../../journal/Loop.ts"
import type { Seen } from "../guard/SeenAnswer.ts"

/**
 * The pieces of an answer that have arrived and aren't shown yet. With `isOpen`, pieces are shown as they arrive.
 *
 * Pieces that arrive while earlier ones are being shown wait behind them. `shown` counts the pieces in `parts` that have been shown.
 */
export interface HeldBack {
  answer: Answer.Arriving | undefined
  parts: Array<Answer.Incoming>
  shown: number
  isOpen: boolean
}

/** Begins to hold pieces back. */
export const make = (): HeldBack => ({ answer: undefined, parts: [], shown: 0, isOpen: false })

/** Checks whether guardrails judge the parameters of a tool's calls, so that no piece of them may be shown before. */
const isHidden = (loop: Loop.Loop, tool: string): boolean => {
  const { guardrails, tools } = loop.definition
  switch (tools.get(tool)?._tag) {
    case "Output":
      return false
    case "Handoff":
      return guardrails.handoff.length > 0
    default:
      return guardrails.toolCall.length > 0
  }
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
      return hidesThoughts(loop.definition.guardrails)
        ? undefined
        : Loop.emitDelta(loop, where, "ReasoningDelta", part.delta, at)
    case "tool-params-delta": {
      const name = answer.pieces?.names.get(part.id) ?? ""
      if (isHidden(loop, name)) return
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
  held.shown = 0
}

/**
 * Shows the held-back pieces that may be shown, at the readers' pace, and then each piece as it arrives. An interruption stops it. So does a
 * failure of the attempt, whose pieces are dropped.
 */
export const release = (
  loop: Loop.Loop,
  held: HeldBack | undefined,
  shows: Seen["shows"]
): Effect.Effect<void> => {
  if (held === undefined || held.isOpen) return Effect.void
  const { path, step } = loop
  const where: Loop.Where = { path, step }
  return Effect.whileLoop({
    while: () => {
      if (held.shown < held.parts.length) return true
      held.parts = []
      held.isOpen = true
      return false
    },
    body: () => {
      const part = held.parts[held.shown++]!
      if (held.answer === undefined || !shows(part)) return Effect.void
      tellPart(loop, where, held.answer, part, Loop.now(loop))
      return loop.journal.flush
    },
    step: () => {}
  })
}

/** Shows the parts of an answer that guardrails have let pass. */
export const show = (
  loop: Loop.Loop,
  { instead, shows }: Seen,
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
