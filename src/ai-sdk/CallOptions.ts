/**
 * The options of a provider's call, from a request of `effect/ai`.
 *
 * @since 0.1.0
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ProviderTool
} from "@ai-sdk/provider"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import * as SchemaAST from "effect/SchemaAST"
import type { Span } from "effect/Tracer"
import type { Sent } from "./CallPrompt.ts"
import { copy, freeze } from "./Frozen.ts"
import type { Settings } from "./Settings.ts"
import { schemaOf } from "./StrictTool.ts"

const argsOf = (tool: Tool.AnyProviderDefined): Record<string, unknown> => {
  // `effect/ai` types the arguments of any tool as `any`.
  const { failureMode: _, ...args } = { ...tool.args as Readonly<Record<string, unknown>> | undefined }
  return args
}

type ProviderTool = LanguageModelV4FunctionTool | LanguageModelV4ProviderTool

const toTool = (tool: Tool.Any, transformer: LanguageModel.CodecTransformer): ProviderTool => {
  if (Tool.isProviderDefined(tool)) return { type: "provider", id: tool.id, name: tool.name, args: copy(argsOf(tool)) }
  const description = Tool.getDescription(tool)
  const strict = Tool.getStrictMode(tool)
  return {
    type: "function",
    name: tool.name,
    inputSchema: copy(schemaOf(tool, transformer)),
    ...(description === undefined ? undefined : { description }),
    ...(strict === undefined ? undefined : { strict })
  }
}

/** Tools in the provider's form, by codec transformer: the schema of a tool is made once. */
const given = new WeakMap<LanguageModel.CodecTransformer, WeakMap<Tool.Any, ProviderTool>>()

const toTools = (tools: ReadonlyArray<Tool.Any>, transformer: LanguageModel.CodecTransformer): Array<ProviderTool> => {
  let made = given.get(transformer)
  if (made === undefined) given.set(transformer, made = new WeakMap())
  return tools.map((tool) => {
    const known = made.get(tool)
    if (known !== undefined) return known
    const form = freeze(toTool(tool, transformer))
    made.set(tool, form)
    return form
  })
}

/** Returns the tool choice. If only some tools may be called, only those are offered. */
const toChoice = (
  choice: LanguageModel.ToolChoice<string>
): NonNullable<LanguageModelV4CallOptions["toolChoice"]> =>
  typeof choice === "string"
    ? { type: choice }
    : "tool" in choice
    ? { type: "tool", toolName: choice.tool }
    : { type: choice.mode ?? "auto" }

/** Returns the response format of structured output. Throws if the schema has no form for the provider. */
const toFormat = (
  format: Extract<LanguageModel.ProviderOptions["responseFormat"], { readonly type: "json" }>,
  transformer: LanguageModel.CodecTransformer
): NonNullable<LanguageModelV4CallOptions["responseFormat"]> => {
  const description = SchemaAST.resolveDescription(format.schema.ast)
  return {
    type: "json",
    name: format.objectName,
    schema: transformer(format.schema).jsonSchema,
    ...(description === undefined ? undefined : { description })
  }
}

/** A request, of `effect/ai` or of a loop. */
export type Asking = Omit<LanguageModel.ProviderOptions, "span"> & Sent & { readonly span: Span | undefined }

/** Returns the names of the tools that may take a text instead of an object: those that providers define. */
export const textToolsOf = ({ tools }: Asking): ReadonlyArray<string> =>
  tools.some(Tool.isProviderDefined) ? tools.filter(Tool.isProviderDefined).map(({ name }) => name) : []

/** The options of a call without its prompt and its abort signal. */
export type Options = Omit<LanguageModelV4CallOptions, "prompt">

/** Returns the options of a call. Throws if a schema has no form for the provider. */
export const toCallOptions = (
  request: Asking,
  { headers, providerOptions, stopSequences, ...settings }: Omit<Settings, "timeouts">,
  transformer: LanguageModel.CodecTransformer
): Options => {
  const { responseFormat, toolChoice, tools } = request
  return {
    ...settings,
    ...(tools.length === 0
      ? undefined
      : { tools: toTools(tools, transformer), toolChoice: toChoice(toolChoice) }),
    ...(responseFormat.type === "text" ? undefined : { responseFormat: toFormat(responseFormat, transformer) }),
    ...(stopSequences === undefined ? undefined : { stopSequences: [...stopSequences] }),
    ...(headers === undefined ? undefined : { headers: { ...headers } }),
    ...(providerOptions === undefined ? undefined : { providerOptions: copy(providerOptions) })
  }
}
