/**
 * The page that is served at `/`: a document, a style and a script, which is made of TypeScript when it is first asked for.
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

/** Made once in a process. A browser may keep it, and asks each time whether it is still that. */
const file = (make: () => string, contentType: string) => {
  let made: { readonly body: string; readonly etag: string } | undefined
  return Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
    if (made === undefined) {
      const body = make()
      made = { body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"` }
    }
    const { body, etag } = made
    return request.headers["if-none-match"] === etag
      ? HttpServerResponse.empty({ status: 304, headers: { ...headers, etag } })
      : HttpServerResponse.text(body, { contentType, headers: { ...headers, etag } })
  })
}

const index = file(() => read("index.html"), "text/html; charset=utf-8")
const style = file(() => read("page.css"), "text/css; charset=utf-8")
const program = file(script, "text/javascript; charset=utf-8")

export const layer = HttpRouter.use((router) =>
  Effect.gen(function*() {
    yield* router.add("GET", "/", index)
    yield* router.add("GET", "/page.css", style)
    yield* router.add("GET", "/page.js", program)
  })
)
