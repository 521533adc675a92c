import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Fiber, Logger, References } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Agent, Guardrail } from "troupe"
import { MockModel } from "troupe/testing"
import { alone } from "./assistant.ts"
import { isEnd, serve } from "./serving.ts"
import { type Backing, backings, type Database } from "./store/backings.ts"

const said = "My card number is 4111 1111 1111 1111 please"
const passed = "My card number is [redacted card] please"

/** Whether the number is there, or a half of it, however its groups are parted. */
const isFound = (text: string): boolean => /[14]111\W{0,2}1111/.test(text)

const textOf = (value: unknown): string => value instanceof Uint8Array ? new TextDecoder().decode(value) : String(value)

/** Every column of every table, as the backing lists them. */
const cellsOf = (backing: Backing, { sql }: Database) =>
  Effect.gen(function*() {
    const tables = yield* sql(
      backing.isShared
        ? "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()"
        : "SELECT name FROM sqlite_schema WHERE type = 'table'"
    )
    assert.includeMembers(tables.map(({ name }) => name), [
      "backend_conversations",
      "troupe_conversations",
      "troupe_conversation_log",
      "cluster_messages",
      "cluster_replies"
    ])
    const rows = yield* Effect.forEach(tables, ({ name }) => sql(`SELECT * FROM "${String(name)}"`))
    return rows.flat().flatMap((row) => Object.entries(row).map(([column, value]) => `${column}: ${textOf(value)}`))
  })

/** What files of a database hold, in bytes. */
const bytesOf = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder).map((name) => readFileSync(join(folder, name)).toString("latin1"))

/** Does something, and gives what was logged meanwhile. */
const logging = <A, E, R>(self: Effect.Effect<A, E, R>) => {
  const logged: Array<string> = []
  const logger = Logger.make(({ cause, message }) => void logged.push(`${String(message)} ${Cause.pretty(cause)}`))
  return self.pipe(
    Effect.provide(Logger.layer([logger])),
    Effect.provideService(References.MinimumLogLevel, "All"),
    Effect.as(logged)
  )
}

for (const backing of backings) {
  backing.describe(`What a guardrail masks ${backing.name}`, () => {
    it.live("is nowhere in what is kept, shown, sent or logged", () =>
      Effect.gen(function*() {
        const database = yield* backing.make
        const logged = yield* logging(Effect.gen(function*() {
          const { fetch, open, until } = yield* serve({ store: yield* database.open() })
          const { conversations, id, params } = yield* open()
          yield* conversations.say({ params, payload: { text: said, key: "one" } })
          const told = yield* until(id, isEnd)
          assert.include(told[0]!.data, passed)
          assert.deepEqual((yield* conversations.list()).map(({ title }) => title), [passed])
          const { state, title } = yield* conversations.read({ params })
          assert.strictEqual(title, passed)
          const bodies = yield* Effect.forEach(["", `/${id}`, `/${id}/trace`], (path) =>
            Effect.flatMap(fetch(`/v1/conversations${path}`), (response) =>
              Effect.promise(() => response.text())))
          for (const body of bodies) {
            assert.include(body, "[redacted card]")
          }
          const cells = yield* cellsOf(backing, database)
          assert.include(cells, `title: ${passed}`)
          const shown = [
            ...told.map(({ data }) =>
              data
            ),
            JSON.stringify(state),
            ...bodies,
            ...cells
          ]
          assert.deepEqual(shown.filter(isFound), [])
        }))
        assert.deepEqual(logged.filter(isFound), [])
        if (!backing.isShared) assert.deepEqual(bytesOf(database.place).filter(isFound), [])
      }))
  })
}

describe("The title of a conversation", () => {
  const titles = (check: (text: string) => Guardrail.Verdict<string> | Effect.Effect<Guardrail.Verdict<string>>) =>
    alone(
      Agent.make("assistant", { guardrails: { input: [Guardrail.make("house", check)] } }),
      MockModel.make(() => "Thank you.")
    )

  it.live("is made of the first words that weren't blocked", () =>
    Effect.gen(function*() {
      const agents = titles((text) => text.includes("secret") ? Guardrail.block("a secret") : Guardrail.pass)
      const { begin, until } = yield* serve({ agents })
      const { conversations, id, params } = yield* begin("A secret of mine")
      const told = yield* until(id, isEnd)
      assert.strictEqual((yield* conversations.read({ params })).title, "")
      yield* conversations.say({ params, payload: { text: "Good morning" } })
      yield* until(id, isEnd, told.at(-1)!.id)
      assert.strictEqual((yield* conversations.read({ params })).title, "Good morning")
      yield* conversations.say({ params, payload: { text: "Good night" } })
      assert.strictEqual((yield* conversations.read({ params })).title, "Good morning")
    }))

  it.live("follows what a guardrail makes of the words that a run was broken off with", () =>
    Effect.gen(function*() {
      let isSlow = true
      const asked = Deferred.makeUnsafe<void>()
      const agents = titles((text) =>
        isSlow
          ? Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
          : Guardrail.replace(text.replace("Ada", "[a name]"), "a name")
      )
      const { client, open, until } = yield* serve({ agents })
      const { conversations, id, params } = yield* open()
      const saying = yield* Effect.forkChild(Effect.exit(conversations.say({ params, payload: { text: "I am Ada" } })))
      yield* Deferred.await(asked)
      yield* (yield* client()).conversations.cancel({ params })
      yield* Fiber.join(saying)
      isSlow = false
      const { cursor } = yield* conversations.resume({ params })
      yield* until(id, isEnd, cursor)
      assert.strictEqual((yield* conversations.read({ params })).title, "I am [a name]")
    }))
})
