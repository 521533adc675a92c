/**
 * A run from its start to its end. Whatever it starts, it ends, and it tells both; agents that answer calls run in the same way.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import type * as AgentStatus from "../../domain/AgentStatus.ts"
import { make } from "../../domain/Beginning.ts"
import { openCalls } from "../../domain/Conversation.ts"
import * as ModeStack from "../../domain/ModeStack.ts"
import type { AgentState, Call, User } from "../../domain/StateSchema.ts"
import type { Enterable } from "../../modes/Host.ts"
import type { AgentTool } from "../definition/AgentDefinition.ts"
import * as Delivery from "../journal/Delivery.ts"
import * as Failure from "../journal/Failure.ts"
import { Halt } from "../journal/Halt.ts"
import * as Loop from "../journal/Loop.ts"
import type { Surroundings } from "../journal/Surroundings.ts"
import * as TakenIds from "../journal/TakenIds.ts"
import * as Telemetry from "../journal/Telemetry.ts"
import { waiting } from "../perform/HandOver.ts"
import { inView } from "../perform/InView.ts"
import * as Entering from "../perform/mode/Entering.ts"
import { LoopHost } from "../perform/mode/LoopHost.ts"
import * as Binding from "../rules/Mismatch.ts"
import { driveAll, type Ending, type Extent, isOver } from "./Drive.ts"
import { close, end } from "./EndRun.ts"
import { pick } from "./Picking.ts"

/** Runs a loop from its start or from where it stopped, and tells it all. Errors are as they were thrown. */
export const play = (
  loop: Loop.Loop,
  input: User["parts"] | undefined,
  isPicked: boolean,
  mode?: string
): Effect.Effect<Ending, unknown, unknown> => {
  const run = (picked: Exit.Exit<void, unknown>) =>
    Telemetry.runSpan(loop, (span) =>
      Effect.onExit(
        inView(loop, begin(loop, input, picked, mode)),
        (exit) => Effect.ensuring(end(loop, exit), Effect.sync(() => Telemetry.endRun(span, loop)))
      ))
  const isAsked = isPicked && input !== undefined &&
    (loop.roster.picker === undefined || Binding.isTakeable(loop, input))
  const picking = isAsked ? pick(loop, input) : undefined
  return picking === undefined ? run(Exit.void) : Effect.flatMap(Effect.exit(picking), run)
}

/** Settles the calls whose handoffs failed the last run: the model reads why, and the user's new words reach it. */
const giveUpHandoffs = (loop: Loop.Loop, { message }: AgentStatus.Failure): void => {
  for (const call of openCalls(loop.state.conversation)) {
    if (loop.definition.tools.get(call.name)?._tag !== "Handoff") continue
    Loop.settle(loop, {
      callId: call.id,
      name: call.name,
      outcome: "Failed",
      result: `The handoff failed: ${message}`,
      duration: 0
    })
  }
}

/** Tells that a run starts, or goes on, and drives it, unless its state or its input can't be taken. */
const begin = (
  loop: Loop.Loop,
  input: User["parts"] | undefined,
  picked: Exit.Exit<void, unknown>,
  mode: string | undefined
) =>
  Effect.suspend((): Effect.Effect<Ending, unknown, unknown> => {
    const reason = Binding.findMismatch(loop.roster, loop.state) ??
      (input === undefined ? undefined : Binding.findInputIssue(loop.definition, input))
    // What isn't taken in doesn't change who is in control.
    if (reason !== undefined) Loop.putInControl(loop, loop.roster.agents.get(loop.state.agent) ?? loop.roster.first)
    const failure = input !== undefined && loop.state.status._tag === "Failed" ? loop.state.status.error : undefined
    loop.open.run = true
    if (input !== undefined) loop.step = 0
    if (loop.live.between === 0) loop.live.moves = 0
    Loop.tell(loop, {
      _tag: "RunStarted",
      ...(input === undefined || reason !== undefined ? undefined : { input }),
      ...(mode === undefined ? undefined : { mode })
    })
    if (reason !== undefined) return Effect.fail(new Halt(reason))
    if (Exit.isFailure(picked)) return Effect.failCause(picked.cause)
    if (failure !== undefined) giveUpHandoffs(loop, failure)
    const driven = goOn(loop, "Run")
    return Loop.flushed(loop, driven)
  })

/** Sets up the modes that a state says are entered and that aren't live, unless nothing is left to do, and drives a loop. */
export const goOn = (loop: Loop.Loop, extent: Extent): Effect.Effect<Ending, unknown, unknown> =>
  loop.live.open.length >= loop.state.modes.length || isOver(loop)
    ? driveAll(loop, extent)
    : Effect.andThen(Entering.resume(loop), driveAll(loop, extent))

/** Runs an agent that answers a call. Its typed failures are in the state that it leaves. */
const runChild: Loop.Root["runChild"] = (parent: Loop.Loop, call: Call, entry: AgentTool, params: unknown) =>
  Effect.suspend(() => {
    const roster = entry.roster()
    const isResumed = call.state._tag === "Delegated"
    const state = call.state._tag === "Delegated" ? call.state.child : make(roster.first.name)
    const loop = Loop.make(parent.root, parent, call.id, roster, state)
    return play(loop, isResumed ? undefined : entry.toInput(params), !isResumed).pipe(
      Effect.catch(() => Effect.void),
      Effect.map(() => loop.state.status._tag === "Failed" ? loop.state : loop.answered ?? loop.state)
    )
  })

/** Lets a mode, on its way in or out, talk to the agent: within the run under way, or in a run of its own. */
const talk: Loop.Root["talk"] = (loop, input) =>
  waiting(loop, () => {
    const mode = ModeStack.top(loop.state)?.name ?? ""
    const { run } = loop.open
    if (run) Loop.tell(loop, { _tag: "InputGiven", input, mode })
    // What of it breaks off is ended here: the run goes on, if only to clean up.
    const within = Effect.onExit(Effect.andThen(loop.root.flush, driveAll(loop, "Run")), (exit) => {
      close(loop, exit)
      return loop.root.flush
    })
    const answered = run ? within : play(loop, input, false, mode)
    return Effect.matchEffect(answered, {
      onSuccess: () => Effect.succeed(loop.state),
      onFailure: (error) =>
        Effect.failCause(Failure.withState(run ? { state: Failure.failedBy(loop, Cause.fail(error)) } : loop, error))
    })
  })

/** What a run is, for the loops in it: of one hidden class for all, as a loop is. */
class Root implements Loop.Root {
  readonly clock: Clock.Clock
  readonly recordsContent: boolean
  readonly runChild = runChild
  readonly talk = talk
  readonly hostOf = hostOf
  sequence = 0
  readonly #delivering: Delivery.Delivering
  readonly #state: AgentState
  #takenIds: Set<string> | undefined = undefined
  constructor(
    { clock, observers, recordsContent }: Surroundings,
    state: AgentState,
    receiver: Delivery.Receiver | undefined
  ) {
    this.#delivering = Delivery.make(observers, receiver)
    this.clock = clock
    this.recordsContent = recordsContent
    this.#state = state
  }
  deliver(event: AgentEvent, state?: AgentState): void {
    this.#delivering.deliver(event, state)
  }
  get flush(): Effect.Effect<void> {
    return this.#delivering.flush
  }
  isBehind(): boolean {
    return this.#delivering.isBehind()
  }
  get isObserved(): boolean {
    return this.#delivering.isObserved
  }
  get isStreaming(): boolean {
    return this.#delivering.isStreaming
  }
  get takenIds(): Set<string> {
    return this.#takenIds ??= TakenIds.of(this.#state)
  }
}

const hostOf = (loop: Loop.Loop): Enterable => new LoopHost(loop)

/** Makes what a run is, for the loops in it. */
export const makeRoot = (
  surroundings: Surroundings,
  state: AgentState,
  receiver: Delivery.Receiver | undefined
): Loop.Root => new Root(surroundings, state, receiver)
