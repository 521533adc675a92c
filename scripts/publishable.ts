/**
 * Refuses to publish a package whose `repository` isn't on GitHub: npm's website completes the relative links of a README with the address of
 * a repository on GitHub, and of no other (npm/marky-markdown#438). Otherwise, no such link works there.
 *
 * npm runs this in the package's folder before `npm publish`, and not before `npm pack`.
 */
import { readFileSync } from "node:fs"

/** A package as far as it matters here. */
export interface Package {
  readonly repository?: string | { readonly url?: string }
}

/** The forms of a repository on GitHub that npm takes: the short one, and addresses for a browser and for git. */
const onGitHub = /^(github:|((git\+)?(https|ssh)|git):\/\/(git@)?github\.com\/|git@github\.com:)?[\w-]+\/[\w.-]+$/

/** Returns why npm's website couldn't follow the links of a package's README, if it couldn't. */
export const issueOf = ({ repository = "" }: Package): string | undefined => {
  const address = (typeof repository === "string" ? repository : repository.url ?? "").trim()
  if (onGitHub.test(address)) return undefined
  const found = address === ""
    ? "package.json has no `repository`"
    : `\`repository\` in package.json is ${address}, not on GitHub`
  return `${found}: npm's website needs one on GitHub to find the pages that the README links to`
}

if (import.meta.main) {
  const issue = issueOf(JSON.parse(readFileSync("package.json", "utf8")) as Package)
  if (issue !== undefined) console.error(issue)
  process.exitCode = issue === undefined ? 0 : 1
}
