/**
 * One request to a mock provider and its response, written in the journal as it goes.
 *
 * @since 0.1.0
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Delivery from "../Delivery.ts"
import { type HttpFailure, lowerCase } from "../HttpFailure.ts"
import type * as MockResponse from "../MockResponse.ts"
import * as Body from "./Body.ts"
import * as Ids from "./Ids.ts"
import type { Entry, Journal } from "./Journal.ts"
import type { Protocol, Reading, Refusal } from "./Protocol.ts"
import * as Refusals from "./Refusals.ts"

type Headers = Readonly<Record<string, string>>

const json: Headers = { "content-type": "application/json" }

const events: Headers = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" }

const callPrefixes: Readonly<Record<Protocol["name"], string>> = {
  "openai-chat": "call_",
  "openai-responses": "call_",
  "anthropic-messages": "toolu_"
}

/** One request to a mock provider and its response. */
export class Exchange {
  readonly number: number
  readonly #protocol: Protocol
  readonly #journal: Journal
  readonly #clock: Clock.Clock
  readonly #closing: AbortSignal
  readonly #request: Request
  readonly #ids: ReturnType<typeof Ids.make>
  readonly #id: string
  readonly #warnings: Array<string> = []

  constructor(
    arrived: Omit<Entry, "number" | "by" | "outcome" | "arrivedAt">,
    body: Schema.Json,
    protocol: Protocol,
    journal: Journal,
    clock: Clock.Clock,
    closing: AbortSignal,
    request: Request
  ) {
    this.#protocol = protocol
    this.#journal = journal
    this.#clock = clock
    this.#closing = closing
    this.#request = request
    this.#ids = Ids.make(body)
    this.#id = this.#ids.next("req_")
    this.number = journal.open({ ...arrived, arrivedAt: clock.currentTimeMillisUnsafe() })
  }

  write(change: Partial<Entry>): void {
    this.#journal.write(this.number, change)
  }

  end(outcome: Entry["outcome"]): void {
    this.write({ outcome, endedAt: this.#clock.currentTimeMillisUnsafe() })
  }

  /** Notes warnings of a request that is answered all the same, and returns an Effect that logs them. */
  warn(lines: ReadonlyArray<string>): Effect.Effect<void> {
    if (lines.length === 0) return Effect.void
    this.#warnings.push(...lines)
    this.write({ warnings: this.#warnings.slice() })
    return Effect.logWarning(...lines)
  }

  /** Answers with JSON that isn't a model's, such as the list of models. */
  tell(by: string, body: Schema.Json): Response {
    return this.#send(by, 200, json, JSON.stringify(body))
  }

  /** Refuses the request with the provider's error. */
  refuse(by: string, refusal: Refusal): Response {
    const body = JSON.stringify(this.#protocol.error(refusal, this.#id))
    return this.#send(by, refusal.status, { ...json, ...refusal.headers }, body)
  }

  /** Refuses the request because no script answers it. A header tells clients not to try again. */
  miss(status: number, reason: string, isDefect = false): Response {
    this.#journal.miss({ number: this.number, reason, isDefect })
    return this.refuse("nobody", {
      ...Refusals.ofStatus(this.#protocol.name, status, `Request ${this.number} to the mock provider: ${reason}`),
      headers: { "x-should-retry": "false" }
    })
  }

  /** Sends an error of HTTP as it is. If it has no body, the provider's own error body is sent. */
  fail(by: string, { body, headers, status }: HttpFailure): Response {
    const isText = typeof body === "string"
    const { error, name } = this.#protocol
    const text = isText ? body : JSON.stringify(body ?? error(Refusals.ofStatus(name, status), this.#id))
    return this.#send(
      by,
      status,
      { ...(isText ? { "content-type": "text/plain" } : json), ...lowerCase(headers) },
      text
    )
  }

  /** Sends a response as the request asks for it. */
  deliver(by: string, response: MockResponse.MockResponse, reading: Reading): Effect.Effect<Response, TypeError> {
    const addressed = Delivery.address(response, () => this.#ids.next(callPrefixes[this.#protocol.name]))
    const delivery = Delivery.toJson(addressed)
    this.write({ by, response: delivery })
    const omitted = delivery.parts.flatMap((part, index) => {
      const what = reading.omits(part)
      return what === undefined ? [] : [`part ${index + 1} isn't sent: there is no place for ${what}`]
    })
    return Effect.andThen(this.warn(omitted), this.#sent(by, delivery, reading))
  }

  #sent(by: string, delivery: Delivery.Delivery, reading: Reading): Effect.Effect<Response, TypeError> {
    const protocol = this.#protocol
    const { isStreaming } = reading.asked
    const { failure, hang, http } = delivery
    if (http !== undefined && (failure?.after === 0 || !isStreaming)) return Effect.succeed(this.fail(by, http))
    if (failure !== undefined && (failure.after === 0 || !isStreaming) && !Body.isCut(delivery)) {
      return Effect.succeed(this.refuse(by, Refusals.ofError(protocol.name, failure.error)))
    }
    if (isStreaming) {
      return Effect.succeed(this.#stream(Body.stream(protocol, reading, delivery, this.#ids), events))
    }
    if (hang !== undefined) return this.#never
    const body = JSON.stringify(reading.whole(Body.said(delivery), this.#ids))
    return Effect.succeed(
      failure === undefined
        ? this.#send(by, 200, json, body)
        : this.#stream({ frames: [body.slice(0, body.length / 2)], end: "cut" }, json)
    )
  }

  #headers(headers: Headers): Headers {
    return { ...this.#protocol.headers(this.#id), ...headers }
  }

  #send(by: string, status: number, headers: Headers, body: string): Response {
    const now = this.#clock.currentTimeMillisUnsafe()
    this.write({ by, status, outcome: "sent", answeredAt: now, endedAt: now })
    return new Response(body, { status, headers: this.#headers(headers) })
  }

  #stream(body: Body.Body, headers: Headers): Response {
    this.write({ status: 200, answeredAt: this.#clock.currentTimeMillisUnsafe() })
    const stream = Body.readable(body, this.#closing, this.#request, (outcome) => this.end(outcome))
    return new Response(stream, { status: 200, headers: this.#headers(headers) })
  }

  /** No response, until the provider is closed. */
  readonly #never = Effect.callback<never, TypeError>((resume) => {
    this.write({ outcome: "hanging" })
    const broken = () => resume(Effect.fail(new TypeError("terminated")))
    if (this.#closing.aborted) return broken()
    this.#closing.addEventListener("abort", broken, { once: true })
    return Effect.sync(() => this.#closing.removeEventListener("abort", broken))
  })
}
