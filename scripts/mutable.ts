/**
 * Finds what can change after the call that made it is over, in the source of a module.
 *
 * 1. A field of a class, an interface or a type that isn't `readonly`, or that holds something mutable: an array, a map, a ref, a scope.
 * 2. A variable, or a collection in a constant, that a function inside changes. A callback of an array's method is no such function, as it
 *    is over when the method is.
 * 3. In a module itself: a variable, a collection, a slot of each loop, and a cache that `memoize` or `lazy` makes.
 */
import { type Node, parseSync } from "oxc-parser"

const mutableTypes = /^(Array|Map|Set|WeakMap|WeakSet|Closeable|Ref|Semaphore|SubscriptionRef)$/
const atOnce = /^(every|filter|find|findIndex|findLast|flatMap|forEach|map|reduce|some|sort)$/
const changing = /^(add|clear|delete|pop|push|set|shift|sort|splice|unshift)$/

type Any = Node & { readonly [key: string]: unknown }

/** A place where variables stand: the module, or a function. */
interface Scope {
  readonly around: Scope | undefined
  readonly variables: Map<string, string>
}

const isNode = (value: unknown): value is Any => typeof value === "object" && value !== null && "type" in value

/** Checks whether a type is that of something mutable. An `Array<never>` has no room for anything. */
const isMutableType = (type: unknown): boolean => {
  if (!isNode(type)) return false
  if (type.type === "TSUnionType") return type.types.some(isMutableType)
  if (type.type === "TSArrayType") return true
  if (type.type !== "TSTypeReference") return false
  const { typeArguments, typeName } = type
  const name = typeName.type === "TSQualifiedName"
    ? typeName.right.name
    : typeName.type === "Identifier" && typeName.name
  return name !== false && mutableTypes.test(name) && typeArguments?.params[0]?.type !== "TSNeverKeyword"
}

const isCollection = (value: unknown): boolean =>
  isNode(value) && (
    (value.type === "NewExpression" && value.callee.type === "Identifier" && mutableTypes.test(value.callee.name)) ||
    (value.type === "ArrayExpression" && value.elements.length === 0)
  )

const annotationOf = (node: unknown): unknown =>
  isNode(node) && isNode(node["typeAnnotation"]) ? node["typeAnnotation"]["typeAnnotation"] : undefined

const nameOf = (node: unknown): string | undefined =>
  isNode(node) && (node.type === "Identifier" || node.type === "PrivateIdentifier") ? node.name : undefined

const isFunction = ({ type }: Node): boolean =>
  type === "ArrowFunctionExpression" || type === "FunctionExpression" || type === "FunctionDeclaration"

/** Checks whether a call lets an array's method call functions, which are over when it is. */
const callsAtOnce = (node: Any): boolean =>
  node.type === "CallExpression" && node.callee.type === "MemberExpression" &&
  !/^[A-Z]/.test(nameOf(node.callee.object) ?? "") && atOnce.test(nameOf(node.callee.property) ?? "")

/** The variable that a node changes, if it does. */
const changed = (node: Any): string | undefined => {
  switch (node.type) {
    case "AssignmentExpression":
      return nameOf(node.left)
    case "UpdateExpression":
      return nameOf(node.argument)
    case "CallExpression":
      return node.callee.type === "MemberExpression" && changing.test(nameOf(node.callee.property) ?? "")
        ? nameOf(node.callee.object)
        : undefined
    default:
      return undefined
  }
}

/** Checks whether a value of a module is mutable, or a cache. */
const isOfModule = (kind: string, id: Node, init: unknown): boolean => {
  if (kind === "let") return true
  const annotation = annotationOf(id)
  if (annotation === undefined ? isCollection(init) : isMutableType(annotation)) return true
  return isNode(init) && (init.type === "NewExpression" || init.type === "CallExpression") &&
    /^(Slot|memoize|lazy)$/.test(
      nameOf(init.callee) ?? (init.callee.type === "MemberExpression" ? nameOf(init.callee.property) ?? "" : "")
    )
}

/** Gives the names of what is mutable in a module: `Class.field`, `function.variable`, or the name of a constant of the module. */
export const mutables = (source: string): ReadonlyArray<string> => {
  const { program } = parseSync("module.ts", source)
  const found = new Set<string>()
  const field = (owner: string, node: Any): void => {
    const name = nameOf(node["key"])
    const isMutable = node["readonly"] !== true || isCollection(node["value"]) || isMutableType(annotationOf(node))
    if (name !== undefined && isMutable) found.add(`${owner}.${name}`)
  }
  const signature = (owner: string, node: Node): void => {
    if (node.type === "TSPropertySignature") field(owner, node as Any)
  }
  const declare = (owner: string, scope: Scope, node: Any): void => {
    if (node.type !== "VariableDeclaration") return
    for (const { id, init } of node.declarations) {
      const name = nameOf(id)
      if (name === undefined) continue
      if (scope.around === undefined) {
        if (isOfModule(node.kind, id, init)) found.add(name)
      } else if (node.kind === "let" || isCollection(init)) scope.variables.set(name, `${owner}.${name}`)
      else scope.variables.delete(name)
    }
  }
  const change = (scope: Scope, name: string): void => {
    for (let at: Scope | undefined = scope; at !== undefined; at = at.around) {
      const variable = at.variables.get(name)
      if (variable === undefined) continue
      if (at !== scope) found.add(variable)
      return
    }
  }
  const visit = (node: unknown, owner: string, scope: Scope, isAtOnce = false): void => {
    if (Array.isArray(node)) return node.forEach((each) => visit(each, owner, scope, isAtOnce))
    if (!isNode(node)) return
    declare(owner, scope, node)
    const name = changed(node)
    if (name !== undefined) change(scope, name)
    if (node.type === "PropertyDefinition") field(owner, node)
    if (node.type === "TSInterfaceDeclaration") { for (const each of node.body.body) signature(node.id.name, each) }
    if (node.type === "TSTypeAliasDeclaration" && node.typeAnnotation.type === "TSTypeLiteral") {
      for (const each of node.typeAnnotation.members) signature(node.id.name, each)
    }
    const isOwner = /^(Class|TSInterface|TSTypeAlias)Declaration$/.test(node.type) ||
      (scope.around === undefined && (node.type === "VariableDeclarator" || node.type === "FunctionDeclaration"))
    const inner = isOwner ? nameOf(node["id"]) ?? owner : owner
    const within = isFunction(node) && !isAtOnce ? { around: scope, variables: new Map<string, string>() } : scope
    const runsAtOnce = callsAtOnce(node)
    for (const [key, value] of Object.entries(node)) visit(value, inner, within, runsAtOnce && key === "arguments")
  }
  visit(program.body, "", { around: undefined, variables: new Map() })
  return [...found]
}
