/**
 * What a bundle of a program weighs, minified: one agent and `Agent.run`, beside one request of `effect/ai`.
 *
 * Rollup is a dependency of this folder alone and may not be installed, so its types aren't known here.
 */
import { build, type Plugin, transform } from "esbuild"
import { existsSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const here = import.meta.dirname

interface Source {
  readonly id: string
  readonly moduleSideEffects: boolean
}

interface Rollup {
  readonly rollup: (options: {
    readonly input: string
    readonly external: RegExp
    readonly onwarn: () => void
    readonly plugins: ReadonlyArray<{
      readonly name: string
      readonly resolveId: (specifier: string, importer: string | undefined) => Source
      readonly load: (id: string) => string | undefined
    }>
  }) => Promise<{
    readonly generate: (
      options: { readonly format: "es" }
    ) => Promise<{ readonly output: ReadonlyArray<{ readonly isEntry?: boolean; readonly code?: string }> }>
  }>
}

const model = `import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as LanguageModel from "effect/ai/LanguageModel"
const model = LanguageModel.make({
  generateText: () => Effect.succeed([{ type: "text", text: "Hi." }]),
  streamText: () => Stream.empty
})
const run = (program) =>
  Effect.runPromise(Effect.provideServiceEffect(program, LanguageModel.LanguageModel, model)).then(console.log)
`

const programs = {
  troupe: `${model}import { Agent } from "troupe"
run(Agent.run(Agent.make("assistant", { instructions: "Be brief." }), "Hello"))
`,
  byHand: `${model}run(LanguageModel.generateText({ prompt: "Hello" }))
`
}

export type Program = keyof typeof programs

/** Resolves `troupe` to what is built for bundlers in `dist`. */
const bundled = (dist: string): Plugin => ({
  name: "troupe",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^troupe$/ }, () => ({ path: join(dist, "modules", "index.js"), sideEffects: false }))
})

/** Gives the bytes of a program that esbuild bundles. */
export const byEsbuild = async (dist: string, program: Program): Promise<number> => {
  const { outputFiles } = await build({
    stdin: { contents: programs[program], resolveDir: here },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "node",
    plugins: [bundled(dist)]
  })
  return outputFiles[0]!.contents.length
}

/** Gives the bytes of a program that Rollup bundles and esbuild minifies. It is `undefined` if Rollup isn't installed. */
export const byRollup = async (dist: string, program: Program): Promise<number | undefined> => {
  if (!existsSync(join(here, "node_modules", "rollup"))) return undefined
  const name = "rollup"
  const { rollup }: Rollup = await import(name)
  const input = join(here, `${program}.js`)
  const bundle = await rollup({
    input,
    external: /^node:/,
    onwarn: () => {},
    plugins: [{
      name: "modules",
      resolveId: (specifier, importer) => ({
        id: specifier === "troupe"
          ? join(dist, "modules", "index.js")
          : specifier.startsWith(".")
          ? resolve(dirname(importer!), specifier)
          : specifier === input
          ? input
          : fileURLToPath(import.meta.resolve(specifier)),
        moduleSideEffects: specifier === input
      }),
      load: (id) => id === input ? programs[program] : undefined
    }]
  })
  const { output } = await bundle.generate({ format: "es" })
  const { code } = await transform(output.find(({ isEntry }) => isEntry)!.code!, { minify: true, format: "esm" })
  return Buffer.byteLength(code)
}
