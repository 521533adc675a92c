/** Messages that race with each other and with a take-over, in orders that a seed chooses. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent } from "troupe"
import { Conversation } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"
import { makeCluster } from "./runners.ts"

const params = Schema.Struct({ n: Schema.Int })
const Pay = Tool.make("pay", { parameters: params, success: Schema.String, needsApproval: true })
const Kit = Toolkit.make(Pay)
const Desk = Conversation.make("Desk", Agent.make("clerk", { toolkit: Kit }))

/** Pays what the user asks for, and says what came of it. */
const script = MockModel.make(({ lastToolResults, lastUserText }) =>
  lastToolResults.length > 0 || !lastUserText.startsWith("pay")
    ? "Done."
    : MockResponse.all(...[1, 2].map((n) => MockResponse.toolCall("pay", { n }, { id: `p${n}` })))
)

/** Chooses numbers below a limit: the same seed chooses the same ones. */
const chooser = (seed: number) => {
  let state = (seed + 1) * 2654435761 >>> 0
  return (below: number) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const later = (turns: number) => Effect.repeat(Effect.yieldNow, { times: turns })

type Chat = Conversation.Client
type Send = (chat: Chat) => Effect.Effect<unknown, unknown>

const racing: ReadonlyArray<readonly [name: string, send: Send]> = [
  ["approve 1", (chat) => chat.approve("p1", { key: "a1" })],
  ["deny 1", (chat) => chat.deny("p1", "no", { key: "d1" })],
  ["approve 2", (chat) => chat.approve("p2", { key: "a2" })],
  ["cancel approve 2", (chat) => chat.cancel("a2")],
  ["say", (chat) => chat.say("And then?", { key: "m2" })],
  ["resume", (chat) => chat.resume({ key: "r1" })],
  ["fork", (chat) => chat.fork("2", { key: "f1" })]
]

/** Sends all at once in an order that the seed chooses, lets the runner die in the middle, and sends them again to the next one. */
const race = (seed: number, sends: typeof racing) =>
  Effect.gen(function*() {
    const next = chooser(seed)
    const started: Array<number> = []
    const cluster = yield* makeCluster
    const pay = ({ n }: { readonly n: number }) =>
      Effect.sync(() => started.push(n)).pipe(Effect.andThen(later(next(600))), Effect.as(`paid ${n}`))
    const needs = Layer.merge(Kit.toLayer({ pay }), MockModel.layer(script))
    const one = yield* cluster.start(Desk.layer, needs)
    const first = (yield* one.provide(Desk.client))("1")
    yield* first.say("pay", { key: "m1" })
    for (const [, send] of sends) {
      yield* Effect.forkChild(Effect.andThen(later(next(60)), Effect.exit(send(first))))
    }
    yield* later(next(400))
    yield* one.die
    const two = yield* cluster.start(Desk.layer, needs)
    const client = yield* two.provide(Desk.client)
    const chat = client("1")
    const fibers = yield* Effect.forEach(sends, ([name, send]) =>
      Effect.map(
        Effect.forkChild(Effect.andThen(later(next(60)), Effect.exit(send(chat)))),
        (fiber) => [name, fiber] as const
      ))
    const exits = new Map<string, Exit.Exit<unknown, unknown>>()
    const isRemoved = sends.some(([name]) => name === "remove")
    // What is sent while a conversation is removed may be removed too, and is never answered then.
    for (const [name, fiber] of fibers) if (!isRemoved || name === "remove") exits.set(name, yield* Fiber.join(fiber))
    for (const [, fiber] of fibers) yield* Fiber.interrupt(fiber)
    return { chat, exits, fork: client("2"), started }
  }).pipe(Effect.timeout("20 seconds"))

const callsOf = (state: Effect.Success<Chat["state"]>) =>
  state.conversation.turns.flatMap((turn) =>
    turn._tag === "Assistant" ? turn.parts.flatMap((part) => part._tag === "Call" ? [part] : []) : []
  )

const seeds = Array.from({ length: 16 }, (_, seed) => seed)

describe("Messages that race", () => {
  it.live(
    "are each answered, start no call twice, and leave a state that is legal",
    () =>
      Effect.forEach(seeds, (seed) =>
        Effect.gen(function*() {
          const { exits, started, states } = yield* Effect.flatMap(
            race(seed, racing),
            ({ chat, exits, fork, started }) =>
              Effect.map(Effect.all([chat.state, fork.state]), (states) => ({ exits, started, states }))
          )
          const said = `seed ${seed}`
          assert.deepStrictEqual([...new Set(started)].toSorted(), started.toSorted(), said)
          const [state, forked] = states
          const texts = state.conversation.turns.flatMap((turn) =>
            turn._tag === "User" ? turn.parts.flatMap((part) => part._tag === "Text" ? [part.text] : []) : []
          )
          assert.deepStrictEqual(texts.toSorted(), ["And then?", "pay"], said)
          const isWon = (name: string) => Exit.isSuccess(exits.get(name)!)
          assert.notStrictEqual(isWon("approve 1"), isWon("deny 1"), said)
          const first = callsOf(state).find(({ id }) => id === "p1")
          const isSettled = first?.state._tag === "Settled"
          if (isSettled && isWon("deny 1")) assert.isFalse(started.includes(1), said)
          assert.isTrue(isWon("fork") && isWon("say") && isWon("resume") && isWon("cancel approve 2"), said)
          assert.strictEqual(callsOf(forked).length, 2, said)
        }), { discard: true }),
    60_000
  )

  it.live(
    "with its removal leave nothing, or what came after",
    () =>
      Effect.forEach(seeds.slice(0, 8), (seed) =>
        Effect.gen(function*() {
          const removal: typeof racing = [...racing.slice(0, 5), ["remove", (chat) => chat.remove]]
          const left = yield* race(seed, removal).pipe(
            Effect.flatMap(({ chat }) => Effect.andThen(chat.remove, chat.state))
          )
          assert.deepStrictEqual(left.conversation.turns, [], `seed ${seed}`)
        }), { discard: true }),
    60_000
  )
})
