/**
 * Traces and metrics by OTLP over HTTP, to the collector at `OTEL_EXPORTER_OTLP_ENDPOINT`. Without that there is no request.
 *
 * The other variables are OpenTelemetry's: `OTEL_SERVICE_NAME` (by default `troupe-backend`), `OTEL_RESOURCE_ATTRIBUTES`,
 * `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_PROTOCOL` (`http/protobuf` by default, or `http/json`),
 * `OTEL_EXPORTER_OTLP_COMPRESSION`, `OTEL_BSP_SCHEDULE_DELAY`, `OTEL_METRIC_EXPORT_INTERVAL`, `OTEL_SDK_DISABLED`, and so on.
 * Logs are sent where `OTEL_LOGS_EXPORTER` is `otlp`.
 *
 * Source: OpenTelemetry environment variable specification, and the specification of the OTLP exporter.
 */
import { ConfigProvider, Effect, Layer, Option } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp, OtlpSerialization } from "effect/observability"
import { setting } from "../desk/settings.ts"

/** What OpenTelemetry takes where a variable isn't there, and Effect doesn't. */
const defaults = ConfigProvider.fromUnknown({
  OTEL_SERVICE_NAME: "troupe-backend",
  OTEL_TRACES_EXPORTER: "otlp",
  OTEL_METRICS_EXPORTER: "otlp"
})

/** Nothing where no collector is named, or exporting is switched off. */
const exporters = Layer.unwrap(Effect.gen(function*() {
  const protocol = yield* setting(
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "http/protobuf or http/json",
    "http/json",
    (text) => ["", "http/protobuf", "http/json"].includes(text) ? text : undefined
  )
  return Otlp.layerFromConfig().pipe(
    Layer.provide([
      FetchHttpClient.layer,
      Option.contains(protocol, "http/json") ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf
    ])
  )
}))

/** Exports the spans and metrics of what it is provided to, until its scope closes; the last ones are sent then. */
export const layer = exporters.pipe(Layer.provide(ConfigProvider.layerAdd(defaults)))
