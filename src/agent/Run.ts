/**
 * Running what a roster describes.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { AgentState } from "../domain/StateSchema.ts"
import type { Roster } from "./Definition.ts"
import type * as Delivery from "./Delivery.ts"
import * as Failure from "./Failure.ts"
import type { From } from "./Input.ts"
import { atWork } from "./InView.ts"
import * as Loop from "./Loop.ts"
import type { Live } from "./modes/Live.ts"
import { makeRoot, play } from "./Play.ts"
import { Surroundings } from "./Surroundings.ts"

/** Runs what a roster describes. Gives the last state, and fails with an `AgentError` or an error of somebody's own. */
export const run = (
  roster: Roster,
  from: From,
  receiver: Delivery.Receiver | undefined,
  onFailure: "Fail" | "Keep",
  live?: Live
): Effect.Effect<AgentState, unknown, unknown> =>
  Effect.withFiber((fiber) => {
    const loop = Loop.make(
      makeRoot(new Surroundings(fiber), from.state, receiver),
      undefined,
      undefined,
      roster,
      from.state,
      live
    )
    return Effect.matchCauseEffect(atWork(loop, play(loop, from.input, from.isPicked)), {
      onFailure: (cause) =>
        onFailure === "Keep" && Cause.hasFails(cause)
          ? Effect.succeed(loop.state)
          : Effect.failCause(Failure.withStates(loop, cause)),
      onSuccess: () => Effect.succeed(loop.state)
    })
  })
