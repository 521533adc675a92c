import { assert, describe, it } from "@effect/vitest"
import { differences } from "../../scripts/displayed.ts"

const fixture = {
  "a.ts": [
    `// displays: Type 'string' is not assignable to type 'Name'.`,
    `//   Because.`,
    `const a: Name = ""`
  ].join("\n")
}

describe("displayed names", () => {
  it("agree with the first lines of an error", () => {
    assert.deepStrictEqual(
      differences(fixture, ["a.ts:3:7 TS2322: Type 'string' is not assignable to type 'Name'.\n  Because.\n    More."]),
      []
    )
  })

  it.each<[why: string, errors: ReadonlyArray<string>, difference: string]>([
    [
      "the name is another",
      ["a.ts:3:7 TS2322: Type 'string' is not assignable to type '{ name: string }'.\n  Because."],
      "a.ts:3 displays: Type 'string' is not assignable to type '{ name: string }'.\nBecause."
    ],
    [
      "a further line is another",
      ["a.ts:3:7 TS2322: Type 'string' is not assignable to type 'Name'.\n  Why not."],
      "a.ts:3 displays: Type 'string' is not assignable to type 'Name'.\nWhy not."
    ],
    ["there is no error", [], "a.ts:3 displays no error"],
    ["the error is elsewhere", ["a.ts:4:1 TS1: Off."], "a.ts:4 displays, with nobody asking: Off."],
    [
      "the compiler fails as a whole",
      ["error TS5083: No file."],
      " displays, with nobody asking: error TS5083: No file."
    ],
    [
      "there are two errors",
      ["a.ts:3:7 TS2322: Type 'string' is not assignable to type 'Name'.\n  Because.", "a.ts:3:9 TS1: Off."],
      "a.ts:3 displays a second error: Off."
    ]
  ])("differ when %s", (_why, errors, difference) => {
    assert.include(differences(fixture, errors), difference)
  })
})
