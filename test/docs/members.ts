/**
 * What pages mention of modules, as lines of a program that the compiler checks: `Agent.run(agent, input)` names a member of `Agent`, which
 * takes two arguments.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type CallExpression, parseSync, Visitor } from "oxc-parser"
import { root } from "../../scripts/examples.ts"
import { typeErrors } from "../../scripts/typeErrors.ts"
import type { Mention } from "./mentions.ts"
import { read } from "./tables.ts"

/** The entry points whose modules pages name, and the files that list these modules. */
const entries: ReadonlyArray<readonly [entry: string, file: string]> = [
  ["troupe", "src/index.ts"],
  ["troupe/testing", "src/testing/index.ts"],
  ["troupe/cluster", "src/cluster/index.ts"],
  ["troupe/ai-sdk", "src/ai-sdk/index.ts"],
  ...["", "/ai", "/cluster", "/http", "/http-api", "/observability", "/persistence", "/process", "/testing"].map((
    path
  ) => [`effect${path}`, `node_modules/effect/dist${path}/index.d.ts`] as const),
  ["@effect/platform-node", "node_modules/@effect/platform-node/dist/index.d.ts"]
]

/** The modules by their names, each with the line that imports it as `$0_Agent`. Two of Troupe's entry points have one of the same name. */
const imports = new Map<string, string>()
const modules = new Map<string, Array<string>>()
for (const [i, [entry, file]] of entries.entries()) {
  const isOwn = entry.startsWith("troupe")
  for (const [, name] of read(file).matchAll(/^export \* as (\w+) from/gm)) {
    const path = `$${i}_${name}`
    const others = modules.get(name!)
    if (others === undefined) modules.set(name!, [path])
    else if (isOwn) others.push(path)
    imports.set(
      path,
      isOwn ? `import { ${name} as ${path} } from "${entry}"` : `import * as ${path} from "${entry}/${name}"`
    )
  }
}

/** Values that pages name by the same word, by their types. */
const receivers: Readonly<Record<string, string>> = {
  session: "$0_Session.Session",
  state: "$0_AgentState.AgentState",
  conversation: "$0_Conversation.Conversation",
  broken: "$1_Laws.LawBroken",
  GuardrailSettled: "Extract<$0_AgentEvent.AgentEvent, { readonly _tag: \"GuardrailSettled\" }>"
}

/** Code of a page as a program: `f(a?, { b, … }, …)` is `f(a, { b, ...$ }, ...$)`. */
const programOf = (code: string) => {
  const text = code.replaceAll("=> …", "=> $").replaceAll(/(?<=[\w}])\?(?=[,)}\s])/g, "").replaceAll(
    /(?<!")…(?!")/g,
    "...$"
  )
  // An option stands without its braces.
  return [`(${text})`, `({${text}})`].map((each) => parseSync("mention.ts", each)).find(({ errors }) =>
    errors.length === 0
  )
    ?.program
}

/** What the arguments of a call show: their number, if all are there, and the fields of those that are objects. */
const shownBy = ({ arguments: args }: CallExpression): string => {
  const isWhole = args.every(({ type }) => type !== "SpreadElement")
  const fields = args.flatMap((arg, i) => {
    if (arg.type !== "ObjectExpression") return []
    const named = arg.properties.flatMap((property) => {
      if (property.type !== "Property" || property.key.type !== "Identifier") return []
      return [`${property.key.name}: ${property.value.type === "Literal" ? property.value.raw : "any"}`]
    })
    return [`${i}: { ${named.join("; ")} }`]
  })
  return `${isWhole ? args.length : "never"}, { ${fields.join("; ")} }`
}

/** Something that a page says of the code, as lines of the program, one of which has to compile. */
interface Claim {
  readonly what: string
  readonly where: string
  readonly lines: ReadonlyArray<string>
}

/** The modules that a page is about, whose functions it names without them. */
type About = (page: string) => Readonly<Record<string, object>>

/** Checks whether a page's `state` is that of Troupe, and of no other library. */
const isOfTroupe = (page: string): boolean => !page.startsWith("docs/coming-from")

const isName = (word: string): boolean => parseSync("mention.ts", `let ${word}`).errors.length === 0

/** What a mention says of members of modules. */
const members = ({ code, page, where }: Mention): ReadonlyArray<Claim> =>
  Array.from(code.matchAll(/(?<![\w$./"'@-])([A-Za-z]\w*)\.([A-Za-z]\w*)(?![\w./-])/g)).flatMap(
    ([what, module, member]) => {
      const type = receivers[module!]
      if (type !== undefined && isOfTroupe(page)) return [{ what, where, lines: [`type _ = (${type})["${member}"]`] }]
      const paths = modules.get(module!)
      // An import finds types too, but no member that has the name of a keyword.
      const opening = isName(member!) ? "import _ =" : "type _ = typeof"
      return paths === undefined ? [] : [{ what, where, lines: paths.map((path) => `${opening} ${path}.${member}`) }]
    }
  )

const membersOf = (module: string, member: string): ReadonlyArray<string> =>
  (modules.get(module) ?? []).map((path) => `${path}.${member}`)

/** What a mention says of the arguments that functions take. */
const calls = ({ code, page, where }: Mention, about: About): ReadonlyArray<Claim> => {
  const program = programOf(code)
  const own = Object.entries(about(page))
  if (program === undefined) return []
  const claims: Array<Claim> = []
  new Visitor({
    CallExpression: (call) => {
      const { callee } = call
      if (callee.type !== "Identifier" && callee.type !== "MemberExpression") return
      const paths = callee.type === "Identifier"
        ? own.filter(([, module]) => callee.name in module).flatMap(([module]) => membersOf(module, callee.name))
        : callee.object.type === "Identifier" && callee.property.type === "Identifier"
        ? membersOf(callee.object.name, callee.property.name)
        : []
      if (paths.length > 0) {
        claims.push({
          what: code,
          where,
          lines: paths.map((path) => `type _ = True<Takes<typeof ${path}, ${shownBy(call)}>>`)
        })
      }
    }
  }).visit(program)
  return claims
}

/**
 * The types that say whether a function, by one of its signatures, takes so many arguments, with these fields. What a few generic functions take
 * stays unknown: for these it is true.
 */
const takes = `
type Signatures<F> = F extends {
  (...args: infer A): unknown
  (...args: infer B): unknown
  (...args: infer C): unknown
  (...args: infer D): unknown
} ? A | B | C | D : unknown
type Field<T, K> = T extends unknown ? K extends keyof T ? T[K] : never : never
type Keys<T> = T extends unknown ? keyof T : never
type Wrong<T, Shown> = unknown extends T ? never
  : { [K in keyof Shown]: K extends Keys<T> ? [Shown[K]] extends [Field<T, K>] ? never : K : K }[keyof Shown]
type Fits<Args, Count, Fields> = unknown extends Args ? true : Args extends ReadonlyArray<unknown>
  ? [Count] extends [Args["length"]]
    ? { [I in keyof Fields]: Wrong<Args[I & keyof Args], Fields[I]> }[keyof Fields] extends infer Problem
      ? [Problem] extends [never] ? true : Problem
      : never
    : "so many arguments"
  : never
type Takes<F, Count, Fields> = true extends Fits<Signatures<F>, Count, Fields> ? true : Fits<Signatures<F>, Count, Fields>
type True<T extends true> = T
`

/** Says which mentions aren't true of the code, with their places. */
export const problems = (all: ReadonlyArray<Mention>, about: About): ReadonlyArray<string> => {
  const claims = all.flatMap((mention) => [...members(mention), ...calls(mention, about)])
  const lines = claims.flatMap((claim) => claim.lines.map((line) => ({ claim, line })))
  const used = new Set(lines.flatMap(({ line }) => line.match(/\$\d+_\w+/g) ?? []))
  const opening = [...Array.from(used, (path) => imports.get(path)), takes].join("\n")
  const first = opening.split("\n").length + 1
  const folder = join(root, ".examples-mentions")
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: "../tsconfig.base.json",
      compilerOptions: {
        noEmit: true,
        noUnusedLocals: false,
        erasableSyntaxOnly: false,
        verbatimModuleSyntax: false,
        isolatedModules: false,
        types: ["node"]
      },
      files: ["mentions.ts"]
    })
  )
  writeFileSync(
    join(folder, "mentions.ts"),
    [opening, ...lines.map(({ line }, i) => line.replace(/^(\w+) _/, `$1 _${i}`))].join("\n")
  )
  const errors = new Map<number, string>()
  for (const error of typeErrors(join(folder, "tsconfig.json"))) {
    const [, line, message] = /^\.examples-mentions\/mentions\.ts:(\d+):\d+ TS\d+: (.*)/.exec(error) ?? []
    if (line === undefined || Number(line) < first) throw new Error(error)
    // A type that has no value isn't there for an import, but it is there.
    if (message!.includes("'export type'")) continue
    const [, problem] = /^Type '(.+)' does not satisfy the constraint 'true'/.exec(message!) ?? []
    errors.set(Number(line) - first, problem === undefined ? message! : `doesn't take ${problem}`)
  }
  return claims.flatMap((claim) => {
    const said = lines.flatMap(({ claim: other }, i) => other === claim ? [errors.get(i)] : [])
    return said.includes(undefined) ? [] : [`${claim.where} ${claim.what}: ${said[0]}`]
  })
}
