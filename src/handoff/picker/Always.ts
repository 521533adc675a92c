/**
 * Always the same agent.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { type AgentPicker, fromNames } from "./Picker.ts"

/**
 * Always picks the agent with this name.
 *
 * @category constructors
 * @since 0.1.0
 */
export const always = <const Name extends string>(name: Name): AgentPicker<Name> =>
  fromNames([name], () => Effect.succeed(name))
