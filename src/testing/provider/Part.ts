/**
 * Parts of a response as every protocol looks at them.
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"

/** A part of a response, at once or of a stream. */
export type Part = Response.PartEncoded | Response.StreamPartEncoded

/** What providers attach to a part. */
export type Metadata = Part["metadata"]

/** A source, which the text before it cites. */
export type Source = Response.UrlSourcePartEncoded | Response.DocumentSourcePartEncoded

/** Whether a part is a source. */
export const isSource = (part: Part | undefined): part is Source => part?.type === "source"

/** How a response finishes, if it does. */
export const finishOf = (parts: ReadonlyArray<Part>): Response.FinishPartEncoded | undefined =>
  parts.findLast((part) => part.type === "finish")
