/** A client of the backend that knows nothing of its code. */
import { colleagueToken, token } from "./service.ts"

export interface Told {
  readonly id: number
  readonly event: string
  readonly data: {
    readonly sequence: number
    /** When it happened, in epoch milliseconds. */
    readonly at: number
    readonly callId?: string
    readonly calls: ReadonlyArray<string>
  }
}

export interface View {
  readonly id: string
  readonly cursor: number
  readonly isRunning: boolean
  readonly state: {
    readonly status: { readonly _tag: string }
    readonly conversation: {
      readonly turns: ReadonlyArray<
        { readonly _tag: string; readonly parts?: ReadonlyArray<{ readonly text?: string }> }
      >
    }
  }
  readonly approvals: ReadonlyArray<{ readonly callId: string }>
}

/** An answer that isn't a success. `retryAfter` is in seconds. */
export class Refused extends Error {
  readonly status: number
  readonly retryAfter: number
  constructor(status: number, what: string, retryAfter = 0) {
    super(`${status} ${what}`)
    this.status = status
    this.retryAfter = retryAfter
  }
}

const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
const colleague = { ...headers, authorization: `Bearer ${colleagueToken}` }

export class Client {
  readonly #url: string

  /** A client of the service that listens there. */
  constructor(url: string) {
    this.#url = url
  }

  async #ask<A>(method: string, path: string, body?: unknown, as = headers): Promise<A> {
    const response = await fetch(`${this.#url}/v1/conversations${path}`, {
      method,
      headers: as,
      ...(body === undefined ? undefined : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    if (!response.ok) {
      const retryAfter = Number(response.headers.get("retry-after"))
      throw new Refused(response.status, `${method} ${path}: ${text.slice(0, 300)}`, retryAfter)
    }
    return (text === "" ? undefined : JSON.parse(text)) as A
  }

  open = (): Promise<View> => this.#ask("POST", "")
  read = (id: string): Promise<View> => this.#ask("GET", `/${id}`)
  say = (id: string, text: string, key: string): Promise<{ readonly cursor: number }> =>
    this.#ask("POST", `/${id}/messages`, { text, key })
  resolve = (id: string, callId: string, decision: string): Promise<{ readonly cursor: number }> =>
    this.#ask("POST", `/${id}/approvals/${callId}`, { decision }, colleague)
  cancel = (id: string): Promise<View> => this.#ask("POST", `/${id}/cancel`)
  remove = (id: string): Promise<void> => this.#ask("DELETE", `/${id}`)

  /** Reads events after a number, until the reader says that it has enough, or the stream ends. */
  async events(id: string, after: number, enough: (told: Told) => boolean): Promise<boolean> {
    const controller = new AbortController()
    const response = await fetch(`${this.#url}/v1/conversations/${id}/events`, {
      headers: { ...headers, "last-event-id": String(after) },
      signal: controller.signal
    })
    if (!response.ok) throw new Refused(response.status, `events of ${id}: ${await response.text()}`)
    let text = ""
    try {
      for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
        text += piece
        const blocks = text.split("\n\n")
        text = blocks.pop()!
        for (const block of blocks) {
          const number = /^id: (.*)$/m.exec(block)?.[1]
          if (number === undefined) continue
          const event = /^event: (.*)$/m.exec(block)![1]!
          const data = JSON.parse(/^data: (.*)$/m.exec(block)![1]!) as Told["data"]
          if (enough({ id: Number(number), event, data })) return true
        }
      }
      return false
    } finally {
      controller.abort()
    }
  }
}

/** Whether an event ends a run, and not that of an agent that was called. */
export const isEnd = ({ data, event }: Told): boolean =>
  data.calls.length === 0 && /^Run(Completed|Failed|Interrupted)$/.test(event)

/** Whether an event is a piece of an answer, which isn't kept and has the number of the event before it. */
export const isPiece = ({ event }: Told): boolean => event.endsWith("Delta") || event === "ToolCallProgressed"

/** Whether an event tells what somebody decided: it stands between two runs. */
export const isDecision = ({ event }: Told): boolean => event === "CallApproved" || event === "CallDenied"

/** What customers say: simple questions, handoffs, calls side by side, claims that need an approval. */
export const messages = [
  "Where is order 1042?",
  "My lamp arrived broken, order 1042",
  "The floor lamp of order 1047 is cracked",
  "Do you have a kettle under 50 euros?",
  "I want to return the cushions of order 1040",
  "What lamps do you have, and where is order 1038?",
  "Thank you!"
]

export const pick = <A>(all: ReadonlyArray<A>): A => all[Math.floor(Math.random() * all.length)]!
