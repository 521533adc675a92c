/**
 * Spans of runs and calls, with OpenTelemetry's names for generative AI.
 *
 * A run is a span `invoke_agent <name>`, a call a span `execute_tool <name>`; `effect/ai` adds the model's own beneath the
 * run. What was said is recorded only where `RecordContent` asks for it.
 *
 * Source of the names: OpenTelemetry semantic conventions for generative AI, agent and framework spans.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import { lastAssistantText, lastUserText } from "../domain/Conversation.ts"
import type { Call } from "../domain/StateSchema.ts"
import { exact } from "../domain/Usage.ts"
import type * as Loop from "./Loop.ts"
import type { Answered } from "./ToolCall.ts"

/**
 * Whether spans hold what was said: messages, parameters and results. They don't by default.
 *
 * @category references
 * @since 0.1.0
 */
export const RecordContent = Context.Reference<boolean>("troupe/agent/Telemetry/RecordContent", {
  defaultValue: () => false
})

const attribute = (span: Tracer.Span, name: string, value: unknown): void => {
  if (value !== undefined) span.attribute(name, value)
}

const noStack = (): undefined => undefined

/** What `Effect.withParentSpan` does without a stack trace, in one change of the services where that takes two. */
const within = <A, E, R>(self: Effect.Effect<A, E, R>, span: Tracer.Span): Effect.Effect<A, E, R> =>
  Effect.updateContext(self, (services: Context.Context<R>) => {
    const parent = Context.get(services, References.CurrentStackFrame)
    return Context.add(services, Tracer.ParentSpan, span).pipe(
      Context.add(References.CurrentStackFrame, { name: span.name, stack: noStack, parent })
    )
  })

/** Puts a run into its span. */
export const runSpan = <A, E, R>(self: Effect.Effect<A, E, R>, loop: Loop.Loop): Effect.Effect<A, E, R> =>
  Effect.useSpan(
    `invoke_agent ${loop.definition.name}`,
    { attributes: runAttributes(loop) },
    (span) =>
      within(
        Effect.onExit(self, () => Effect.map(RecordContent, (isRecorded) => endRun(span, loop, isRecorded))),
        span
      )
  )

const runAttributes = ({ definition }: Loop.Loop): Record<string, unknown> => ({
  "gen_ai.operation.name": "invoke_agent",
  "gen_ai.agent.name": definition.name,
  ...(definition.description === undefined ? undefined : { "gen_ai.agent.description": definition.description })
})

const endRun = (span: Tracer.Span, { state }: Loop.Loop, isRecorded: boolean): void => {
  attribute(span, "gen_ai.usage.input_tokens", exact(state.run.usage.input))
  attribute(span, "gen_ai.usage.output_tokens", exact(state.run.usage.output))
  attribute(span, "troupe.status", state.status._tag)
  attribute(span, "troupe.steps", state.run.steps)
  if (state.status._tag === "Failed") attribute(span, "error.type", state.status.error.tag)
  if (isRecorded) {
    attribute(span, "gen_ai.input.messages", lastUserText(state.conversation))
    attribute(span, "gen_ai.output.messages", lastAssistantText(state.conversation))
  }
}

/** Puts a call into its span. */
export const toolSpan = <E, R>(
  self: Effect.Effect<Answered | undefined, E, R>,
  loop: Loop.Loop,
  call: Call,
  tool: Tool.Any
): Effect.Effect<Answered | undefined, E, R> =>
  Effect.useSpan(
    `execute_tool ${call.name}`,
    { attributes: toolAttributes(loop, call, tool) },
    (span) =>
      within(
        Effect.matchCauseEffect(self, {
          onFailure: (cause) => {
            if (Cause.hasDies(cause)) span.attribute("error.type", "Defect")
            return Effect.failCause(cause)
          },
          onSuccess: (answered) =>
            Effect.map(RecordContent, (isRecorded) => {
              endTool(span, call, answered, isRecorded)
              return answered
            })
        }),
        span
      )
  )

const toolAttributes = (loop: Loop.Loop, call: Call, tool: Tool.Any): Record<string, unknown> => ({
  "gen_ai.operation.name": "execute_tool",
  "gen_ai.agent.name": loop.definition.name,
  "gen_ai.tool.name": call.name,
  "gen_ai.tool.call.id": call.id,
  "gen_ai.tool.type": "function",
  ...(tool.description === undefined ? undefined : { "gen_ai.tool.description": tool.description })
})

const endTool = (span: Tracer.Span, call: Call, answered: Answered | undefined, isRecorded: boolean): void => {
  if (answered !== undefined && answered.settlement.outcome !== "Succeeded") {
    attribute(span, "error.type", answered.settlement.outcome)
  }
  if (isRecorded) {
    attribute(span, "gen_ai.tool.call.arguments", JSON.stringify(call.params))
    if (answered !== undefined) attribute(span, "gen_ai.tool.call.result", JSON.stringify(answered.settlement.result))
  }
}
