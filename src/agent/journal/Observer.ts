/**
 * Who sees the events of runs, beside the stream of a run.
 *
 * An observer sees every event in its order, those that end an interrupted run too, when a stream's consumer is gone.
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
 * Sees an event. The run waits for it, and nothing interrupts it; it can't fail.
 *
 * @category models
 * @since 0.1.0
 */
export type Observer = (event: AgentEvent) => Effect.Effect<void>

/**
 * The observers of the runs inside, outermost first.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentObservers = Context.Reference<ReadonlyArray<Observer>>("troupe/agent/Observer", {
  defaultValue: () => []
})

/** The conversation and the operations that an observer is in are those of the run that it sees. */
const withoutPlace = Context.omit(Host, CurrentOperations) as <R>(self: Context.Context<R>) => Context.Context<R>

/**
 * Lets `observer` see the events of every run inside an effect, but not those of runs that it starts itself. It may need services of
 * its own.
 *
 * It may change the conversation of the agent whose event it sees, by `SystemPrompt` and `Mode`, at once. In answer to such a change or to
 * the end of a run that fails with `Unavailable`; talking to the agent and entering modes always fail.
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
      return Effect.provideService(self, CurrentObservers, [
        ...outer,
        (event) => {
          const seeing = observer(event)
          return Effect.isEffect(seeing)
            ? Effect.provideContext(seeing, own)
            : Effect.die(Wanted.gaveNo("An observer", "Effect", seeing))
        }
      ])
    })
)
