/**
 * Providers' own wire formats, served on this machine in front of a mock model: for the providers that `MockProvider` doesn't
 * speak like. A wire reads bodies and writes responses; the server does the rest.
 */
import { Effect, Fiber, Layer, Stream } from "effect"
import { type AiError, LanguageModel, type Prompt, type Response } from "effect/ai"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { MockModel } from "troupe/testing"
import type { Body } from "../bodies.ts"
import { type Sent, Served } from "../Served.ts"

/** JSON as it is sent. */
export type Json = { readonly [key: string]: unknown }

/** A piece of what a model says, in a stream or whole. */
export type Part = Response.StreamPart<never, "deferred">

/** What a response says, whole. */
export interface Said {
  readonly reasoning: string
  readonly signature: string | undefined
  readonly text: string
  readonly calls: ReadonlyArray<{ readonly id: string; readonly name: string; readonly params: unknown }>
  readonly usage: Usage
}

/** The tokens of a response. Those of a script that doesn't say are made up. */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
}

/** An error as a provider tells it. */
export interface Problem {
  readonly status: number
  readonly message: string
}

/** How a provider reads a body and writes a response. */
export interface Wire {
  readonly read: (body: unknown) => { readonly body: Body; readonly prompt: Prompt.Prompt }
  readonly isStreaming: (path: string, body: Json) => boolean
  readonly whole: (said: Said) => Json
  readonly contentType: string
  /** Begins a stream: what is sent first, and what for each piece. */
  readonly begin: () => { readonly first: ReadonlyArray<Frame>; readonly next: (part: Part) => ReadonlyArray<Frame> }
  readonly error: (problem: Problem) => Json
  readonly streamError: (problem: Problem) => Frame
}

/** What is sent at once. */
type Frame = string | Uint8Array

/** An event of server-sent events. */
export const sse = (data: Json, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`

/** What a model signed its thought with. */
export const signatureOf = (metadata: Response.ProviderMetadata | undefined): string | undefined => {
  const signature = (metadata?.["anthropic"] as { readonly signature?: unknown } | undefined)?.signature
  return typeof signature === "string" ? signature : undefined
}

/** The tokens that a finish part tells of. */
export const usageOf = ({ inputTokens, outputTokens }: Response.Usage): Usage => ({
  input: inputTokens.total ?? 12,
  output: outputTokens.total ?? 7,
  cached: inputTokens.cacheRead ?? 0,
  reasoning: outputTokens.reasoning ?? 0
})

const saidOf = (parts: ReadonlyArray<Response.Part<never, "deferred">>): Said => {
  let said: Said = {
    reasoning: "",
    signature: undefined,
    text: "",
    calls: [],
    usage: { input: 0, output: 0, cached: 0, reasoning: 0 }
  }
  for (const part of parts) {
    if (part.type === "reasoning") {
      said = { ...said, reasoning: said.reasoning + part.text, signature: signatureOf(part.metadata) }
    }
    if (part.type === "text") said = { ...said, text: said.text + part.text }
    if (part.type === "tool-call") {
      said = { ...said, calls: [...said.calls, { id: part.id, name: part.name, params: part.params }] }
    }
    if (part.type === "finish") said = { ...said, usage: usageOf(part.usage) }
  }
  return said
}

/** Refuses a prompt in which a call has no result, or a result no call: every provider does. */
const refusal = ({ content: prompt }: Prompt.Prompt): string | undefined => {
  const open = new Set<string>()
  for (const { content, role } of prompt) {
    if (role !== "tool" && open.size > 0) return `calls without results: ${[...open].join()}`
    for (const part of typeof content === "string" ? [] : content) {
      if (part.type === "tool-call") open.add(part.id)
      if (part.type === "tool-result" && !open.delete(part.id)) return `a result without a call: ${part.id}`
    }
  }
  if (open.size > 0) return `calls without results: ${[...open].join()}`
  return prompt.some(({ role }) => role === "user") ? undefined : "nobody asks anything"
}

const problemOf = (reason: AiError.AiErrorReason): Problem => {
  const status = reason._tag === "RateLimitError" ? 429 : reason._tag === "AuthenticationError" ? 401 : 503
  return { status, message: "description" in reason ? String(reason.description) : `It failed with ${status}` }
}

const bodyOf = async (request: IncomingMessage): Promise<Json> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as Json
}

const sendJson = (response: ServerResponse, status: number, body: Json): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

/** Ends a stream that fails: the connection breaks, the stream ends before it is done, or the provider reports an error. */
const breakOff = (wire: Wire, response: ServerResponse, reason: AiError.AiErrorReason): void => {
  if (reason._tag === "NetworkError") setTimeout(() => response.destroy(), 5)
  else if (reason._tag === "InvalidOutputError") response.end()
  else response.end(wire.streamError(problemOf(reason)))
}

const streamed = (wire: Wire, response: ServerResponse, prompt: Prompt.Prompt) =>
  Effect.gen(function*() {
    const { first, next } = wire.begin()
    const write = (frames: ReadonlyArray<Frame>) => {
      if (!response.headersSent) response.writeHead(200, { "content-type": wire.contentType })
      for (const frame of frames) response.write(frame)
    }
    yield* LanguageModel.streamText({ prompt, disableToolCallResolution: true, toolCallValidation: "deferred" }).pipe(
      Stream.runForEach((part) => Effect.sync(() => write([...(response.headersSent ? [] : first), ...next(part)])))
    )
    response.end()
  }).pipe(Effect.catch(({ reason }) =>
    Effect.sync(() => {
      const problem = problemOf(reason)
      if (response.headersSent) breakOff(wire, response, reason)
      else sendJson(response, problem.status, wire.error(problem))
    })
  ))

const whole = (wire: Wire, response: ServerResponse, prompt: Prompt.Prompt) =>
  LanguageModel.generateText({ prompt, disableToolCallResolution: true, toolCallValidation: "deferred" }).pipe(
    Effect.match({
      onFailure: ({ reason }) => sendJson(response, problemOf(reason).status, wire.error(problemOf(reason))),
      onSuccess: ({ content }) => sendJson(response, 200, wire.whole(saidOf(content)))
    })
  )

/** Serves a provider that answers as the handler says, on a port of this machine. */
export const serve = (wire: Wire, handler: MockModel.Handler): Layer.Layer<Served> =>
  Layer.effect(
    Served,
    Effect.gen(function*() {
      const services = yield* Effect.context<LanguageModel.LanguageModel>()
      const sent: Array<Sent> = []
      const waiting: Array<() => void> = []
      const ends: Array<Promise<boolean>> = []
      const answer = (request: IncomingMessage, response: ServerResponse) =>
        Effect.gen(function*() {
          const body = yield* Effect.promise(() => bodyOf(request))
          const asked = wire.read(body)
          const headers = Object.fromEntries(
            Object.entries(request.headers).map(([name, value]) => [name, String(value)])
          )
          sent.push({ prompt: asked.prompt, body: asked.body, headers })
          for (const check of waiting) check()
          const message = refusal(asked.prompt)
          if (message !== undefined) return sendJson(response, 400, wire.error({ status: 400, message }))
          yield* (wire.isStreaming(request.url ?? "", body) ? streamed : whole)(wire, response, asked.prompt)
        })
      const server = createServer((request, response) => {
        const fiber = Effect.runForkWith(services)(answer(request, response))
        fiber.addObserver((exit) => {
          if (exit._tag === "Failure" && !response.destroyed) response.destroy()
        })
        ends.push(
          new Promise((resolve) =>
            response.on("close", () => {
              Effect.runFork(Fiber.interrupt(fiber))
              resolve(response.writableFinished)
            })
          )
        )
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
        () =>
          Effect.promise(() =>
            new Promise<void>((resolve) => {
              server.close(() => resolve())
              server.closeAllConnections()
            })
          )
      )
      return {
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        sent: Effect.sync(() => sent.slice()),
        wait: (count) =>
          Effect.callback((resume) => {
            const check = () => sent.length >= count && resume(Effect.void)
            waiting.push(check)
            check()
          }),
        ends
      }
    })
  ).pipe(Layer.provide(MockModel.layer(handler)))
