/**
 * What modules keep beside a loop, or beside what is live of it, and nobody else reads.
 *
 * @since 0.1.0
 */

/** Something in which modules keep what nobody else reads. */
export interface Keeping {
  readonly slots: Array<unknown>
}

/** A place in every loop for what one module alone keeps there: a cache, or something live. In `live` it outlasts a run of a session. */
export class Slot<A> {
  static #count = 0
  readonly #at = Slot.#count++
  get({ slots }: Keeping): A | undefined {
    return slots[this.#at] as A | undefined
  }
  set({ slots }: Keeping, value: A | undefined): void {
    slots[this.#at] = value
  }
}
