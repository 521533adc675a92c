/**
 * Databases that an earlier version of the service kept conversations in: with leases and saved states, which nothing reads any more.
 *
 * They are refused: nobody would see the conversations again, and nobody would be told so.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"

/** An earlier version kept conversations here. */
export class EarlierVersion extends Schema.TaggedError<EarlierVersion>()("EarlierVersion", {
  place: Schema.String,
  variable: Schema.String
}) {
  override get message(): string {
    return `${this.place} holds conversations of an earlier version, which this one can't read: start with another ${this.variable}, or move them away`
  }
}

/** Fails where an earlier version kept conversations. `variable` is the one that names the place. */
export const refuse = (place: string, variable: string) =>
  Layer.effectDiscard(Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // The column that said which conversations ran.
    const columns = yield* sql.onDialectOrElse({
      pg: () =>
        sql`
          SELECT 1 FROM information_schema.columns
          WHERE table_schema = current_schema() AND table_name = 'conversations' AND column_name = 'in_flight'`,
      orElse: () => sql`SELECT 1 FROM pragma_table_info('conversations') WHERE name = 'in_flight'`
    })
    if (columns.length === 0) return
    const kept = yield* sql`SELECT id FROM conversations LIMIT 1`
    if (kept.length > 0) return yield* new EarlierVersion({ place, variable })
  }))
