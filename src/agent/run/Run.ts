/**
 * Running what a roster describes.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Roster } from "../definition/AgentDefinition.ts"
import type * as Delivery from "../journal/Delivery.ts"
import * as Failure from "../journal/Failure.ts"
import * as Loop from "../journal/Loop.ts"
import { Surroundings } from "../journal/Surroundings.ts"
import { atWork } from "../perform/InView.ts"
import type { Live } from "../perform/mode/Live.ts"
import { makeRoot, play } from "./Play.ts"
import type { From } from "./RunStart.ts"

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
