/**
 * Warnings in the log: of a provider's package, and of Troupe about an answer or a request.
 *
 * A package may quote the conversation in the words of a warning. So they are logged only if content is recorded; what is always logged
 * are the names of request settings and features, and of kinds of parts.
 *
 * @since 0.1.0
 */
import type { SharedV4Warning } from "@ai-sdk/provider"
import * as Effect from "effect/Effect"
import { RecordContent } from "../model/RecordContent.ts"
import type { AnyModel } from "./AnyModel.ts"

/** Request settings and kinds of parts that a warning without a field for them may name. */
const known = new RegExp(
  `\\b(${
    [
      "system|reasoning|text|image|audio|video|file|source|custom|tool",
      "maxOutputTokens|temperature|stopSequences|topP|topK|presencePenalty|frequencyPenalty|seed|responseFormat",
      "toolChoice|headers|providerOptions|logitBias|logprobs|topLogprobs|serviceTier|store"
    ].join("|")
  })s?\\b`,
  "gi"
)

/** Returns the known names in a text, up to where it may quote JSON. */
const namesIn = (text: string): string => {
  const names = (String(text).split(/[[{]/)[0] ?? "").matchAll(known)
  return [...new Set(Array.from(names, ([, name]) => name))].join(", ")
}

const ofDetails = (details: string | undefined): string => details === undefined ? "" : ` (${details})`

/** Returns a warning as one line, with all of its words. */
const wholeText = (warning: SharedV4Warning): string => {
  switch (warning.type) {
    case "unsupported":
    case "compatibility":
      return `${warning.type}: ${warning.feature}${ofDetails(warning.details)}`
    case "deprecated":
      return `deprecated: ${warning.setting} (${warning.message})`
    case "other":
      return warning.message
  }
}

/** Returns a warning as one line that quotes nothing. */
const bareText = (warning: SharedV4Warning): string => {
  switch (warning.type) {
    case "unsupported":
    case "compatibility":
      return `${warning.type}: ${warning.feature}`
    case "deprecated":
      return `deprecated: ${warning.setting}`
    case "other": {
      const names = namesIn(warning.message)
      return names === "" ? "other" : `other: ${names}`
    }
  }
}

/** Logs a warning in Troupe's own words. */
export const say = ({ modelId, provider }: AnyModel, text: string): Effect.Effect<void> =>
  Effect.logWarning(`${provider} ${modelId}: ${text}`)

/** Logs a provider's warnings. Throws at once if they aren't of the form that the interface prescribes. */
export const tell = (model: AnyModel, warnings: ReadonlyArray<SharedV4Warning>): Effect.Effect<void> => {
  if (warnings.length === 0) return Effect.void
  const [bare, whole] = [warnings.map(bareText).join("; "), warnings.map(wholeText).join("; ")]
  const shown = bare === whole ? whole : `${bare}; Agent.RecordContent logs all words`
  return Effect.flatMap(RecordContent, (recordsContent) => say(model, recordsContent ? whole : shown))
}
