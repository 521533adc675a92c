import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { linesRun } from "../../scripts/claims.ts"
import { path, read, root } from "../../scripts/examples.ts"

const markdown = (...lines: ReadonlyArray<string>) => ["# Title", "", "```ts", ...lines, "```", ""].join("\n")

const comment = (...lines: ReadonlyArray<string>) =>
  ["export const before = 1", "", "/**", ...lines.map((line) => ` * ${line}`), " */", "export const after = 1"].join(
    "\n"
  )

const problems = (file: string, text: string) =>
  read(file, text).problems.map(({ file, line, message }) => `${file}:${line} ${message}`)

/** Compiles a document's only example, runs it and gives what went wrong. */
const run = async (file: string, text: string): Promise<string | undefined> => {
  const { examples: [example], problems } = read(file, text)
  if (example === undefined) throw new Error(problems[0]?.message ?? "no example")
  const directory = mkdtempSync(join(root, ".examples-"))
  const module = path(example).replace(".examples", basename(directory))
  try {
    mkdirSync(dirname(join(root, module)), { recursive: true })
    writeFileSync(join(root, module), example.code)
    await import(/* @vite-ignore */ `../../${module}`)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

describe("an example in Markdown", () => {
  it("holds when each claim equals what stands before it", async () => {
    const text = markdown(
      `import { Effect, Option } from "effect"`,
      `Option.some({ a: [1] }) // => Option.some({ a: [1] })`,
      `const two = 1 + 1 // => 2`,
      `console.log(two + 1) // => 3`,
      `Array.of(1, 2).map((n) => n * two)`,
      `// => [2, 4]`,
      `const program = Effect.gen(function*() {`,
      `  yield* Effect.succeed(two) // => 2`,
      `  return { a: two }`,
      `})`,
      `await Effect.runPromise(program) // => {`,
      `//   a: 2`,
      `// }`
    )
    assert.deepStrictEqual(read("holds.md", text).examples[0]?.claims, [5, 6, 7, 9, 11, 14])
    assert.isUndefined(await run("holds.md", text))
    assert.deepStrictEqual([...linesRun("holds.md")].sort((a, b) => a - b), [5, 6, 7, 9, 11, 14])
  })

  it.each([
    [`Option.some(1) // => Option.some(2)`],
    [`const two = 1 + 1 // => 3`],
    [`console.log(1) // => 2`],
    [`[1, 2] // => [1, 2, 3]`],
    [`await Effect.runPromise(Effect.succeed({ a: 1 })) // => {`, `//   a: 2`, `// }`]
  ])("is caught when it claims too much: %s", async (...lines) => {
    assert.strictEqual(
      await run(
        "wrong.md",
        markdown(`import { Effect, Option } from "effect"`, `Effect.void`, `Option.none()`, ...lines)
      ),
      "wrong.md:7 isn't what it claims"
    )
  })

  it("fails where the program fails", async () => {
    assert.strictEqual(
      await run(
        "fails.md",
        markdown(`import { Effect } from "effect"`, `await Effect.runPromise(Effect.die("broken"))`)
      ),
      "broken"
    )
  })

  it("keeps claims that are never reached out of those that ran", async () => {
    await run(
      "unreached.md",
      markdown(`import { Effect } from "effect"`, `const f = () => {`, `  Effect // => 1`, `}`, `f`)
    )
    assert.deepStrictEqual([...linesRun("unreached.md")], [])
  })

  it("keeps its line numbers", () => {
    const code = read("lines.md", markdown(`import "effect"`, `const a: string = 1`)).examples[0]?.code
    assert.strictEqual(code?.split("\n")[4], `const a: string = 1`)
  })

  it.each<[why: string, text: string, problem: string]>([
    ["it is empty", markdown(), "a.md:3 the block imports nothing"],
    ["it imports nothing", markdown(`1 + 1 // => 2`), "a.md:3 the block imports nothing"],
    ["it only imports", markdown(`import "effect"`), "a.md:3 the block does nothing"],
    ["it doesn't parse", markdown(`import "effect"`, `const = 1`), "a.md:5 Unexpected token"],
    [
      "it imports a relative file",
      markdown(`import { a } from "./a.ts"`, `a`),
      `a.md:4 imports "./a.ts": import what users can`
    ],
    [
      "a claim stands alone",
      markdown(`import "effect"`, `if (true) {`, `  // => 1`, `}`),
      "a.md:6 a claim stands behind an expression, a const or a console.log"
    ],
    [
      "a claim is prose",
      markdown(`import "effect"`, `1 + 1 // => two, of course`),
      `a.md:5 claims "two, of course", which is no expression`
    ],
    ["it has no end", "```ts\nimport 'effect'\n1", "a.md:1 the block has no end"],
    ["it goes by another name", "```typescript\n```", "a.md:1 write ```ts, not ```typescript, so that the block runs"]
  ])("is a problem when %s", (_why, text, problem) => {
    assert.include(problems("a.md", text), problem)
  })

  it("shows a file as it is, and nothing else", () => {
    const shows = (file: string, text: string) => problems("a.md", `\`\`\`ts ${file}\n${text}\`\`\``)
    const text = readFileSync(join(root, "examples/start/src/model.ts"), "utf8")
    assert.deepStrictEqual(shows("examples/start/src/model.ts", text), [])
    assert.deepStrictEqual(shows("examples/start/src/model.ts", text.replace("gpt-5", "gpt-4")), [
      "a.md:1 isn't examples/start/src/model.ts from its line 5 on"
    ])
    assert.deepStrictEqual(shows("examples/start/src/model.ts", `${text}1\n`), [
      "a.md:1 isn't examples/start/src/model.ts from its line 6 on"
    ])
    for (const file of ["examples/none.ts", "package.json"]) {
      assert.deepStrictEqual(shows(file, text), [`a.md:1 shows ${file}, which is no file of examples`])
    }
  })

  it("leaves other languages alone", () => {
    assert.deepStrictEqual(read("a.md", "```sh\nnpm test\n```\n\n````md\n```ts\n```\n````\n"), {
      examples: [],
      problems: []
    })
  })
})

describe("an example in a doc comment", () => {
  it("holds, with its title and its line", async () => {
    const text = comment("Adds.", "", "**Example** (Adding)", "", "```ts", `import "effect"`, `1 + 1 // => 2`, "```")
    const { examples: [example], problems } = read("src/a.ts", text)
    assert.deepStrictEqual(problems, [])
    assert.deepStrictEqual([example?.title, example?.line, example?.claims], ["Adding", 8, [10]])
    assert.isUndefined(await run("src/a.ts", text))
  })

  it("is caught when it claims too much", async () => {
    assert.strictEqual(
      await run("src/b.ts", comment("**Example** (Adding)", "```ts", `import "effect"`, `1 + 1 // => 3`, "```")),
      "src/b.ts:7 isn't what it claims"
    )
  })

  it.each<[why: string, text: string, problem: string]>([
    [
      "it claims nothing",
      comment("**Example** (A)", "```ts", `import "effect"`, `1 + 1`, "```"),
      "src/a.ts:5 an example ends in a claim: expression // => value"
    ],
    ["it has no code", comment("**Example** (A)"), "src/a.ts:4 an **Example** needs a ts block"],
    [
      "it has no code before the next one",
      comment("**Example** (A)", "**Example** (B)", "```ts", `import "effect"`, `1 // => 1`, "```"),
      "src/a.ts:4 an **Example** needs a ts block"
    ],
    [
      "it has no title",
      comment("**Example**", "```ts", `import "effect"`, `1 // => 1`, "```"),
      "src/a.ts:4 an **Example** needs a (Title)"
    ],
    [
      "it isn't called one",
      comment("Text.", "```ts", `import "effect"`, `1 // => 1`, "```"),
      "src/a.ts:5 a ts block needs its **Example** (Title)"
    ],
    ["it has no end", comment("**Example** (A)", "```ts", `import "effect"`), "src/a.ts:5 the block has no end"]
  ])("is a problem when %s", (_why, text, problem) => {
    assert.include(problems("src/a.ts", text), problem)
  })

  it("isn't looked for in code", () => {
    assert.deepStrictEqual(read("src/a.ts", "export const text = `\n/**\n * ```ts\n * ```\n */\n`\n").problems, [])
  })
})
