/**
 * The parameters of a mode: as JSON for the state, and decoded for the set-up. Both hold what the mode's schema declares and nothing else.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as JsonValue from "../../../domain/JsonValue.ts"
import { because, ParamsRejected } from "../../../modes/ModeError.ts"
import type { ModeEntry } from "../../definition/AgentDefinition.ts"

/** Parameters of a mode: as JSON for the state, and decoded for the set-up. */
export interface ModeParams {
  readonly json: Schema.Json
  readonly decoded: unknown
}

/** Reads parameters by one direction of a mode's schema. Fails with `ParamsRejected` if they don't fit. */
const read = (
  { mode }: ModeEntry,
  self: Effect.Effect<unknown, Schema.SchemaError, unknown>
): Effect.Effect<unknown, unknown, unknown> =>
  Effect.mapErrorEager(self, ({ message: issue }) => because(new ParamsRejected({ mode: mode.name, issue })))

/** Reads parameters from JSON. The state keeps what the schema makes of them, so that nothing else that the JSON holds gets into it. */
export const decode = (entry: ModeEntry, params: unknown): Effect.Effect<ModeParams, unknown, unknown> =>
  Effect.flatMapEager(
    read(entry, entry.decode(JsonValue.fromUnknown(params))),
    (decoded) =>
      Effect.mapEager(read(entry, entry.encode(decoded)), (json) => ({ json: JsonValue.frozen(json), decoded }))
  )

/** Reads parameters from values of the mode's own types. The state has a copy of its own. */
export const encode = (entry: ModeEntry, params: unknown): Effect.Effect<ModeParams, unknown, unknown> =>
  Effect.flatMapEager(
    read(entry, entry.encode(params)),
    (json) =>
      Effect.mapEager(
        read(entry, entry.decode(JsonValue.fromUnknown(json))),
        (decoded) => ({ json: JsonValue.frozen(json), decoded })
      )
  )
