/**
 * Spans that are made without an effect of their own.
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

/** Gives the nearest span that may have others below it. */
const parentOf = (span: Tracer.AnySpan | undefined): Option.Option<Tracer.AnySpan> =>
  span === undefined || !Context.get(span.annotations, Tracer.DisablePropagation)
    ? Option.fromUndefinedOr(span)
    : span._tag === "Span"
    ? parentOf(Option.getOrUndefined(span.parent))
    : Option.none()

/** In their order, without the module of Effect that has it: an import waits for each module. */
const levels: ReadonlyArray<LogLevel> = ["All", "Trace", "Debug", "Info", "Warn", "Error", "Fatal", "None"]

/**
 * Makes the spans that `Effect.useSpan` would make in a fiber, without an effect around what they are about: that is over already, or its
 * ends are known anyway. What they have in common is looked for once.
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
  /** Gives the time, where spans have one. */
  get now(): bigint {
    return this.#isTimed && this.#tracer !== undefined ? this.#clock.currentTimeNanosUnsafe() : 0n
  }
  /** Begins a span, where there are any. */
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
  /** Ends a span, and gives the time at which it did. */
  end(span: Tracer.Span, exit: Exit.Exit<unknown, unknown>): bigint {
    const endTime = this.now
    span.end(endTime, exit)
    return endTime
  }
}
