/**
 * Refuses to publish a package without `repository`: npm's website needs it to find the pages that a README links to. Without it, no such
 * link works there.
 *
 * npm runs this in the package's folder before `npm publish`, and not before `npm pack`.
 */
import { readFileSync } from "node:fs"

/** A package as far as it matters here. */
export interface Package {
  readonly repository?: string | { readonly url?: string }
}

/** Returns why npm's website couldn't follow the links of a package's README, if it couldn't. */
export const issueOf = ({ repository = "" }: Package): string | undefined => {
  const address = typeof repository === "string" ? repository : repository.url ?? ""
  return address.trim() === ""
    ? "package.json has no `repository`, which npm's website needs to find the pages that the README links to: add it"
    : undefined
}

if (import.meta.main) {
  const issue = issueOf(JSON.parse(readFileSync("package.json", "utf8")) as Package)
  if (issue !== undefined) console.error(issue)
  process.exitCode = issue === undefined ? 0 : 1
}
