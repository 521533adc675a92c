/**
 * What the package weighs in a project that has it installed: each entry point, a program with one agent, and what an import loads.
 */
import { buildSync } from "esbuild"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"

/** What each entry point may weigh in a bundle, minified and gzipped, without Effect. */
const budgets: Readonly<Record<string, number>> = {
  "troupe": 147_100,
  "troupe/testing": 147_500,
  "troupe/ai-sdk": 17_300
}

/**
 * A program with one agent: what it may weigh in a bundle with Effect, minified, and what it doesn't use and so has to leave out.
 */
const oneAgent = {
  budget: 389_500,
  program: `import * as LanguageModel from "effect/ai/LanguageModel"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Agent } from "troupe"
const model = LanguageModel.make({
  generateText: () => Effect.succeed([{ type: "text", text: "Hi." }]),
  streamText: () => Stream.empty
})
Effect.runPromise(Effect.provideServiceEffect(
  Agent.run(Agent.make("assistant", { instructions: "Be brief." }), "Hello"),
  LanguageModel.LanguageModel,
  model
)).then(({ status }) => {
  if (status._tag !== "Complete") throw new Error(status._tag)
})`,
  unused:
    /\/troupe\/.*\/(agent\/(guardrail|window|session|trace|perform\/(guard\/(?!Guard\.)|window\/(?!WindowPrompts\.)))|handoff\/(dialogue|plan)|testing|ai-sdk)\b/
}

/** What a process may load, in bytes and modules without Effect's, that imports an entry point. */
const loads: Readonly<Record<string, { readonly bytes: number; readonly modules: number }>> = {
  "troupe": { bytes: 614_500, modules: 3 },
  "troupe/Agent": { bytes: 323_000, modules: 2 },
  "troupe/AgentState": { bytes: 323_000, modules: 2 },
  "troupe/ai-sdk": { bytes: 386_500, modules: 2 }
}

/** What was weighed, and what is wrong with it. */
interface Weighed {
  readonly what: string
  readonly problems: ReadonlyArray<string>
}

/** Runs a file of the project, and says what it had to say if it failed. */
type Run = (file: string) => ReadonlyArray<string>

const entryPoints = (consumer: string): ReadonlyArray<Weighed> =>
  Object.entries(budgets).map(([entry, budget]) => {
    const { outputFiles } = buildSync({
      stdin: { contents: `export * from "${entry}"`, resolveDir: consumer },
      bundle: true,
      minify: true,
      write: false,
      format: "esm",
      platform: "neutral",
      conditions: ["module"],
      external: ["effect"],
      logLevel: "silent"
    })
    const size = gzipSync(outputFiles[0]?.contents ?? "").length
    return {
      what: `${entry} weighs ${(size / 1000).toFixed(1)} kB of ${budget / 1000} kB`,
      problems: size <= budget ? [] : [`${size - budget} bytes too much`]
    }
  })

const agentProgram = (consumer: string, run: Run): Weighed => {
  const { metafile, outputFiles } = buildSync({
    stdin: { contents: oneAgent.program, resolveDir: consumer },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    logLevel: "silent"
  })
  const bundle = outputFiles[0]?.contents ?? new Uint8Array()
  const size = bundle.length
  writeFileSync(join(consumer, "bundle.js"), bundle)
  const files = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => bytesInOutput > 0 ? [file] : [])
  )
  return {
    what: `a program with one agent weighs ${(size / 1000).toFixed(1)} kB of ${oneAgent.budget / 1000} kB`,
    problems: [
      ...(size <= oneAgent.budget ? [] : [`${size - oneAgent.budget} bytes too much`]),
      ...run("bundle.js"),
      ...files.filter((file) => oneAgent.unused.test(file)).map((file) => `${file} isn't left out`)
    ]
  }
}

const modulesLoaded = (consumer: string): ReadonlyArray<Weighed> =>
  Object.entries(loads).map(([entry, budget]) => {
    const { metafile: { inputs } } = buildSync({
      stdin: { contents: `import "${entry}"`, resolveDir: consumer },
      bundle: true,
      write: false,
      metafile: true,
      ignoreAnnotations: true,
      format: "esm",
      platform: "neutral",
      external: ["effect"],
      logLevel: "silent"
    })
    const loaded = new Set(["<stdin>"])
    for (const file of loaded) {
      for (const { external, kind, path } of inputs[file]?.imports ?? []) {
        if (kind === "import-statement" && external !== true) loaded.add(path)
      }
    }
    loaded.delete("<stdin>")
    const bytes = [...loaded].reduce((sum, file) => sum + (inputs[file]?.bytes ?? 0), 0)
    return {
      what: `${entry} loads ${loaded.size} modules of ${(bytes / 1000).toFixed(1)} kB`,
      problems: loaded.size > 0 && bytes <= budget.bytes && loaded.size <= budget.modules
        ? []
        : [`${budget.modules} modules of ${budget.bytes / 1000} kB are enough`]
    }
  })

/** Weighs the package that a project has installed. */
export const weigh = (consumer: string, run: Run): ReadonlyArray<Weighed> => [
  ...entryPoints(consumer),
  agentProgram(consumer, run),
  ...modulesLoaded(consumer)
]
