/**
 * Private data of a module for each loop, or for the live part of a conversation.
 *
 * @since 0.1.0
 */

/** Something that holds the private data of modules. */
export interface Keeping {
  readonly slots: Array<unknown>
}

/** A place in every loop for one module's private data: a cache, or something live. In a loop's `live`, it outlasts a run of a session. */
export class Slot<A> {
  static readonly #empty: Array<undefined> = []
  readonly #at = Slot.#empty.push(undefined) - 1
  /** Makes an array with an empty place for each slot so far. If it grew with each write, V8 would leave spare room in it. */
  static places(): Array<unknown> {
    return Slot.#empty.slice()
  }
  get({ slots }: Keeping): A | undefined {
    // Only this slot writes to its place.
    return slots[this.#at] as A | undefined
  }
  set({ slots }: Keeping, value: A | undefined): void {
    slots[this.#at] = value
  }
}
