/**
 * Serves a web-standard handler with Node's own server.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"

type Handle = (request: Request) => Promise<Response>

/** Writes a response as it comes, as fast as the client reads it. */
const write = async (response: Response, to: ServerResponse): Promise<void> => {
  to.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) to.flushHeaders()
  // Waited for once: a callback for each wait would stay until the end.
  const closed = new Promise<void>((resolve) => to.once("close", resolve))
  for await (const chunk of response.body ?? []) {
    if (to.destroyed) return
    if (!to.write(chunk)) await Promise.race([new Promise<void>((resolve) => to.once("drain", resolve)), closed])
  }
  to.end()
}

/** Reads a request. Returns `undefined` if its target, host or method is invalid. */
const read = async (from: IncomingMessage, signal: AbortSignal): Promise<Request | undefined> => {
  const method = from.method ?? "GET"
  const body = method === "GET" || method === "HEAD" ? null : await buffer(from)
  const headers = Object.entries(from.headersDistinct).flatMap(([name, values]) =>
    (values ?? []).map((value): [string, string] => [name, value])
  )
  const { host = "localhost" } = from.headers
  const { url: target = "/" } = from
  try {
    return new Request(target.startsWith("/") ? `http://${host}${target}` : target, { method, headers, body, signal })
  } catch {
    return undefined
  }
}

const answer = async (handle: Handle, from: IncomingMessage, to: ServerResponse): Promise<void> => {
  const aborted = new AbortController()
  to.once("close", () => aborted.abort())
  try {
    const request = await read(from, aborted.signal)
    await write(request === undefined ? new Response("Bad Request", { status: 400 }) : await handle(request), to)
  } catch {
    // A response that breaks off breaks its connection off, which is all that a client sees of it.
    to.destroy()
  }
}

/** Listens, and gives the URL and what ends it. */
export const listen = async (
  handle: Handle,
  { host, port }: { readonly host: string; readonly port: number }
): Promise<{ readonly url: string; readonly close: () => void }> => {
  const server = createServer((from, to) => void answer(handle, from, to))
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen({ host, port }, resolve)
  })
  const { address, family, port: taken } = server.address() as AddressInfo
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://${family === "IPv6" ? `[${address}]` : address}:${taken}`, close }
}
