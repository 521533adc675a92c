/**
 * Private fields for objects that exist already.
 *
 * @since 0.1.0
 */

/**
 * A constructor that returns the object it is given, so that a subclass adds its private fields to that object. Neither JSON nor equality
 * sees such a field, and a weak map by object would cost ten times as much. JavaScript has no other way to add a private field to an
 * existing object.
 */
// TypeScript has no type for a function as a constructor.
export const ReturnOverride = function(given: object): object {
  return given
} as unknown as new<A extends object>(given: A) => object
