/**
 * The page that is served at `/`: a document, a style and a script, which is made of TypeScript when the service starts.
 *
 * Nothing comes from another host, and nothing of the page can send or load anything from elsewhere: its content security
 * policy says so, and that no text becomes HTML.
 */
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { buildSync } from "esbuild"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

const headers = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cache-control": "no-cache"
}

/** A browser may keep it, and asks each time whether it is still that. */
const respond = (body: string, contentType: string) => {
  const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`
  const fresh = HttpServerResponse.text(body, { contentType, headers: { ...headers, etag } })
  const unchanged = HttpServerResponse.empty({ status: 304, headers: { ...headers, etag } })
  return Effect.map(
    HttpServerRequest.HttpServerRequest,
    (request) => request.headers["if-none-match"] === etag ? unchanged : fresh
  )
}

const read = (file: string): string => readFileSync(join(import.meta.dirname, file), "utf8")

const script = (): string => {
  const { outputFiles } = buildSync({
    entryPoints: [join(import.meta.dirname, "main.ts")],
    bundle: true,
    format: "esm",
    target: "es2023",
    write: false
  })
  return outputFiles.map(({ text }) => text).join("")
}

export const layer = HttpRouter.use((router) =>
  Effect.gen(function*() {
    yield* router.add("GET", "/", respond(read("index.html"), "text/html; charset=utf-8"))
    yield* router.add("GET", "/page.css", respond(read("page.css"), "text/css; charset=utf-8"))
    yield* router.add("GET", "/page.js", respond(script(), "text/javascript; charset=utf-8"))
  })
)
