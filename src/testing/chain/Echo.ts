/**
 * The texts with which a step echoes its request.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"

/** The request that a step answers, as far as it can be echoed. */
export interface Echoed {
  readonly system: string
  readonly tools: ReadonlyArray<Tool.Any>
  readonly body: Schema.Json
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The system prompt. */
export const systemPrompt = ({ system }: Echoed): string => system === "" ? "No system prompt configured" : system

const noTools = "No tools available"

const noDescription = "_No description provided._"

const descriptionOf = (tool: Tool.Any): string => Tool.getDescription(tool) || noDescription

/** The names of the tools. */
export const toolNames = ({ tools }: Echoed): string => tools.map(({ name }) => name).join(", ") || noTools

/** A line for each tool, with its description. */
export const toolLines = ({ tools }: Echoed): string =>
  tools.map((tool) => `${tool.name}: ${descriptionOf(tool)}`).join("\n") || noTools

/** The description of one tool, and the JSON schema of its parameters, in Markdown. */
export const toolSchema = ({ tools }: Echoed, name: string | undefined): string => {
  if (name === undefined || name === "") return "No tool name specified"
  const tool = tools.find((tool) => tool.name === name)
  if (tool === undefined) return `Tool '${name}' not found`
  const schema = JSON.stringify(Tool.getJsonSchema(tool), undefined, 2)
  return `# ${name}\n\n## Description\n\n${descriptionOf(tool)}\n\n## Schema\n\n\`\`\`json\n${schema}\n\`\`\``
}

/** The URL. */
export const url = ({ url }: Echoed): string => url ?? "No URL"

/** A line for each header. */
export const headers = ({ headers = {} }: Echoed): string =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join("\n") || "No headers"

/** The body, or the fields of it that are named. */
export const params = ({ body }: Echoed, fields: ReadonlyArray<string> | undefined): string => {
  if (fields === undefined) return JSON.stringify(body)
  const found = fields.flatMap((field) => Predicate.hasProperty(body, field) ? [[field, body[field]] as const] : [])
  return found.length === 0 ? "No matching params" : JSON.stringify(Object.fromEntries(found))
}
