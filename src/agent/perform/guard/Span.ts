/**
 * Spans of guardrails: `guardrail <name>`, with the agent, the stage and the verdict.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Tracer from "effect/Tracer"
import type { GuardrailSettled } from "../../../domain/AgentEvent.ts"
import type { StagedGuardrail } from "../../definition/guardrail/AgentGuardrails.ts"
import { shownExit } from "../../journal/SpanExit.ts"
import type { SpanRecorder } from "../../journal/SpanRecorder.ts"
import * as Telemetry from "../../journal/Telemetry.ts"

/** Wraps a guardrail's check in its span. `use` adds the last attributes by `end`. */
export const around = <A, E, R>(
  { attributes, span }: StagedGuardrail,
  use: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Telemetry.inOwnSpan(span, attributes, use)

/** Sets the verdict in a guardrail's span. */
export const end = (span: Tracer.Span, verdict: GuardrailSettled["verdict"]): void =>
  span.attribute("troupe.guardrail.verdict", verdict)

/** Records the span of a guardrail with an immediate verdict, which began at a time. Returns the time of its end. */
export const record = (
  recorder: SpanRecorder,
  { attributes, span: name }: StagedGuardrail,
  startTime: bigint,
  verdict: GuardrailSettled["verdict"],
  exit: Exit.Exit<unknown, unknown>,
  recordsContent = false
): bigint => {
  const span = recorder.begin(name, attributes, startTime)
  if (span === undefined) return startTime
  end(span, verdict)
  return recorder.end(span, shownExit(span, exit, recordsContent))
}
