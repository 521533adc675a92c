/**
 * Spans of guardrails: `guardrail <name>`, with the agent, the stage and the verdict.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import type { GuardrailSettled } from "../../domain/AgentEvent.ts"
import * as Telemetry from "../Telemetry.ts"
import type { Posted } from "./Standing.ts"

/** Puts a guardrail's look at something into its span. `use` ends what the span says by `end`. */
export const around = <A, E, R>(
  { attributes, span }: Posted,
  use: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.useSpan(span, { attributes }, (span) => Telemetry.within(use(span), span))

/** Says in a guardrail's span what its verdict was. */
export const end = (span: Tracer.Span, verdict: GuardrailSettled["verdict"]): void =>
  span.attribute("troupe.guardrail.verdict", verdict)

/** Gives the nearest span that may have others below it. */
const parentOf = (span: Tracer.AnySpan | undefined): Option.Option<Tracer.AnySpan> =>
  span === undefined || !Context.get(span.annotations, Tracer.DisablePropagation)
    ? Option.fromUndefinedOr(span)
    : span._tag === "Span"
    ? parentOf(Option.getOrUndefined(span.parent))
    : Option.none()

/**
 * Tells of a guardrail that had its verdict at once: the span is the one that `Effect.useSpan` would have made, without an effect
 * around what is over already.
 */
export const tell = (
  fiber: Fiber.Fiber<unknown, unknown>,
  { attributes, span: name }: Posted,
  startTime: bigint,
  verdict: GuardrailSettled["verdict"],
  exit: Exit.Exit<unknown, unknown>
): void => {
  const { cache } = fiber
  if (!cache.tracerEnabled) return
  const isTimed = fiber.getRef(References.TracerTimingEnabled)
  const parent = parentOf(cache.span)
  const isSampled = !(Option.isSome(parent) && !parent.value.sampled) &&
    !LogLevel.isGreaterThan(fiber.getRef(Tracer.MinimumTraceLevel), fiber.getRef(Tracer.CurrentTraceLevel))
  const span = fiber.getRef(Tracer.Tracer).span({
    name,
    parent,
    annotations: Context.empty(),
    links: fiber.getRef(References.TracerSpanLinks).slice(),
    startTime: isTimed ? startTime : 0n,
    kind: "internal",
    root: false,
    sampled: isSampled
  })
  const annotations = fiber.getRef(References.TracerSpanAnnotations)
  for (const key in annotations) span.attribute(key, annotations[key])
  for (const key in attributes) span.attribute(key, attributes[key])
  end(span, verdict)
  span.end(isTimed ? fiber.getRef(Clock.Clock).currentTimeNanosUnsafe() : 0n, exit)
}
