/**
 * Refuses to publish a package without `repository`: npm's website finds the pages that a README links to by it, so without it none of the
 * README's links to its pages works there.
 *
 * npm runs this before `npm publish`, and not before `npm pack`.
 */
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"

/** A package as far as it matters here. */
export interface Package {
  readonly repository?: string | { readonly url?: string }
}

/** Returns why npm's website couldn't follow the links of a package's README, if it couldn't. */
export const issueOf = ({ repository = "" }: Package): string | undefined => {
  const address = typeof repository === "string" ? repository : repository.url ?? ""
  return address.trim() === ""
    ? "package.json has no `repository`, by which npm's website finds the pages that the README links to: add it"
    : undefined
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, "..")
  const issue = issueOf(JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Package)
  if (issue !== undefined) console.error(issue)
  process.exitCode = issue === undefined ? 0 : 1
}
