import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { issueOf } from "../../scripts/publishable.ts"

const root = resolve(import.meta.dirname, "../..")

describe("Publishing", () => {
  it.each([{}, { repository: "" }, { repository: {} }, { repository: { url: " " } }])(
    "needs a repository, without which npm's website doesn't find what the README links to: %o",
    (given) => assert.include(issueOf(given), "no `repository`")
  )

  it.each([
    "gitlab:owner/name",
    "https://example.com/owner/name",
    "https://example.com/github.com/owner/name",
    "https://notgithub.com/owner/name",
    "https://github.com/owner",
    { url: "git+https://codeberg.org/owner/name.git" }
  ])(
    "needs one on GitHub, the only one that npm's website links to: %o",
    (repository) => assert.include(issueOf({ repository }), "not on GitHub")
  )

  it.each([
    "owner/name",
    "github:owner/name",
    "https://github.com/owner/name",
    { url: "git+https://github.com/owner/name.git" },
    { url: "git+ssh://git@github.com/owner/name.git" },
    { url: "git://github.com/owner/name.git" },
    { url: "git@github.com:owner/name.git" }
  ])("takes a package with a repository on GitHub: %o", (repository) => assert.isUndefined(issueOf({ repository })))

  it("is stopped by npm if there is none", () => {
    const { scripts: { prepublishOnly = "" } }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8")
    )
    const [check = ""] = prepublishOnly.split(" && ")
    const here = check.replace("node scripts/", `"${process.execPath}" ${root}/scripts/`)
    const cwd = mkdtempSync(join(tmpdir(), "publishable-"))
    const manifest = { name: "nobody-has-this", version: "0.0.0", scripts: { prepublishOnly: here } }
    writeFileSync(join(cwd, "package.json"), JSON.stringify(manifest))
    const { status, stderr } = spawnSync("npm", ["publish", "--dry-run"], { cwd, encoding: "utf8" })
    rmSync(cwd, { recursive: true })
    assert.notStrictEqual(status, 0)
    assert.include(stderr, "package.json has no `repository`")
  })
})
