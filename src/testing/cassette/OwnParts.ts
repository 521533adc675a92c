/**
 * What agents have of their own, on a tape: their own models, and the handlers of toolkits that have them.
 *
 * @since 0.1.0
 */
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CurrentOverrides, type Overrides, type ToolHandler } from "../../agent/definition/Overrides.ts"
import type { Player } from "./Player.ts"
import type { Recorder } from "./Recorder.ts"
import * as Recording from "./Recording.ts"
import type { Change } from "./Redact.ts"
import * as Tools from "./Tools.ts"

/** Records the models and handlers that agents have of their own, or the mocks that already replace them. */
export const recorded = (recorder: Recorder, isHandled: boolean): Effect.Effect<Overrides> =>
  Effect.map(CurrentOverrides, ({ handler, model }): Overrides => ({
    model: (own) => {
      const real = model?.(own) ?? own
      return Layer.effect(
        LanguageModel.LanguageModel,
        Effect.flatMap(LanguageModel.LanguageModel, (real) => Recording.make(real, recorder))
      ).pipe(Layer.provideMerge(real))
    },
    handler: (tool, own) => {
      const real = handler?.(tool, own) ?? own
      return isHandled
        ? Tools.recorded(tool, { handler: real, context: Context.empty() }, recorder)
        : real
    }
  }))

/**
 * Plays the tape instead of the models that agents have of their own and, with `isHandled`, instead of the handlers of their toolkits. A
 * model or handler that is played is neither built nor run.
 */
export const replayed = (
  model: LanguageModel.LanguageModel,
  player: Player,
  change: Change,
  isHandled: boolean
): Overrides => {
  const layer = Layer.succeed(LanguageModel.LanguageModel, model)
  const handlers = new WeakMap<Tool.Any, ToolHandler>()
  return {
    model: () => layer,
    handler: (tool, own) => {
      if (!isHandled) return own
      const handler = handlers.get(tool) ?? Tools.replayed(tool, player, change)
      handlers.set(tool, handler)
      return handler
    }
  }
}
