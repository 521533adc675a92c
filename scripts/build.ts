/**
 * Builds the package: one module for each entry point and what they share, a declaration beside each source, and the
 * command line, which imports the package as users do.
 *
 *     node scripts/build.ts [folder]      # dist by default
 *
 * A process that imports sixty modules waits some twenty milliseconds for their files alone.
 */
import { type BuildOptions, buildSync } from "esbuild"
import { execFileSync } from "node:child_process"
import { rmSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const outdir = resolve(process.argv[2] ?? join(root, "dist"))

rmSync(outdir, { recursive: true, force: true })
const library: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  platform: "neutral",
  target: "es2022",
  packages: "external",
  sourcemap: true,
  logLevel: "warning"
}
buildSync({
  ...library,
  entryPoints: ["src/index.ts", "src/testing/index.ts"],
  outdir,
  splitting: true,
  chunkNames: "shared-[hash]"
})
// It shares no module with the others. Built with them it would share a helper of the bundler, a file more for every import.
buildSync({ ...library, entryPoints: ["src/ai-sdk/index.ts"], outdir: join(outdir, "ai-sdk") })
buildSync({
  absWorkingDir: root,
  entryPoints: ["bin/troupe.ts"],
  outdir,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  logLevel: "warning"
})
const tsc = join(root, "node_modules", "typescript", "bin", "tsc")
execFileSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--emitDeclarationOnly", "--outDir", outdir], {
  cwd: root,
  stdio: "inherit"
})
