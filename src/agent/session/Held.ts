/**
 * A conversation that a session holds, and what is done with it: one thing at a time, with the session's services.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as SubscriptionRef from "effect/SubscriptionRef"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Any } from "../../handoff/Runnable.ts"
import { Host } from "../../modes/Host.ts"
import type { Roster } from "../definition/AgentDefinition.ts"
import type { LiveModes } from "../journal/LiveModes.ts"
import type * as Loop from "../journal/Loop.ts"
import type * as Mailbox from "../journal/Mailbox.ts"
import { LoopHost } from "../perform/mode/LoopHost.ts"
import { byHand } from "../run/ByHand.ts"
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
}

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
