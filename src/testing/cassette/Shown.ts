/**
 * Requests as lines for people to read, so that two similar requests differ in a few lines.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import type * as Schema from "effect/Schema"
import * as TextDiff from "effect/TextDiff"
import * as Asked from "./Asked.ts"
import type { Asking } from "./Entry.ts"
import type { Format, ToolOffer } from "./Offer.ts"

type Fields = { readonly [field: string]: Schema.Json }

const said = (who: string, text: string): string => `${who}: ${text.replaceAll("\n", "\n  ")}`

const json = (value: Schema.Json | undefined): string => typeof value === "string" ? value : Asked.text(value)

const partOf = (role: string, part: Fields): string => {
  if ("text" in part) return said(role, json(part["text"]))
  if ("reasoning" in part) return said(`${role} thinks`, json(part["reasoning"]))
  if ("call" in part) return `${role} calls ${json(part["call"])} as ${json(part["id"])}: ${json(part["params"])}`
  if ("of" in part) {
    const gave = part["isFailure"] === true ? "failed with" : "gave"
    const reads = part["reads"] === undefined ? "" : `, read as ${json(part["reads"])}`
    return said(role, `${json(part["of"])} ${gave} ${json(part["result"])}${reads}`)
  }
  if ("file" in part) return `${role}: file ${json(part["file"])}, ${json(part["data"])}`
  return said(role, Asked.text(part))
}

const messageOf = (message: Schema.Json): ReadonlyArray<string> =>
  Object.entries(message as Fields).flatMap(([role, content]) =>
    Array.isArray(content)
      ? content.map((part: Schema.Json) => partOf(role, part as Fields))
      : [said(role, json(content))]
  )

const pretty = (json: Schema.Json): ReadonlyArray<string> =>
  JSON.stringify(JSON.parse(Asked.text(json)), undefined, 2).split("\n")

/** A tool in lines, or no lines if the other request has the same tool. */
const toolOf = (tool: ToolOffer, others: ReadonlyArray<ToolOffer>): ReadonlyArray<string> => {
  if (others.some((other) => Equal.equals(other, tool))) return []
  const { name, ...told } = tool
  return [`tool ${name}:`, ...pretty(told).map((line) => `  ${line}`)]
}

const formatOf = (format: Format, other: Format | undefined): ReadonlyArray<string> => {
  if (format === "text") return []
  return [
    `format: object ${format.object}`,
    ...(other === undefined || Equal.equals(other, format)
      ? []
      : pretty(format.schema).map((line) => `  ${line}`))
  ]
}

/** A request in lines. Fields that `that` doesn't have are left out, and so are schemas that are the same in both. */
export const request = (self: Asked.Asked, that: Asked.Asked = self): string => {
  const { choice, format, messages = [], system, tools = [] } = self
  const lines = [
    ...(that.system === undefined || system === undefined || system === "" ? [] : [said("system", system)]),
    ...(that.messages === undefined ? [] : messages.flatMap(messageOf)),
    ...(that.tools === undefined || tools.length === 0 ? [] : [`tools: ${tools.map(({ name }) => name).join(", ")}`]),
    ...(that.tools === undefined ? [] : tools.flatMap((tool) => toolOf(tool, that.tools ?? []))),
    ...(that.choice === undefined || choice === undefined || choice === "auto" || tools.length === 0
      ? []
      : [`tool choice: ${json(choice)}`]),
    ...(that.format === undefined || format === undefined ? [] : formatOf(format, that.format))
  ]
  return lines.join("\n")
}

/** A call of a tool in lines: a line for each parameter. */
export const call = (name: string, params: Schema.Json): string => [name, ...pretty(params)].join("\n")

/** The differences between two texts, line by line. */
export const difference = (recorded: string, asked: string): string =>
  TextDiff.unified(TextDiff.lines(`${recorded}\n`, `${asked}\n`), {
    context: 2,
    fromFile: "recorded",
    toFile: "asked"
  }).trimEnd()

/** Who asks, in words. */
export const agent = ({ path }: Pick<Asking, "path">): string =>
  path.length === 1 && path[0] === "" ? "" : ` of agent "${path.join("/")}"`
