/**
 * The tool by which an agent ends a dialogue.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { AgentState } from "../../domain/StateSchema.ts"

/**
 * A tool, for an agent's toolkit, that ends the dialogue after the turn in which it is called. `layerStopTool` handles it.
 *
 * Any other tool can be the stop tool of a dialogue instead, by its name, such as one with parameters, or one that needs approval.
 *
 * **Example** (An agent that has heard enough)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Toolkit } from "effect/ai"
 * import { Agent, Dialogue } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const bore = Agent.make("bore")
 * const guest = Agent.make("guest", { toolkit: Toolkit.make(Dialogue.StopTool) })
 *
 * const program = Dialogue.run(Dialogue.make(bore, guest), "Talk.").pipe(
 *   Effect.provide(Dialogue.layerStopTool),
 *   Effect.provide(MockModel.layer(MockModel.queue(
 *     "In my youth…",
 *     MockResponse.toolCall("end_dialogue", {}),
 *     "Good night."
 *   )))
 * )
 *
 * const { status } = await Effect.runPromise(program)
 *
 * status // => { _tag: "Ended", reason: { _tag: "StopToolCalled", speaker: "guest", tool: "end_dialogue" } }
 * ```
 *
 * @category tools
 * @since 0.1.0
 */
export const StopTool = Tool.make("end_dialogue", {
  description: "Ends the conversation when you are done speaking. Call it once nothing is left to be said.",
  success: Schema.String
})

/**
 * Handles `StopTool`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerStopTool: Layer.Layer<Tool.Handler<"end_dialogue">> = Layer.suspend(() =>
  Toolkit.make(StopTool).toLayer({
    end_dialogue: () => Effect.succeed("The conversation ends when you are done speaking.")
  })
)

/** Checks whether an agent called a tool successfully in its turn. */
export const isCalled = ({ run }: AgentState, tool: string): boolean => run.succeeded?.includes(tool) === true
