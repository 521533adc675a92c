/**
 * Events that waited for guardrails, emitted with the words that the state holds after the guardrails.
 *
 * So the fold of the emitted events is the run's state.
 *
 * @since 0.1.0
 */
import type { AgentEvent } from "./AgentEvent.ts"
import type { AgentState, Turn, User } from "./StateSchema.ts"

const isUser = (turn: Turn | undefined): turn is User => turn?._tag === "User"

/**
 * Returns events with the words of users and modes as the state holds them. The events bring one new input, which is the last in the state.
 */
export const retold = (
  events: ReadonlyArray<AgentEvent>,
  { conversation: { turns } }: AgentState
): ReadonlyArray<AgentEvent> =>
  events.map((event) => {
    if (event.calls.length > 0) return event
    switch (event._tag) {
      case "RunStarted":
      case "InputGiven": {
        const said = turns.findLast(isUser)
        if (event.input === undefined || said === undefined) return event
        const { blocked, parts: input } = said
        return { ...event, input, ...(blocked === undefined ? undefined : { blocked }) }
      }
      case "GuardrailSettled": {
        const { replaced } = event
        if (replaced === undefined || !("turn" in replaced)) return event
        const turn = turns[replaced.turn]
        return isUser(turn) ? { ...event, replaced: { ...replaced, input: turn.parts } } : event
      }
      default:
        return event
    }
  })
