import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { ConversationStore } from "troupe/cluster"
import { backings } from "./backings.ts"
import { countWrites, play } from "./crashes/play.ts"

type Entry = Partial<ConversationStore.Append>

const entry = (epoch: number, revision: number, more: Entry = {}): ConversationStore.Append => ({
  id: "a",
  epoch,
  revision,
  text: `entry ${revision}`,
  lastEvent: revision * 2,
  taken: undefined,
  answered: undefined,
  answer: undefined,
  ...more
})

describe("A store of conversations", () => {
  for (const { describe, layer } of backings) {
    const inStore = <A, E>(use: (store: ConversationStore.Service) => Effect.Effect<A, E>) =>
      Effect.flatMap(
        Layer.build(Layer.fresh(layer)),
        (context) => use(Context.get(context, ConversationStore.ConversationStore))
      ).pipe(Effect.scoped)

    describe(() => {
      it.live("gives what was appended to the one who claims it, and lets nobody append who claimed before", () =>
        inStore((store) =>
          Effect.gen(function*() {
            const first = yield* store.claim("a")
            assert.deepStrictEqual([first.snapshot, first.entries], [undefined, []])
            assert.isTrue(yield* store.append(entry(first.epoch, 1)))
            const second = yield* store.claim("a")
            assert.isAbove(second.epoch, first.epoch)
            assert.deepStrictEqual(second.entries, [{ revision: 1, text: "entry 1" }])
            assert.isFalse(yield* store.append(entry(first.epoch, 2)))
            assert.isTrue(yield* store.append(entry(second.epoch, 2)))
            yield* store.saveSnapshot("a", first.epoch, { revision: 2, text: "old" })
            yield* store.saveSnapshot("a", second.epoch, { revision: 1, text: "snapshot" })
            const third = yield* store.claim("a")
            assert.deepStrictEqual(third.snapshot, { revision: 1, text: "snapshot" })
            assert.deepStrictEqual(third.entries, [{ revision: 2, text: "entry 2" }])
          })
        ))

      it.live("appends no revision twice", () =>
        inStore((store) =>
          Effect.gen(function*() {
            const { epoch } = yield* store.claim("a")
            assert.isTrue(yield* store.append(entry(epoch, 1)))
            const again = yield* Effect.orElseSucceed(store.append(entry(epoch, 1)), () => false)
            assert.isFalse(again)
          })
        ))

      it.live("knows messages by their keys, and reads events behind a number", () =>
        inStore((store) =>
          Effect.gen(function*() {
            const { epoch } = yield* store.claim("a")
            yield* store.append(entry(epoch, 1, { taken: "m" }))
            const taken = { lastEvent: 2, text: entry(epoch, 1).text }
            assert.deepStrictEqual(yield* store.find("a", "m"), { taken, answer: undefined })
            yield* store.append(entry(epoch, 2, { answered: "m", answer: "{}" }))
            assert.deepStrictEqual(yield* store.find("a", "m"), { taken, answer: "{}" })
            assert.deepStrictEqual(yield* store.find("a", "n"), { taken: undefined, answer: undefined })
            const read = yield* store.read("a", 2, 10)
            assert.deepStrictEqual(read.map(({ lastEvent, revision }) => [revision, lastEvent]), [[2, 4]])
          })
        ))

      it.live("begins a conversation with a state once, and never in the place of another", () =>
        inStore((store) =>
          Effect.gen(function*() {
            const early = yield* store.claim("b")
            assert.isTrue(yield* store.create("b", "a/1", "state"))
            assert.isTrue(yield* store.create("b", "a/1", "another"))
            assert.isFalse(yield* store.create("b", "a/2", "state"))
            assert.isFalse(yield* store.append(entry(early.epoch, 1, { id: "b" })))
            assert.deepStrictEqual((yield* store.claim("b")).entries, [{ revision: 1, text: "state" }])
            const { epoch } = yield* store.claim("a")
            yield* store.append(entry(epoch, 1))
            assert.isFalse(yield* store.create("a", "b/1", "state"))
          })
        ))

      it.live("removes what a snapshot stands for, for the one who claimed last, and still knows messages by their keys", () =>
        inStore((store) =>
          Effect.gen(function*() {
            const early = yield* store.claim("a")
            const { epoch } = yield* store.claim("a")
            for (const n of [1, 2, 3, 4]) yield* store.append(entry(epoch, n, n === 2 ? { taken: "m" } : {}))
            const until = { revision: 3, event: 6 }
            const read = Effect.map(store.read("a", 0, 10), (entries) => entries.map(({ revision }) => revision))
            yield* store.shorten("a", epoch, until)
            assert.deepStrictEqual(yield* read, [1, 2, 3, 4])
            yield* store.saveSnapshot("a", epoch, { revision: 3, text: "snapshot" })
            yield* store.shorten("a", early.epoch, until)
            assert.deepStrictEqual(yield* read, [1, 2, 3, 4])
            yield* store.shorten("a", epoch, { ...until, event: 4 })
            assert.deepStrictEqual(yield* read, [3, 4])
            yield* store.shorten("a", epoch, until)
            assert.deepStrictEqual(yield* read, [4])
            assert.deepStrictEqual((yield* store.find("a", "m")).taken, { lastEvent: 4, text: "" })
            assert.isTrue(yield* store.append(entry(epoch, 5)))
            const { entries, snapshot } = yield* store.claim("a")
            assert.deepStrictEqual([snapshot?.revision, entries.map(({ revision }) => revision)], [3, [4, 5]])
          })
        ))

      it.effect("removes a conversation, and lets nobody append to it who had it before", () =>
        inStore((store) =>
          Effect.gen(function*() {
            const { epoch } = yield* store.claim("a")
            yield* store.append(entry(epoch, 1, { taken: "m" }))
            yield* store.remove("a")
            assert.isFalse(yield* store.append(entry(epoch, 1)))
            // SQL counts epochs from the time.
            yield* TestClock.adjust("1 second")
            const after = yield* store.claim("a")
            assert.deepStrictEqual([after.snapshot, after.entries], [undefined, []])
            assert.isFalse(yield* store.append(entry(epoch, 1)))
            assert.isUndefined((yield* store.find("a", "m")).taken)
          })
        ))

      it.live("keeps a conversation whose process dies and comes back", () =>
        inStore((store) =>
          Effect.gen(function*() {
            const problems = yield* play(
              { deaths: [{ at: 14, how: "after" }, { at: 9, how: "frozen" }, { at: 7, how: "before" }] },
              store,
              "desk/1"
            )
            assert.deepStrictEqual(problems, [])
          })
        ))

      it.live("is written to as often as memory is", () =>
        inStore((store) =>
          Effect.gen(function*() {
            const inMemory = Layer.build(Layer.fresh(ConversationStore.layerMemory))
            const memory = Context.get(yield* inMemory, ConversationStore.ConversationStore)
            assert.strictEqual(yield* countWrites(store), yield* countWrites(memory))
          }).pipe(Effect.scoped)
        ))
    })
  }
})
