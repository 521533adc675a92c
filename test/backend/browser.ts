/**
 * Chromium, one for a whole file of tests, and pages in it that notice what they shouldn't do.
 */
import { assert } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { existsSync } from "node:fs"
import { chromium, type Page } from "playwright-core"

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

/** The page of a file of tests, and what it did that it shouldn't. Where there is no browser, whoever wants it dies of that. */
export class Chromium extends Context.Service<
  Chromium,
  Effect.Effect<{ readonly page: Page; readonly faults: Array<string> }>
>()("test/Chromium") {
  static readonly layer = Layer.effect(
    Chromium,
    Effect.gen(function*() {
      if (missing !== undefined) return Effect.die(new Error(missing))
      const browser = yield* Effect.acquireRelease(launch, (browser) => Effect.promise(() => browser.close()))
      const page = yield* Effect.promise(() => browser.newPage({ reducedMotion: "reduce" }))
      page.setDefaultTimeout(patience)
      const faults: Array<string> = []
      page.on("request", (request) => {
        const { origin, protocol } = new URL(request.url())
        if (protocol === "data:" || request.isNavigationRequest()) return
        if (origin !== new URL(request.frame().url()).origin) faults.push(`asked for ${request.url()}`)
      })
      page.on("pageerror", (error) => faults.push(error.message))
      page.on("console", (message) => {
        if (message.type() === "debug" || message.text().startsWith("Failed to load resource")) return
        if (message.text().startsWith("[DOM] Password forms")) return
        faults.push(message.text())
      })
      return Effect.succeed({ page, faults })
    })
  )
}

/** How long a page may take for anything, in milliseconds. */
const patience = 8000

/**
 * Opens the page for a test. A service of another port has nothing kept in it. When the scope closes it fails where the page asked
 * another host for anything, or said something on its console beside that a request was refused.
 */
export const openPage = (
  options: { readonly width?: number; readonly scheme?: "light" | "dark" } = {}
): Effect.Effect<Page, never, Chromium | Scope.Scope> =>
  Effect.gen(function*() {
    const { faults, page } = yield* yield* Chromium
    yield* Effect.acquireRelease(
      Effect.promise(async () => {
        faults.length = 0
        await page.setViewportSize({ width: options.width ?? 1100, height: 800 })
        await page.emulateMedia({ colorScheme: options.scheme ?? "light" })
      }),
      () =>
        Effect.promise(async () => {
          await page.unrouteAll({ behavior: "ignoreErrors" })
          await page.goto("about:blank")
          assert.deepStrictEqual(faults, [])
        })
    )
    return page
  })
