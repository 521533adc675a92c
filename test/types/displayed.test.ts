import { assert, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { differences } from "../../scripts/displayed.ts"
import { root } from "../../scripts/examples.ts"
import { typeErrors } from "../../scripts/typeErrors.ts"

it("the compiler displays what the fixtures say", { timeout: 60_000 }, () => {
  const paths = globSync("test/types/displayed/**/*.ts", { cwd: root })
  const fixtures = Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]))
  assert.isAbove(paths.length, 0)
  assert.deepStrictEqual(differences(fixtures, typeErrors("test/types/displayed/tsconfig.json")), [])
})
