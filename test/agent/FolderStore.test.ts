import { NodeFileSystem, NodePath } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { KeyValueStore } from "effect/persistence"
import { Agent, Session } from "troupe"
import { MockModel } from "troupe/testing"

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
})
