/**
 * A `KeyValueStore` in a folder, whose values are written whole or not at all.
 *
 * 1. A value is written to another file, which is synced and then renamed. A process that reads meanwhile finds the old value, and so does
 *    the next process if this one dies.
 * 2. An inserted value is linked to its name. That fails if the name is taken, even by another process.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import type { PlatformError } from "effect/PlatformError"
import * as Random from "effect/Random"
import { hasHalfPair } from "../../domain/InvalidName.ts"
import * as IfAbsent from "./IfAbsent.ts"

/** The prefix of files that aren't values yet: no key becomes a file name with it. */
const unfinished = "+"

const make = Effect.fnUntraced(function*(directory: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const inPlace = yield* KeyValueStore.KeyValueStore
  const own = `${unfinished}${Math.abs(yield* Random.nextInt).toString(36)}`
  let written = 0

  const failure = (method: string, key?: string) => (cause: PlatformError) =>
    new KeyValueStore.KeyValueStoreError({
      method,
      message: `Unable to ${method} in "${directory}": ${cause.message}`,
      cause,
      ...(key === undefined ? undefined : { key })
    })

  /** Writes a value to a file beside the others, and renames that file to the value's name. */
  const write = (
    key: string,
    value: string | Uint8Array,
    place: (from: string, to: string) => Effect.Effect<void, PlatformError>
  ): Effect.Effect<void, PlatformError> =>
    Effect.suspend(() => {
      const beside = path.join(directory, `${own}-${written++}`)
      const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value
      const writing = Effect.flatMap(
        files.open(beside, { flag: "wx" }),
        (file) => Effect.andThen(file.writeAll(bytes), file.sync)
      )
      return Effect.scoped(writing).pipe(
        Effect.andThen(place(beside, path.join(directory, encodeURIComponent(key)))),
        Effect.onError(() => Effect.ignore(files.remove(beside, { force: true })))
      )
    })

  const set: KeyValueStore.KeyValueStore["set"] = (key, value) =>
    Effect.mapError(Effect.uninterruptible(write(key, value, files.rename)), failure("set", key))

  /** Writes a value under a name that isn't taken, and returns the value that has the name then. */
  const insert = (key: string, value: string) =>
    Effect.uninterruptible(write(
      key,
      value,
      (from, to) => Effect.andThen(files.link(from, to), files.remove(from, { force: true }))
    )).pipe(
      Effect.as<string | undefined>(value),
      Effect.catchIf((error) => error.reason._tag === "AlreadyExists", () => inPlace.get(key)),
      Effect.mapError((error) => error._tag === "PlatformError" ? failure("modify", key)(error) : error)
    )

  const modify: KeyValueStore.KeyValueStore["modify"] = (key, f) =>
    Effect.flatMap(inPlace.get(key), (found) => {
      if (found !== undefined) {
        const next = f(found)
        return next === found ? Effect.succeed(next) : Effect.as(set(key, next), next)
      }
      const value = IfAbsent.valueOf(f)
      return value === undefined ? Effect.undefined : insert(key, value)
    })

  const names = files.readDirectory(directory).pipe(
    Effect.map((names) => names.filter((name) => !name.startsWith(unfinished))),
    Effect.mapError(failure("list"))
  )

  /** Fails for a key that can't name a file: half of a surrogate pair has no encoding. */
  const valid = <A>(method: string, key: string, self: () => Effect.Effect<A, KeyValueStore.KeyValueStoreError>) =>
    key === "" || key === "." || key === ".." || hasHalfPair(key)
      ? Effect.fail(
        new KeyValueStore.KeyValueStoreError({ method, key, message: `Invalid key ${JSON.stringify(key)}` })
      )
      : self()

  return {
    ...inPlace,
    get: (key) => valid("get", key, () => inPlace.get(key)),
    set: (key, value) => valid("set", key, () => set(key, value)),
    remove: (key) => valid("remove", key, () => inPlace.remove(key)),
    modify: (key, f) => valid("modify", key, () => modify(key, f)),
    size: Effect.map(names, (names) => names.length),
    isEmpty: Effect.map(names, (names) => names.length === 0),
    keys: Effect.map(names, (names) => names.map(decodeURIComponent))
  } satisfies KeyValueStore.KeyValueStore
})

/** Keeps values in files of a folder, which is made if it isn't there. */
export const layer = (
  directory: string
): Layer.Layer<KeyValueStore.KeyValueStore, PlatformError, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(KeyValueStore.KeyValueStore, make(directory)).pipe(
    Layer.provide(KeyValueStore.layerFileSystem(directory))
  )
