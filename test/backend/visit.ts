/**
 * Somebody on the service's page.
 */
import { Deferred, Effect, Exit, Function } from "effect"
import type { Page, Route } from "playwright-core"
import { Agent } from "troupe"
import type { Role } from "../../examples/backend/api/Authentication.ts"
import { Around } from "../../examples/backend/service/Runs.ts"
import { openPage } from "./browser.ts"
import { colleagueOf, folder, serve, type Setup, tokenOf } from "./serving.ts"

/**
 * Lets pieces of answers pass: so many, or all of them, or one after the other at a pace at which a run can be stopped. A run
 * waits for who observes it, also when it is interrupted.
 */
export const makePacing = (pieces: number | "slowly" = Number.POSITIVE_INFINITY) => {
  let left = pieces
  let changed = Deferred.makeUnsafe<void>()
  const pass: Effect.Effect<void> = Effect.suspend(() => {
    if (left === "slowly") return Effect.sleep("30 millis")
    return left-- > 0 ? Effect.void : Effect.andThen(Deferred.await(changed), pass)
  })
  return {
    around: <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Agent.observe(self, ({ _tag }) => _tag === "TextDelta" ? pass : Effect.void),
    allow: (pieces: number | "slowly"): void => {
      left = pieces
      const before = changed
      changed = Deferred.makeUnsafe()
      Deferred.doneUnsafe(before, Exit.void)
    }
  }
}

type Pacing = ReturnType<typeof makePacing>

/** What somebody sees who comes in. */
const first = { customer: "What is it about?", colleague: "Awaiting approval" } as const

/** Comes in, where the page asks for a token. */
const enter = async (page: Page, url: string, role: Role): Promise<void> => {
  await page.goto(url)
  await page.getByLabel("Access token").fill(tokenOf(role === "customer" ? "ada" : colleagueOf("ada")))
  await page.getByRole("button", { name: "Come in" }).click()
  await page.getByRole("heading", { name: first[role] }).waitFor()
}

export const log = (page: Page) => page.getByRole("log", { name: "Conversation" })
export const words = (page: Page) => page.getByLabel("Your message")
export const status = (page: Page) => page.locator("#status")
export const control = (page: Page) => page.getByRole("group", { name: "In control" })
export const modes = (page: Page) => page.getByRole("group", { name: "At the moment" })

export const say = async (page: Page, text: string): Promise<void> => {
  await words(page).fill(text)
  await words(page).press("Enter")
}

/**
 * Answers the page's next requests to an address, as many as it says, in the place of the service.
 *
 * Its route stays until the page closes. Playwright's own `times` takes the last route away, and Chromium then loses a request that
 * the page makes in that moment.
 */
export const intercept = async (
  page: Page,
  address: string | RegExp,
  handle: (route: Route) => Promise<void>,
  times = 1
): Promise<void> => {
  let left = times
  await page.route(address, (route) => left-- > 0 ? handle(route) : route.fallback())
}

/** Waits until an element says something. */
export const saysThat = (page: Page, selector: string, text: string) =>
  page.locator(selector).filter({ hasText: text }).first().waitFor()

/** Decides, as a colleague elsewhere, about the call that awaits approval. */
export const decide = Effect.fnUntraced(
  function*(service: Effect.Success<ReturnType<typeof serve>>, decision: "approve" | "deny") {
    const { approvals, conversations } = yield* service.client(colleagueOf("ada"))
    const { callId, conversation } = (yield* approvals.waiting())[0]!
    yield* conversations.resolve({ params: { id: conversation, callId }, payload: { decision } })
  },
  Effect.orDie
)

/** Serves the desk, or other agents, and opens its page with somebody in it. */
export const visit = Effect.fnUntraced(function*(
  options: Omit<Setup, "store"> & {
    readonly pacing?: Pacing
    /** By default a customer. */
    readonly role?: Role
    readonly width?: number
    readonly scheme?: "light" | "dark"
  } = {}
) {
  const store = yield* folder()
  const start = (settings: Setup["settings"] = {}) =>
    serve({ ...options, store, settings: { ...options.settings, ...settings } }).pipe(
      Effect.provideService(Around, options.pacing?.around ?? Function.identity)
    )
  const service = yield* start()
  const page = yield* openPage(options)
  yield* Effect.promise(() => enter(page, service.url, options.role ?? "customer"))
  return { page, service, start }
})
