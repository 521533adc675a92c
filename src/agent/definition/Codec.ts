/**
 * Schemas read once: decoding or encoding as a function, run at once where it can be.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"

/** Decodes or encodes something, by a schema that was read once. */
export type Codec = (u: unknown) => Effect.Effect<unknown, Schema.SchemaError, unknown>

/** What came of decoding or encoding. */
export type CodecExit = Exit.Exit<unknown, Schema.SchemaError>

/** Runs a codec at once where it can, which is when its schema needs neither services nor time. */
export const run = (codec: Codec, u: unknown): CodecExit | Effect.Effect<CodecExit, never, unknown> => {
  const effect = codec(u)
  return Exit.isExit(effect) ? effect as CodecExit : Effect.exit(effect)
}
