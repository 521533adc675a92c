import { assert, describe, it } from "@effect/vitest"
import { linesWithPlaces } from "../../scripts/portable.ts"

const registry = ["registry", "npmjs", "org"].join(".")

describe("a committed file", () => {
  it.each([
    ["/home", "me", "project"].join("/"),
    `see (${["/Users", "me"].join("/")})`,
    ["C:", "Users", "me"].join("\\"),
    `https://${registry}/effect`,
    `"resolved": "${"http"}s://example.com/effect.tgz"`,
    "at /elsewhere/troupe/src"
  ])("names a place of one machine in %s", (line) => {
    assert.deepStrictEqual(linesWithPlaces(`first\n${line}\nlast`, ["/elsewhere/"]), [2])
  })

  it.each([
    "https://example.com/home/page",
    "./home/plan.md",
    "registry.get(name)",
    "omit-lockfile-registry-resolved=true"
  ])(
    "names none in %s",
    (line) => {
      assert.deepStrictEqual(linesWithPlaces(line, ["/elsewhere/"]), [])
    }
  )
})
