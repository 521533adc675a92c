/**
 * Schemas read once: decoding or encoding as a function, run at once if it can be.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { lazy } from "../../domain/Lazy.ts"

/** Decodes or encodes a value, by a schema that was compiled once. */
export type Codec = (u: unknown) => Effect.Effect<unknown, Schema.SchemaError, unknown>

/** The result of decoding or encoding. */
export type CodecExit = Exit.Exit<unknown, Schema.SchemaError>

/** Runs a codec at once if it can be, which is when its schema needs neither services nor time. */
export const run = (codec: Codec, u: unknown): CodecExit | Effect.Effect<CodecExit, never, unknown> => {
  const effect = codec(u)
  // Codecs fail with `SchemaError` alone.
  return Exit.isExit(effect) ? effect as CodecExit : Effect.exit(effect)
}

/**
 * Makes the decoder of a tool's parameters. They are JSON, whatever their schema holds: a date is a text.
 *
 * A tool described by JSON schema alone takes them as they are.
 */
export const paramsDecoder = (tool: Tool.Any): Codec =>
  Tool.isDynamic(tool) && tool.jsonSchema !== undefined
    ? Effect.succeed
    : Schema.decodeUnknownEffect(Schema.toCodecJson(tool.parametersSchema))

/** Makes the encoder of a tool's results as JSON. If the schema accepts anything, a result is encoded as `JSON.stringify` does. */
export const resultEncoder = (schema: Schema.Constraint): Codec => {
  if (!SchemaAST.isUnknown(schema.ast) && !SchemaAST.isAny(schema.ast)) {
    return Schema.encodeUnknownEffect(Schema.toCodecJson(schema))
  }
  const encode = Schema.encodeUnknownEffect(Schema.Json)
  return (u) => encode(throughJson(u))
}

/** Makes the decoder of a tool's results, which are JSON. It is compiled when a result first comes from outside. */
export const resultDecoder = (schema: Schema.Constraint): Codec => {
  const decode = lazy((): Codec =>
    SchemaAST.isUnknown(schema.ast) || SchemaAST.isAny(schema.ast)
      ? Effect.succeed
      : Schema.decodeUnknownEffect(Schema.toCodecJson(schema))
  )
  return (u) => decode()(u)
}

/** Returns what a suspended schema stands for. If that schema doesn't exist yet, throws what the function throws. */
export const entered = (ast: SchemaAST.AST): SchemaAST.AST => SchemaAST.isSuspend(ast) ? entered(ast.thunk()) : ast

const enteredIfThere = (ast: SchemaAST.Suspend): ReadonlyArray<readonly [string, SchemaAST.AST]> => {
  try {
    return [["", entered(ast)]]
  } catch {
    return []
  }
}

/** Returns the parts of a schema with their names. A suspended schema that doesn't exist yet has none. */
const partsOf = (ast: SchemaAST.AST): ReadonlyArray<readonly [string, SchemaAST.AST]> =>
  SchemaAST.isObjects(ast)
    ? [
      ...ast.propertySignatures.map(({ name, type }) => [`.${String(name)}`, type] as const),
      ...ast.indexSignatures.map(({ type }) => [".*", type] as const)
    ]
    : SchemaAST.isArrays(ast)
    ? [...ast.elements, ...ast.rest].map((item) => ["[]", item] as const)
    : SchemaAST.isUnion(ast)
    ? ast.types.map((type) => ["", type] as const)
    : SchemaAST.isSuspend(ast)
    ? enteredIfThere(ast)
    : []

/** Finds a part of a schema whose values have no JSON: a class, a function, or anything declared without a JSON codec. */
const findForeign = (ast: SchemaAST.AST, seen: Set<SchemaAST.AST> = new Set()): string | undefined => {
  if (seen.has(ast)) return undefined
  seen.add(ast)
  if (SchemaAST.isDeclaration(ast)) {
    const { toCodec, toCodecJson } = { ...ast.annotations } as {
      readonly toCodec?: unknown
      readonly toCodecJson?: unknown
    }
    return toCodec === undefined && toCodecJson === undefined ? "" : undefined
  }
  for (const [name, part] of partsOf(ast)) {
    const found = findForeign(part, seen)
    if (found !== undefined) return name + found
  }
  return undefined
}

/** Finds a part of a tool's parameters that no model could write, because it isn't JSON. */
export const foreignParam = ({ parametersSchema }: Tool.Any): string | undefined =>
  Schema.isSchema(parametersSchema) ? findForeign(SchemaAST.toEncoded(parametersSchema.ast)) : undefined

/** A value without any JSON, such as a circular one, stays as it is, so that encoding it reports that. */
const throughJson = (u: unknown): unknown => {
  try {
    return JSON.parse(JSON.stringify(u) ?? "null")
  } catch {
    return u
  }
}

/**
 * Checks whether two tools of one name may share a handler: they are the same tool, or one was made from the other by a policy or an
 * annotation. A tool doesn't say what it was made from, so descriptions and schemas are compared, or the provider's own names.
 */
export const isSame = (self: Tool.Any, that: Tool.Any): boolean =>
  self === that || (isAlike(self, that) && (Tool.isProviderDefined(self) ||
    (self.description !== undefined && self.description === that.description &&
      jsonSchemaOf(self) === jsonSchemaOf(that))))

const jsonSchemaOf = (tool: Tool.Any): unknown => Tool.isDynamic(tool) ? tool.jsonSchema : undefined

/** Checks whether two tools are decoded and encoded by the same schemas. */
export const isAlike = (self: Tool.Any, that: Tool.Any): boolean =>
  self.parametersSchema === that.parametersSchema && self.successSchema === that.successSchema &&
  self.failureSchema === that.failureSchema
