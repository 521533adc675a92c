/**
 * What ends before anything of the service hears of it: a request that isn't HTTP, has too large a head, or arrives too slowly. Node would
 * send a status alone.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { common, documentOf } from "./problems.ts"

/** Statuses by Node's codes of what went wrong. */
const statuses: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431
}

const responseOf = (status: number): string => {
  const { body, contentType } = documentOf(status)
  const headers = {
    connection: "close",
    "content-type": contentType,
    "content-length": Buffer.byteLength(body),
    ...common
  }
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "",
    body
  ].join("\r\n")
}

/** Lets a server answer such requests with problem documents. */
export const answer = (server: Server): Server => {
  /** The responses of a connection that aren't at their end. */
  const responses = new WeakMap<Duplex, Set<ServerResponse>>()
  return server
    .on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
      const open = responses.get(socket) ?? new Set()
      responses.set(socket, open.add(response))
      response.once("close", () => open.delete(response))
    })
    .on("clientError", (error: Error & { readonly code?: string }, socket) => {
      // Nothing may come into the middle of a response.
      const isBegun = [...responses.get(socket) ?? []].some(({ headersSent }) => headersSent)
      if (socket.writable && !isBegun) socket.write(responseOf(statuses[error.code ?? ""] ?? 400))
      socket.destroy(error)
    })
}
