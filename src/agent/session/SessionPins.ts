/**
 * Pins on turns of the conversation that a session holds.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { AgentState } from "../../domain/StateSchema.ts"
import * as Wanted from "../../domain/Wanted.ts"
import { emit } from "../journal/Loop.ts"
import { type OpenSession, runAlone } from "./OpenSession.ts"

/** Pins a turn, or unpins it. If nothing would change, or there is no such turn, no event is emitted. */
export const pin = (session: OpenSession, turn: number, isPinned: boolean): Effect.Effect<AgentState, unknown> =>
  runAlone(session, isPinned ? "pin" : "unpin", (loop) => {
    const found = loop.state.conversation.turns[Wanted.number("What pins a turn", turn)]
    if (found !== undefined && (found.pinned === true) !== isPinned) {
      emit(loop, { _tag: "StateAdjusted", adjustment: { _tag: "TurnPinned", turn, isPinned } })
    }
    return Effect.map(loop.journal.flush, () => session.ref.value)
  })
