/**
 * Who begins a run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { HandoffTargetNotFound } from "../../domain/AgentError.ts"
import { appendUser, hasOpenCalls, lastUserText } from "../../domain/Conversation.ts"
import type { AgentState, User } from "../../domain/StateSchema.ts"
import * as AgentPicker from "../../handoff/AgentPicker.ts"
import type { Definition } from "../definition/AgentDefinition.ts"
import { Halt } from "../journal/Halt.ts"
import * as Loop from "../journal/Loop.ts"

const hasModes = ({ modes }: Definition, state: AgentState): boolean => state.modes.every(({ name }) => modes.has(name))

/**
 * Puts the agent in control that is to begin, possibly with an effect.
 *
 * While calls are open, or a handoff is, the agent that has them goes on; and so does one that is in modes which the other
 * doesn't have.
 */
export const pick = (loop: Loop.Loop, input: User["parts"]): Effect.Effect<void, unknown, unknown> | undefined => {
  const { roster, state } = loop
  if (state.status._tag === "HandoffRequested" || hasOpenCalls(state.conversation)) return undefined
  if (roster.picker === undefined) {
    if (loop.definition !== roster.first && hasModes(roster.first, state)) Loop.putInControl(loop, roster.first)
    return undefined
  }
  const conversation = appendUser(state.conversation, input)
  const isNew = state.conversation.turns.length === 0
  const picked = AgentPicker.pick(roster.picker, {
    conversation,
    text: lastUserText(conversation) ?? "",
    lastStatus: isNew ? undefined : state.status,
    lastAgent: isNew ? undefined : state.agent,
    agents: [...roster.agents.values()].map(({ description, name }) => ({ name, description }))
  })
  return Effect.flatMap(picked, (name) => {
    const definition = roster.agents.get(name)
    if (definition === undefined) {
      const available = [...roster.agents.keys()]
      return Effect.fail(new Halt(new HandoffTargetNotFound({ agent: state.agent, target: name, available })))
    }
    if (hasModes(definition, state)) Loop.putInControl(loop, definition)
    return Effect.void
  })
}
