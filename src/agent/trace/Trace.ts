/**
 * What a run did, for people to read: as a Markdown log, as a diagram, and as a file that grows during the run.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { dual } from "effect/Function"
import type { PlatformError } from "effect/PlatformError"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import * as Observer from "../journal/Observer.ts"
import { fragment, type MarkdownOptions, maxLengthOf } from "./Markdown.ts"

export { fragment, type MarkdownOptions, toMarkdown } from "./Markdown.ts"
export * from "./Mermaid.ts"

/**
 * How a log is written to a file: `append` keeps the file's existing content, which is overwritten by default.
 *
 * @category models
 * @since 0.1.0
 */
export interface FileOptions extends MarkdownOptions {
  readonly append?: boolean | undefined
}

/** The key of the file system, without its module: an import should load no module of Effect that only this one needs. */
const FileSystemKey = Context.Service<FileSystem.FileSystem, FileSystem.FileSystem>("effect/FileSystem")

const open = Effect.fnUntraced(function*(path: string, append: boolean) {
  const files = yield* FileSystemKey
  if (!append) yield* Effect.scoped(files.open(path, { flag: "w" }))
  return yield* files.open(path, { flag: "a" })
})

/** Deltas, which add nothing to a log. They aren't written at all, so that they cost a run nothing. */
const silent: ReadonlySet<AgentEvent["_tag"]> = new Set(["TextDelta", "ReasoningDelta", "ToolParamsDelta"])

/** An observer that writes to `file` while its scope is open, until a write fails. */
const writer = Effect.fnUntraced(function*(path: string, file: FileSystem.File, options: FileOptions | undefined) {
  const encoder = new TextEncoder()
  const turn = yield* Semaphore.make(1)
  let isWriting = true
  yield* Effect.addFinalizer(() =>
    Semaphore.withPermit(
      turn,
      Effect.sync(() => {
        isWriting = false
      })
    )
  )
  const write: Observer.Observer = (event) =>
    silent.has(event._tag)
      ? Effect.void
      : Effect.suspend(() => isWriting ? file.writeAll(encoder.encode(fragment(event, options))) : Effect.void).pipe(
        Effect.catchCause((cause) => {
          isWriting = false
          return Effect.logWarning(`The trace in "${path}" lacks event ${event.sequence} and what followed`, cause)
        }),
        Semaphore.withPermit(turn),
        Effect.uninterruptible
      )
  return write
})

const toFileWith = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  path: string,
  options?: FileOptions
): Effect.Effect<A, E | PlatformError, R | FileSystem.FileSystem> => {
  maxLengthOf(options)
  return Effect.acquireUseRelease(
    Scope.make(),
    (scope) =>
      open(path, options?.append === true).pipe(
        Effect.flatMap((file) => writer(path, file, options)),
        Scope.provide(scope),
        Effect.flatMap((observer) => Observer.observe(self, observer))
      ),
    Scope.close
  )
}

/**
 * Writes the Markdown log of every run inside an effect to a file. Each event is written before the run continues.
 *
 * **Details**
 *
 * The file is readable up to the last event, even if the process dies; it isn't synced to disk against a power cut. Called agents and
 * agents that take over write to the same log, each under its name.
 *
 * If the file can't be opened, the effect fails with `PlatformError` before anything runs. If an event can't be written, the run continues:
 * a warning is logged once, and nothing more is written. Throws `InvalidLimit` for an invalid `maxLength`.
 *
 * **Gotchas**
 *
 * If an agent runs twice at the same time, one file mixes both runs: use a file for each.
 *
 * **Example** (Keeping a log of a run)
 *
 * ```ts
 * import { NodeFileSystem } from "@effect/platform-node"
 * import { Effect, FileSystem } from "effect"
 * import { Agent, Trace } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const greeter = Agent.make("greeter", { instructions: "Be brief." })
 *
 * const program = Effect.gen(function*() {
 *   const files = yield* FileSystem.FileSystem
 *   const path = yield* files.makeTempFileScoped({ suffix: ".md" })
 *   yield* Agent.run(greeter, "Who are you?").pipe(Trace.toFile(path))
 *   const log = yield* files.readFileString(path)
 *   return log.split("\n").filter((line) => line.startsWith("#"))
 * }).pipe(
 *   Effect.scoped,
 *   Effect.provide(MockModel.layer(MockModel.queue("A friend."))),
 *   Effect.provide(NodeFileSystem.layer)
 * )
 *
 * await Effect.runPromise(program)
 * // => ["# `greeter`", "## Step 1 of `greeter`", "## Complete: `greeter`"]
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const toFile: {
  (
    path: string,
    options?: FileOptions
  ): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | PlatformError, R | FileSystem.FileSystem>
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    path: string,
    options?: FileOptions
  ): Effect.Effect<A, E | PlatformError, R | FileSystem.FileSystem>
} = dual((args) => Effect.isEffect(args[0]), toFileWith)
