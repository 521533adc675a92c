/**
 * Spans of runs and calls, with OpenTelemetry's names for generative AI.
 *
 * A run is a span `invoke_agent <name>`, a call a span `execute_tool <name>`, entering and leaving a mode `enter_mode <name>` and
 * `exit_mode <name>`, making a summary `summarize_conversation <name>`; `effect/ai` adds the model's own beneath the
 * run. What was said is recorded only where `RecordContent` asks for it.
 *
 * Source of the names: OpenTelemetry semantic conventions for generative AI, agent and framework spans.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import { lastAssistantText, lastUserText } from "../../domain/Conversation.ts"
import type { Settlement } from "../../domain/Happening.ts"
import type { Call } from "../../domain/StateSchema.ts"
import { exact } from "../../domain/Usage.ts"
import type { Definition } from "../definition/AgentDefinition.ts"
import type { Loop } from "./Loop.ts"
import type { SpanRecorder } from "./SpanRecorder.ts"

const attribute = (span: Tracer.Span, name: string, value: unknown): void => {
  if (value !== undefined) span.attribute(name, value)
}

const noStack = (): undefined => undefined

/** Gives the services of what runs in a span. */
export const inSpan = (span: Tracer.Span) => <R>(services: Context.Context<R>): Context.Context<R> => {
  const parent = Context.get(services, References.CurrentStackFrame)
  return Context.add(services, Tracer.ParentSpan, span).pipe(
    Context.add(References.CurrentStackFrame, { name: span.name, stack: noStack, parent })
  )
}

/** What `Effect.withParentSpan` does without a stack trace, in one change of the services where that takes two. */
export const within = <A, E, R>(self: Effect.Effect<A, E, R>, span: Tracer.Span): Effect.Effect<A, E, R> =>
  Effect.updateContext(self, inSpan(span)<R>)

/** Puts a run into its span; `use` ends what the span says by `endRun`. */
export const runSpan = <A, E, R>(
  inControl: Definition,
  use: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.useSpan(
    `invoke_agent ${inControl.name}`,
    { attributes: runAttributes(inControl) },
    (span) => within(use(span), span)
  )

/** Puts the time in which an agent that took over is in control into a span of its own, below the run's. */
export const handoffSpan = <A, E, R>(loop: Loop, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.useSpan(
    `invoke_agent ${loop.definition.name}`,
    { attributes: { ...runAttributes(loop.definition), ...handoffAttributes(loop) } },
    (span) => within(self, span)
  )

type ModeOperation = "enter_mode" | "exit_mode"

/** What the span of entering or leaving a mode says. */
const modeAttributes = ({ definition }: Loop, operation: ModeOperation, mode: string): Record<string, string> => ({
  "gen_ai.operation.name": operation,
  "gen_ai.agent.name": definition.name,
  "troupe.mode.name": mode
})

/** Begins the span of entering or leaving a mode, where there are any. */
export const beginMode = (
  loop: Loop,
  recorder: SpanRecorder,
  operation: ModeOperation,
  mode: string
): Tracer.Span | undefined =>
  recorder.begin(`${operation} ${mode}`, modeAttributes(loop, operation, mode), recorder.now)

/** Puts the making of a summary into a span. */
export const summarySpan = <A, E, R>(
  { definition }: Loop,
  turns: number,
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.useSpan(
    `summarize_conversation ${definition.name}`,
    {
      attributes: {
        "gen_ai.operation.name": "summarize_conversation",
        "gen_ai.agent.name": definition.name,
        "troupe.summary.turns": turns
      }
    },
    (span) => within(self, span)
  )

const handoffAttributes = ({ journal, state: { handoff } }: Loop): Record<string, unknown> => ({
  ...(handoff === undefined ? undefined : { "troupe.handoff.from": handoff.from }),
  ...(journal.recordsContent && handoff?.reason !== undefined ? { "troupe.handoff.reason": handoff.reason } : undefined)
})

const runAttributes = (definition: Definition): Record<string, unknown> => ({
  "gen_ai.operation.name": "invoke_agent",
  "gen_ai.agent.name": definition.name,
  ...(definition.description === undefined ? undefined : { "gen_ai.agent.description": definition.description })
})

/** Says in a run's span how it ended. */
export const endRun = (span: Tracer.Span, { journal, state }: Loop): void => {
  attribute(span, "gen_ai.usage.input_tokens", exact(state.run.usage.input))
  attribute(span, "gen_ai.usage.output_tokens", exact(state.run.usage.output))
  attribute(span, "gen_ai.usage.cache_read.input_tokens", exact(state.run.usage.cached))
  attribute(span, "gen_ai.usage.reasoning.output_tokens", exact(state.run.usage.reasoning))
  attribute(span, "troupe.status", state.status._tag)
  attribute(span, "troupe.steps", state.run.steps)
  if (state.status._tag === "Failed") attribute(span, "error.type", state.status.error.tag)
  if (journal.recordsContent) {
    attribute(span, "gen_ai.input.messages", lastUserText(state.conversation))
    attribute(span, "gen_ai.output.messages", lastAssistantText(state.conversation))
  }
}

/** Puts a call into its span; `use` ends what the span says by `endTool` or `crashTool`. */
export const toolSpan = <A, E, R>(
  loop: Loop,
  call: Call,
  tool: Tool.Any,
  use: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.useSpan(
    `execute_tool ${call.name}`,
    { attributes: toolAttributes(loop, call, tool) },
    (span) => within(use(span), span)
  )

const toolAttributes = (loop: Loop, call: Call, tool: Tool.Any): Record<string, unknown> => ({
  "gen_ai.operation.name": "execute_tool",
  "gen_ai.agent.name": loop.definition.name,
  "gen_ai.tool.name": call.name,
  "gen_ai.tool.call.id": call.id,
  "gen_ai.tool.type": "function",
  ...(tool.description === undefined ? undefined : { "gen_ai.tool.description": tool.description })
})

/** Says in a call's span what came of it. */
export const endTool = (
  span: Tracer.Span,
  { journal }: Loop,
  call: Call,
  settlement: Pick<Settlement, "outcome" | "result"> | undefined
): void => {
  if (settlement !== undefined && settlement.outcome !== "Succeeded") {
    attribute(span, "error.type", settlement.outcome)
  }
  if (journal.recordsContent) {
    attribute(span, "gen_ai.tool.call.arguments", JSON.stringify(call.params))
    if (settlement !== undefined) attribute(span, "gen_ai.tool.call.result", JSON.stringify(settlement.result))
  }
}

/** Says in a call's span that its handler broke down. */
export const crashTool = (span: Tracer.Span): void => span.attribute("error.type", "Defect")
