/**
 * Classes of errors that are schemas, each defined with its message.
 */
import type * as Cause from "effect/Cause"
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Schema from "effect/Schema"

/**
 * Defines a class of errors as `Schema.TaggedError` does, with a function that makes the message from the fields. The identifier is `place`
 * and the tag.
 */
export const ErrorClass =
  <Self>(place: string) =>
  <const Tag extends string, const Fields extends Schema.Struct.Fields>(
    tag: Tag,
    fields: Fields,
    message: (self: Schema.Struct<Fields>["Type"]) => string
  ): Schema.Class<Self, Schema.TaggedStruct<Tag, Fields>, Cause.YieldableError> => {
    const made = Schema.TaggedError<unknown>(`${place}/${tag}`)(tag, fields)
    const get = function(this: Schema.Struct<Fields>["Type"]): string {
      return message(this)
    }
    Object.defineProperty(made.prototype, "message", { get, configurable: true })
    // The class has the type above, with the `message` that is defined here instead of by a subclass.
    return made as never
  }

/** Defines a class of errors that hold a whole state, which consoles show in two lines. */
export const StateErrorClass: typeof ErrorClass = (place) => (tag, fields, message) => {
  const made = ErrorClass<never>(place)(tag, fields, message)
  const value = function(this: Error): string {
    return this.stack ?? this.message
  }
  Object.defineProperty(made.prototype, NodeInspectSymbol, { value, configurable: true })
  return made
}

/**
 * Makes an error that holds a whole state print in two lines, also if nobody catches it: what went wrong, and where the rest is. Its fields
 * can be read as before. Its stack has only frames of the loop, so it is left out.
 */
export const showShortly = (self: Error, where: string): void => {
  for (const key of Object.keys(self)) Object.defineProperty(self, key, { enumerable: false })
  const value = `${self.name}: ${self.message}\n    ${where}`
  Object.defineProperty(self, "stack", { value, writable: true, configurable: true })
}
