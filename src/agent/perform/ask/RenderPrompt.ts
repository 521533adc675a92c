/**
 * Renders the system prompt of the next request before it is sent.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as AgentStatus from "../../../domain/AgentStatus.ts"
import { start } from "../../../domain/Beginning.ts"
import * as Part from "../../../domain/Part.ts"
import { toMessages } from "../../../domain/Projection.ts"
import type { AgentState, Turn } from "../../../domain/StateSchema.ts"
import { handedNote, isToldIn } from "../../../domain/Takeover.ts"
import { because, Unavailable } from "../../../modes/ModeError.ts"
import type { LiveModes } from "../../journal/LiveModes.ts"
import type { Loop } from "../../journal/Loop.ts"
import { requestIn } from "../../rules/OfferedTools.ts"
import type { Choice } from "../window/Choice.ts"
import { windowPromptsOf } from "../window/WindowPrompts.ts"
import { instructionsOf } from "./Instructions.ts"
import { besideOf, systemOf } from "./RequestSystem.ts"

/** The conversations whose prompt is being rendered, by their modes. */
const Rendering = Context.Reference<ReadonlyArray<LiveModes>>("troupe/agent/RenderPrompt/Rendering", {
  defaultValue: () => []
})

/** Returns an agent's instructions. Fails if the instructions themselves are rendering the prompt. */
const ask = (
  operation: string,
  { definition, live, state }: Loop
): Effect.Effect<string | undefined, unknown, unknown> =>
  Effect.flatMap(Rendering, (rendering) => {
    if (rendering.includes(live)) {
      const issue = "the agent's instructions can't read the prompt that they are part of"
      return Effect.fail(because(new Unavailable({ operation, issue, error: null })))
    }
    const instructions = instructionsOf(definition, state)
    return Effect.isEffect(instructions)
      ? Effect.provideService(instructions, Rendering, [...rendering, live])
      : Effect.succeed(instructions)
  })

const firstMessage = (turns: ReadonlyArray<Turn>): Prompt.Message | undefined => {
  for (const turn of turns) {
    const [first] = toMessages(turn)
    if (first !== undefined) return first
  }
  return undefined
}

/** Returns the state that the next request is probably made in. A state that has ended gets a new input first. */
const next = (state: AgentState): AgentState =>
  AgentStatus.isTerminal(state.status) ? start(state, [Part.text("")], state.run.startedAt) : state

/** Predicts what the context window of the agent in control will send, if that matters because a turn says what was handed over. */
const foreseen = (
  loop: Loop,
  instructions: string | undefined,
  handed: string | undefined
): Effect.Effect<Choice | undefined, never, unknown> => {
  const { definition, isChangingModes, state } = loop
  const windowed = windowPromptsOf(definition)
  if (windowed === undefined || handed !== undefined || handedNote(state) === undefined) return Effect.undefined
  const request = requestIn(definition, state, isChangingModes)
  const beside = besideOf(loop, instructions, handed, firstMessage(state.conversation.turns), request)
  // If the turns exceed the window, the request will fail, but rendering doesn't.
  return Effect.orElseSucceed(windowed.foresee(loop, beside, next(state)), () => undefined)
}

/** Renders the system prompt that a loop sends next, with `instructions` instead of the agent's if they are given. */
export const render = (
  operation: string,
  loop: Loop,
  instructions: string | undefined
): Effect.Effect<string, unknown, unknown> =>
  Effect.flatMap(instructions === undefined ? ask(operation, loop) : Effect.succeed(instructions), (text) => {
    const { conversation: { turns }, handoff } = loop.state
    const handed = turns.some((turn) => isToldIn(turn, handoff)) ? undefined : handedNote(loop.state)
    return Effect.map(foreseen(loop, text, handed), (choice) => systemOf(loop, text, handed, choice))
  })
