/**
 * Metrics of requests to models, with OpenTelemetry's names for generative AI.
 *
 * Each request counts once, when it has ended, and the series that it counts in is made once: there is one for each model, provider
 * and type of error. What is counted is read where somebody exports `effect/Metric`, and costs nothing more where nobody does.
 *
 * Source of the names, units, buckets and attributes: OpenTelemetry semantic conventions 1.41 for generative AI client metrics.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Metric from "effect/Metric"
import type { RequestUsage } from "../../domain/Usage.ts"

/** What requests of one series have in common. */
interface Labels {
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly response: string | undefined
  readonly error: string | undefined
}

interface Series {
  readonly duration: Metric.Histogram<number>
  readonly input: Metric.Histogram<number>
  readonly output: Metric.Histogram<number>
}

const buckets = (start: number, factor: number): ReadonlyArray<number> =>
  Array.from({ length: 14 }, (_, at) => start * factor ** at)

const attributesOf = ({ error, model, provider, response }: Labels): Record<string, string> => ({
  "gen_ai.operation.name": "chat",
  ...(provider === undefined ? undefined : { "gen_ai.provider.name": provider }),
  ...(model === undefined ? undefined : { "gen_ai.request.model": model }),
  ...(response === undefined ? undefined : { "gen_ai.response.model": response }),
  ...(error === undefined ? undefined : { "error.type": error })
})

const tokens = (type: "input" | "output", labels: Labels) =>
  Metric.histogram("gen_ai.client.token.usage", {
    description: "Number of input and output tokens used.",
    boundaries: buckets(1, 4),
    attributes: { unit: "{token}", "gen_ai.token.type": type, ...attributesOf({ ...labels, error: undefined }) }
  })

const make = (labels: Labels): Series => ({
  duration: Metric.histogram("gen_ai.client.operation.duration", {
    description: "GenAI operation duration.",
    boundaries: buckets(0.01, 2),
    attributes: { unit: "s", ...attributesOf(labels) }
  }),
  input: tokens("input", labels),
  output: tokens("output", labels)
})

const all = new Map<string, Series>()

/** Finds the series of a request by the texts that tell it from others. */
const seriesOf = (labels: Labels): Series => {
  const key = `${labels.provider}\n${labels.model}\n${labels.response}\n${labels.error}`
  const known = all.get(key)
  if (known !== undefined) return known
  const made = make(labels)
  all.set(key, made)
  return made
}

/** Counts a request that has ended. Tokens count if they were reported. */
export const record = (
  labels: Labels,
  seconds: number,
  usage: RequestUsage | undefined,
  context: Context.Context<never>
): void => {
  const { duration, input, output } = seriesOf(labels)
  duration.updateUnsafe(seconds, context)
  if (usage?.input !== undefined) input.updateUnsafe(usage.input, context)
  if (usage?.output !== undefined) output.updateUnsafe(usage.output, context)
}
