/**
 * Parts of somebody else's prompt as parts of ours, reporting what isn't JSON in them.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import type * as Schema from "effect/Schema"
import * as ForeignValue from "./ForeignValue.ts"
import type { Found } from "./Pairing.ts"
import type * as Part from "./Part.ts"
import { dataOf, fromOutput } from "./PartCopy.ts"
import type { Report, ValueMadeJson } from "./Repair.ts"
import type { Settled } from "./StateSchema.ts"

type Place = Pick<ValueMadeJson, "message" | "id" | "field">

/** Gives a value as JSON; `missing` stands for `undefined`. */
export const jsonOf = (value: unknown, place: Place, report: Report, missing: Schema.Json = null): Schema.Json => {
  const { changes: [first, ...rest], json } = ForeignValue.toJson(value)
  if (first !== undefined) report({ _tag: "ValueMadeJson", ...place, changes: [first, ...rest] })
  return value === undefined ? missing : json
}

/** Gives the options of a part, where it has any. */
export const metadataOf = (
  options: Prompt.ProviderOptions,
  place: Omit<Place, "field">,
  report: Report
): { readonly metadata?: Part.Metadata } => {
  const entries = Object.entries(options)
  return entries.length === 0 ? {} : {
    metadata: Object.fromEntries(
      entries.map(([provider, value]) => [provider, jsonOf(value, { ...place, field: "metadata" }, report)])
    )
  }
}

export const spokenOf = <Tag extends "Text" | "Reasoning">(
  _tag: Tag,
  { options, text }: Prompt.TextPart | Prompt.ReasoningPart,
  message: number,
  report: Report
) => ({ _tag, text, ...metadataOf(options, { message }, report) })

export const fileOf = (part: Prompt.FilePart, message: number, report: Report): Part.File => ({
  _tag: "File",
  mediaType: part.mediaType,
  data: dataOf(part.data),
  ...(part.fileName === undefined ? undefined : { fileName: part.fileName }),
  ...metadataOf(part.options, { message }, report)
})

/** Gives what a result says, apart from the call that it belongs to. */
export const resultOf = (
  { message, part }: Found<Prompt.ToolResultPart>,
  id: string,
  report: Report
): Pick<Settled, "result" | "modelOutput" | "metadata"> => ({
  result: jsonOf(part.result, { message, id, field: "result" }, report),
  ...(part.modelOutput === undefined ? undefined : {
    modelOutput: fromOutput(part.modelOutput).map((output) => ({
      ...output,
      options: metadataOf(output.options, { message, id }, report).metadata ?? {}
    }))
  }),
  ...metadataOf(part.options, { message, id }, report)
})
