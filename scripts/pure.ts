/**
 * Marks what a module makes when it is loaded, so that a bundler leaves out what a program doesn't use.
 *
 * A bundler can't know that `Schema.Struct(…)` does nothing but make a value, and keeps it. Each such initializer becomes a
 * function that is called in place, with the annotation that bundlers agree on. A call annotated by itself wouldn't do: its
 * arguments and what is read of its result count as well.
 */
import { type Expression, parseSync, type Statement } from "oxc-parser"

const isPure = (node: Expression | null | undefined): boolean => {
  switch (node?.type) {
    case undefined:
    case "ArrowFunctionExpression":
    case "FunctionExpression":
    case "Identifier":
    case "Literal":
      return true
    case "TemplateLiteral":
      return node.expressions.length === 0
    case "ParenthesizedExpression":
      return isPure(node.expression)
    case "UnaryExpression":
      return isPure(node.argument)
    case "ArrayExpression":
      return node.elements.every((element) => element?.type !== "SpreadElement" && isPure(element))
    case "ObjectExpression":
      return node.properties.every((property) =>
        property.type === "Property" && !property.computed && isPure(property.value)
      )
    default:
      return false
  }
}

const annotated = (expression: string): string => `/* @__PURE__ */ (() => ${expression})()`

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

const parse = (name: string, code: string): ReturnType<typeof parseSync> => {
  const parsed = parseSync(name, code)
  if (parsed.errors.length > 0) throw new Error(`${name}: ${parsed.errors[0]!.message}`)
  return parsed
}

const apply = (code: string, edits: ReadonlyArray<Edit>): string => {
  let result = ""
  let at = 0
  for (const { end, start, text } of edits.toSorted((a, b) => a.start - b.start)) {
    result += code.slice(at, start) + text
    at = end
  }
  return result + code.slice(at)
}

/** Gives a module of JavaScript whose values are made in functions that bundlers may leave out. */
export const annotate = (name: string, code: string): string => {
  const edits: Array<Edit> = []
  const visit = (statement: Statement): void => {
    if (statement.type === "ExportNamedDeclaration" && statement.declaration !== null) visit(statement.declaration)
    else if (statement.type === "VariableDeclaration") {
      for (const { init } of statement.declarations) {
        if (init === null || isPure(init)) continue
        const { end, start, type } = init
        // A class or function that is called in place isn't named by its variable any more.
        if (type === "ClassExpression") throw new Error(`${name}: declare the class of ${code.slice(start, end)}`)
        const text = code.slice(start, end)
        edits.push({ start, end, text: annotated(type === "ObjectExpression" ? `(${text})` : text) })
      }
    } else if (statement.type === "ClassDeclaration" && statement.id !== null) {
      const { end, id, start } = statement
      edits.push({ start, end, text: `const ${id.name} = ${annotated(code.slice(start, end))};` })
    }
  }
  for (const statement of parse(name, code).program.body) visit(statement)
  return apply(code, edits)
}

/** Gives a module of JavaScript whose imports of sources are imports of what is built from them. */
export const importBuilt = (name: string, code: string): string => {
  const { dynamicImports, staticExports, staticImports } = parse(name, code).module
  const edits = new Map<number, Edit>()
  for (
    const { end, start } of [
      ...staticImports.map((statement) => statement.moduleRequest),
      ...staticExports.flatMap((statement) => statement.entries.flatMap((entry) => entry.moduleRequest ?? [])),
      ...dynamicImports.map((expression) => expression.moduleRequest)
    ]
  ) {
    const text = code.slice(start, end)
    if (/^["']\./.test(text)) edits.set(start, { start, end, text: text.replace(/\.ts(?=["']$)/, ".js") })
  }
  return apply(code, [...edits.values()])
}
