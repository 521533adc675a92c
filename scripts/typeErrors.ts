import { spawnSync } from "node:child_process"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")

/** What the compiler has to say about a project, as `file:line:column message`, a message's further lines indented. */
export const typeErrors = (tsconfig: string): ReadonlyArray<string> => {
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  const { status, stderr, stdout } = spawnSync(process.execPath, [tsc, "--pretty", "false", "-p", tsconfig], {
    cwd: root,
    encoding: "utf8"
  })
  const errors = stdout.split(/\n(?! )/).map((error) => error.trimEnd()).filter((error) => error !== "").map((error) =>
    error.replace(/^(.+)\((\d+),(\d+)\): error (TS\d+: )/, "$1:$2:$3 $4")
  )
  if (status !== 0 && errors.length === 0) throw new Error(`tsc -p ${tsconfig} exited with ${status}: ${stderr}`)
  return errors
}
