/**
 * Packages that may not be installed.
 */

/** Imports modules, or says by `undefined` that one of them isn't installed. Their types aren't known here. */
export const loadModules = async <Modules extends ReadonlyArray<unknown>>(
  ...names: { readonly [At in keyof Modules]: string }
): Promise<Modules | undefined> => {
  try {
    // What is imported is what its package says: nothing here can check that.
    return await Promise.all(names.map((name) => import(name))) as ReadonlyArray<unknown> as Modules
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND") return undefined
    throw error
  }
}
