/**
 * Builds the package, twice from the same sources.
 *
 * For Node: a few modules, and a facade for each entry point. A process that imports sixty modules waits some twenty
 * milliseconds for their files alone.
 * For bundlers, which know the condition `module`: each source by itself in `dist/modules`, so that they take what a program
 * uses and leave the rest.
 *
 * A declaration stands beside each source. The command line imports the package as users do.
 *
 *     node scripts/build.ts [folder]      # dist by default
 */
import { build, buildSync, type Plugin, transformSync } from "esbuild"
import { execFileSync } from "node:child_process"
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { annotate, importBuilt } from "./pure.ts"

const root = resolve(import.meta.dirname, "..")
const outdir = resolve(process.argv[2] ?? join(root, "dist"))
const target = "es2022"

interface Conditions {
  readonly "@troupe/source": string
  readonly default: string
}

/** The source of each entry point, by the name of its file in `outdir`. */
const sources = (): Readonly<Record<string, string>> => {
  const { exports }: { readonly exports: Readonly<Record<string, Conditions | string>> } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8")
  )
  return Object.fromEntries(
    Object.values(exports).flatMap((entry) =>
      typeof entry === "string"
        ? []
        : [[entry.default.replace(/^\.\/dist\/(.*)\.js$/, "$1"), entry["@troupe/source"]] as const]
    )
  )
}

/** What a run of an agent needs. */
const loop = "./src/agent/Agent.ts"
const all = "./src/index.ts"

/** Gives the files that a file imports, over any number of others. */
const reached = (entry: string): ReadonlySet<string> => {
  const { metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    packages: "external",
    ignoreAnnotations: true,
    metafile: true,
    write: false
  })
  return new Set(Object.keys(metafile.inputs).map((file) => `./${file}`))
}

/**
 * Gives each entry point with what is imported along with it. esbuild makes one module of the sources that the same entry
 * points reach. As each of them reaches the loop as a whole, or everything, there is one module for the loop and one for the rest.
 */
const entries = (): Plugin => {
  const ofLoop = reached(loop)
  return {
    name: "entries",
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^entry:/ }, ({ path }) => ({ path: path.slice("entry:".length), namespace: "entry" }))
      onLoad({ filter: /.*/, namespace: "entry" }, ({ path }) => ({
        contents: `export * from "${path}"\nimport "${ofLoop.has(path) ? loop : all}"`,
        resolveDir: root
      }))
    }
  }
}

const buildForNode = (): Promise<unknown> =>
  build({
    absWorkingDir: root,
    // The models of the AI SDK are of use without the loop.
    entryPoints: Object.entries(sources()).map(([name, source]) => ({
      in: source.startsWith("./src/ai-sdk/") ? source : `entry:${source}`,
      out: name
    })),
    plugins: [entries()],
    // By the annotations, the imports that are added to the entry points could be left out.
    ignoreAnnotations: true,
    outdir,
    bundle: true,
    splitting: true,
    chunkNames: "shared-[hash]",
    format: "esm",
    platform: "neutral",
    target,
    packages: "external",
    sourcemap: true,
    logLevel: "warning"
  })

const buildForBundlers = (): void => {
  for (const file of globSync("**/*.ts", { cwd: join(root, "src") })) {
    const { code } = transformSync(readFileSync(join(root, "src", file), "utf8"), {
      loader: "ts",
      format: "esm",
      target
    })
    const out = join(outdir, "modules", file.replace(/\.ts$/, ".js"))
    mkdirSync(dirname(out), { recursive: true })
    writeFileSync(out, annotate(file, importBuilt(file, code)))
  }
}

rmSync(outdir, { recursive: true, force: true })
await buildForNode()
buildForBundlers()
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
