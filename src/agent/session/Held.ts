/**
 * A conversation that a session holds, and what is done with it: one thing at a time, with the session's services.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as SubscriptionRef from "effect/SubscriptionRef"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Any } from "../../handoff/Runnable.ts"
import { Host, type Restore } from "../../modes/Host.ts"
import type { Roster } from "../definition/AgentDefinition.ts"
import type { LiveModes } from "../journal/LiveModes.ts"
import type * as Loop from "../journal/Loop.ts"
import type * as Mailbox from "../journal/Mailbox.ts"
import { CurrentOperations } from "../journal/Operations.ts"
import { RunServices } from "../journal/RunServices.ts"
import type { Recorder } from "../journal/SpanRecorder.ts"
import { viewOf } from "../perform/InView.ts"
import type { Begun, Here } from "../perform/mode/Entering.ts"
import { LoopHost } from "../perform/mode/LoopHost.ts"
import { byHand } from "../run/ByHand.ts"
import { makeLoop } from "../run/Run.ts"
import * as Environment from "./Environment.ts"
import { Follower, type Log } from "./Follower.ts"
import * as Line from "./Line.ts"
import type { SessionError } from "./SessionError.ts"
import type { Opened } from "./Store.ts"

/** What a session is made of. */
export interface Held {
  readonly self: Any
  readonly roster: Roster
  readonly environment: Line.Environment
  readonly line: Line.Line
  readonly ref: SubscriptionRef.SubscriptionRef<AgentState>
  readonly store: Opened | undefined
  readonly live: LiveModes
  readonly log: Log
  around: RunServices | undefined
}

/** Gives what is around whoever asks for something: those who ask often do so from one place. */
const aroundFor = (held: Held, caller: Fiber.Fiber<unknown, unknown>): RunServices =>
  held.around?.context === caller.context ? held.around : (held.around = new RunServices(caller))

/** Something that is done alone: `play` does it, and the session follows. */
export const operation = <A, E>(
  held: Held,
  name: string,
  play: (follower: Follower) => Effect.Effect<A, E, unknown>,
  reader?: Mailbox.Mailbox
): Line.Operation<A, E | SessionError> => {
  const { environment, store } = held
  const follower = new Follower(held, reader)
  const task = play(follower)
  return {
    name,
    task: store === undefined ? task : Effect.andThen(store.check, task),
    environment,
    failure: () => follower.failure,
    ...(reader === undefined ? undefined : { onExit: reader.end })
  }
}

/** Does something with the conversation outside of any run, and saves what came of it. */
const playByHand =
  <A>(held: Held, f: (loop: Loop.Loop) => Effect.Effect<A, unknown, unknown>) =>
  (follower: Follower): Effect.Effect<A, unknown, unknown> =>
    Effect.withFiber((fiber) => {
      const { live, ref, store } = held
      const before = ref.value
      follower.begin(fiber)
      const played = byHand(fiber, held.roster, before, follower, live, f)
      return store === undefined ? played : Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(
          Effect.exit(restore(played)),
          (exit) => ref.value === before ? exit : Effect.andThen(store.save(ref.value), exit)
        )
      )
    })

/** Does something alone with the conversation outside of any run. */
export const inTurn = <A>(
  held: Held,
  name: string,
  f: (loop: Loop.Loop) => Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown> => Line.run(held.line, () => operation(held, name, playByHand(held, f)))

/** Does something alone for a fiber, which nothing can interrupt here. What is over at once is an exit. */
export const inTurnFor = <A>(
  held: Held,
  caller: Fiber.Fiber<unknown, unknown>,
  restore: Restore,
  name: string,
  f: (loop: Loop.Loop) => Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown> => Line.runFor(held.line, caller, restore, operation(held, name, playByHand(held, f)))

/** Makes a loop of the conversation for what is done outside of any run, where nobody is waited for. */
const loopAtOnce = (held: Held, around: RunServices): Loop.Loop =>
  makeLoop(
    around,
    held.roster,
    held.ref.value,
    new Follower({ ...held, store: undefined }, undefined),
    held.log.run,
    held.live
  )

/**
 * Does something with the conversation that takes no time, outside of any run, where its turn has come and nobody is waited for: neither
 * a store nor who looks on. It needs no fiber of its own then. Gives nothing elsewhere.
 */
export const atOnce = <A extends {}>(
  held: Held,
  caller: Fiber.Fiber<unknown, unknown>,
  name: string,
  f: (loop: Loop.Loop, spans: Recorder) => A
): A | undefined => {
  const { line, live, store } = held
  const around = aroundFor(held, caller)
  const taken = store !== undefined || around.observers.length > 0 ? undefined : Line.take(line, name)
  if (taken === undefined) return undefined
  try {
    const loop = loopAtOnce(held, around)
    live.atWork = loop.host
    return f(loop, around.recorderFor(caller))
  } finally {
    live.atWork = undefined
    Line.release(taken, caller)
  }
}

/**
 * Begins something with the conversation, outside of any run, in the fiber of whoever asks for it, where its turn has come and nobody is
 * waited for: neither a store nor who looks on. Gives nothing elsewhere, also within an operation, and where `begin` doesn't begin.
 */
export const beginFor = <A>(
  held: Held,
  caller: Fiber.Fiber<unknown, unknown>,
  restore: Restore,
  name: string,
  begin: (loop: Loop.Loop, here: Here) => Begun<A> | Exit.Success<A> | undefined
): Effect.Effect<A, unknown> | undefined => {
  const { environment, line, live, store } = held
  const around = aroundFor(held, caller)
  const isWaitedFor = store !== undefined || around.observers.length > 0
  const taken = isWaitedFor || caller.getRef(CurrentOperations).length > 0 ? undefined : Line.take(line, name)
  if (taken === undefined) return undefined
  const end = () => {
    live.atWork = undefined
  }
  let begun: Begun<A> | Exit.Success<A> | undefined
  try {
    const loop = loopAtOnce(held, around)
    live.atWork = loop.host
    const services = viewOf(loop, environment(caller.context))
    begun = begin(loop, { spans: around.recorderFor(caller), services, operations: [taken] })
  } finally {
    if (begun === undefined || Exit.isExit(begun)) {
      end()
      Line.release(taken, caller)
    }
  }
  return begun === undefined || Exit.isExit(begun) ? begun : Line.goOn(taken, restore, begun, end)
}

/** Does something with the conversation when nothing else can any more. */
export const atEnd = (held: Held, f: (loop: Loop.Loop) => Effect.Effect<unknown, unknown, unknown>) => {
  const playing = Effect.withFiber((fiber) => {
    const follower = new Follower({ ...held, store: undefined }, undefined)
    return byHand(fiber, held.roster, held.ref.value, follower, held.live, f)
  })
  return Environment.provide(playing, held.environment)
}

/**
 * Does something with the conversation in the middle of an operation, where that is a mode's set-up or clean-up and no step is
 * under way; otherwise in turn.
 */
export const between = <A, B>(
  held: Held,
  now: (loop: Loop.Loop) => Effect.Effect<A, unknown, unknown>,
  inTurn: Effect.Effect<B, unknown>
): Effect.Effect<A | B, unknown> =>
  Effect.withFiber((fiber): Effect.Effect<A | B, unknown> => {
    const host: unknown = Context.getOrUndefined(fiber.context, Host)
    const loop = host instanceof LoopHost ? host.loopBetween(held.live) : undefined
    return loop === undefined ? inTurn : Environment.provide(now(loop), held.environment)
  })
