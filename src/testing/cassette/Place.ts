/**
 * Where a request or a call comes from: the agent that is running, or nobody, whose name is empty.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Fiber from "effect/Fiber"
import { CurrentAgent } from "../../agent/journal/CurrentAgent.ts"
import type { Place } from "./Recorder.ts"

/**
 * Whether a request or a call is part of one that is being recorded, and so never comes in a replay: a model that an agent brings may ask
 * the one around it, and a handler may ask a model or run an agent.
 */
export const IsPart = Context.Reference<boolean>("troupe/testing/Cassette/IsPart", { defaultValue: () => false })

const nobody: Place = { path: [""], calls: [], step: 0 }

/** Returns who asks. `answers` counts the answers of the model that belong to the step: one for a call, none for a request. */
export const current = (fiber: Fiber.Fiber<unknown, unknown>, answers: 0 | 1): Place => {
  const running = fiber.getRef(CurrentAgent)
  if (running === undefined) return nobody
  const { calls, path, state } = running
  return { path, calls, step: Math.max(0, state.run.iteration - answers) }
}
