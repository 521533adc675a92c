/**
 * Tapes in folders of their own, and runs that are looked at.
 */
import { NodeFileSystem } from "@effect/platform-node"
import { Effect, FileSystem, Random } from "effect"
import { Agent, type AgentEvent } from "troupe"

/** A path in a folder of its own, which isn't there yet. */
export const newPath = Effect.gen(function*() {
  const files = yield* FileSystem.FileSystem
  return `${yield* files.makeTempDirectoryScoped()}/tapes/tape.jsonl`
})

export const content = (path: string) => Effect.flatMap(FileSystem.FileSystem, (files) => files.readFileString(path))

export const withFiles = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  self.pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))

/** The events of a run, and how it ended. Runs have the same ids each time, by the same seed. */
export const observed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const events: Array<AgentEvent.AgentEvent> = []
    const seen = Agent.observe(self, (event) => Effect.sync(() => events.push(event)))
    const exit = yield* Effect.exit(Random.withSeed(seen, "tape"))
    return { events, exit }
  })
