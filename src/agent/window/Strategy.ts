/**
 * How a context window chooses what is sent: strategies as values, one after the other.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import type { Turn } from "../../domain/StateSchema.ts"
import * as Wanted from "../../domain/Wanted.ts"
import * as Choosing from "../../domain/window/Choosing.ts"
import type { Room, WindowTurn } from "../../domain/window/WindowTurn.ts"
import type { Step } from "../definition/window/WindowType.ts"
import { InvalidWindow, isLimit, shown } from "./InvalidWindow.ts"

const TypeId = "~troupe/agent/ContextWindow/Strategy"

/**
 * How a context window chooses what is sent. `E` is what a run may fail with because of the strategy, and `R` what the strategy needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Strategy<out E = never, out R = never> {
  readonly [TypeId]: { readonly steps: ReadonlyArray<Step>; readonly _E?: () => E; readonly _R?: () => R }
}

/** Any strategy. */
type Any = Strategy<unknown, unknown>

/**
 * A strategy of your own: a function of the turns, each with its tokens, and of the room for them. It returns the turns that are sent, and
 * may change turns.
 *
 * Turns that must stay are put back if it leaves them out, duplicates are removed, and open calls in changed turns are settled. If there is
 * still too much, the oldest turns are left out. If it returns no array of turns, the run dies with a `TypeError`.
 *
 * @category models
 * @since 0.1.0
 */
export type Chooser = (turns: ReadonlyArray<WindowTurn>, room: Room) => ReadonlyArray<Turn>

/** A strategy, or a function that is one. */
export type AnyInput = Any | Chooser

/** What a run may fail with by a strategy. */
type Error<S> = S extends Strategy<infer E, infer _R> ? E : never

/** What a strategy needs. */
type Services<S> = S extends Strategy<infer _E, infer R> ? R : never

/** Makes a strategy of its steps. */
export const fromSteps = (steps: ReadonlyArray<Step>): Strategy<never, never> => ({ [TypeId]: { steps } })

const choosing = (choose: Choosing.Choose, isLimit = false): Strategy =>
  fromSteps([{ _tag: "Choose", choose, isLimit, needsNoLimit: isLimit }])

/** The steps of a strategy. Throws `InvalidWindow` if an untyped program gave something else. */
export const stepsOf = (self: AnyInput): ReadonlyArray<Step> => {
  if (typeof self === "function") {
    const choose = Choosing.byFunction((turns, room) =>
      Wanted.turns("The strategy of a context window", self(turns, room))
    )
    return [{ _tag: "Choose", choose, isLimit: false, needsNoLimit: true }]
  }
  if (Predicate.hasProperty(self, TypeId)) return self[TypeId].steps
  throw new InvalidWindow({ option: "strategy", issue: `is ${shown(self)}, neither a strategy nor a function` })
}

/**
 * Leaves out the oldest turns, as many as have to go. A window without a strategy does this, and so does any window after its strategy if
 * there is still too much.
 *
 * @category strategies
 * @since 0.1.0
 */
export const oldestFirst: Strategy = choosing(Choosing.oldestFirst)

/**
 * Leaves out turns in the middle: the first turns get at most half of the room, and the last turns the rest.
 *
 * @category strategies
 * @since 0.1.0
 */
export const middleOut: Strategy = choosing(Choosing.middleOut)

/**
 * Sends the last `count` turns, and those that must stay, even if there is room for more. It is a limit itself and needs no other.
 *
 * Throws `InvalidWindow` unless `count` is a whole number from 0 on.
 *
 * @category strategies
 * @since 0.1.0
 */
export const recentTurns = (count: number): Strategy => {
  if (isLimit(count, 0)) return choosing(Choosing.recentTurns(count), true)
  const issue = `is recentTurns(${shown(count)}), whose count isn't a whole number from 0 on`
  throw new InvalidWindow({ option: "strategy", issue })
}

/**
 * Sends a marker in place of results of calls, those of the oldest turns first, until `maxTokens` holds. The model sees what it called, and
 * that the result was left out. It leaves out no turns, so it does nothing for `maxTurns`.
 *
 * Results of calls that a provider ran itself, results that the model hasn't read yet, and those in pinned turns stay.
 *
 * @category strategies
 * @since 0.1.0
 */
export const dropToolResults: Strategy = choosing(Choosing.withoutResults)

/**
 * Puts strategies one after the other: each is asked if those before it left too much. `recentTurns` is always asked, and so is a function
 * if the window has no limit.
 *
 * @category strategies
 * @since 0.1.0
 */
export const sequence = <const S extends readonly [AnyInput, ...ReadonlyArray<AnyInput>]>(
  ...strategies: S
): Strategy<Error<S[number]>, Services<S[number]>> => fromSteps(strategies.flatMap(stepsOf))
