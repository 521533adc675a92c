import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { createInterface } from "node:readline"
import { FolderInUse } from "../../../examples/backend/store/Sqlite.ts"
import { start } from "../../examples/process.ts"
import { folder, postgres, state, take } from "./backings.ts"

/** A process that runs a conversation: what it says, line by line. */
const runner = (place: string, name: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = start("test/backend/store/fixtures/runner.ts", [place, "1", name])
      const lines: Array<string> = []
      const waiting = new Set<() => void>()
      createInterface({ input: child.stdout }).on("line", (line) => {
        lines.push(line)
        for (const look of waiting) look()
      })
      const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
      return {
        lines,
        /** Waits until it has said something. */
        said: (line: string) =>
          Effect.promise(() =>
            new Promise<void>((resolve) => {
              const look = () => {
                if (!lines.includes(line)) return
                waiting.delete(look)
                resolve()
              }
              waiting.add(look)
              look()
            })
          ),
        kill: Effect.promise(() => {
          child.kill("SIGKILL")
          return ended
        })
      }
    }),
    ({ kill }) => kill
  )

/** The last step that a process said it had saved. */
const lastSaved = (lines: ReadonlyArray<string>) =>
  Math.max(...lines.flatMap((line) => line.startsWith("saved ") ? [Number(line.slice(6))] : []))

folder.describe("A data folder", () => {
  it.effect("is refused to a second process, and free with all that was saved when the first is killed", () =>
    Effect.gen(function*() {
      const database = yield* folder.make
      yield* Effect.scoped(Effect.flatMap(database.open(), (store) => store.create("ada", "1", state("begun"))))
      const first = yield* runner(database.place, "first")
      yield* first.said("saved 20")
      const error = yield* Effect.flip(database.open())
      assert.deepStrictEqual(error, new FolderInUse({ folder: database.place }))
      assert.strictEqual((error as FolderInUse).message, `Another process uses the data folder ${database.place}`)
      yield* first.kill
      const store = yield* database.open()
      const last = lastSaved(first.lines)
      const saved = yield* store.read("ada", "1")
      const steps = saved!.state.logs.length - 2
      assert.isTrue(steps === last || steps === last + 1, `${steps} ${last}`)
      assert.strictEqual(saved!.cursor, steps + 1)
      assert.strictEqual((yield* store.events("1", 0, 10_000)).length, steps + 1)
      yield* take(store, "1")
    }))
})

postgres.describe("Processes on one Postgres", () => {
  it.effect("run a conversation one after the other, the next as soon as the first is killed", () =>
    Effect.gen(function*() {
      const database = yield* postgres.make
      const store = yield* database.open()
      yield* store.create("ada", "1", state("begun"))
      const runners = [yield* runner(database.place, "a"), yield* runner(database.place, "b")] as const
      yield* Effect.forEach(runners, ({ said }) => said("ready"), { discard: true })
      const isFirst = yield* Effect.raceFirst(
        Effect.as(runners[0].said("saved 30"), true),
        Effect.as(runners[1].said("saved 30"), false)
      )
      const [first, second] = isFirst ? runners : [runners[1], runners[0]]
      assert.isFalse(second.lines.includes("taken"))
      assert.isUndefined(yield* Effect.scoped(store.lease("1")))
      yield* first.kill
      yield* second.said("saved 10")
      yield* second.kill
      const events = yield* store.events("1", 0, 10_000)
      const names = events.map(({ event }) => event.path[0]!)
      const change = names.findIndex((name) => name !== names[0])
      assert.strictEqual(new Set(names.slice(change)).size, 1)
      const { logs } = (yield* store.read("ada", "1"))!.state
      assert.deepStrictEqual(
        logs.slice(1),
        events.map(({ event }) => `${event.path[0]} ${event.step}`).slice(0, logs.length - 1)
      )
      assert.isAtLeast(change - 1, lastSaved(first.lines))
      assert.isAtLeast(events.length - change - 1, lastSaved(second.lines))
    }))
})
