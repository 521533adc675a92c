/**
 * The pieces that turns are made of: text, reasoning, files and sources, each with what its provider attached to it.
 *
 * A part's `metadata` is the provider's own (a reasoning signature, a cache hint). It stays with its part, in JSON and in the prompt, and
 * nothing reads it on the way.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import * as Schema from "effect/Schema"
import * as Fits from "./Fits.ts"
import { withJson } from "./PartFields.ts"

/**
 * What a provider attached to a part, by the provider's name.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Metadata = Schema.Record(Schema.String, Schema.NullOr(Schema.Json))

/**
 * What a provider attached to a part, by the provider's name, such as a signature of reasoning. It is sent back with its part.
 *
 * @category models
 * @since 0.1.0
 */
export type Metadata = typeof Metadata.Type

/** Fields of text, the user's or the model's. */
const textFields = { text: Schema.String, metadata: Schema.optionalKey(Metadata) }

/** Fields of a file: its data is text (base64 or a data URL), bytes, or a URL. */
const fileFields = {
  mediaType: Schema.String,
  fileName: Schema.optionalKey(Schema.String),
  data: Prompt.FilePart.fields.data,
  metadata: Schema.optionalKey(Metadata)
}

/** Fields of a source that the model cited: at a URL, or in a document. */
const sourceFields = {
  id: Schema.String,
  title: Schema.String,
  url: Schema.optionalKey(Schema.String),
  mediaType: Schema.optionalKey(Schema.String),
  fileName: Schema.optionalKey(Schema.String),
  metadata: Schema.optionalKey(Metadata)
}

/**
 * Schema for text, the user's or the model's.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Text = Schema.TaggedStruct("Text", textFields)

/** Text, the user's or the model's. */
export interface Text extends Schema.Schema.Type<typeof Text> {}

/**
 * Schema for what the model thought before it answered.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Reasoning = Schema.TaggedStruct("Reasoning", textFields)

/** What the model thought before it answered. */
export interface Reasoning extends Schema.Schema.Type<typeof Reasoning> {}

/**
 * Schema for a file: text (base64 or a data URL), bytes, or a URL.
 *
 * @category schemas
 * @since 0.1.0
 */
export const File = Schema.TaggedStruct("File", fileFields)

/** A file: text (base64 or a data URL), bytes, or a URL. */
export interface File extends Schema.Schema.Type<typeof File> {}

/**
 * Schema for a source that the model cited, at a URL or in a document.
 *
 * A source is kept and shown; prompts have no place for one, so it isn't sent back.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Source = Schema.TaggedStruct("Source", sourceFields)

/** A source that the model cited, at a `url`, or in a document with a `mediaType`. It is kept and shown, but not sent back. */
export interface Source extends Schema.Schema.Type<typeof Source> {}

/**
 * Schema for what a user's turn is made of.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UserPart = Schema.Union([Text, File])

/**
 * What a user's turn is made of.
 *
 * @category models
 * @since 0.1.0
 */
export type UserPart = Text | File

const checkText = Fits.check(() => Text)
const checkFile = Fits.check(() => File)

/**
 * Makes text. Throws a `TypeError` if the text or its metadata has a wrong type.
 *
 * @category constructors
 * @since 0.1.0
 */
export const text = (text: string, metadata?: Metadata): Text =>
  metadata === undefined && typeof text === "string"
    ? { _tag: "Text", text }
    : checkText("A text", withJson({ _tag: "Text", text, metadata }))

/**
 * Makes a file from its media type, such as `image/png`, and its data: text (base64 or a data URL), bytes, or a URL. It has no name unless
 * `fileName` is given. Throws a `TypeError` if any of these has a wrong type.
 *
 * @category constructors
 * @since 0.1.0
 */
export const file = (
  mediaType: string,
  data: string | Uint8Array | URL,
  options?: { readonly fileName?: string | undefined; readonly metadata?: Metadata | undefined }
): File => checkFile("A file", withJson({ _tag: "File", mediaType, data, ...options }))
