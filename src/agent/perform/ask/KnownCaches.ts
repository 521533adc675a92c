/**
 * Caches of conversations, found by the first turn, which all runs of one conversation share.
 *
 * A small cache lives as long as the turn. A large one is soon only weakly referenced, so that a state that isn't running doesn't keep it
 * alive.
 *
 * @since 0.1.0
 */
import type { Turn } from "../../../domain/StateSchema.ts"
import { ReturnOverride } from "../../../model/ReturnOverride.ts"
import * as LatestCaches from "./LatestCaches.ts"

/** A cache, or a weak reference to one that may be gone. */
export type Kept<A extends object> = A | WeakRef<A>

/** Returns a cache, if it isn't gone. */
export const held = <A extends object>(kept: Kept<A>): A | undefined => kept instanceof WeakRef ? kept.deref() : kept

/** How many caches are kept for conversations that begin with the same turn. The latest comes first. */
export const most = 4

type Known = ReadonlyArray<Kept<object>>

const none: Known = []

/** The caches of turns that somebody has frozen: no field can be added to those. */
const frozen = new WeakMap<object, Known>()

/**
 * The caches of a turn, in a private field of the turn, which neither JSON nor equality sees. A weak map would cost a quarter of a run of
 * one turn, most of it in garbage collections.
 */
export class ByFirstTurn extends ReturnOverride<Turn> {
  #known = none

  static of<A extends object>(turn: Turn): ReadonlyArray<Kept<A>> {
    return (#known in turn ? turn.#known : frozen.get(turn) ?? none) as ReadonlyArray<Kept<A>>
  }

  static set(turn: Turn, known: Known): void {
    if (#known in turn) (turn as ByFirstTurn).#known = known
    else if (!Object.isExtensible(turn)) frozen.set(turn, known)
    else {
      const same = new ByFirstTurn(turn)
      same.#known = known
    }
  }

  /** Lets a large cache be referenced weakly, or not at all if many others were used since. */
  static release(turn: Turn, large: object): void {
    LatestCaches.use(large, {
      weaken: () => ByFirstTurn.#replace(turn, large, [new WeakRef(large)]),
      drop: () => ByFirstTurn.#replace(turn, large, none)
    })
  }

  static #replace(turn: Turn, large: object, by: Known): void {
    const known = ByFirstTurn.of(turn)
    if (known.includes(large)) ByFirstTurn.set(turn, known.flatMap((kept) => kept === large ? by : [kept]))
  }
}
