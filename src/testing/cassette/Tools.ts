/**
 * Handlers of tools that are recorded, and handlers that return what a tape says.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { deferResult } from "../../agent/definition/DeferResult.ts"
import type { ToolHandler } from "../../agent/definition/Overrides.ts"
import type { ToolEntry } from "./Entry.ts"
import * as Place from "./Place.ts"
import type { Player } from "./Player.ts"
import type { Recorder } from "./Recorder.ts"
import * as Redact from "./Redact.ts"
import * as ToolCodec from "./ToolCodec.ts"

type HandlerContext = Toolkit.HandlerContext<Tool.Any>

/** A handler, with the services that it was made with. */
interface Real {
  readonly handler: ToolHandler
  readonly context: Context.Context<never>
}

/** Makes a handler that runs another and records how that ended. What the other asks or calls isn't recorded. */
export const recorded = (tool: Tool.Any, real: Real, recorder: Recorder): ToolHandler => {
  const codec = ToolCodec.make(tool)
  const run = (...given: Parameters<ToolHandler>) =>
    Effect.suspend(() => real.handler(...given)).pipe(
      Effect.provideService(Place.IsPart, true),
      Effect.updateContext((services: Context.Context<unknown>) => Context.merge(real.context, services))
    )
  return (params, context) =>
    Effect.withFiber((fiber) => {
      if (fiber.getRef(Place.IsPart)) return run(params, context)
      const place = Place.current(fiber, 1)
      const progress: Array<Schema.Json> = []
      const preliminary: HandlerContext["preliminary"] = (result) =>
        Effect.flatMap(codec.toResult(result), (json) => {
          if (json !== undefined) progress.push(json)
          return context.preliminary(result)
        })
      const handled = run(params, { ...context, preliminary })
      return Effect.flatMap(codec.toParams(params), (json) =>
        Effect.onExit(handled, (exit) =>
          Effect.flatMap(codec.toOutcome(exit), (outcome) =>
            recorder.tool(place, {
              callId: context.toolCallId || "call",
              name: codec.name,
              params: json,
              progress,
              outcome
            }))))
    })
}

/** How often other fibers run before a crash. The number is limited, because calls of the tape may be missing in this run. */
const turns = 1000

/** Waits for calls of the same turn that began or ended on the tape before this one crashed. */
const waitToCrash = Effect.fnUntraced(function*(player: Player, entry: ToolEntry) {
  for (let turn = 0; turn < turns && !player.mayCrash(entry); turn++) yield* Effect.yieldNow
})

/** Makes a handler that returns what a tape says. */
export const replayed = (tool: Tool.Any, player: Player, change: Redact.Change): ToolHandler => {
  const codec = ToolCodec.make(tool)
  player.handles(codec.name)
  const normalize = (params: Schema.Json) => Redact.everyText(codec.normalize(params), change)
  return (params, context) =>
    Effect.withFiber((fiber) =>
      Effect.flatMap(codec.toParams(params), (json) => {
        const found = player.tool({
          ...Place.current(fiber, 1),
          callId: context.toolCallId || "call",
          name: codec.name,
          params: Redact.everyText(json, change),
          normalize
        })
        if (Result.isFailure(found)) return Effect.die(found.failure)
        const entry = found.success
        const { outcome, progress } = entry
        const told = Effect.forEach(
          progress,
          // The tape holds results of this tool, which its codec has decoded.
          (result) => Effect.flatMap(codec.fromResult(result), (result) => context.preliminary(result as never)),
          { discard: true }
        )
        return Effect.andThen(
          outcome._tag === "Died" ? Effect.andThen(told, waitToCrash(player, entry)) : told,
          Effect.suspend((): Effect.Effect<unknown, unknown> => {
            player.end(entry)
            if (outcome._tag === "Hangs") return Effect.never
            if (outcome._tag === "Deferred") return deferResult
            if (outcome._tag === "Died") return Effect.die(outcome.defect)
            return outcome.isFailure ? codec.fromFailure(outcome) : codec.fromResult(outcome.result)
          })
        )
      })
    )
}
