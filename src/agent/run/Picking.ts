/**
 * Which agent begins a run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { HandoffTargetNotFound } from "../../domain/AgentError.ts"
import { appendUser, hasOpenCalls, lastUserText } from "../../domain/conversation/Turns.ts"
import type { AgentState, User } from "../../domain/StateSchema.ts"
import * as AgentPicker from "../../handoff/picker/Picker.ts"
import type { Definition } from "../definition/AgentDefinition.ts"
import type { Loop } from "../journal/Loop.ts"
import * as MeasuredModel from "../journal/MeasuredModel.ts"
import { Fail } from "../rules/Decision.ts"

const hasModes = ({ modes }: Definition, state: AgentState): boolean => state.modes.every(({ name }) => modes.has(name))

/**
 * Returns the agent that is to begin, possibly by an effect.
 *
 * The agent in control continues if it has open calls or an open handoff, or if it is in a mode that the picked agent doesn't have.
 */
export const pick = (loop: Loop, input: User["parts"]): Definition | Effect.Effect<Definition, unknown, unknown> => {
  const { definition, roster, roster: { group }, state } = loop
  if (state.status._tag === "HandoffRequested" || hasOpenCalls(state.conversation)) return definition
  if (roster.picker === undefined) return hasModes(roster.first, state) ? roster.first : definition
  const conversation = appendUser(state.conversation, input)
  const isNew = state.conversation.turns.length === 0
  const picked = AgentPicker.pick(roster.picker, {
    conversation,
    text: lastUserText(conversation) ?? "",
    lastStatus: isNew ? undefined : state.status,
    lastAgent: isNew ? undefined : state.agent,
    agents: [...roster.agents.values()].map(({ description, name }) => ({ name, description }))
  })
  return Effect.flatMap(Effect.updateContext(picked, MeasuredModel.within), (name) => {
    const found = roster.agents.get(name)
    if (found !== undefined) return Effect.succeed(hasModes(found, state) ? found : definition)
    const available = [...roster.agents.keys()]
    return Effect.fail(new Fail(new HandoffTargetNotFound({ agent: state.agent, target: name, available, group })))
  })
}
