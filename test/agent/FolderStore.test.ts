import { NodeFileSystem, NodePath } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, type Path } from "effect"
import { KeyValueStore } from "effect/persistence"
import { fileURLToPath } from "node:url"
import { Agent, Session } from "troupe"
import { MockModel } from "troupe/testing"
import { start } from "../examples/process.ts"

const talker = fileURLToPath(new URL("fixtures/talker.ts", import.meta.url))

/** Lets a process talk, kills it when it has printed so many lines, and returns the number in the last one. */
const talkUntil = (folder: string, lines: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const child = start(talker, [folder])
    let printed = ""
    let failure = ""
    child.stderr.setEncoding("utf8").on("data", (text: string) => failure += text)
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text
      if (printed.split("\n").length > lines) child.kill("SIGKILL")
    })
    child.on("error", reject)
    child.on("close", (_, signal) => {
      if (signal !== "SIGKILL") return reject(new Error(failure))
      resolve(Number(printed.trimEnd().split("\n").at(-1)))
    })
  })

/** The real file system, which notes what is done to files. */
const noting = (notes: Array<string>) =>
  Layer.effect(
    FileSystem.FileSystem,
    Effect.map(FileSystem.FileSystem, (files) => {
      const noted = <A, E>(what: string, self: Effect.Effect<A, E>) =>
        Effect.tap(self, () => Effect.sync(() => void notes.push(what)))
      const noteFile = (file: FileSystem.File): FileSystem.File =>
        Object.create(file, {
          writeAll: { value: (bytes: Uint8Array) => noted("write", file.writeAll(bytes)) },
          sync: { value: noted("sync", file.sync) }
        })
      return FileSystem.FileSystem.of({
        ...files,
        open: (path, options) => Effect.map(files.open(path, options), noteFile),
        rename: (from, to) => noted("rename", files.rename(from, to)),
        link: (from, to) => noted("link", files.link(from, to))
      })
    })
  ).pipe(Layer.provide(NodeFileSystem.layer))

describe("A store in a folder", () => {
  it.effect("has a value on the disk before it takes its name, so that a power cut leaves the old one or the new one", () => {
    const notes: Array<string> = []
    return Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const folder = yield* files.makeTempDirectoryScoped()
      const backing = Session.layerStoreFileSystem(folder)
      const store = yield* Effect.provide(KeyValueStore.KeyValueStore, backing)
      yield* store.set("name", "Ada")
      assert.deepStrictEqual(notes, ["write", "sync", "rename"])
      const chat = Session.make(Agent.make("assistant"), { store: Session.store("ada") })
      yield* Effect.scoped(Effect.flatMap(chat, (session) => session.call("Hello"))).pipe(
        Effect.provide(backing),
        Effect.provide(MockModel.layer(MockModel.queue("Hello, Ada.")))
      )
      const places = notes.flatMap((note, at) => note === "rename" || note === "link" ? [at] : [])
      assert.include(notes, "link")
      for (const at of places) assert.deepStrictEqual(notes.slice(at - 2, at), ["write", "sync"])
      assert.strictEqual(notes.length, 3 * places.length)
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(noting(notes), NodePath.layer)))
  })

  it.effect("says which keys can't be names of files", () =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const backing = Session.layerStoreFileSystem(yield* files.makeTempDirectoryScoped())
      const store = yield* Effect.provide(KeyValueStore.KeyValueStore, backing)
      for (const key of ["", ".", "..", "half\ud800"]) {
        const uses = [store.get(key), store.set(key, "Ada"), store.remove(key), store.modify(key, (value) => value)]
        for (const use of uses) {
          assert.include((yield* Effect.flip<unknown, KeyValueStore.KeyValueStoreError, never>(use)).message, "key")
        }
      }
      const loading = Effect.provide(Session.load("half\ud800"), backing)
      assert.strictEqual((yield* Effect.flip(loading)).reason._tag, "StoreUnavailable")
      assert.deepStrictEqual(yield* store.keys, [])
      assert.throws(() => Session.store("half\ud800"), "can't have half of a surrogate pair: \"half\\ud800\"")
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeFileSystem.layer, NodePath.layer))))

  it.live(
    "loses nothing that was told when its process is killed, and is read whole while another process writes",
    () =>
      Effect.gen(function*() {
        const folder = yield* Effect.flatMap(FileSystem.FileSystem, (files) => files.makeTempDirectoryScoped())
        const load = Session.load("ada").pipe(Effect.provide(Session.layerStoreFileSystem(folder)))
        const lengthOf = Effect.map(load, (state) => state?.conversation.turns.length ?? 0)
        // Reads again and again, and fails if what it reads is no whole state or an older one than before.
        const readBeside = (least: number): Effect.Effect<never, unknown, FileSystem.FileSystem | Path.Path> =>
          Effect.flatMap(lengthOf, (length) => {
            assert.isAtLeast(length, least)
            return Effect.yieldNow.pipe(Effect.andThen(readBeside(length)))
          })
        let told = 0
        for (const lines of [1, 10, 40]) {
          const before = told
          told = yield* Effect.raceFirst(Effect.promise(() => talkUntil(folder, lines)), readBeside(before))
          assert.isAtLeast(told, before + 2 * lines)
          // The process may have saved more than it came to tell.
          assert.isAtLeast(yield* lengthOf, told)
        }
      }).pipe(Effect.scoped, Effect.provide([NodeFileSystem.layer, NodePath.layer])),
    60_000
  )
})
