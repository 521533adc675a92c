import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")

const read = (file: string): { readonly dependencies?: object; readonly packages?: object } =>
  JSON.parse(readFileSync(resolve(root, file), "utf8"))

describe("npm install", () => {
  it("warns of nothing, as older Nodes would be warned of the engines of tools that don't run on them", () => {
    const level = execFileSync("npm", ["config", "get", "loglevel", "--location=project"], {
      cwd: root,
      encoding: "utf8",
      env: { PATH: process.env["PATH"] }
    })
    assert.strictEqual(level.trim(), "error")
  })

  it("brings nothing along that only a few checks need", () => {
    const installed = Object.keys(read("package-lock.json").packages ?? {})
    for (const name of Object.keys(read("checks/package.json").dependencies ?? {})) {
      assert.notInclude(installed, `node_modules/${name}`)
    }
  })
})
