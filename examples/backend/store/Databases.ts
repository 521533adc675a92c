/**
 * The databases that conversations can be kept in: SQLite in a folder for one process, or a Postgres for any number of them.
 */
import { PgClient } from "@effect/sql-pg"
import { Duration, Layer, Redacted } from "effect"
import { connect, type Socket } from "node:net"
import * as Earlier from "./Earlier.ts"
import * as Outage from "./Outage.ts"
import * as Sqlite from "./Sqlite.ts"

/** Bytes of the largest message from Postgres, which holds a state. */
const maxMessageSize = 256 * 1024 * 1024

/** How long a Postgres may take. */
export interface Patience {
  /** To take a connection. */
  readonly connection: Duration.Duration
  /** To answer a statement. */
  readonly statement: Duration.Duration
}

/** How long an answer may be on its way, in milliseconds, beside the time that its statement may take. */
const way = 1000

/** Asks the server to end statements that take longer. What the address says itself stays. */
const optionsOf = (url: URL, { statement }: Patience): string => {
  const own = url.searchParams.get("options")
  return `${own === null ? "" : `${own} `}-c statement_timeout=${Math.max(1, Math.round(Duration.toMillis(statement)))}`
}

/** Ends a socket on which something was sent and nothing is heard: a server that lives answers, or says that it won't. */
const watch = (socket: Socket, patience: number): Socket => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const clear = (): void => {
    clearTimeout(timer)
    timer = undefined
  }
  const write = socket.write.bind(socket) as (...args: ReadonlyArray<unknown>) => boolean
  // A socket has several ways to be written to, and all of them are this one.
  socket.write = ((...args: ReadonlyArray<unknown>) => {
    timer ??= setTimeout(() => socket.destroy(new Error("The database is silent")), patience)
    return write(...args)
  }) as Socket["write"]
  return socket.on("data", clear).on("close", clear)
}

/** SQLite in a folder. Fails with `FolderInUse` while another process has the folder open. */
export const folder = (folder: string) =>
  Layer.merge(Outage.layer, Earlier.refuse(`The folder ${folder}`, "DATA")).pipe(
    Layer.provideMerge(Sqlite.layer(folder))
  )

/** The Postgres at an address. One that is silent counts as one that is away. */
export const postgres = (url: Redacted.Redacted, patience: Patience) => {
  const address = new URL(Redacted.value(url))
  const silence = Duration.toMillis(patience.statement) + way
  // One that is reached by TLS, or by a file, is left to the client's own sockets.
  const isPlain = address.hostname !== "" && !address.searchParams.has("sslmode") && !address.searchParams.has("host")
  const stream = () =>
    watch(
      connect({ host: address.hostname, port: Number(address.port || 5432), noDelay: true, keepAlive: true }),
      silence
    )
  const place = `The database ${address.pathname.slice(1)} at ${address.host}`
  return Layer.merge(Outage.layer, Earlier.refuse(place, "DATABASE_URL")).pipe(
    Layer.provideMerge(PgClient.layer({
      url,
      maxMessageSize,
      connectTimeout: patience.connection,
      startupOptions: optionsOf(address, patience),
      ...(isPlain ? { stream } : undefined)
    }))
  )
}
