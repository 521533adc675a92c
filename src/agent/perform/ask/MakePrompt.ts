/**
 * Making the prompt of a request: the system message, composed anew for each, and the messages of the settled turns.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Request } from "../../definition/AgentDefinition.ts"
import type { Loop } from "../../journal/Loop.ts"
import { windowPromptsOf } from "../window/WindowPrompts.ts"
import { instructionsOf } from "./Instructions.ts"
import { cacheFor } from "./PromptCache.ts"
import { RequestPrompt } from "./RequestPrompt.ts"
import { systemOf } from "./RequestSystem.ts"

const assemble = (loop: Loop, instructions: string | undefined): RequestPrompt => {
  const { state } = loop
  const cache = cacheFor(loop, state)
  return new RequestPrompt(cache.system(systemOf(loop, instructions, cache.handed(state))), cache.projection)
}

/** Makes the prompt of a request of a loop whose calls are all settled. */
export const makePrompt = (
  loop: Loop,
  request: Request
): RequestPrompt | Effect.Effect<RequestPrompt, unknown, unknown> => {
  const { definition, state } = loop
  const windowed = windowPromptsOf(definition)
  const make = (text: string | undefined) => windowed?.makePrompt(loop, text, request) ?? assemble(loop, text)
  const instructions = instructionsOf(definition, state)
  if (!Effect.isEffect(instructions)) return make(instructions)
  return Effect.flatMap(instructions, (text) => {
    const prompt = make(text)
    return Effect.isEffect(prompt) ? prompt : Effect.succeed(prompt)
  })
}
