/**
 * Observers of runs' events, besides the stream of a run.
 *
 * An observer sees every event in order, also the events that end an interrupted run, which a stream's reader that left doesn't see.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import * as Wanted from "../../domain/Wanted.ts"
import { Host } from "../../modes/Host.ts"
import { CurrentOperations } from "./OperationsUnderWay.ts"

/**
 * A function that handles an event. The run waits for its Effect, which can't fail or be interrupted. A defect in it ends the run.
 *
 * @category models
 * @since 0.1.0
 */
export type Observer = (event: AgentEvent) => Effect.Effect<void>

/**
 * The observers of the runs that a fiber starts, outermost first.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentObservers = Context.Reference<ReadonlyArray<Observer>>("troupe/agent/Observer", {
  defaultValue: () => []
})

/** An observer runs within the conversation and the operations of the run that it observes. */
// Both services are references, which no requirement lists.
const withoutPlace = Context.omit(Host, CurrentOperations) as <R>(self: Context.Context<R>) => Context.Context<R>

/**
 * Calls `observer` with the events of every run inside an effect, except runs that the observer itself starts. The observer may need
 * services.
 *
 * It may change the conversation of the agent whose event it sees, by `SystemPrompt` and `Mode`; the change applies at once. If the event
 * is itself such a change, or the end of a run, the change fails with the `ModeError` `Unavailable`. Talking to the agent and entering
 * modes always fail: `Mode.call` and `Mode.enter` with a `ModeError`, the session's operations with `ReentrantOperation`.
 *
 * In a session with a store, it sees events that are saved at once, such as a call's result, after they were saved.
 *
 * @category combinators
 * @since 0.1.0
 */
export const observe: {
  <R2 = never>(
    observer: (event: AgentEvent) => Effect.Effect<void, never, R2>
  ): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R | R2>
  <A, E, R, R2 = never>(
    self: Effect.Effect<A, E, R>,
    observer: (event: AgentEvent) => Effect.Effect<void, never, R2>
  ): Effect.Effect<A, E, R | R2>
} = dual(
  2,
  <A, E, R, R2>(
    self: Effect.Effect<A, E, R>,
    observer: (event: AgentEvent) => Effect.Effect<void, never, R2>
  ): Effect.Effect<A, E, R | R2> =>
    Effect.contextWith((context: Context.Context<R2>) => {
      const outer = Context.get(context, CurrentObservers)
      const own = Context.add(withoutPlace(context), CurrentObservers, outer)
      return Effect.provideService(Wanted.effectGiven("What `Agent.observe` observes", self), CurrentObservers, [
        ...outer,
        (event) => {
          const seeing = observer(event)
          return Effect.isEffect(seeing)
            ? Effect.provideContext(seeing, own)
            : Effect.die(Wanted.mustReturn("An observer", "Effect", seeing))
        }
      ])
    })
)
