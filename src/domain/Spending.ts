/**
 * What a run has spent, so that a budget can count from where it began.
 *
 * An agent's budget covers the agent, the agents that it calls, and those that it hands over to.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Count } from "./Count.ts"
import * as JsonValue from "./JsonValue.ts"
import { own } from "./OwnValue.ts"
import * as Usage from "./Usage.ts"

/** How often each tool was called, by its name. */
export const Calls = Schema.Record(Schema.String, Count)

/** What each model used, by the model's name; models that didn't say it are missing. */
export const Models = Schema.Record(Schema.String, Usage.Usage)

/** Schema for what a run had spent at some time: steps, milliseconds, tokens, tokens by the model's name, and calls by tool. */
export const Spent = Schema.Struct({
  steps: Count,
  elapsed: Count,
  usage: Usage.Usage,
  models: Schema.optionalKey(Models),
  calls: Schema.optionalKey(Calls)
})

/** What a run had spent at some time. */
export interface Spent extends Schema.Schema.Type<typeof Spent> {}

/** Counts of a run that a budget can look at. */
interface Spending {
  readonly startedAt: number
  readonly elapsed: number
  readonly steps: number
  readonly usage: Usage.Usage
  readonly models?: Schema.Schema.Type<typeof Models>
  readonly calls?: Schema.Schema.Type<typeof Calls>
}

/** Returns what a run has spent until a time, in epoch milliseconds. */
export const until = ({ calls, elapsed, models, startedAt, steps, usage }: Spending, at: number): Spent => ({
  steps,
  elapsed: elapsed + Math.max(0, at - startedAt),
  usage,
  ...(models === undefined ? undefined : { models }),
  ...(calls === undefined ? undefined : { calls })
})

/** Counts one more call of a tool. */
export const withCall = (self: Spending["calls"], name: string): NonNullable<Spending["calls"]> =>
  put(self, name, (own(self, name) ?? 0) + 1)

/** Adds what a named model used. */
export const withModel = (
  self: Spending["models"],
  model: string,
  usage: Usage.RequestUsage
): NonNullable<Spending["models"]> => put(self, model, Usage.add(own(self, model) ?? Usage.empty, usage))

/** Returns a copy with one value set. A computed key behind a spread makes a dictionary, which costs several times as much. */
const put = <A>(self: { readonly [name: string]: A } | undefined, name: string, value: A): { [name: string]: A } => {
  const copy: { [name: string]: A } = { ...self }
  JsonValue.put(copy, name, value)
  return copy
}

/** Counts the calls of a tool, or of all. */
export const countCalls = (calls: Spent["calls"], name: string | undefined): number =>
  name === undefined
    ? Object.values(calls ?? {}).reduce((sum, count) => sum + count, 0)
    : own(calls, name) ?? 0

/**
 * What a model's tokens cost, by the million, in any one currency.
 *
 * `cached` is for input read from a cache, by default the price of `input`; `reasoning` is for output spent on thought, by default the
 * price of `output`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Price {
  readonly input: number
  readonly output: number
  readonly cached?: number | undefined
  readonly reasoning?: number | undefined
}

/** A known cost, and the number of requests whose cost is unknown. */
export interface Cost {
  readonly known: number
  readonly unpriced: number
}

const isFree = (price: number, ofPart: number | undefined): boolean => price === 0 && (ofPart ?? 0) === 0

/** Checks whether a model of this price never costs anything. */
const costsNothing = (price: Price | undefined): boolean =>
  price !== undefined && isFree(price.input, price.cached) && isFree(price.output, price.reasoning)

const costOf = (usage: Usage.Usage, price: Price | undefined): Cost => {
  if (price === undefined) return { known: 0, unpriced: usage.requests }
  const { cached, input, output, reasoning } = usage
  const million = 1_000_000
  const known = ((input.known - cached.known) * price.input + cached.known * (price.cached ?? price.input) +
    (output.known - reasoning.known) * price.output + reasoning.known * (price.reasoning ?? price.output)) / million
  // A price of 0 gives a cost of 0, even if the number of tokens is unknown.
  const unpriced = Math.max(
    isFree(price.input, price.cached) ? 0 : input.unreported,
    isFree(price.output, price.reasoning) ? 0 : output.unreported
  )
  return { known, unpriced }
}

/** Prices by the models' names; `otherwise` is the price of all other models, and of those that didn't say their name. */
export interface Prices {
  readonly models: { readonly [model: string]: Price }
  readonly otherwise: Price | undefined
}

/** Checks whether some model costs nothing, so that a run may never cost anything. */
export const someCostNothing = ({ models, otherwise }: Prices): boolean =>
  [...Object.values(models), otherwise].some(costsNothing)

/** Subtracts usage, and never goes below zero. */
export const less = (self: Usage.Usage, that: Usage.Usage): Usage.Usage => {
  const rest = (kind: keyof Usage.RequestUsage): Usage.TokenCount => ({
    known: Math.max(0, self[kind].known - that[kind].known),
    unreported: Math.max(0, self[kind].unreported - that[kind].unreported)
  })
  return {
    requests: Math.max(0, self.requests - that.requests),
    input: rest("input"),
    output: rest("output"),
    reasoning: rest("reasoning"),
    cached: rest("cached")
  }
}

/** Returns what models cost. Tokens that have no price, or that weren't reported and aren't free, have an unknown cost. */
export const cost = ({ models = {}, usage }: Spent, prices: Prices): Cost => {
  const named = Object.entries(models).map(([model, usage]) =>
    costOf(usage, own(prices.models, model) ?? prices.otherwise)
  )
  const unnamed = Object.values(models).reduce(less, usage)
  return [...named, costOf(unnamed, prices.otherwise)].reduce((sum, each) => ({
    known: sum.known + each.known,
    unpriced: sum.unpriced + each.unpriced
  }))
}
