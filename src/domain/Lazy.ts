/**
 * Values that are made when they are first needed: an import doesn't wait for what many programs never use.
 *
 * @since 0.1.0
 */

/** Gives a function that makes a value the first time that it is called, and gives the same one from then on. */
export const lazy = <A extends {}>(make: () => A): () => A => {
  let made: A | undefined
  return () => made ??= make()
}

/**
 * Gives a pattern whose source has classes of Unicode in it. Those of a literal are looked up when the module is read, even where
 * the literal stands in a function, and they hold a lot.
 */
export const pattern = (source: string, flags = "u"): () => RegExp => lazy(() => new RegExp(source, flags))
