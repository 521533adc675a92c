/**
 * Makes programs of the examples in the documentation, so that tests can type-check and run them.
 *
 * An example is a fenced `ts` block of a Markdown file or of a doc comment. Each is a whole program. A comment
 * `// => value` behind an expression, a `const` or a `console.log(…)` claims what it evaluates to.
 *
 * 1. every line of a compiled example has the number that it has in the documentation
 * 2. every claim becomes a call of `$claim`, and a claim that stands behind nothing is a problem
 * 3. a block that can't be run is a problem, never skipped
 * 4. a block ```` ```ts examples/… ```` shows a file, whose own tests run it, and is a problem where it isn't that file
 */
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { type Expression, parseSync, type Program, Visitor } from "oxc-parser"

export const root = resolve(import.meta.dirname, "..")

/** Where compiled examples go, out of git's sight. */
export const directory = join(root, ".examples")

export interface Example {
  readonly file: string
  readonly line: number
  readonly title: string
  readonly code: string
  readonly claims: ReadonlyArray<number>
}

export interface Problem {
  readonly file: string
  readonly line: number
  readonly message: string
}

/** The file that an example is compiled to, below the root. */
export const path = (example: Example): string => `.examples/${example.file}/${example.line}.ts`

interface Block {
  readonly line: number
  readonly title: string | undefined
  readonly lines: ReadonlyArray<string>
}

const fence = /^\s*(`{3,})\s*(\S*)[ \t]*(\S*)/
const otherNames = new Set(["typescript", "tsx", "mts", "javascript", "js", "jsx", "mjs"])

/**
 * The lines of a file that hold documentation, without the stars of a doc comment but with every column kept.
 * Lines of code are `undefined`.
 */
const documentation = (file: string, text: string): ReadonlyArray<string | undefined> => {
  const lines = text.split("\n")
  if (file.endsWith(".md")) return lines
  const docs: Array<string | undefined> = lines.map(() => undefined)
  for (const comment of parseSync(file, text).comments) {
    if (comment.type !== "Block" || !comment.value.startsWith("*")) continue
    const first = text.slice(0, comment.start).split("\n").length - 1
    text.slice(comment.start, comment.end).replace(/\*\/$/, "").split("\n").forEach((line, i) => {
      docs[first + i] = line.replace(/^\s*\/?\*+/, (stars) => " ".repeat(stars.length))
    })
  }
  return docs
}

/** Says what is wrong with a block that shows a file, if anything is. */
const shownProblem = (shown: string, lines: ReadonlyArray<string>): string | undefined => {
  const file = join(root, shown)
  if (!shown.startsWith("examples/") || !existsSync(file)) return `shows ${shown}, which is no file of examples`
  const written = readFileSync(file, "utf8").trimEnd().split("\n")
  const at = written.findIndex((line, i) => line !== lines[i])
  if (at === -1 && written.length === lines.length) return undefined
  return `isn't ${shown} from its line ${at === -1 ? written.length + 1 : at + 1} on`
}

/** The `ts` blocks of a file. */
const blocks = (file: string, text: string): { found: ReadonlyArray<Block>; problems: ReadonlyArray<Problem> } => {
  const inCode = !file.endsWith(".md")
  const found: Array<Block> = []
  const problems: Array<Problem> = []
  const problem = (line: number, message: string) => problems.push({ file, line, message })
  let open: { ticks: string; name: string; shown: string; line: number; lines: Array<string> } | undefined
  let title: string | undefined
  let awaited: number | undefined
  const commentEnds = () => {
    if (open !== undefined) problem(open.line, "the block has no end")
    if (awaited !== undefined) problem(awaited, "an **Example** needs a ts block")
    open = title = awaited = undefined
  }
  const docs = documentation(file, text)
  for (const [i, content] of docs.entries()) {
    const line = i + 1
    if (content === undefined) {
      commentEnds()
      continue
    }
    const [, ticks = "", name = "", shown = ""] = fence.exec(content) ?? []
    if (open !== undefined) {
      if (ticks.length < open.ticks.length || name !== "") {
        open.lines.push(content)
        continue
      }
      if (open.name === "ts" && open.shown === "") found.push({ line: open.line, title, lines: open.lines })
      const wrong = open.name === "ts" && open.shown !== "" ? shownProblem(open.shown, open.lines) : undefined
      if (wrong !== undefined) problem(open.line, wrong)
      if (inCode) title = undefined
      open = undefined
    } else if (ticks !== "") {
      if (otherNames.has(name)) problem(line, `write \`\`\`ts, not \`\`\`${name}, so that the block runs`)
      if (inCode && name === "ts" && title === undefined) problem(line, "a ts block needs its **Example** (Title)")
      if (name === "ts") awaited = undefined
      open = { ticks, name, shown, line, lines: [] }
    } else if (!inCode) {
      title = /^#+ (.*)$/.exec(content)?.[1] ?? title
    } else if (content.includes("**Example**")) {
      if (awaited !== undefined) problem(awaited, "an **Example** needs a ts block")
      title = /\*\*Example\*\* \((.+)\)/.exec(content)?.[1]
      awaited = line
      if (title === undefined) problem(line, "an **Example** needs a (Title)")
    }
  }
  commentEnds()
  return { found, problems }
}

const parses = (expression: string): boolean => parseSync("value.ts", `(${expression}\n)`).errors.length === 0

/** What a claim may stand behind: what to wrap or name, and where it ends. */
interface Claimable {
  readonly end: number
  readonly subject: Expression | string
}

const claimables = (program: Program): ReadonlyArray<Claimable> => {
  const found: Array<Claimable> = []
  new Visitor({
    ExpressionStatement: ({ end, expression }) => {
      const logged = expression.type === "CallExpression" && expression.arguments.length === 1 &&
          expression.callee.type === "MemberExpression" && expression.callee.object.type === "Identifier" &&
          expression.callee.object.name === "console"
        ? expression.arguments[0]
        : undefined
      found.push({ end, subject: logged === undefined || logged.type === "SpreadElement" ? expression : logged })
    },
    VariableDeclaration: ({ declarations, end }) => {
      const [declared] = declarations
      if (declared?.id.type === "Identifier" && declarations.length === 1) {
        found.push({ end, subject: declared.id.name })
      }
    }
  }).visit(program)
  return found
}

const compile = (file: string, block: Block): Example | ReadonlyArray<Problem> => {
  const source = "\n".repeat(block.line) + block.lines.join("\n")
  const lineAt = (offset: number) => source.slice(0, offset).split("\n").length
  const { comments, errors, program } = parseSync("example.ts", source)
  const problems: Array<Problem> = []
  const problem = (line: number, message: string) => problems.push({ file, line, message })

  for (const error of errors) problem(lineAt(error.labels[0]?.start ?? block.line), error.message)
  const imported = program.body.filter((statement) => statement.type === "ImportDeclaration")
  if (errors.length === 0 && imported.length === 0) problem(block.line, "the block imports nothing")
  if (errors.length === 0 && imported.length === program.body.length) problem(block.line, "the block does nothing")
  for (const { source: from, start } of imported) {
    if (from.value.startsWith(".")) problem(lineAt(start), `imports "${from.value}": import what users can`)
  }

  const candidates = claimables(program)
  const edits: Array<readonly [offset: number, text: string]> = []
  const claims: Array<number> = []
  for (const [i, comment] of comments.entries()) {
    if (comment.type !== "Line" || !/^\s*=>/.test(comment.value)) continue
    const line = lineAt(comment.start)
    const claimed = candidates.find(({ end }) =>
      end <= comment.start && /^\s*;?\s*$/.test(source.slice(end, comment.start)) && lineAt(end) >= line - 1
    )
    if (claimed === undefined) {
      problem(line, "a claim stands behind an expression, a const or a console.log")
      continue
    }
    let value = comment.value.replace("=>", "")
    for (let next = i + 1; !parses(value); next++) {
      const more = comments[next]
      if (more?.type !== "Line" || lineAt(more.start) !== line + next - i) break
      value += more.value
    }
    if (!parses(value)) {
      problem(line, `claims "${value.trim()}", which is no expression`)
      continue
    }
    claims.push(line)
    if (typeof claimed.subject === "string") {
      edits.push([claimed.end, `; $claim(${line}, ${claimed.subject}, (${value} ))`])
    } else {
      edits.push([claimed.subject.start, `$claim(${line}, (`], [claimed.subject.end, `), (${value} ))`])
    }
  }
  if (!file.endsWith(".md") && claims.length === 0) {
    problem(block.line, "an example ends in a claim: expression // => value")
  }
  if (problems.length > 0) return problems

  let code = source
  for (const [offset, text] of edits.sort(([a], [b]) => b - a)) code = code.slice(0, offset) + text + code.slice(offset)
  const example = { file, line: block.line, title: block.title ?? "", claims, code: "" }
  const claimsModule = relative(dirname(join(root, path(example))), join(root, "scripts/claims.ts"))
  const opening = `import { claims as $claims } from "${claimsModule}"; const $claim = $claims("${file}")`
  return { ...example, code: `${opening}${code}\n` }
}

/** Compiles the examples of one file. */
export const read = (file: string, text: string): {
  readonly examples: ReadonlyArray<Example>
  readonly problems: ReadonlyArray<Problem>
} => {
  const { found, problems } = blocks(file, text)
  const compiled = found.map((block) => compile(file, block))
  return {
    examples: compiled.filter((one) => "code" in one),
    problems: [...problems, ...compiled.flatMap((one) => "code" in one ? [] : one)]
  }
}

/** Compiles every example of the project into `directory`. Files that didn't change aren't touched. */
export const write = (): ReturnType<typeof read> => {
  const files = globSync(["README.md", "CONTRIBUTING.md", "AGENTS.md", "docs/**/*.md", "src/**/*.ts"], { cwd: root })
  const all = files.sort().map((file) => read(file, readFileSync(join(root, file), "utf8")))
  const examples = all.flatMap(({ examples }) => examples)
  const wanted = new Map(examples.map((example) => [join(root, path(example)), example.code]))
  mkdirSync(directory, { recursive: true })
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const old = join(entry.parentPath, entry.name)
    if (!entry.isFile()) continue
    if (wanted.get(old) === readFileSync(old, "utf8")) wanted.delete(old)
    else if (!wanted.has(old)) rmSync(old)
  }
  for (const [file, code] of wanted) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, code)
  }
  return { examples, problems: all.flatMap(({ problems }) => problems) }
}
