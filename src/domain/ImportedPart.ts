/**
 * The parts of a foreign prompt as parts of a conversation. What isn't JSON in them is reported.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import type * as Schema from "effect/Schema"
import * as ForeignValue from "./ForeignValue.ts"
import type { LocatedPart } from "./Pairing.ts"
import type * as Part from "./Part.ts"
import * as PartCopy from "./PartCopy.ts"
import type { Report, ValueMadeJson } from "./Repair.ts"
import type { Settled } from "./StateSchema.ts"

type ValuePlace = Pick<ValueMadeJson, "message" | "id" | "field">

/** Returns a value as JSON; `missing` replaces `undefined`. */
export const jsonOf = (value: unknown, place: ValuePlace, report: Report, missing: Schema.Json = null): Schema.Json => {
  const { changes: [first, ...rest], json } = ForeignValue.toJson(value)
  if (first !== undefined) report({ _tag: "ValueMadeJson", ...place, changes: [first, ...rest] })
  return value === undefined ? missing : json
}

/** Returns the options of a part, if it has any. */
export const metadataOf = (
  options: Prompt.ProviderOptions | undefined,
  place: Omit<ValuePlace, "field">,
  report: Report
): { readonly metadata?: Part.Metadata } => {
  const entries = Object.entries(options ?? {})
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
): Extract<Part.Text | Part.Reasoning, { readonly _tag: Tag }> =>
  PartCopy.from(
    `A part of message ${message}`,
    // The compiler doesn't know which of the two a tag means.
    { _tag, text, ...metadataOf(options, { message }, report) } as Extract<
      Part.Text | Part.Reasoning,
      { readonly _tag: Tag }
    >
  )

export const fileOf = ({ data, fileName, mediaType, options }: Prompt.FilePart, message: number, report: Report) =>
  PartCopy.from<Part.File>(`A part of message ${message}`, {
    _tag: "File",
    mediaType,
    data,
    ...(fileName === undefined ? undefined : { fileName }),
    ...metadataOf(options, { message }, report)
  })

/** Returns the content of a result, without the call that it belongs to. */
export const resultOf = (
  { message, part }: LocatedPart<Prompt.ToolResultPart>,
  id: string,
  report: Report
): Pick<Settled, "result" | "modelOutput" | "metadata"> => ({
  result: jsonOf(part.result, { message, id, field: "result" }, report),
  ...(part.modelOutput === undefined ? undefined : {
    modelOutput: PartCopy.fromOutput(`a result in message ${message}`, part.modelOutput).map((output) => ({
      ...output,
      options: metadataOf(output.options, { message, id }, report).metadata ?? {}
    }))
  }),
  ...metadataOf(part.options, { message, id }, report)
})
