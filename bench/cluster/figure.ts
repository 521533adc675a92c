/** Prints figures as the rows of a table. */
import { Effect } from "effect"

const text = (value: number): string =>
  value >= 1000 ? value.toFixed(0) : value >= 100 ? value.toFixed(1) : value.toFixed(2)

/** Begins a table. */
export const heading: Effect.Effect<void> = Effect.sync(() => {
  console.log("| figure | value | aim |")
  console.log("|---|---|---|")
})

/** Prints one figure, and what it should be. */
export const figure = (name: string, value: number, aim?: string): Effect.Effect<void> =>
  Effect.sync(() => console.log(`| ${name} | ${text(value)} | ${aim ?? ""} |`))

/** Gives the value below which a share of some values are. */
export const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN
