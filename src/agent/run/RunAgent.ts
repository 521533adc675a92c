/**
 * Running agents: to the end, step by step, or as a stream.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Stream from "effect/Stream"
import type { AgentError } from "../../domain/AgentError.ts"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import * as AgentState from "../../domain/AgentState.ts"
import { type Any, isRunnable, type Runnable } from "../../handoff/Runnable.ts"
import type { Roster } from "../definition/AgentDefinition.ts"
import type { Input } from "../definition/Input.ts"
import { rosterOf } from "../definition/Roster.ts"
import * as EventStream from "./EventStream.ts"
import * as OutsideRun from "./OutsideRun.ts"
import * as Run from "./Run.ts"
import { ask, begin, type From, type FromOptions, goOn } from "./RunStart.ts"

export type { Runnable } from "../../handoff/Runnable.ts"

/** A function that runs an agent or a group, which is its first argument or is piped. */
interface Runs<Args extends ReadonlyArray<unknown>> {
  (...args: Args): <Name extends string, Output, E, R>(
    self: Runnable<Name, Output, E, R>
  ) => Effect.Effect<AgentState.AgentState, AgentError | E, R>
  <Name extends string, Output, E, R>(
    self: Runnable<Name, Output, E, R>,
    ...args: Args
  ): Effect.Effect<AgentState.AgentState, AgentError | E, R>
}

/** A function that runs an agent or a group and streams the result. */
interface Streams<A> {
  (from: Input | AgentState.AgentState, options?: FromOptions): <Name extends string, Output, E, R>(
    self: Runnable<Name, Output, E, R>
  ) => Stream.Stream<A, AgentError | E, R>
  <Name extends string, Output, E, R>(
    self: Runnable<Name, Output, E, R>,
    from: Input | AgentState.AgentState,
    options?: FromOptions
  ): Stream.Stream<A, AgentError | E, R>
}

/** Runs an agent or a group. An invalid one is a defect of the run. */
const runWith = (
  self: Any,
  from: (roster: Roster) => From,
  onFailure: "Fail" | "Keep" = "Fail"
): Effect.Effect<AgentState.AgentState, never> =>
  Effect.suspend(() => {
    const roster = rosterOf(self)
    return Run.run(roster, from(roster), undefined, onFailure) as Effect.Effect<AgentState.AgentState, never>
  })

/** If the first argument can be run, it is the agent; otherwise the agent is piped. */
const isDataFirst = (args: ArrayLike<unknown>): boolean => isRunnable(args[0])

const runsFrom = <Args extends ReadonlyArray<unknown>>(from: (roster: Roster, ...args: Args) => From): Runs<Args> =>
  dual(isDataFirst, (self: Any, ...args: Args) => runWith(self, (roster) => from(roster, ...args)))

const streamWith = (self: Any, from: (roster: Roster) => From): Stream.Stream<AgentEvent, never> =>
  Stream.suspend(() => {
    const roster = rosterOf(self)
    return EventStream.make(roster, from(roster)) as Stream.Stream<AgentEvent, never>
  })

/**
 * Runs an agent, or a group, on a user's input in a new conversation, until it has an answer or waits for approvals or results.
 *
 * The state says which agent is in control at the end (`agent`), and which were before (`trail`). Fails with `AgentError`, which holds the
 * state, or with an error of your own, which holds none: of a tool in `fatal`, or of an Effect or a Layer that you gave the agent. `settle`
 * and `failedState` return the state then too.
 *
 * @category running
 * @since 0.1.0
 */
export const run: Runs<[input: Input, options?: RunOptions]> = runsFrom((roster, input, options) =>
  begin(roster, input, options)
)

/** Options of a new conversation: a system message, which the model reads after the agent's instructions. */
export type RunOptions = Pick<FromOptions, "systemMessage">

/** Options of a conversation that continues: which agent answers; by default the one last in control, or for a state without turns the one that the group's picker picks. */
export type ContinueOptions = Pick<FromOptions, "control">

/**
 * Runs an agent on what the user says next in a conversation.
 *
 * The agent last in control continues, or with `{ control: "first" }` the one that begins conversations. If the state has no turns and
 * `control` isn't given, a group's picker is asked. The state may be in any status. If calls await approval or results, the words wait: calls that may run are run, and the model reads the words once all calls are settled.
 *
 * Fails as `run` does, and with `AgentMismatch` if the state names an agent, a tool or a mode that this one doesn't have.
 *
 * @category running
 * @since 0.1.0
 */
export const continueConversation: Runs<[state: AgentState.AgentState, input: Input, options?: ContinueOptions]> =
  runsFrom(
    (roster, state, input, options) => ask(roster, input, { ...options, state })
  )

/**
 * Runs an agent on several inputs, one after the other in one conversation, and returns the last state. The first run that fails ends it.
 * Without inputs it returns an empty state.
 *
 * @category running
 * @since 0.1.0
 */
export const runMultiTurn: Runs<[inputs: ReadonlyArray<Input>]> = dual(
  isDataFirst,
  (self: Any, inputs: ReadonlyArray<Input>): Effect.Effect<AgentState.AgentState> =>
    Effect.reduce(
      inputs,
      (): AgentState.AgentState => rosterOf(self).initial,
      (state, input) => runWith(self, (roster) => ask(roster, input, { state }))
    )
)

/**
 * Continues a state where it stopped: after approvals, results that came later, an interruption, or a restart.
 *
 * A state that has ended, even `Failed`, is returned as it is, without events. Pass it to `AgentState.reopen` first if it should continue. But
 * a `Complete` state continues if its answer doesn't fit the agent's `output`, or if a group's policy lets another agent follow. Fails as
 * `run` does, and with `AgentMismatch` if the state names an agent, a tool or a mode that this one doesn't have.
 *
 * @category running
 * @since 0.1.0
 */
export const resume: Runs<[state: AgentState.AgentState]> = runsFrom(goOn)

/**
 * Runs an agent on an input, or continues a state, and returns the last state even if the run fails: then its status is `Failed`.
 * Interruptions and defects aren't caught.
 *
 * @category running
 * @since 0.1.0
 */
export const settle: {
  (from: Input | AgentState.AgentState, options?: FromOptions): <Name extends string, Output, E, R>(
    self: Runnable<Name, Output, E, R>
  ) => Effect.Effect<AgentState.AgentState, never, R>
  <Name extends string, Output, E, R>(
    self: Runnable<Name, Output, E, R>,
    from: Input | AgentState.AgentState,
    options?: FromOptions
  ): Effect.Effect<AgentState.AgentState, never, R>
} = dual(
  isDataFirst,
  (self: Any, from: Input | AgentState.AgentState, options?: FromOptions) =>
    runWith(self, (roster) => begin(roster, from, options), "Keep")
)

/**
 * Takes one step: one answer of the model and the calls in it, the calls that are open, or a handoff. No run starts or ends.
 *
 * A state that needs nothing, because it has ended or waits for approvals or results, is returned unchanged. But a `Complete` state
 * continues in the cases in which `resume` continues it. `AgentState.ask` makes a state to begin with. Fails as `resume` does.
 *
 * @category running
 * @since 0.1.0
 */
export const step: Runs<[state: AgentState.AgentState]> = dual(
  isDataFirst,
  (self: Any, state: AgentState.AgentState) => Effect.suspend(() => OutsideRun.step(rosterOf(self), state))
)

/**
 * Runs an agent and streams every event, text as it arrives.
 *
 * Takes an input, a state to continue, or both (`{ state }`) to continue a conversation. The model is asked to stream. The last event,
 * `RunCompleted`, `RunFailed` or `RunInterrupted`, holds the last state, whatever happened; `AgentEvent.isRunEnd` finds it. Then the stream
 * ends, or fails as `run` does. If it continues a state that has ended, it has no events, as `resume` has none.
 *
 * The run waits while the reader is 256 events behind. A reader that is interrupted, or leaves, interrupts the run, and sees no more
 * events: `Agent.observe` shows them all, those that end the run too.
 *
 * @category running
 * @since 0.1.0
 */
export const stream: Streams<AgentEvent> = dual(
  isDataFirst,
  (self: Any, from: Input | AgentState.AgentState, options?: FromOptions) =>
    streamWith(self, (roster) => begin(roster, from, options))
)

/**
 * Runs an agent on an input, or continues a state, and streams every new state up to the last one. In a new conversation the first one has
 * the input, unless the agent rejects it. A failure comes after the `Failed` state. A stream that continues a state that has ended has no
 * states, as `stream` has no events.
 *
 * @category running
 * @since 0.1.0
 */
export const states: Streams<AgentState.AgentState> = dual(
  isDataFirst,
  (self: Any, from: Input | AgentState.AgentState, options?: FromOptions) =>
    Stream.suspend(() => {
      const start = begin(rosterOf(self), from, options)
      return streamWith(self, () => start).pipe(
        Stream.mapAccum(() => start.state, (before, event) => {
          const after = AgentState.reduce(before, event)
          return [after, after === before ? [] : [after]]
        })
      )
    })
)
