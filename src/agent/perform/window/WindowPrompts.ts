/**
 * The interface of the code that performs context windows.
 *
 * A context window carries that code (`Performer`), and the loop doesn't import it. So a program without a window doesn't load it, and
 * bundlers leave it out.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { AgentState } from "../../../domain/StateSchema.ts"
import type { Definition, Request } from "../../definition/AgentDefinition.ts"
import type { Performer } from "../../definition/Performer.ts"
import { internalsOf } from "../../definition/window/WindowType.ts"
import type { Loop } from "../../journal/Loop.ts"
import type { RequestPrompt } from "../ask/RequestPrompt.ts"
import type { Beside, Choice } from "./Choice.ts"

/** Makes the prompts of requests in a context window. */
export interface WindowPrompts extends Performer {
  readonly _tag: "troupe/agent/WindowPrompts"
  /** Makes the prompt of the turns that the window of a loop's agent chooses. */
  readonly makePrompt: (
    loop: Loop,
    instructions: string | undefined,
    request: Request
  ) => Effect.Effect<RequestPrompt, unknown, unknown>
  /** Predicts what a request would send in a state. It asks no model, keeps nothing, and emits nothing. */
  readonly foresee: (loop: Loop, beside: Beside, state: AgentState) => Effect.Effect<Choice, unknown, unknown>
}

const isWindowPrompts = (performer: Performer): performer is WindowPrompts =>
  performer._tag === "troupe/agent/WindowPrompts"

/** Returns what makes the prompts of an agent with a context window. */
export const windowPromptsOf = ({ contextWindow }: Definition): WindowPrompts | undefined => {
  if (contextWindow === undefined) return undefined
  const { performer } = internalsOf(contextWindow)
  return isWindowPrompts(performer) ? performer : undefined
}
