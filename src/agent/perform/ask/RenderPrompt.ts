/**
 * The system prompt of the next request, for those who ask for it before it is sent.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { AgentState } from "../../../domain/StateSchema.ts"
import { handedNote, isToldIn } from "../../../domain/Takeover.ts"
import { because, Unavailable } from "../../../modes/ModeError.ts"
import type { LiveModes } from "../../journal/LiveModes.ts"
import type { Loop } from "../../journal/Loop.ts"
import { compose, instructionsOf } from "../../rules/SystemPrompt.ts"

/** The conversations whose instructions are asked for what is rendered, by their modes. */
const Rendering = Context.Reference<ReadonlyArray<LiveModes>>("troupe/agent/RenderPrompt/Rendering", {
  defaultValue: () => []
})

/** Gives what the agent in control was handed, if it can't read that in its conversation. */
const handed = (state: AgentState): string | undefined => {
  const { conversation: { turns }, handoff } = state
  return handoff === undefined || turns.some((turn) => isToldIn(turn, handoff)) ? undefined : handedNote(state)
}

/** Gives an agent's instructions, unless they are what asks. */
const ask = (
  operation: string,
  { definition, live, state }: Loop
): Effect.Effect<string | undefined, unknown, unknown> =>
  Effect.flatMap(Rendering, (rendering) => {
    if (rendering.includes(live)) {
      const issue = "the instructions would wait for themselves"
      return Effect.fail(because(new Unavailable({ operation, issue, error: null })))
    }
    const instructions = instructionsOf(definition, state)
    return Effect.isEffect(instructions)
      ? Effect.provideService(instructions, Rendering, [...rendering, live])
      : Effect.succeed(instructions)
  })

/** Renders the system prompt that a loop sends next, with other instructions than the agent's if some are given. */
export const render = (
  operation: string,
  loop: Loop,
  instructions: string | undefined
): Effect.Effect<string, unknown, unknown> =>
  Effect.map(
    instructions === undefined ? ask(operation, loop) : Effect.succeed(instructions),
    (text) => compose(loop.definition, loop.state, text, handed(loop.state))
  )
