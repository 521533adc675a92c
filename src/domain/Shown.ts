/**
 * Values that are piped, and shown in a few words.
 */
import { Prototype } from "effect/Pipeable"

/** Makes the prototype of values of one kind: `show` returns the short form of a value for JSON and consoles. */
/* #__NO_SIDE_EFFECTS__ */
export const prototypeOf = <A>(show: (self: A) => object): object => ({
  ...Prototype,
  toJSON(this: A) {
    return show(this)
  }
})
