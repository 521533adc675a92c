/**
 * Checks that no committed file names a place that only one machine knows: a home folder, the folder of this checkout, or
 * the host of a package registry.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")

const patterns: ReadonlyArray<RegExp> = [
  /(?<![\w.~-])\/(home|Users|root|work|workspace|workspaces)\/\w/,
  /(?<![\w.~-])[A-Z]:\\\\?Users\\/,
  /registry[.](npmjs|yarnpkg|npmmirror)[.]/,
  /"resolved": "https?:/
]

/** The lines of `source` that name such a place, or one of `places`. */
export const linesWithPlaces = (source: string, places: ReadonlyArray<string>): ReadonlyArray<number> =>
  source.split("\n").flatMap((line, i) =>
    patterns.some((pattern) => pattern.test(line)) || places.some((place) => line.includes(place)) ? [i + 1] : []
  )

/** The places of the machine that runs this. */
const places = (): ReadonlyArray<string> => {
  const registry = execFileSync("npm", ["config", "get", "registry"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"]
  })
  const folders = [dirname(root), homedir()].filter((folder) => folder !== "/").map((folder) => `${folder}/`)
  return URL.canParse(registry) ? [...folders, new URL(registry).host] : folders
}

if (import.meta.main) {
  const here = places()
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0")
    .filter((file) => file !== "" && existsSync(join(root, file)))
  const found = files.flatMap((file) =>
    linesWithPlaces(readFileSync(join(root, file), "utf8"), here).map((line) => `${file}:${line}`)
  )
  for (const place of found) console.error(`${place} names a place of one machine`)
  console.log(`portable: ${files.length} files, ${found.length} violations`)
  process.exitCode = found.length === 0 ? 0 : 1
}
