/**
 * One mock provider at work: it reads each request, chooses what answers it, and sends the response.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { Place } from "../chain/Choose.ts"
import { isTooDeep } from "../Depth.ts"
import type * as MockResponse from "../MockResponse.ts"
import * as Admission from "./Admission.ts"
import type { Asked } from "./Asked.ts"
import { Exchange } from "./Exchange.ts"
import type { Journal } from "./Journal.ts"
import type { Reading, Refusal } from "./Protocol.ts"
import * as Refusals from "./Refusals.ts"
import { type Route, routeOf } from "./Routes.ts"
import type { Attempt } from "./Statuses.ts"

/**
 * What answers a request, and the response. `step` is the place of the step that answers. `miss` says why no script answers, and the
 * response is the fallback, or why the chain doesn't answer, and the response is the handler's. `warnings` say what is wrong in the chain
 * that the request carries.
 */
export interface Chosen {
  readonly by: string
  readonly response: MockResponse.MockResponse
  readonly step?: Place
  readonly miss?: string
  readonly warnings?: ReadonlyArray<string>
}

/** What is known of a request as it arrives. */
export interface Arrived {
  readonly number: number
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** What a mock provider works with. */
export interface Settings<R> {
  readonly apiKey: string | undefined
  readonly models: ReadonlyArray<string> | undefined
  readonly choose: (asked: Asked, arrived: Arrived) => Effect.Effect<Chosen, never, R>
  readonly attempt: (body: string) => Attempt | undefined
  readonly journal: Journal
  readonly isStrict: boolean
  readonly takesUnknown: boolean
  readonly closing: AbortSignal
}

/** The JSON of a text. Providers' parsers refuse what is too deep, too. */
const parse = (text: string): Schema.Json | undefined => {
  try {
    const json: Schema.Json = JSON.parse(text)
    return isTooDeep(json) ? undefined : json
  } catch {
    return undefined
  }
}

/** A request with its body read. */
interface Received extends Omit<Arrived, "number"> {
  readonly method: string
  readonly text: string
  readonly body: Schema.Json | undefined
}

const hint = (path: string): string =>
  /^\/(chat\/completions|responses)$/.test(path) ? ", and the base URL of an OpenAI client ends in /v1" : ""

const answer = <R>(settings: Settings<R>, exchange: Exchange, reading: Reading, arrived: Arrived) =>
  Effect.matchCauseEffect(Effect.suspend(() => settings.choose(reading.asked, arrived)), {
    onFailure: (cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.succeed(exchange.miss(500, `its handler died of ${Cause.pretty(cause)}`, true)),
    onSuccess: ({ by, miss, response, step, warnings = [] }) => {
      if (step !== undefined) exchange.write({ step })
      const warned = exchange.warn(warnings)
      if (miss !== undefined && settings.isStrict) return Effect.succeed(exchange.miss(400, miss))
      if (miss !== undefined) settings.journal.miss({ number: exchange.number, reason: miss, isDefect: false })
      const sent = Effect.suspend(() => exchange.deliver(by, response, reading))
      return Effect.andThen(warned, response.delay === undefined ? sent : Effect.delay(sent, response.delay))
    }
  })

/** Answers a request that has arrived, or refuses it. */
const handle = <R>(
  settings: Settings<R>,
  { body, headers, method, text, url }: Received,
  route: Route,
  exchange: Exchange
): Effect.Effect<Response, TypeError, R> => {
  const { apiKey, attempt, isStrict, journal, models, takesUnknown } = settings
  const { protocol } = route
  const { number } = exchange
  const refuse = (refusal: Refusal) => {
    if (isStrict && refusal.isRecoverable !== true) journal.miss({ number, reason: refusal.message, isDefect: false })
    return Effect.succeed(exchange.refuse("refusal", refusal))
  }
  if (route._tag === "Nowhere") {
    const { pathname: path } = new URL(url)
    journal.miss({ number, reason: `nothing is served at ${path}${hint(path)}`, isDefect: false })
    return Effect.succeed(exchange.refuse("no route", Refusals.nowhere(protocol.name, method, path)))
  }
  const unadmitted = Admission.check(protocol.name, headers, apiKey)
  if (unadmitted !== undefined) return refuse(unadmitted)
  const allowed = route._tag === "Model" ? "POST" : route.endpoint.method
  if (method !== allowed) {
    return refuse(Refusals.ofStatus(protocol.name, 405, `Only ${allowed} requests are accepted.`))
  }
  if (route._tag === "Endpoint") {
    const told = route.endpoint.answer(body, takesUnknown)
    return Result.isFailure(told)
      ? refuse(told.failure)
      : Effect.succeed(exchange.tell(route.endpoint.name, told.success))
  }
  const failed = attempt(text)
  if (failed !== undefined) {
    return Effect.succeed(exchange.fail(`status ${failed.number} of ${failed.of}`, failed))
  }
  const read = protocol.read(body, takesUnknown)
  if (Result.isFailure(read)) return refuse(read.failure)
  const { asked } = read.success
  if (models?.includes(asked.model) === false) return refuse(Refusals.unknownModel(protocol.name, asked.model))
  exchange.write({ asked })
  return Effect.onExit(
    answer(settings, exchange, read.success, { number, url, headers }),
    (exit) => Exit.isFailure(exit) ? Effect.sync(() => exchange.end("aborted")) : Effect.void
  )
}

/** The response to a request. It fails if closing the provider breaks it off while it hangs. A defect becomes an error response. */
export const respond = <R>(settings: Settings<R>, request: Request): Effect.Effect<Response, TypeError, R> =>
  Effect.clockWith((clock) =>
    Effect.flatMap(Effect.promise(() => request.text()), (text) => {
      const { closing, journal, models } = settings
      const { method, url } = request
      const { pathname: path } = new URL(url)
      const headers = Object.fromEntries(request.headers)
      const body = parse(text)
      const route = routeOf(path, headers, models)
      const { protocol } = route
      const spoken = route._tag === "Model" ? protocol.name : undefined
      const arrived = { method, path, headers, protocol: spoken, body: text }
      const exchange = new Exchange(arrived, body ?? text, protocol, journal, clock, closing, request)
      return Effect.catchDefect(
        Effect.suspend(() => handle(settings, { method, url, headers, text, body }, route, exchange)),
        (defect) => Effect.succeed(exchange.miss(500, `it can't be answered: ${String(defect)}`, true))
      )
    })
  )
