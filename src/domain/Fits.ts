/**
 * Checks data that a program gives by the schema that it is stored with, so that no state is made which can't be stored.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { lazy } from "./Lazy.ts"
import * as VersionedJson from "./VersionedJson.ts"

/** Checks whether something is an object that may have fields. */
export const hasFields: (u: unknown) => u is object = Predicate.isObject

/** Copies an object without fields that are `undefined`. Anything else stays, for a check to find. */
export const withoutUndefined = <A>(self: A): A =>
  // If a field is left out that must be there, a check finds that too.
  hasFields(self) ? Object.fromEntries(Object.entries(self).filter(([, value]) => value !== undefined)) as A : self

/**
 * Makes a check of data: it returns data that fits the schema, without fields that the schema doesn't have. For data that doesn't fit, it
 * throws a `TypeError` that names the wrong field.
 */
export const check = <S extends Schema.ConstraintDecoder<unknown>>(schema: () => S) => {
  const read = lazy(() => Schema.decodeUnknownResult(Schema.toType(schema())))
  return (what: string, given: unknown): S["Type"] =>
    Result.getOrThrowWith(read()(given), (error) => {
      const { issue, path } = VersionedJson.problemIn(error.issue)
      return new TypeError(`${what} is wrong at "${VersionedJson.formatPath(path)}": ${issue}`)
    })
}
