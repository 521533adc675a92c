/** OpenTelemetry's own SDK, through Effect's binding, with what it exports kept in memory. */
import * as OtelMetrics from "@effect/opentelemetry/OtelMetrics"
import * as OtelTracer from "@effect/opentelemetry/OtelTracer"
import * as Resource from "@effect/opentelemetry/Resource"
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  PeriodicExportingMetricReader
} from "@opentelemetry/sdk-metrics"
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor
} from "@opentelemetry/sdk-trace-base"
import { Effect, Layer, Metric } from "effect"

/** Runs a program whose spans and metrics are exported, and gives them with how it ended. */
export const exported = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const spans = new InMemorySpanExporter()
    const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
    const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 1e6 })
    const layer = Layer.mergeAll(
      OtelTracer.layer.pipe(Layer.provide(Layer.succeed(OtelTracer.OtelTracerProvider, provider))),
      OtelMetrics.layer(() => reader)
    ).pipe(Layer.provide(Resource.layer({ serviceName: "test" })))
    const exit = yield* Effect.exit(self).pipe(
      Effect.tap(() => Effect.promise(() => reader.forceFlush())),
      Effect.provide(layer),
      Effect.provideService(Metric.MetricRegistry, new Map())
    )
    const [last] = metrics.getMetrics().slice(-1)
    return {
      exit,
      spans: spans.getFinishedSpans(),
      metrics: last?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
    }
  })

/** The attributes of the last span of a name that ended. */
export const attributesOf = (spans: ReadonlyArray<ReadableSpan>, name: string) =>
  spans.findLast((span) => span.name === name)?.attributes ?? {}

/** A JSON text in an attribute. */
export const json = (value: unknown): unknown => typeof value === "string" ? JSON.parse(value) : undefined
