/**
 * Requests as lines for people to read, so that a difference between two is a few of them.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import * as TextDiff from "effect/TextDiff"
import * as Asked from "./Asked.ts"
import type { Asking } from "./Entry.ts"

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

/** A request in lines, as far as `known` says something about it. */
export const request = (asked: Asked.Asked, known: Asked.Asked = asked): string => {
  const { choice, format, messages = [], system, tools } = asked
  const lines = [
    ...(known.system === undefined || system === undefined || system === "" ? [] : [said("system", system)]),
    ...(known.messages === undefined ? [] : messages.flatMap(messageOf)),
    ...(known.tools === undefined || tools === undefined || tools.length === 0 ? [] : [`tools: ${tools.join(", ")}`]),
    ...(known.choice === undefined || choice === "auto" || tools?.length === 0 ? [] : [`tool choice: ${json(choice)}`]),
    ...(known.format === undefined || format === "text" ? [] : [`format: ${json(format)}`])
  ]
  return lines.join("\n")
}

/** A call of a tool in lines: a line for each parameter. */
export const call = (name: string, params: Schema.Json): string =>
  [name, ...JSON.stringify(JSON.parse(Asked.text(params)), undefined, 2).split("\n")].join("\n")

/** What is other in two texts, line by line. */
export const difference = (recorded: string, asked: string): string =>
  TextDiff.unified(TextDiff.lines(`${recorded}\n`, `${asked}\n`), {
    context: 2,
    fromFile: "recorded",
    toFile: "asked"
  }).trimEnd()

/** Who asks, in words. */
export const agent = ({ path }: Pick<Asking, "path">): string =>
  path.length === 1 && path[0] === "" ? "" : ` of agent "${path.join("/")}"`
