/**
 * A `KeyValueStore` in an SQL table that compares and sets: `modify` is one transaction.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as SqlClient from "effect/sql/SqlClient"
import * as IfAbsent from "./IfAbsent.ts"

const make = Effect.fnUntraced(function*(name: string) {
  const sql = (yield* SqlClient.SqlClient).withoutTransforms()
  const values = yield* KeyValueStore.KeyValueStore
  const table = sql(name)

  const insert = sql.onDialectOrElse({
    mysql: () => (id: string, value: Uint8Array) =>
      sql`INSERT IGNORE INTO ${table} (id, value, value_type) VALUES (${id}, ${value}, 0)`,
    mssql: () => (id: string, value: Uint8Array) =>
      sql`
        INSERT INTO ${table} (id, value, value_type) SELECT ${id}, ${value}, 0
        WHERE NOT EXISTS (SELECT 1 FROM ${table} WITH (UPDLOCK, HOLDLOCK) WHERE id = ${id})`,
    orElse: () => (id: string, value: Uint8Array) =>
      sql`
        INSERT INTO ${table} (id, value, value_type) VALUES (${id}, ${value}, 0)
        ON CONFLICT (id) DO NOTHING`.unprepared
  })

  /** Locks a row until the transaction ends: in every dialect an update locks it, even if it changes nothing. It must precede the read. */
  const lock = (id: string) => sql`UPDATE ${table} SET value_type = value_type WHERE id = ${id}`

  const modify: KeyValueStore.KeyValueStore["modify"] = (key, f) =>
    Effect.gen(function*() {
      const value = IfAbsent.valueOf(f)
      if (value === undefined) yield* lock(key)
      else yield* insert(key, new TextEncoder().encode(value))
      const found = yield* values.get(key)
      if (found === undefined) return undefined
      const next = f(found)
      if (next !== found) yield* values.set(key, next)
      return next
    }).pipe(
      sql.withTransaction,
      Effect.mapError((cause) =>
        cause._tag === "KeyValueStoreError" ? cause : new KeyValueStore.KeyValueStoreError({
          method: "modify",
          key,
          message: `Unable to modify item with key ${key}`,
          cause
        })
      )
    )
  return { ...values, modify } satisfies KeyValueStore.KeyValueStore
})

/** Keeps values in a table, which is created if it doesn't exist. */
export const layer = (
  options: KeyValueStore.LayerSqlOptions = {}
): Layer.Layer<KeyValueStore.KeyValueStore, never, SqlClient.SqlClient> =>
  Layer.effect(KeyValueStore.KeyValueStore, make(options.table ?? "effect_key_value_store")).pipe(
    Layer.provide(KeyValueStore.layerSql(options))
  )
