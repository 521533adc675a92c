import { assert, describe, it } from "@effect/vitest"
import { build, transformSync } from "esbuild"
import { readFileSync } from "node:fs"
import { SourceMap } from "node:module"
import { join } from "node:path"
import * as troupe from "troupe"
import { preparsed } from "../../scripts/preparse.ts"
import { annotate, importBuilt } from "../../scripts/pure.ts"

const root = join(import.meta.dirname, "../..")

const bundle = async (modules: Readonly<Record<string, string>>): Promise<string> => {
  const { outputFiles } = await build({
    entryPoints: ["main.js"],
    bundle: true,
    write: false,
    format: "esm",
    minifySyntax: true,
    external: ["effect/*"],
    plugins: [{
      name: "modules",
      setup({ onLoad, onResolve }) {
        onResolve({ filter: /^(\.\/|main)/ }, ({ path }) => ({ path: path.replace("./", ""), namespace: "modules" }))
        onLoad({ filter: /.*/, namespace: "modules" }, ({ path }) => ({ contents: modules[path]! }))
      }
    }]
  })
  return outputFiles[0]!.text
}

/** What is left in a bundle of a module of which only `used` is used. */
const left = (code: string): Promise<string> =>
  bundle({
    "main.js": `import { used } from "./module.js"\nconsole.log(used)`,
    "module.js": annotate("module.js", `${code}\nexport const used = "it is used"`)
  })

describe("a module for bundlers", () => {
  it.each([
    ["a call", "export const other = make('other')(1)"],
    ["what is read of a call's result", "export const other = make('other').fields.name"],
    ["an object with a spread", "export const other = { ...make('other'), name: 1 }"],
    ["an object with a key that is computed", "export const other = { [make('other')]: 1 }"],
    ["a new value", "export const other = new Map([[make('other'), 1]])"],
    ["a class that extends a call's result", "export class other extends make('other')(1) { name = 1 }"],
    ["what only another unused value is made of", "const base = make('other')\nexport const other = base.of(1)"]
  ])("leaves out %s", async (_, declaration) => {
    const code = await left(`import { make } from "effect/make"\n${declaration}`)
    assert.include(code, "it is used")
    assert.notInclude(code, "other")
  })

  it("keeps statements that do something", async () => {
    assert.include(await left("globalThis.done = make('other')"), "other")
  })

  it("keeps values, names and the order", async () => {
    const code = `let order = []
const made = (name, value) => { order.push(name); return value }
export const first = made("first", { value: 1 })
export class Second extends made("second", Object) { static first = first.value }
export const third = made("third", () => Second.name), fourth = { ...first, 5: made("fourth", 2) }
export const fifth = (a) => a
export { order }`
    const { Second, fifth, first, fourth, order, third } = await import(
      `data:text/javascript,${encodeURIComponent(annotate("module.js", code))}`
    )
    assert.deepStrictEqual([first, Second.first, third(), fourth, fifth.name], [
      { value: 1 },
      1,
      "Second",
      { value: 1, 5: 2 },
      "fifth"
    ])
    assert.deepStrictEqual(order, ["first", "second", "third", "fourth"])
  })

  it("refuses a class that its variable would name", () => {
    assert.throws(() => annotate("module.js", "export const name = class {}"), "declare the class")
  })

  it("imports what is built from sources", () => {
    assert.strictEqual(
      importBuilt(
        "module.js",
        `import * as A from "./A.ts"
import B from 'effect/B.ts'
export { c } from "../C.ts"
export * as D from "./d/D.ts"
export * from "./E.ts"
const load = () => import("./F.ts")
const text = 'import "./A.ts"'`
      ),
      `import * as A from "./A.js"
import B from 'effect/B.ts'
export { c } from "../C.js"
export * as D from "./d/D.js"
export * from "./E.js"
const load = () => import("./F.js")
const text = 'import "./A.ts"'`
    )
  })
})

describe("a module for Node", () => {
  /** What V8 gets of the module, without its source map. */
  const code = (source: string): string => preparsed("/src/Module.ts", source).replace(/\n\/\/# sourceMappingURL.*/, "")

  it.each([
    ["a bare parameter", "const f = x => x + 1", "const f = function(x) {return x + 1}"],
    ["types", "const f = <A>(x: A): x is A & 1 => x === 1", "const f = function<A>(x: A): x is A & 1 {return x === 1}"],
    ["an `async` one", "const f = async (x = () => 1) => x", "const f = async function (x = () => 1) {return x}"],
    ["an `async` one with a bare parameter", "const f = async x => x", "const f = async function (x) {return x}"],
    ["a body", "const f = () => { return (x) => x }", "const f = function() { return (x) => x }"],
    ["an object", "const f = () => ({ a: 1 })", "const f = function() {return ({ a: 1 })}"],
    ["a result on its own line", "const f = () => // why\n  [1]", "const f = function() {return [1]}"],
    ["one in a call", "make((x) => x, { of: () => 2 })", "make(function(x) {return x}, { of: function() {return 2} })"],
    [
      "one with a function that has its own `this`",
      "f(() => function() { return this })",
      "f(function() {return function() { return this }})"
    ]
  ])("has functions for arrow functions: %s", (_, source, expected) => {
    assert.strictEqual(code(source), expected)
  })

  it.each([
    ["inside of functions and classes", "function f() { return () => 1 }\nclass A { b = () => this }"],
    ["with the `this` around them", "const f = () => this, g = () => [() => [this]]"],
    ["with the `arguments` around them", "const f = () => arguments.length"]
  ])("keeps arrow functions %s", (_, source) => {
    assert.strictEqual(code(source), source)
  })

  it("keeps values, names and lengths", async () => {
    const source = `export const one = (a, b = 2) => ({ a, b }), all = { two: (...c) => c, three: (d => () => d)(3) }`
    const { all, one } = await import(`data:text/javascript,${encodeURIComponent(preparsed("/src/Module.ts", source))}`)
    assert.deepStrictEqual([one(1), all.two(1, 2), all.three()], [{ a: 1, b: 2 }, [1, 2], 3])
    assert.deepStrictEqual([one.name, one.length, all.two.name], ["one", 1, "two"])
  })

  it("is mapped to the source that it was made of", () => {
    const source = `const add = (x: number): number =>\n  x + missing\nadd(1)`
    const built = transformSync(preparsed("/src/Module.ts", source), {
      loader: "ts",
      sourcefile: "Module.ts",
      sourcemap: true
    })
    const lines = built.code.split("\n")
    const line = lines.findIndex((text) => text.includes("missing"))
    const entry = new SourceMap(JSON.parse(built.map)).findEntry(line, lines[line]!.indexOf("missing"))
    assert.deepInclude(entry, { originalSource: "Module.ts", originalLine: 1, originalColumn: 6 })
  })

  it("refuses a source that can't be parsed", () => {
    assert.throws(() => preparsed("/src/Module.ts", "const = 1"), "/src/Module.ts")
  })
})

describe("the loop", () => {
  /** The files that an agent loads: types are gone, and nothing is left out because it isn't used. */
  const loaded = async (entry: string): Promise<ReadonlyArray<string>> => {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: [entry],
      bundle: true,
      write: false,
      format: "esm",
      packages: "external",
      ignoreAnnotations: true,
      metafile: true
    })
    return Object.keys(metafile.inputs)
  }
  const isPerformer = (file: string): boolean => /^src\/agent\/perform\/(guard|window)\//.test(file)
  const known = ["src/agent/perform/guard/Guard.ts", "src/agent/perform/window/WindowPrompts.ts"]

  it("doesn't load what performs guardrails and context windows, nor what other programs need", async () => {
    const files = await loaded("src/agent/Agent.ts")
    assert.deepStrictEqual(files.filter(isPerformer), known)
    const others =
      /^src\/(agent\/(guardrail|session|trace|window)|handoff\/(plan|dialogue)|testing|cluster)\/|AgentEvent\.ts$/
    assert.deepStrictEqual(files.filter((file) => others.test(file)), [])
  })

  it.each([
    ["src/agent/guardrail/MakeGuardrail.ts", "src/agent/perform/guard/Check.ts"],
    ["src/agent/ContextWindow.ts", "src/agent/perform/window/WindowChoice.ts"]
  ])("gets it from %s", async (maker, performer) => {
    assert.include(await loaded(maker), performer)
  })
})

describe("the package", () => {
  const { exports }: { readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>> } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8")
  )

  it("has an entry point for each module of troupe, and each is the same module", async () => {
    for (const [name, module] of Object.entries(troupe)) {
      const entry = ["troupe", name].join("/")
      assert.strictEqual(await import(entry), module, name)
    }
  })

  it("declares each entry point and builds it twice from one source", () => {
    for (const [name, entry] of Object.entries(exports)) {
      if (typeof entry === "string") continue
      const source = entry["@troupe/source"]!.replace(/^\.\/src\/(.*)\.ts$/, "$1")
      const at = source.endsWith("index") ? source : name.replace("./", "")
      assert.deepStrictEqual(Object.entries(entry), [
        ["@troupe/source", `./src/${source}.ts`],
        ["types", `./dist/${source}.d.ts`],
        ["module", `./dist/modules/${source}.js`],
        ["default", `./dist/${at}.js`]
      ])
    }
  })
})
