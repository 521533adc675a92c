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
import { preparsed } from "./preparse.ts"
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
 * Models of the AI SDK get the loop too, because both import the port to models, and a program that uses these models has an agent.
 */
const entries = (): Plugin => {
  const ofLoop = reached(loop)
  const needsLoopOnly = (path: string): boolean => ofLoop.has(path) || path.startsWith("./src/ai-sdk/")
  return {
    name: "entries",
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^entry:/ }, ({ path }) => ({ path: path.slice("entry:".length), namespace: "entry" }))
      onResolve(
        { filter: /^\./ },
        ({ kind, path, resolveDir }) =>
          kind === "dynamic-import" ? { path: join(resolveDir, path), namespace: "entry" } : undefined
      )
      onLoad({ filter: /.*/, namespace: "entry" }, ({ path }) => ({
        contents: `export * from "${path}"\nimport "${needsLoopOnly(path) ? loop : all}"`,
        resolveDir: root
      }))
    }
  }
}

/**
 * Imports each module of Effect once, not once for each source: sources take it from a module of this build that does nothing but import
 * it. Node then resolves its name once for all files of Troupe, and V8 compiles hundreds of imports less.
 */
const importOnce = (): Plugin => {
  const wholeName = (specifier: string): string => specifier.slice(specifier.lastIndexOf("/") + 1)
  const whole = new Set<string>()
  const named = new Map<string, Set<string>>()
  const ofWhole = (local: string, specifier: string): string => {
    whole.add(specifier)
    return `import { ${wholeName(specifier)} as ${local} } from "once:${specifier}"`
  }
  const ofNames = (list: string, specifier: string): string => {
    const names = list.split(",").map((name) => name.trim().replace(/ as .*/, ""))
    named.set(specifier, new Set([...named.get(specifier) ?? [], ...names]))
    return `import {${list}} from "once:${specifier}"`
  }
  const taking = (code: string): string =>
    code
      .replace(/^import \* as (\w+) from "(effect\/.+)"/gm, (_, local: string, specifier: string) =>
        ofWhole(local, specifier))
      .replace(/^import \{(.+)\} from "(effect\/.+)"/gm, (_, list: string, specifier: string) =>
        ofNames(list, specifier))
  const read = (path: string): string => taking(readFileSync(path, "utf8"))
  // Each source is read before the first of the importing modules is loaded, so these know all names.
  for (const file of globSync("src/**/*.ts", { cwd: root })) read(join(root, file))
  const importing = (specifier: string): string => {
    const names = [...named.get(specifier) ?? []].join(", ")
    const all = wholeName(specifier)
    return (whole.has(specifier) ? `import * as ${all} from "${specifier}"\nexport { ${all} }\n` : "") +
      (names === "" ? "" : `export { ${names} } from "${specifier}"\n`)
  }
  return {
    name: "importOnce",
    setup({ onLoad, onResolve }) {
      onLoad(
        { filter: /\/src\/.*\.ts$/, namespace: "file" },
        ({ path }) => ({ contents: preparsed(path, read(path)), loader: "ts" })
      )
      onResolve({ filter: /^once:/ }, ({ path }) => ({ path: path.slice("once:".length), namespace: "once" }))
      onLoad({ filter: /.*/, namespace: "once" }, ({ path }) => ({ contents: importing(path), resolveDir: root }))
    }
  }
}

const buildForNode = async (): Promise<void> => {
  await build({
    absWorkingDir: root,
    entryPoints: Object.entries(sources()).map(([name, source]) => ({ in: `entry:${source}`, out: name })),
    plugins: [entries(), importOnce()],
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
    // The package has the sources, so the maps needn't repeat them.
    sourcesContent: false,
    // V8 compiles this faster. Names stay, so stacks can be read without the maps.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 160,
    logLevel: "warning"
  })
}

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
