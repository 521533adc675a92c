/** Files by address that a provider doesn't fetch itself. */
import type { LanguageModelV3, LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Stream } from "effect"
import { LanguageModel, type Prompt } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentState } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { providerOf } from "../model/paths.ts"

type Urls = LanguageModelV4["supportedUrls"]

/** A model whose provider fetches these addresses alone. */
const fetching = (supportedUrls: Urls, specification: "v3" | "v4" = "v4") => {
  const { model, options } = providerOf([], specification)
  return { options, model: { ...model, supportedUrls } as LanguageModelV3 | LanguageModelV4 }
}

/** A server by `fetch`, which counts what it is asked for. */
const server = (answer: (url: URL) => Response | Promise<Response>) => {
  const asked: Array<string> = []
  const fetch = ((url: URL) => {
    asked.push(url.href)
    return Promise.resolve(answer(url))
  }) as typeof globalThis.fetch
  return { asked, fetch }
}

const bytes = (type = "image/png") => new Response(new Uint8Array([1, 2, 3]), { headers: { "content-type": type } })

const ask = (href: string, mediaType = "image/png") =>
  [
    { _tag: "Text", text: "What is this?" },
    { _tag: "File", mediaType, data: new URL(href) }
  ] as const

/** The files of each request. */
const filesOf = (options: ReadonlyArray<LanguageModelV4CallOptions>) =>
  options.map(({ prompt }) =>
    prompt.flatMap(({ content }) =>
      typeof content === "string"
        ? []
        : content.flatMap((part) => part.type === "file" ? [[part.mediaType, part.data]] : [])
    )
  )

const downloaded = { type: "data", data: "AQID" }
const agent = Agent.make("a")

describe("A file by address", () => {
  it.effect("is downloaded once for all requests of all runs, whole and streamed, by both paths, in both specifications", () =>
    Effect.gen(function*() {
      for (const specification of ["v3", "v4"] as const) {
        for (const isWrapped of [false, true]) {
          const { asked, fetch } = server(() => bytes())
          const { model, options } = fetching({}, specification)
          const service = yield* AiSdkModel.make(model, { download: { fetch } })
          yield* Effect.gen(function*() {
            const state = yield* Agent.run(agent, ask("https://house/a.png?key=1"))
            yield* Agent.continueConversation(agent, state, "And now?")
            yield* Stream.runDrain(Agent.stream(agent, "Another one", { state }))
          }).pipe(Effect.provideService(LanguageModel.LanguageModel, isWrapped ? { ...service } : service))
          assert.deepStrictEqual(asked, ["https://house/a.png?key=1"])
          const data = specification === "v3" ? "AQID" : downloaded
          assert.deepStrictEqual<unknown>(filesOf(options), Array.from({ length: 3 }, () => [["image/png", data]]))
        }
      }
    }))

  it.effect("is left to a provider that fetches it, by type and address, and to one that is to get all as they are", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [Urls, string, boolean]> = [
        [{ "*/*": [/^https:/] }, "image/png", false],
        [{ "*": [/^https:/] }, "image/png", false],
        [{ "image/*": [/^https:/] }, "image/png", false],
        [{ "image/*": [/^https:/] }, "image/*", false],
        [{ "image/png": [/^https:/g] }, "IMAGE/PNG", false],
        [Promise.resolve({ "image/png": [/never/, /house/] }), "image/png", false],
        [{ "image/*": [/^https:/] }, "application/pdf", true],
        [{ "image/png": [/^ftp:/] }, "image/png", true],
        [{ "image/jpeg": [/./] }, "image/png", true],
        [{}, "image/png", true]
      ]
      for (const [urls, mediaType, isDownloaded] of cases) {
        const { asked, fetch } = server(() => bytes())
        const { model, options } = fetching(urls)
        for (let n = 0; n < 2; n++) {
          const url = `https://house/${n}`
          yield* Agent.run(agent, ask(url, mediaType)).pipe(
            Effect.provide(AiSdkModel.layer(model, { download: { fetch } }))
          )
          const data = isDownloaded ? downloaded : { type: "url", url: new URL(url) }
          assert.deepStrictEqual<unknown>(filesOf(options)[n], [[mediaType, data]])
        }
        assert.lengthOf(asked, isDownloaded ? 2 : 0)
      }
      const { model, options } = fetching({})
      yield* Agent.run(agent, ask("https://house/a")).pipe(Effect.provide(AiSdkModel.layer(model, { download: false })))
      assert.deepStrictEqual<unknown>(filesOf(options), [[["image/png", {
        type: "url",
        url: new URL("https://house/a")
      }]]])
    }))

  it.effect("has the type that the server says if it has only the kind of one, and is followed to where it leads", () =>
    Effect.gen(function*() {
      const { asked, fetch } = server(({ pathname }) =>
        pathname === "/there"
          ? bytes("image/webp; x=1")
          : new Response(null, { status: 302, headers: { location: "/there" } })
      )
      const { model, options } = fetching({})
      yield* Agent.run(agent, ask("https://house/here", "image/*")).pipe(
        Effect.provide(AiSdkModel.layer(model, { download: { fetch } }))
      )
      assert.deepStrictEqual(asked, ["https://house/here", "https://house/there"])
      assert.deepStrictEqual<unknown>(filesOf(options), [[["image/webp", downloaded]]])
    }))

  it.effect("has the kind of type that was wanted, whatever the server says", () =>
    Effect.gen(function*() {
      const cases = [
        ["image/*", "image/webp", "image/webp"],
        ["IMAGE/*", "Image/WebP; x=1", "Image/WebP"],
        ["image", "image/webp", "image/webp"],
        ["*/*", "text/html", "text/html"],
        ["image/*", "application/octet-stream", "image/*"],
        ["image/*", "text/html", "image/*"],
        ["image/*", "image", "image/*"],
        ["image/*", "", "image/*"],
        ["image/png", "text/html", "image/png"]
      ] as const
      for (const [wanted, type, expected] of cases) {
        const { model, options } = fetching({})
        yield* Agent.run(agent, ask("https://house/a", wanted)).pipe(
          Effect.provide(AiSdkModel.layer(model, { download: { fetch: server(() => bytes(type)).fetch } }))
        )
        assert.deepStrictEqual<unknown>(filesOf(options), [[[expected, downloaded]]], `${wanted}, ${type}`)
      }
    }))

  it.effect("is the same in all requests, also where several download it at once, and within the limit of each layer", () =>
    Effect.gen(function*() {
      let count = 0
      const { asked, fetch } = server(() => new Response(`file ${count++}`))
      const { model, options } = fetching({})
      const input = ask("https://house/a")
      const state = AgentState.ask(AgentState.make("a"), input, 0)
      const layer = AiSdkModel.layer(model, { download: { fetch } })
      yield* Effect.all([Agent.resume(agent, state), Agent.resume(agent, state), Agent.resume(agent, state)], {
        concurrency: "unbounded"
      }).pipe(Effect.provide(layer))
      yield* Effect.provide(Agent.resume(agent, state), layer)
      const [first, ...rest] = filesOf(options)
      assert.lengthOf(rest, 3)
      for (const files of rest) assert.deepStrictEqual(files, first)
      assert.lengthOf(asked, 1)
      const before = asked.length
      const tight = AiSdkModel.layer(model, { download: { fetch, maxBytes: 5 } })
      const error = yield* Effect.flip(Effect.provide(Agent.resume(agent, state), tight))
      assert.include(error.message, "larger than 5 bytes")
      assert.lengthOf(asked, before)
    }))

  it.effect("fails the request if the provider can't say which addresses it fetches, and doesn't wait for that for ever", () =>
    Effect.gen(function*() {
      const { fetch } = server(() => bytes())
      const throws = Object.defineProperty({ ...fetching({}).model }, "supportedUrls", {
        get: () => {
          throw new Error("down")
        }
      })
      const cases = [
        [fetching(Promise.reject(new TypeError("fetch failed"))).model, "NetworkError"],
        [throws, "UnknownError"],
        [fetching(new Promise(() => {})).model, "NetworkError"],
        [fetching({ "*/*": /./ } as never).model, "InvalidRequestError"],
        [fetching({ "*/*": null } as never).model, "InvalidRequestError"],
        [fetching(Promise.resolve({ "*/*": ["("] }) as never).model, "InvalidRequestError"],
        [fetching("https" as never).model, "InvalidRequestError"]
      ] as const
      for (const [model, tag] of cases) {
        const fiber = yield* Effect.forkChild(
          LanguageModel.generateText({
            prompt: [{
              role: "user",
              content: [{ type: "file", mediaType: "image/png", data: new URL("https://house/a") }]
            }]
          }).pipe(
            Effect.flip,
            Effect.provide(AiSdkModel.layer(model, { download: { fetch }, timeouts: { total: "1 second" } }))
          ),
          { startImmediately: true }
        )
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(fiber)).reason._tag, tag)
      }
    }))

  it.effect("is downloaded out of a result of a tool too", () =>
    Effect.gen(function*() {
      const { asked, fetch } = server(() => bytes())
      const { model, options } = fetching({})
      const prompt: Prompt.RawInput = [
        { role: "user", content: "Look" },
        {
          role: "assistant",
          content: [{ type: "tool-call", id: "c1", name: "look", params: {}, providerExecuted: false }]
        },
        {
          role: "tool",
          content: [{
            type: "tool-result",
            id: "c1",
            name: "look",
            result: null,
            isFailure: false,
            providerExecuted: false,
            modelOutput: [
              { type: "text", text: "Here" },
              { type: "file", mediaType: "image/png", data: new URL("https://house/a.png") }
            ]
          }]
        }
      ]
      yield* LanguageModel.generateText({ prompt }).pipe(
        Effect.provide(AiSdkModel.layer(model, { download: { fetch }, resultFiles: true }))
      )
      assert.lengthOf(asked, 1)
      assert.include(JSON.stringify(options[0]!.prompt), "\"data\":\"AQID\"")
    }))

  const failing = (href: string, options: AiSdkModel.Download) =>
    Effect.gen(function*() {
      const { model, options: asked } = fetching({})
      const fiber = yield* Effect.forkChild(Effect.exit(
        LanguageModel.generateText({
          prompt: [{ role: "user", content: [{ type: "file", mediaType: "image/png", data: new URL(href) }] }]
        })
          .pipe(Effect.provide(AiSdkModel.layer(model, { download: options })))
      ))
      yield* TestClock.adjust("1 second")
      const exit = yield* Fiber.join(fiber)
      assert.lengthOf(asked, 0)
      if (Exit.isSuccess(exit)) return assert.fail("it was sent")
      const error = Cause.squash(exit.cause) as {
        readonly message: string
        readonly isRetryable: boolean
        readonly reason: { readonly _tag: string }
      }
      return error
    })

  it.effect("that can't be downloaded fails the request with its address, without what may be a key in it", () =>
    Effect.gen(function*() {
      const status = (status: number) => server(() => new Response("no", { status })).fetch
      const endless = () => new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(10)) }))
      const cases: ReadonlyArray<readonly [AiSdkModel.Download, string, boolean, RegExp]> = [
        [{ fetch: status(404) }, "InvalidUserInputError", false, /status 404/],
        [{ fetch: status(503) }, "NetworkError", true, /status 503/],
        [
          { fetch: server(() => Promise.reject(new TypeError("fetch failed"))).fetch },
          "NetworkError",
          true,
          /fetch failed/
        ],
        [
          {
            fetch: server(() =>
              Promise.reject(new TypeError("Failed to parse URL from https://a:secret@house/b?secret"))
            )
              .fetch
          },
          "NetworkError",
          true,
          /Failed to parse URL from https:\/\/house\/b /
        ],
        [
          {
            fetch: server(() => new Response(null, { status: 301, headers: { location: "https://a:secret@house/" } }))
              .fetch
          },
          "InvalidUserInputError",
          false,
          /password/
        ],
        [{ fetch: server(endless).fetch, maxBytes: 100 }, "InvalidUserInputError", false, /larger than 100 bytes/],
        [
          {
            fetch: server(() => new Response("x", { headers: { "content-length": "101" } })).fetch,
            maxBytes: 100
          },
          "InvalidUserInputError",
          false,
          /larger than 100 bytes/
        ],
        [
          { fetch: server(() => new Promise(() => {})).fetch, timeout: "1 second" },
          "NetworkError",
          true,
          /longer than 1s/
        ],
        [
          {
            fetch: server(() => new Response(null, { status: 301, headers: { location: "/a" } })).fetch
          },
          "InvalidUserInputError",
          false,
          /more than 5/
        ],
        [
          {
            fetch: server(() => new Response(null, { status: 301, headers: { location: "http://127.0.0.1/" } })).fetch
          },
          "InvalidUserInputError",
          false,
          /private/
        ]
      ]
      for (const [options, tag, isRetryable, words] of cases) {
        const error = yield* failing("https://house/a.png?key=secret", options)
        assert.deepStrictEqual([error?.reason._tag, error?.isRetryable], [tag, isRetryable])
        assert.match(error?.message ?? "", words)
        assert.include(error?.message, "https://house/a.png")
        assert.notInclude(error?.message, "secret")
      }
    }))

  it.effect("in a private network, or that is no address of the web, is never asked for", () =>
    Effect.gen(function*() {
      const { asked, fetch } = server(() => bytes())
      for (
        const href of [
          "http://localhost/a",
          "http://db.localhost:80/a",
          "http://printer.local/a",
          "http://metadata.google.internal/a",
          "http://127.0.0.1/a",
          "http://2130706433/a",
          "http://0x7f.1/a",
          "http://0.0.0.0/a",
          "http://10.1.2.3/a",
          "http://172.16.0.1/a",
          "http://172.31.0.1/a",
          "http://192.168.1.1/a",
          "http://169.254.169.254/latest",
          "http://100.64.0.1/a",
          "http://192.0.0.1/a",
          "http://198.18.0.1/a",
          "http://224.0.0.1/a",
          "http://255.255.255.255/a",
          "http://[::1]/a",
          "http://[::]/a",
          "http://[::127.0.0.1]/a",
          "http://[64:ff9b::127.0.0.1]/a",
          "http://[2002:7f00:1::]/a",
          "http://[fec0::1]/a",
          "http://[ff02::1]/a",
          "http://[::ffff:127.0.0.1]/a",
          "http://[fd00::1]/a",
          "http://[fe80::1]/a",
          "file:///etc/passwd",
          "ftp://house/a",
          "https://ada:secret@house/a"
        ]
      ) {
        const error = yield* failing(href, { fetch })
        assert.strictEqual(error?.reason._tag, "InvalidUserInputError", href)
      }
      assert.deepStrictEqual(asked, [])
      const { model } = fetching({})
      for (
        const href of [
          "http://172.32.0.1/a",
          "http://100.128.0.1/a",
          "http://11.0.0.1/a",
          "http://10.example/a",
          "http://127.0.0.example/a",
          "http://[2001:db8::1]/a",
          "http://fd.example/a"
        ]
      ) {
        yield* Agent.run(agent, ask(href)).pipe(Effect.provide(AiSdkModel.layer(model, { download: { fetch } })))
      }
      assert.lengthOf(asked, 7)
    }))

  it.effect("is named by its address in an error, whatever its scheme, without what may be a key in it", () =>
    Effect.gen(function*() {
      const { asked, fetch } = server(() => bytes())
      const addresses = [
        ["s3://ada:secret@bucket/key.png?secret#secret", "s3://bucket/key.png"],
        ["gs://bucket:80/a@b//c@d", "gs://bucket:80/a@b//c@d"],
        ["file:///etc/passwd?secret", "file:///etc/passwd"],
        ["blob:https://ada:secret@house/1?secret", "blob:https://house/1"],
        ["urn:isbn:1?secret", "urn:isbn:1"],
        ["https://ada:secret@house:8080/a?secret#secret", "https://house:8080/a"]
      ] as const
      for (const [href, named] of addresses) {
        const error = yield* failing(href, { fetch })
        assert.include(error?.message, `The file at ${named} can't be sent`)
        assert.notInclude(error?.message, "secret")
      }
      assert.deepStrictEqual(asked, [])
    }))

  it.effect("is downloaded for all who wait for it, until the last of them is interrupted, and then anew", () =>
    Effect.gen(function*() {
      const started: Array<{ readonly signal: AbortSignal; readonly answer: (response: Response) => void }> = []
      const fetch = ((_: URL, { signal }: { readonly signal: AbortSignal }) =>
        new Promise<Response>((answer, fail) => {
          signal.addEventListener("abort", () => fail(new DOMException("aborted", "AbortError")))
          started.push({ signal, answer })
        })) as typeof globalThis.fetch
      const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      const { model, options } = fetching({})
      const state = AgentState.ask(AgentState.make("a"), ask("https://house/a"), 0)
      const layer = AiSdkModel.layer(model, { download: { fetch } })
      const begin = Effect.forkChild(Effect.provide(Agent.resume(agent, state), layer), { startImmediately: true })
      for (const isLast of [false, true]) {
        const [one, two] = [yield* begin, yield* begin]
        yield* turn
        const { answer, signal } = started.at(-1)!
        yield* Fiber.interrupt(one)
        assert.isFalse(signal.aborted)
        if (isLast) {
          answer(bytes())
          yield* Fiber.join(two)
        } else {
          yield* Fiber.interrupt(two)
          assert.isTrue(signal.aborted)
        }
      }
      assert.lengthOf(started, 2)
      assert.deepStrictEqual<unknown>(filesOf(options), [[["image/png", downloaded]]])
    }))

  it.effect("stops being downloaded when the run is interrupted", () =>
    Effect.gen(function*() {
      let signal: AbortSignal | undefined
      const fetch = ((_: URL, init: RequestInit) => {
        signal = init.signal ?? undefined
        return new Promise(() => {})
      }) as typeof globalThis.fetch
      const { model } = fetching({})
      const fiber = yield* Effect.forkChild(
        Agent.run(agent, ask("https://house/a")).pipe(Effect.provide(AiSdkModel.layer(model, { download: { fetch } }))),
        { startImmediately: true }
      )
      for (let n = 0; n < 20; n++) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* Fiber.interrupt(fiber)
      assert.isTrue((signal as AbortSignal | undefined)?.aborted)
    }))
})
