/**
 * Metrics of requests to models, with OpenTelemetry's names for generative AI.
 *
 * Each request counts once, when it has ended, and the series that it counts in is made once: there is one for each provider, model, model
 * of the response and type of error. The counts are read if somebody exports `effect/Metric`, and cost nothing more if nobody does.
 *
 * Source of the names, units, buckets and attributes: OpenTelemetry semantic conventions 1.41 for generative AI client metrics.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"
import type { RequestUsage } from "../../domain/Usage.ts"

/** The attributes of a series of requests. */
interface Labels {
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly response: string | undefined
  readonly error: string | undefined
}

const buckets = (start: number, factor: number): ReadonlyArray<number> =>
  Array.from({ length: 14 }, (_, at) => start * factor ** at)

const secondsAt = buckets(0.01, 2)
const tokensAt = buckets(1, 4)

const attributesOf = ({ error, model, provider, response }: Labels): Record<string, string> => ({
  "gen_ai.operation.name": "chat",
  ...(provider === undefined ? undefined : { "gen_ai.provider.name": provider }),
  ...(model === undefined ? undefined : { "gen_ai.request.model": model }),
  ...(response === undefined ? undefined : { "gen_ai.response.model": response }),
  ...(error === undefined ? undefined : { "error.type": error })
})

const durationOf = (labels: Labels) =>
  Metric.histogram("gen_ai.client.operation.duration", {
    description: "GenAI operation duration.",
    boundaries: secondsAt,
    attributes: { unit: "s", ...attributesOf(labels) }
  })

const tokensOf = (type: "input" | "output", labels: Labels) =>
  Metric.histogram("gen_ai.client.token.usage", {
    description: "Number of input and output tokens used.",
    boundaries: tokensAt,
    attributes: { unit: "{token}", "gen_ai.token.type": type, ...attributesOf({ ...labels, error: undefined }) }
  })

/** The counts of a histogram. `Metric` finds a series by a text that it makes for each update, which costs more than a step's other events. */
class Counts {
  readonly #boundaries: ReadonlyArray<number>
  readonly #counts: Array<number>
  #count = 0
  #sum = 0
  #min = Number.MAX_VALUE
  #max = -Number.MAX_VALUE
  constructor(boundaries: ReadonlyArray<number>) {
    this.#boundaries = boundaries
    this.#counts = boundaries.map(() => 0)
  }
  add(value: number): void {
    let at = 0
    while (at < this.#boundaries.length && value > this.#boundaries[at]!) at++
    if (at < this.#counts.length) this.#counts[at]!++
    this.#count++
    this.#sum += value
    if (value < this.#min) this.#min = value
    if (value > this.#max) this.#max = value
  }
  get state(): Metric.HistogramState {
    let sum = 0
    const buckets = this.#boundaries.map((boundary, at): [number, number] => [boundary, sum += this.#counts[at]!])
    return { buckets, count: this.#count, min: this.#min, max: this.#max, sum: this.#sum }
  }
}

/** Makes the counts of a metric, which can be read from its first value on. */
const counted = (metric: Metric.Histogram<number>, boundaries: ReadonlyArray<number>, registry: Registry) => {
  let counts: Counts | undefined
  return (value: number): void => {
    if (counts === undefined) {
      const made = counts = new Counts(boundaries)
      const add = (value: number) => made.add(value)
      const hooks = { get: () => made.state, update: add, modify: add }
      Metric.registerUnsafe(metric, Context.make(Metric.MetricRegistry, registry), hooks)
    }
    counts.add(value)
  }
}

type Registry = Context.Service.Shape<typeof Metric.MetricRegistry>

/** The metrics of a series of requests. */
interface Series {
  readonly labels: Labels
  readonly duration: (seconds: number) => void
  readonly input: (tokens: number) => void
  readonly output: (tokens: number) => void
}

const make = (labels: Labels, registry: Registry): Series => {
  const duration = counted(durationOf(labels), secondsAt, registry)
  // Tokens are counted in one series, whether the request failed or not.
  if (labels.error !== undefined) return { ...seriesOf({ ...labels, error: undefined }, registry), labels, duration }
  return {
    labels,
    duration,
    input: counted(tokensOf("input", labels), tokensAt, registry),
    output: counted(tokensOf("output", labels), tokensAt, registry)
  }
}

/** The series of a registry. There are few, so a search usually ends at the first or second. */
const all = new WeakMap<Registry, Array<Series>>()

const isSame = (self: Labels, that: Labels): boolean =>
  self.provider === that.provider && self.model === that.model && self.response === that.response &&
  self.error === that.error

/** Finds the series of a request by its attributes. */
const seriesOf = (labels: Labels, registry: Registry): Series => {
  let known = all.get(registry)
  if (known === undefined) all.set(registry, known = [])
  for (const series of known) if (isSame(series.labels, labels)) return series
  const made = make(labels, registry)
  known.push(made)
  return made
}

/** Counts a request that has ended. Tokens count if they were reported. */
export const record = (
  labels: Labels,
  seconds: number,
  usage: RequestUsage | undefined,
  context: Context.Context<never>
): void => {
  for (const _ in Context.get(context, Metric.CurrentMetricAttributes)) {
    // A program's own attributes make separate series, which `Metric` finds.
    durationOf(labels).updateUnsafe(seconds, context)
    if (usage?.input !== undefined) tokensOf("input", labels).updateUnsafe(usage.input, context)
    if (usage?.output !== undefined) tokensOf("output", labels).updateUnsafe(usage.output, context)
    return
  }
  const series = seriesOf(labels, Context.get(context, Metric.MetricRegistry))
  series.duration(seconds)
  if (usage?.input !== undefined) series.input(usage.input)
  if (usage?.output !== undefined) series.output(usage.output)
}
