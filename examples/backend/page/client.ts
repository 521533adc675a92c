/**
 * The service, as the page asks it: each request with the token, each refusal as the problem that it is.
 */
import * as Predicate from "effect/Predicate"
import type { Waiting } from "../api/Approvals.ts"
import type { Role } from "../api/Authentication.ts"
import type { Accepted, Event, Summary, View } from "../api/Conversations.ts"
import { type Message, messages } from "./sse.ts"

export type { Role }
/** Whoever the token stands for. */
export interface Me {
  readonly tenant: string
  readonly role: Role
}
export type Awaiting = typeof Waiting.Encoded
export type Listed = typeof Summary.Encoded
export type ReadView = typeof View.Encoded
export type ToldEvent = typeof Event.Encoded

/** Why a request got no answer: a problem document, or that nobody could be reached. */
export class Problem extends Error {
  /** The last part of the problem's type, such as `too-many-requests`, or `unreachable`. */
  readonly type: string
  readonly status: number
  readonly title: string
  /** In seconds, where the service says when to come again. */
  readonly retryAfter: number | undefined
  /** What there was too much of. */
  readonly limit: string | undefined

  /** What the service says of it in a sentence. */
  readonly detail: string

  constructor(type: string, status: number, title: string, retryAfter?: number, limit?: string, detail = "") {
    super(title)
    this.type = type
    this.status = status
    this.title = title
    this.retryAfter = retryAfter
    this.limit = limit
    this.detail = detail
  }
}

/** What went wrong, as a problem. */
export const asProblem = (error: unknown): Problem =>
  error instanceof Problem ? error : new Problem("", 0, error instanceof Error ? error.message : String(error))

const problemOf = async (response: Response): Promise<Problem> => {
  const body: unknown = await response.json().catch(() => undefined)
  const problem = Predicate.isObject(body) ? body : {}
  const header = Number(response.headers.get("retry-after") ?? Number.NaN)
  const retryAfter = typeof problem["retryAfter"] === "number" ? problem["retryAfter"] : header
  return new Problem(
    typeof problem["type"] === "string" ? problem["type"].split(":").at(-1) ?? "" : "",
    response.status,
    typeof problem["title"] === "string" ? problem["title"] : `The service answered ${response.status}`,
    Number.isFinite(retryAfter) ? retryAfter : undefined,
    typeof problem["limit"] === "string" ? problem["limit"] : undefined,
    typeof problem["detail"] === "string" ? problem["detail"] : undefined
  )
}

/** How a stream stands: open, being opened, or waiting to be opened again at a time in epoch milliseconds. */
export type Link =
  | { readonly _tag: "Open" }
  | { readonly _tag: "Connecting" }
  | { readonly _tag: "Waiting"; readonly until: number; readonly problem: Problem | undefined }

/** Who follows a stream. */
export interface Follower {
  readonly onLink: (link: Link) => void
  /** What was asked for isn't there, or not for this token: the stream has ended for good. */
  readonly onLost: (problem: Problem) => void
}

export interface EventFollower extends Follower {
  readonly onEvent: (number: number, event: ToldEvent) => void
}

export interface ListFollower extends Follower {
  readonly onList: (list: ReadonlyArray<Awaiting>) => void
}

/** A decision about a call. */
export type Decision =
  | { readonly decision: "approve" }
  | { readonly decision: "deny"; readonly reason?: string }

export type Client = ReturnType<typeof makeClient>

/** Least and most that is waited for between two attempts to open a stream, in milliseconds. */
const shortest = 250
const longest = 10_000

/** How long a stream may be silent, in milliseconds: the service sends something more often. */
const silence = 45_000

/** How long an answer may take that isn't a stream, in milliseconds: a request may get lost on the way. */
const patience = 30_000

/** How long to wait before the next attempt: longer after each failure, and never all pages at a time. */
export const backoff = (failures: number, random: number): number =>
  Math.min(longest, shortest * 2 ** Math.min(failures, 10)) * (0.5 + random / 2)

/** Waits, until somebody says that the network is back, or that nobody waits any more. */
const pause = (millis: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer)
      removeEventListener("online", go)
      signal.removeEventListener("abort", go)
      resolve()
    }
    const timer = setTimeout(go, millis)
    addEventListener("online", go)
    signal.addEventListener("abort", go)
  })

export const makeClient = (token: string) => {
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    let response: Response
    const waiting = new AbortController()
    const timer = init.signal === undefined ? setTimeout(() => waiting.abort(), patience) : undefined
    try {
      response = await fetch(`/v1${path}`, {
        signal: waiting.signal,
        ...init,
        headers: { authorization: `Bearer ${token}`, ...init.headers }
      })
    } catch (error) {
      if (init.signal?.aborted === true) throw error
      throw new Problem("unreachable", 0, "The service can't be reached")
    } finally {
      clearTimeout(timer)
    }
    if (!response.ok) throw await problemOf(response)
    return response
  }
  const get = async <A>(path: string): Promise<A> => await (await ask(path)).json() as A
  const post = async <A>(path: string, body?: unknown): Promise<A> =>
    await (await ask(path, {
      method: "POST",
      ...(body === undefined
        ? undefined
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } })
    })).json() as A

  /** Reads a stream's messages, and opens it again as often as it has to, until the signal. */
  const keepOpen = async (
    path: string,
    headers: () => Record<string, string>,
    onMessage: (message: Message) => void,
    { onLink, onLost }: Follower,
    signal: AbortSignal
  ): Promise<void> => {
    let failures = 0
    while (!signal.aborted) {
      onLink({ _tag: "Connecting" })
      const attempt = new AbortController()
      const stop = () => attempt.abort()
      signal.addEventListener("abort", stop)
      let watch = setTimeout(stop, silence)
      let problem: Problem | undefined
      try {
        const response = await ask(path, {
          headers: { accept: "text/event-stream", ...headers() },
          signal: attempt.signal
        })
        onLink({ _tag: "Open" })
        const heard = () => {
          clearTimeout(watch)
          watch = setTimeout(stop, silence)
        }
        const body = response.body!.pipeThrough(
          new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
            transform: (piece, controller) => {
              heard()
              controller.enqueue(piece)
            }
          })
        )
        for await (const message of messages(body)) {
          failures = 0
          onMessage(message)
        }
      } catch (error) {
        if (signal.aborted) return
        problem = error instanceof Problem ? error : undefined
      } finally {
        clearTimeout(watch)
        signal.removeEventListener("abort", stop)
      }
      if (signal.aborted) return
      if (problem !== undefined && [400, 401, 403, 404, 410].includes(problem.status)) return onLost(problem)
      const millis = problem?.retryAfter === undefined ? backoff(failures, Math.random()) : problem.retryAfter * 1000
      failures++
      onLink({ _tag: "Waiting", until: Date.now() + millis, problem })
      await pause(millis, signal)
    }
  }

  const at = (id: string): string => `/conversations/${id}`

  return {
    me: () => get<Me>("/me"),
    list: () => get<ReadonlyArray<Listed>>("/conversations"),
    open: () => post<ReadView>("/conversations"),
    read: (id: string) => get<ReadView>(at(id)),
    say: (id: string, text: string, key: string) => post<typeof Accepted.Encoded>(`${at(id)}/messages`, { text, key }),
    resolve: (id: string, callId: string, decision: Decision) =>
      post<typeof Accepted.Encoded>(`${at(id)}/approvals/${encodeURIComponent(callId)}`, decision),
    resume: (id: string) => post<typeof Accepted.Encoded>(`${at(id)}/resume`),
    cancel: (id: string) => post<ReadView>(`${at(id)}/cancel`),
    remove: async (id: string): Promise<void> => {
      await ask(at(id), { method: "DELETE" })
    },

    /** Follows a conversation from a cursor on. */
    follow: (id: string, after: number, follower: EventFollower, signal: AbortSignal): Promise<void> => {
      let cursor = after
      return keepOpen(
        `${at(id)}/events`,
        () => ({ "last-event-id": String(cursor) }),
        ({ data, id }) => {
          cursor = Number(id)
          follower.onEvent(cursor, JSON.parse(data) as ToldEvent)
        },
        follower,
        signal
      )
    },

    /** Follows what awaits a decision in all conversations. */
    followWaiting: (follower: ListFollower, signal: AbortSignal): Promise<void> =>
      keepOpen(
        "/approvals/events",
        () => ({}),
        ({ data }) => follower.onList(JSON.parse(data) as ReadonlyArray<Awaiting>),
        follower,
        signal
      )
  }
}

/** What is wrong, and what can be done about it. */
export const explain = (problem: Problem): { readonly title: string; readonly advice: string } => {
  switch (problem.type) {
    case "unauthorized":
      return { title: "This token isn't known here", advice: "Check it, and try again." }
    case "conversation-not-found":
      return {
        title: "This conversation is gone",
        advice: "It was deleted, or belongs to somebody else. Open another."
      }
    case "forbidden":
      return { title: problem.title, advice: problem.detail }
    case "approval-not-found":
      return { title: "That doesn't wait any more", advice: "It was decided already: the first decision holds." }
    case "conversation-busy":
      return { title: "The desk is still busy here", advice: "Wait for its answer, or stop it." }
    case "nothing-to-resume":
      return { title: "There is nothing to resume", advice: "Say something." }
    case "body-too-large":
      return { title: "That is too long", advice: "Say it in fewer words." }
    case "too-many-requests":
      return problem.limit === "runs"
        ? { title: "Too many answers under way", advice: "Let another conversation come to its end first." }
        : problem.limit === "streams"
        ? { title: "Too many pages are open", advice: "Close one of them." }
        : problem.limit === "waiting"
        ? { title: "Many people are writing just now", advice: "Send it again in a moment." }
        : { title: "Too many requests", advice: "Take a breath." }
    case "unavailable":
      return {
        title: "The service can't do that now",
        advice: problem.detail === "" ? "Try again." : `${problem.detail}.`
      }
    case "unreachable":
      return {
        title: "The service can't be reached",
        advice: "Check the network. Messages that weren't sent stay while this conversation is open."
      }
    default:
      return { title: problem.title, advice: "Try again." }
  }
}
