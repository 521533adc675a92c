/**
 * Values that are made when they are first needed: an import doesn't wait for what many programs never use.
 *
 * @since 0.1.0
 */

/** Returns a function that makes a value when it is first called, and returns the same value from then on. */
export const lazy = <A extends {}>(make: () => A): () => A => {
  let made: A | undefined
  return () => made ??= make()
}

/**
 * Makes a pattern with Unicode classes when it is first needed. A literal's classes are built when the module is read, even inside a
 * function, and take much memory.
 */
export const pattern = (source: string, flags = "u"): () => RegExp => lazy(() => new RegExp(source, flags))
