/**
 * How much of a conversation an agent's requests send.
 *
 * 1. What is sent is chosen anew for each request. The state keeps every turn.
 * 2. Turns are never split: a call and its result are sent or left out together; only `dropToolResults` sends a marker in place of a result.
 *    The turns that the model has to answer are always sent, and so are the user's last question and pinned turns (`Conversation.pin`,
 *    `session.pin`).
 * 3. If even these are too much, the run fails with `ContextWindowExceeded`. Its state can be reopened, and resumed with a larger window.
 *
 * **Example** (The last turns that have room)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, ContextWindow } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const guide = Agent.make("guide", { contextWindow: ContextWindow.make({ maxTurns: 3 }) })
 *
 * const program = Effect.gen(function*() {
 *   const state = yield* Agent.runMultiTurn(guide, ["One?", "Two?", "Three?"])
 *   const sent = (yield* MockModel.calls).map(({ request }) => request.messages.length)
 *   return { sent, kept: state.conversation.turns.length }
 * }).pipe(Effect.provide(MockModel.layer(MockModel.repeat("Yes."))))
 *
 * await Effect.runPromise(program) // => { sent: [1, 3, 3], kept: 6 }
 * ```
 *
 * @since 0.1.0
 */
import type { AgentState } from "../domain/StateSchema.ts"
import type { CountTokens } from "../domain/TokenEstimate.ts"
import { type ContextWindow, TypeId } from "./definition/window/WindowType.ts"
import { windowPrompts } from "./perform/window/PromptInWindow.ts"
import { InvalidWindow, limitOf, shown } from "./window/InvalidWindow.ts"
import { type Chooser, oldestFirst, stepsOf, type Strategy } from "./window/Strategy.ts"

export type { Room, Stays, WindowTurn } from "../domain/window/WindowTurn.ts"
export type { SummarizeOptions } from "../handoff/SummaryByModel.ts"
export { EmptySummary } from "./definition/window/EmptySummary.ts"
export type { Any, ContextWindow } from "./definition/window/WindowType.ts"
export { adaptive, type AdaptiveOptions } from "./window/Adaptive.ts"
export { InvalidWindow } from "./window/InvalidWindow.ts"
export {
  type Chooser,
  dropToolResults,
  middleOut,
  oldestFirst,
  recentTurns,
  sequence,
  type Strategy
} from "./window/Strategy.ts"
export { summarize } from "./window/Summarizing.ts"

/**
 * Options of a context window.
 *
 * **Details**
 *
 * - `maxTokens` is how many tokens the model's context has, or how many of them may be used: a number, or a function of the state for an
 *   agent whose model changes. Models of `effect/ai` don't say it. Tools and system message count too. No limit by default.
 * - `reserve` is how many of the `maxTokens` are kept free, above all for the answer; 0 by default.
 * - `maxTurns` is how many turns are sent at most; no limit by default.
 * - `strategy` says what is done if there is too much; `oldestFirst` by default. If no limit is set, a function as strategy is called
 *   before each request.
 * - `target` is the share of the limits that is filled after something had to be left out, above 0 and up to 1; 1 by default, and 0.5 if
 *   turns are summarized. With less than 1, the beginning of the prompt stays the same for several requests, so that a provider's cache is
 *   used.
 * - `count` counts the tokens of a text. By default the `Tokenizer` of `effect/ai` counts them, if one is provided. Otherwise, or if it
 *   fails, they are estimated: a quarter of the bytes, corrected by what the provider reported for the agent's last request (by a factor
 *   from 0.5 to 4). With `count` and in the estimate, a file counts as 1,000.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<E, R> {
  readonly maxTokens?: number | ((state: AgentState) => number) | undefined
  readonly reserve?: number | undefined
  readonly maxTurns?: number | undefined
  readonly strategy?: Strategy<E, R> | Chooser | undefined
  readonly target?: number | undefined
  readonly count?: CountTokens | undefined
}

const targetOf = (value: number): number => {
  if (typeof value === "number" && value > 0 && value <= 1) return value
  throw new InvalidWindow({ option: "target", issue: `is ${shown(value)}, not above 0 and up to 1` })
}

/** Returns the counting function with checked results. Throws `InvalidWindow` if the function returns an invalid count. */
const counting = (count: CountTokens): CountTokens => {
  const checked: CountTokens = (text) => {
    const tokens = count(text)
    if (typeof tokens === "number" && tokens >= 0) return tokens
    throw new InvalidWindow({
      option: "count",
      issue: `returned ${shown(tokens)} for ${JSON.stringify(text.slice(0, 20))}, not a number from 0 on`
    })
  }
  checked("text")
  return checked
}

/** Returns the function with checked results. If one weren't a number, nothing would fit, and no message would say why. */
const sizing = (maxTokens: (state: AgentState) => number) => (state: AgentState): number => {
  const size = maxTokens(state)
  if (typeof size === "number" && !Number.isNaN(size)) return size
  throw new InvalidWindow({ option: "maxTokens", issue: `returned ${shown(size)}, not a number` })
}

const reserveOf = (reserve: number, maxTokens: number): number => {
  if (limitOf("reserve", reserve, 0) < maxTokens) return reserve
  throw new InvalidWindow({ option: "reserve", issue: `is ${reserve}, not less than "maxTokens", ${maxTokens}` })
}

/**
 * Makes a context window, for the `contextWindow` of an agent.
 *
 * Throws `InvalidWindow` if a limit isn't a whole number of at least 1, `reserve` isn't a whole number from 0 to below `maxTokens`, or
 * `target` isn't above 0 and up to 1. Throws it too if there is no limit, unless the strategy is `recentTurns` or a function or contains one,
 * because such a window would never do anything; and if `count` returns something else than a number of at least 0. If `count` does that in a run, or a function as
 * `maxTokens` returns no number, the run dies with the error.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <E = never, R = never>(options: Options<E, R>): ContextWindow<E, R> => {
  const { count, maxTokens, maxTurns, strategy = oldestFirst } = options
  const steps = stepsOf(strategy)
  if (
    maxTokens === undefined && maxTurns === undefined &&
    !steps.some((step) => "needsNoLimit" in step && step.needsNoLimit)
  ) {
    throw new InvalidWindow({
      option: "strategy",
      issue: `sets no limit, so the window needs "maxTokens" or "maxTurns"`
    })
  }
  const summarizes = steps.some(({ _tag }) => _tag === "Summarize")
  const isFixed = maxTokens !== undefined && typeof maxTokens !== "function"
  const size = isFixed ? limitOf("maxTokens", maxTokens, 1) : Infinity
  return {
    [TypeId]: {
      performer: windowPrompts,
      maxTokens: typeof maxTokens === "function" ? sizing(maxTokens) : () => size,
      countsTokens: maxTokens !== undefined,
      maxTurns: maxTurns === undefined ? Infinity : limitOf("maxTurns", maxTurns, 1),
      reserve: reserveOf(options.reserve ?? 0, size),
      target: targetOf(options.target ?? (summarizes ? 0.5 : 1)),
      count: count === undefined ? undefined : counting(count),
      steps
    }
  }
}
