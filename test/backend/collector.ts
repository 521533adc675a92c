/**
 * An OpenTelemetry collector in little: takes what is exported to it by OTLP as JSON, on a real socket.
 */
import { ConfigProvider, Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number; readonly doubleValue?: number }
}

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: ReadonlyArray<Attribute>
}

interface Point {
  readonly attributes: ReadonlyArray<Attribute>
  readonly asDouble?: number
  readonly asInt?: number
  readonly count?: number
  readonly sum?: number
}

interface Exported {
  readonly name: string
  readonly unit: string
  readonly sum?: { readonly dataPoints: ReadonlyArray<Point> }
  readonly histogram?: { readonly dataPoints: ReadonlyArray<Point> }
}

interface Arrived {
  readonly path: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: {
    readonly resourceSpans?: ReadonlyArray<{
      readonly resource: { readonly attributes: ReadonlyArray<Attribute> }
      readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }>
    }>
    readonly resourceMetrics?: ReadonlyArray<{
      readonly scopeMetrics: ReadonlyArray<{ readonly metrics: ReadonlyArray<Exported> }>
    }>
  }
}

/** Starts a collector, which stops with the scope. */
export const collector = Effect.acquireRelease(
  Effect.promise(async () => {
    const arrived: Array<Arrived> = []
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", () => {
        const body = Buffer.concat(chunks).toString()
        arrived.push({ path: request.url ?? "", headers: request.headers, body: body === "" ? {} : JSON.parse(body) })
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return { arrived, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  }),
  ({ server }) =>
    Effect.promise(async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
)
export type Collector = Effect.Success<typeof collector>

/** An environment in which that collector is the one to send to. */
export const sendingTo = ({ url }: Collector, more: Readonly<Record<string, string>> = {}) =>
  ConfigProvider.fromEnv({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", ...more }
  })

const valueOf = ({ value }: Attribute): string | number | undefined =>
  value.stringValue ?? value.doubleValue ?? (value.intValue === undefined ? undefined : Number(value.intValue))

const record = (attributes: ReadonlyArray<Attribute>) =>
  Object.fromEntries(attributes.map((attribute) => [attribute.key, valueOf(attribute)]))

/** The spans that arrived, in the order in which they began. */
export const spansOf = ({ arrived }: Collector) =>
  arrived
    .flatMap(({ body }) => body.resourceSpans ?? [])
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
    .map((span) => ({ ...span, attributes: record(span.attributes) }))

/** Where a span stands: its own name, and those of the spans around it. */
export const placeOf = (spans: ReturnType<typeof spansOf>, span: ReturnType<typeof spansOf>[number]): string => {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId)
  return parent === undefined ? span.name : `${placeOf(spans, parent)} > ${span.name}`
}

/** The service names that arrived with spans. */
export const servicesOf = ({ arrived }: Collector) =>
  arrived.flatMap(({ body }) => body.resourceSpans ?? []).map(({ resource }) =>
    record(resource.attributes)["service.name"]
  )

/** A metric as it arrived last. */
const metricOf = ({ arrived }: Collector, name: string): Exported | undefined =>
  arrived
    .flatMap(({ body }) => body.resourceMetrics ?? [])
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
    .findLast((metric) => metric.name === name)

/** Points of a metric as it arrived last: their values, or how many values they have, by the attributes that are asked for. */
export const pointsOf = (stub: Collector, name: string, ...by: ReadonlyArray<string>) => {
  const metric = metricOf(stub, name)
  return Object.fromEntries(
    (metric?.sum ?? metric?.histogram)?.dataPoints.map((point) => {
      const attributes = record(point.attributes)
      return [by.map((key) => attributes[key] ?? "").join(" "), point.asDouble ?? point.asInt ?? point.count]
    }) ?? []
  )
}

/** The unit of a metric as it arrived. */
export const unitOf = (stub: Collector, name: string): string | undefined => metricOf(stub, name)?.unit
