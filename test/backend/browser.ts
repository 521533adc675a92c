/**
 * Chromium, one for a whole file of tests, and pages in it that notice what they shouldn't do.
 */
import { assert } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { existsSync } from "node:fs"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"

const executablePath = "/usr/bin/chromium"

/** Why there are no tests in a browser here; none where there is one. In CI there has to be. */
export const missing = existsSync(executablePath)
  ? undefined
  : `Chromium isn't at ${executablePath}: apt-get install chromium`
export const isNeeded = Boolean(process.env["CI"])

const launch = Effect.promise(() =>
  chromium.launch({
    executablePath,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync"
    ]
  })
)

/** The browser of a file of tests. Where there is none, whoever wants it dies of that. */
export class Chromium extends Context.Service<Chromium, Effect.Effect<Browser>>()("test/Chromium") {
  static readonly layer = Layer.effect(
    Chromium,
    missing !== undefined
      ? Effect.succeed(Effect.die(new Error(missing)))
      : Effect.map(Effect.acquireRelease(launch, (browser) => Effect.promise(() => browser.close())), Effect.succeed)
  )
}

/** How long a page may take for anything, in milliseconds. */
const patience = 8000

/**
 * Opens a page of a service, with nothing kept of any before. When its scope closes it fails where the page asked another host
 * for anything, or said something on its console beside that a request was refused.
 */
export const openPage = (
  url: string,
  options: BrowserContextOptions = {}
): Effect.Effect<Page, never, Chromium | Scope.Scope> =>
  Effect.gen(function*() {
    const browser = yield* yield* Chromium
    const faults: Array<string> = []
    const context = yield* Effect.acquireRelease(
      Effect.promise(() => browser.newContext({ baseURL: url, reducedMotion: "reduce", ...options })),
      (context) =>
        Effect.promise(async () => {
          await context.close()
          assert.deepStrictEqual(faults, [])
        })
    )
    context.setDefaultTimeout(patience)
    context.on("request", (request) => {
      const { host, protocol } = new URL(request.url())
      if (protocol !== "data:" && host !== new URL(url).host) faults.push(`asked for ${request.url()}`)
    })
    const page = yield* Effect.promise(() => context.newPage())
    page.on("pageerror", (error) => faults.push(error.message))
    page.on("console", (message) => {
      if (message.type() === "debug" || message.text().startsWith("Failed to load resource")) return
      if (message.text().startsWith("[DOM] Password forms")) return
      faults.push(message.text())
    })
    return page
  })
