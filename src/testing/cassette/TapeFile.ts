/**
 * The file of a tape: written beside its place, and moved there once all is written.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import type { PlatformError } from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import { CassetteConflict } from "./CassetteError.ts"

const folderOf = (path: string): string => path.replace(/[\\/]?[^\\/]*$/, "")

/** Opens a file that no other recording writes: one that was killed may have left its own. */
const openBeside = (
  files: FileSystem.FileSystem,
  path: string,
  count = 1
): Effect.Effect<readonly [string, FileSystem.File], PlatformError, Scope.Scope> => {
  const beside = `${path}.recording-${count}`
  return files.open(beside, { flag: "wx" }).pipe(
    Effect.map((file) => [beside, file] as const),
    Effect.catchReason("PlatformError", "AlreadyExists", () => openBeside(files, path, count + 1))
  )
}

/** Returns what differs after each writing of a file, or nothing if there is no file. */
const writingOf = (files: FileSystem.FileSystem, path: string) =>
  Effect.map(
    Effect.option(files.stat(path)),
    (info) => info._tag === "None" ? undefined : { ino: info.value.ino, mtime: info.value.mtime, size: info.value.size }
  )

/**
 * Opens a file for a tape. It is moved to `path` when the scope closes, unless the scope was interrupted or another recording wrote
 * `path`.
 */
export const open = Effect.fnUntraced(function*(path: string) {
  const files = yield* FileSystem.FileSystem
  const folder = folderOf(path)
  if (folder !== "") yield* files.makeDirectory(folder, { recursive: true })
  const before = yield* writingOf(files, path)
  const close = Effect.fnUntraced(function*(beside: string, exit: Exit.Exit<unknown, unknown>) {
    const kept = `${path}.recording`
    if (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) return yield* files.rename(beside, kept)
    if (Equal.equals(yield* writingOf(files, path), before)) return yield* files.rename(beside, path)
    yield* files.rename(beside, kept)
    return yield* Effect.die(new CassetteConflict({ tape: path, kept }))
  })
  let beside: string | undefined
  // Runs after the file is closed.
  yield* Effect.addFinalizer((exit) => beside === undefined ? Effect.void : Effect.orDie(close(beside, exit)))
  const [opened, file] = yield* openBeside(files, path)
  beside = opened
  return file
})
