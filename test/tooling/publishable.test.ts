import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { resolve } from "node:path"
import { issueOf } from "../../scripts/publishable.ts"

describe("Publishing", () => {
  it.each([{}, { repository: "" }, { repository: {} }, { repository: { url: " " } }])(
    "needs a repository, by which npm's website finds what the README links to: %o",
    (given) => assert.include(issueOf(given), "`repository`")
  )

  it.each(["github:owner/name", { url: "git+https://example.com/owner/name.git" }])(
    "takes a package with a repository: %o",
    (repository) => assert.isUndefined(issueOf({ repository }))
  )

  it("is stopped by npm while there is none", () => {
    const root = resolve(import.meta.dirname, "../..")
    const { status, stderr } = spawnSync("npm", ["publish", "--dry-run"], { cwd: root, encoding: "utf8" })
    assert.notStrictEqual(status, 0)
    assert.include(stderr, "package.json has no `repository`")
  })
})
