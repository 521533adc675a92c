/**
 * Clients that go on whatever happens: what they have no answer to they repeat, under the same key, and they come back to their events behind
 * the last one that they were told. They keep all that they are told.
 */
import { Cause, type Context, Effect, Exit, Layer, Option, type Scope, Stream } from "effect"
import type { Sharding } from "effect/cluster"
import type { AgentState } from "troupe"
import { Conversation } from "troupe/cluster"
import { postgresAt } from "../databases.ts"
import { arrived, makeDesk, messages } from "../desk.ts"
import { intervals } from "../fixtures/options.ts"
import * as Sockets from "../fixtures/sockets.ts"

export const Desk = Conversation.make("Desk", makeDesk())

type Chats = Effect.Success<typeof Desk.client>
type Chat = ReturnType<Chats>
type Answer = Effect.Success<ReturnType<Chat["say"]>>

/** A conversation as its client knows it. */
export interface Known {
  readonly id: string
  readonly answers: Map<string, Answer | "refused">
  /** The events that were told, each under its number, as text. */
  readonly told: Map<number, string>
  readonly problems: Array<string>
  /** How often something had to be asked again, and how often of these since no answer came. */
  repeats: number
  timeouts: number
  /** How long the slowest message took, in milliseconds. */
  slowest: number
  state: AgentState.AgentState | undefined
}

export const know = (id: string): Known => ({
  id,
  answers: new Map(),
  told: new Map(),
  problems: [],
  repeats: 0,
  timeouts: 0,
  slowest: 0,
  state: undefined
})

/** Talks to the cluster of a schema for as long as the scope is open. */
export const member = (
  url: string,
  schema: string,
  expiration: number,
  isDelayed = false
): Effect.Effect<Context.Context<Sharding.Sharding>, unknown, Scope.Scope> =>
  Layer.build(
    (isDelayed ? Sockets.delayed : Sockets.layer)(
      Conversation.sharding({ ...intervals(expiration), runnerAddress: Option.none() })
    ).pipe(Layer.provide(postgresAt(url, schema)))
  )

/** Takes part in the cluster of a schema as a caller. */
export const connect = (url: string, schema: string, expiration: number): Effect.Effect<Chats, unknown, Scope.Scope> =>
  Effect.flatMap(member(url, schema, expiration), (context) => Effect.provideContext(Desk.client, context))

/** Asks until it is answered. After two minutes it is stuck. */
const insist = <A>(known: Known, what: string, self: Effect.Effect<A, unknown>): Effect.Effect<A | "refused"> =>
  Effect.gen(function*() {
    const from = Date.now()
    while (true) {
      const exit = yield* Effect.exit(Effect.timeout(self, "20 seconds"))
      known.slowest = Math.max(known.slowest, Date.now() - from)
      if (Exit.isSuccess(exit)) return exit.value
      const error = Cause.squash(exit.cause)
      if (error instanceof Conversation.ConversationError) {
        // Of a call whose end is unknown nobody awaits a result: whether it was one is read off the log.
        if (error.reason._tag !== "NotAwaitingResult") known.problems.push(`${what} is refused: ${error.message}`)
        return "refused"
      }
      if (Date.now() - from > 120_000) {
        known.problems.push(`${what} isn't answered: ${String(error)}`)
        return "refused"
      }
      known.repeats++
      if (Cause.isTimeoutError(error)) known.timeouts++
      yield* Effect.sleep(100)
    }
  })

const send = (chat: Chat, message: typeof messages[number]) => {
  const { key } = message
  if ("says" in message) return chat.say(message.says, { key })
  if ("gives" in message) return chat.giveResult(message.gives, arrived, { key })
  return "approves" in message
    ? chat.approve(message.approves, { key })
    : chat.deny(message.denies, "No.", { key })
}

/** Follows the events of a conversation for as long as the scope is open. */
export const follow = (chats: Chats, known: Known): Effect.Effect<void, never, Scope.Scope> => {
  const reading = Effect.suspend(() =>
    Stream.runForEach(
      chats(known.id).events({ after: known.told.size }),
      ({ cursor, event, piece }) =>
        Effect.sync(() => {
          if (piece !== undefined) return
          if (cursor !== known.told.size + 1) known.problems.push(`event ${cursor} is told after ${known.told.size}`)
          known.told.set(cursor, JSON.stringify(event))
        })
    )
  )
  return Effect.asVoid(Effect.forkScoped(Effect.forever(Effect.andThen(Effect.exit(reading), Effect.sleep(100)))))
}

/** Has a conversation up to one of its messages, or to its end. */
export const converse = (chats: Chats, known: Known, until: number = messages.length): Effect.Effect<void> =>
  Effect.gen(function*() {
    for (const message of messages.slice(known.answers.size, until)) {
      known.answers.set(message.key, yield* insist(known, message.key, send(chats(known.id), message)))
    }
  })

/** Reads what is left of a conversation that has ended: its state, and the events that its reader hasn't been told yet. */
export const finish = (chats: Chats, known: Known): Effect.Effect<void> =>
  Effect.gen(function*() {
    const state = yield* insist(known, "the state", chats(known.id).state)
    if (state !== "refused") known.state = state
    const last = known.answers.get(messages.at(-1)!.key)
    if (last === undefined || last === "refused") return
    for (let waited = 0; known.told.size < last.cursor; waited += 50) {
      if (waited > 60_000) {
        known.problems.push(`${known.told.size} of ${last.cursor} events were told`)
        return
      }
      yield* Effect.sleep(50)
    }
  })
