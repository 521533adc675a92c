/**
 * Writes the functions of a module so that V8 doesn't parse them before they are called.
 *
 * V8 only looks for the end of a `function` when it compiles a module. It parses an arrow function of a module as a whole, and once more
 * when the function is called: `ParserBase::ParseArrowFunctionLiteral` of V8 skips a body only if no scope around it has variables to
 * allocate, and a module has.
 */
import { MagicString } from "magic-string"
import { basename } from "node:path"
import { type ArrowFunctionExpression, parseSync } from "oxc-parser"

type Inside = { readonly type?: string } & { readonly [key: string]: unknown }

const isInside = (value: unknown): value is Inside => typeof value === "object" && value !== null

/** Checks whether an arrow function takes `this`, `super`, `arguments` or the like from around it: then it must stay one. */
const usesScopeAround = (value: unknown): boolean => {
  if (!isInside(value)) return false
  switch (value.type) {
    case "FunctionDeclaration":
    case "FunctionExpression":
      return false
    case "MetaProperty":
    case "Super":
    case "ThisExpression":
      return true
    case "Identifier":
      return value["name"] === "arguments"
    default:
      return Object.values(value).some(usesScopeAround)
  }
}

/** Gives the arrow functions that aren't inside of another function or a class. */
const outermost = (value: unknown): ReadonlyArray<ArrowFunctionExpression> => {
  if (!isInside(value)) return []
  switch (value.type) {
    case "ArrowFunctionExpression":
      return [value as unknown as ArrowFunctionExpression]
    case "ClassBody":
    case "FunctionDeclaration":
    case "FunctionExpression":
      return []
    default:
      return Object.values(value).flatMap(outermost)
  }
}

/** Gives a module of TypeScript whose outermost arrow functions are functions, with its source map in it. */
export const preparsed = (path: string, code: string): string => {
  const { errors, program } = parseSync(path, code)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`)
  const edited = new MagicString(code)
  for (const arrow of outermost(program)) {
    if (usesScopeAround(arrow.params) || usesScopeAround(arrow.body)) continue
    const { async, body, end, expression, params, start, typeParameters } = arrow
    const head = async ? start + "async".length : start
    const isBare = typeParameters === null && code.slice(head).trimStart()[0] !== "("
    edited.appendLeft(head, async ? " function" : "function")
    if (isBare) edited.appendLeft(params[0]!.start, "(").appendRight(params[0]!.end, ")")
    edited.update(code.lastIndexOf("=>", body!.start), body!.start, expression ? "{return " : "")
    if (expression) edited.appendLeft(end, "}")
  }
  const map = edited.generateMap({ source: basename(path), hires: "boundary" })
  return `${edited.toString()}\n//# sourceMappingURL=${map.toUrl()}`
}
