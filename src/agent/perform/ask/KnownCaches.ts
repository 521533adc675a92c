/**
 * Where runs that hold the same turns find what was made of them: by the first turn, which all of them have.
 *
 * What is small is kept as long as the turn is. Of what is large the reference is weak, so that a state at rest keeps nothing.
 *
 * @since 0.1.0
 */
import type { Turn } from "../../../domain/StateSchema.ts"

/** Something that is kept, or that may be gone. */
export type Kept<A extends object> = A | WeakRef<A>

/** Gives what is kept, if it is there. */
export const held = <A extends object>(kept: Kept<A>): A | undefined => kept instanceof WeakRef ? kept.deref() : kept

/** How many conversations that begin with one turn are known, the latest first. */
export const most = 4

type Known = ReadonlyArray<Kept<object>>

const none: Known = []

/** What is known by turns that somebody has frozen: nothing can be put into those. */
const frozen = new WeakMap<object, Known>()

/**
 * Constructs the turn that it is given, so that a subclass puts its private fields into that: a constructor may return another object, and
 * JavaScript has no other way to add a private field to an object that is there. TypeScript has no type for a function as a constructor.
 */
const Same = function(turn: Turn): Turn {
  return turn
} as unknown as new(turn: Turn) => object

/**
 * What is known by a turn, in a private field of the turn. Nobody else sees the field, neither JSON nor equality do, and it is gone with the
 * turn. A weak map would cost a quarter of a run of one turn, most of it in garbage collections.
 */
export class ByFirstTurn extends Same {
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

  /** Holds what is large no longer than somebody else does. */
  static weaken(turn: Turn, large: object): void {
    const known = ByFirstTurn.of(turn)
    if (known.includes(large)) ByFirstTurn.set(turn, known.map((kept) => kept === large ? new WeakRef(large) : kept))
  }
}
