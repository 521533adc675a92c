/**
 * Spans that are made without an effect around what they measure.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { LogLevel } from "effect/LogLevel"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"

/** Returns the nearest span that may have children. */
const parentOf = (span: Tracer.AnySpan | undefined): Option.Option<Tracer.AnySpan> =>
  span === undefined || !Context.get(span.annotations, Tracer.DisablePropagation)
    ? Option.fromUndefinedOr(span)
    : span._tag === "Span"
    ? parentOf(Option.getOrUndefined(span.parent))
    : Option.none()

/** The log levels in order, without their module of Effect, because an import waits for each module. */
const levels: ReadonlyArray<LogLevel> = ["All", "Trace", "Debug", "Info", "Warn", "Error", "Fatal", "None"]

/**
 * Makes the spans that `Effect.useSpan` would make in a fiber, without an effect around the work that they measure: the work is over
 * already, or its beginning and end are known. The services that the spans need are read once.
 */
export class SpanRecorder {
  readonly #tracer: Tracer.Tracer | undefined
  readonly #clock: Clock.Clock
  readonly #isTimed: boolean
  readonly #isSampled: boolean
  readonly #parent: Option.Option<Tracer.AnySpan>
  readonly #links: ReadonlyArray<Tracer.SpanLink>
  readonly #annotations: Readonly<Record<string, unknown>>
  constructor(fiber: Fiber.Fiber<unknown, unknown>) {
    const parent = parentOf(fiber.cache.span)
    this.#tracer = fiber.cache.tracerEnabled ? fiber.getRef(Tracer.Tracer) : undefined
    this.#clock = fiber.getRef(Clock.Clock)
    this.#isTimed = fiber.getRef(References.TracerTimingEnabled)
    this.#isSampled = !(Option.isSome(parent) && !parent.value.sampled) &&
      levels.indexOf(fiber.getRef(Tracer.MinimumTraceLevel)) <= levels.indexOf(fiber.getRef(Tracer.CurrentTraceLevel))
    this.#parent = parent
    this.#links = fiber.getRef(References.TracerSpanLinks)
    this.#annotations = fiber.getRef(References.TracerSpanAnnotations)
  }
  /** Returns the time, if spans are recorded. */
  get now(): bigint {
    return this.#isTimed && this.#tracer !== undefined ? this.#clock.currentTimeNanosUnsafe() : 0n
  }
  /** Begins a span, if spans are recorded. */
  begin(name: string, attributes: Readonly<Record<string, unknown>>, startTime: bigint): Tracer.Span | undefined {
    const span = this.#tracer?.span({
      name,
      parent: this.#parent,
      annotations: Context.empty(),
      links: this.#links.slice(),
      startTime,
      kind: "internal",
      root: false,
      sampled: this.#isSampled
    })
    if (span === undefined) return undefined
    for (const key in this.#annotations) span.attribute(key, this.#annotations[key])
    for (const key in attributes) span.attribute(key, attributes[key])
    return span
  }
  /** Ends a span, and returns the time of its end. */
  end(span: Tracer.Span, exit: Exit.Exit<unknown, unknown>): bigint {
    const endTime = this.now
    span.end(endTime, exit)
    return endTime
  }
}
