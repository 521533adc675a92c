/**
 * Spans of a program as they were made, and who stands in whom.
 */
import { Effect, Option, Tracer } from "effect"

/** Runs a program, and gives its spans with how it ended. */
export const recorded = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    return self.pipe(
      Effect.provideService(Tracer.Tracer, tracer),
      Effect.exit,
      Effect.map((exit) => ({ exit, spans }))
    )
  })

/** Gives the attributes of a span, but for the conversation's id: that of a run is another one each time. */
export const attributesOf = (span: Tracer.Span | undefined) => {
  const { "gen_ai.conversation.id": _, ...attributes } = Object.fromEntries(span?.attributes ?? [])
  return attributes
}

/** Gives the name of the span around another. */
const parentOf = (span: Tracer.Span | undefined): string | undefined => {
  const parent = span === undefined ? undefined : Option.getOrUndefined(span.parent)
  return parent?._tag === "Span" ? parent.name : undefined
}

/** Gives each span's name with that of the span around it. */
export const tree = (spans: ReadonlyArray<Tracer.Span>) => spans.map((span) => [span.name, parentOf(span)])
