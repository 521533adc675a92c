/**
 * How much of a model's context a window uses, by its size and by what its tokens cost.
 *
 * @since 0.1.0
 */
import { InvalidWindow, limitOf } from "./InvalidWindow.ts"

/**
 * What tokens cost, and how much that counts.
 *
 * `price` has the prices of the same number of input and output tokens, in any one currency. If one of them is 0, the price doesn't count.
 * `costSensitivity` is how much it counts, from 0, not at all, to 1; 0.5 by default.
 *
 * @category models
 * @since 0.1.0
 */
export interface AdaptiveOptions {
  readonly price: { readonly input: number; readonly output: number }
  readonly costSensitivity?: number | undefined
}

/** Sizes of contexts, each with the percentage that is used of contexts up to that size. */
const tiers = [[32_000, 60], [100_000, 70], [200_000, 75], [Infinity, 80]] as const

/** The percentage by which a window shrinks at most, if nearly all of the price is that of input. */
const mostSaved = 20

const amountOf = (option: InvalidWindow["option"], value: number, most: number): number => {
  if (value >= 0 && value <= most) return value
  throw new InvalidWindow({ option, issue: `is ${value}, not a number from 0 to ${most}` })
}

const savedBy = ({ costSensitivity = 0.5, price: { input, output } }: AdaptiveOptions): number => {
  const dear = amountOf("price", input, Number.MAX_VALUE)
  const sum = dear + amountOf("price", output, Number.MAX_VALUE)
  const sensitivity = amountOf("costSensitivity", costSensitivity, 1)
  return dear === 0 || output === 0 ? 0 : (dear / sum) * sensitivity * mostSaved
}

/**
 * Returns how many tokens of a model's context to use, for `maxTokens`: 60 % of one up to 32,000 tokens, 70 % up to 100,000, 75 % up to
 * 200,000, and 80 % of a larger one.
 *
 * A small context fills up faster, so more of it is kept free for answers. With a `price`, up to a tenth less is used, or up to a fifth
 * with `costSensitivity: 1`. The larger the input's share of the two prices, the less is used. Throws `InvalidWindow` if the size isn't a
 * whole number from 1 on, or an option isn't in its range.
 *
 * **Example** (Contexts of three sizes)
 *
 * ```ts
 * import { ContextWindow } from "troupe"
 *
 * ContextWindow.adaptive(32_000) // => 19_200
 * ContextWindow.adaptive(100_000) // => 70_000
 * ContextWindow.adaptive(200_001) // => 160_000
 *
 * ContextWindow.adaptive(100_000, { price: { input: 1, output: 1 }, costSensitivity: 1 }) // => 63_000
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const adaptive = (contextSize: number, options?: AdaptiveOptions): number => {
  const size = limitOf("maxTokens", contextSize, 1)
  const [, percent] = tiers.find(([upTo]) => size <= upTo)!
  const saved = options === undefined ? 0 : savedBy(options)
  return Math.max(1, Math.floor((size * percent * (100 - saved)) / 10_000))
}
