import { NodeCrypto } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Layer, Redacted } from "effect"
import { SingleRunner } from "effect/cluster"
import { connect } from "node:net"
import { Conversation } from "troupe/cluster"
import { MockModel } from "troupe/testing"
import { maxMessageLength } from "../../examples/backend/api/Conversations.ts"
import { readTokens } from "../../examples/backend/config.ts"
import { assistant } from "./assistant.ts"
import { colleagueOf, isEnd, logging, serve, tokenOf } from "./serving.ts"

const json = { "content-type": "application/json" }

const post = (body: string, headers: Record<string, string> = json): RequestInit => ({ method: "POST", body, headers })

const nobodys = "00000000-0000-4000-8000-000000000000"

/** The problem document of a response. */
const problemOf = (response: Response) =>
  Effect.promise(async () => {
    assert.strictEqual(response.headers.get("content-type"), "application/problem+json")
    assert.strictEqual(response.headers.get("cache-control"), "no-store")
    const problem = await response.json()
    assert.strictEqual(problem.status, response.status)
    assert.isString(problem.title)
    return problem
  })

describe("bad input", () => {
  it.live("gets the right status and a problem document, and never a 500", () =>
    Effect.gen(function*() {
      const serving = yield* serve()
      const path = `/v1/conversations/${(yield* serving.open()).id}`
      const [messages, decisions, colleague] = [`${path}/messages`, `${path}/approvals/x`, colleagueOf("ada")]
      const table: ReadonlyArray<readonly [number, string, RequestInit?, ReadonlyArray<string>?, string?]> = [
        [400, messages, post("{"), ["payload"]],
        [400, messages, post(""), ["payload"]],
        [400, messages, post("null"), ["payload"]],
        [400, messages, post("[]"), ["payload"]],
        [400, messages, post("{}"), ["payload", "text"]],
        [400, messages, post(`{"text":7}`), ["payload", "text"]],
        [400, messages, post(`{"text":""}`), ["payload", "text"]],
        [400, messages, post(`{"text":" \\n\\t\\u00a0"}`), ["payload", "text"]],
        [400, messages, post(JSON.stringify({ text: "x".repeat(maxMessageLength + 1) })), ["payload", "text"]],
        [400, messages, post(`{"text":"x","key":""}`), ["payload", "key"]],
        [400, messages, post(`{"text":"x","key":{"a":1}}`), ["payload", "key"]],
        [400, messages, post(`${"[".repeat(30_000)}${"]".repeat(30_000)}`), ["payload"]],
        [400, messages, { method: "POST", body: new Uint8Array([0xff, 0xfe, 0x7b]), headers: json }],
        // A text whose last byte isn't UTF-8, and one that ends in the middle of a character.
        ...[[0xff], [0xe2, 0x82]].map((bytes): typeof table[number] => [
          400,
          messages,
          {
            method: "POST",
            body: Buffer.concat([Buffer.from(`{"text":"x`), Buffer.from(bytes), Buffer.from(`"}`)]),
            headers: json
          },
          []
        ]),
        [400, decisions, post(`{"decision":"maybe"}`), ["payload"], colleague],
        [400, decisions, post(JSON.stringify({ decision: "deny", reason: "x".repeat(1001) })), [], colleague],
        [413, decisions, post("x".repeat(64 * 1024 + 1)), [], colleague],
        [400, `${path}/events?after=x`, {}, ["query", "after"]],
        [400, `${path}/events?after=-1`, {}, ["query", "after"]],
        [400, `${path}/events?after=1.5`, {}, ["query", "after"]],
        [400, `${path}/events?after=1&after=2`, {}, ["query", "after"]],
        [400, `${path}/events`, { headers: { "last-event-id": "x" } }, ["headers", "last-event-id"]],
        // Other notations than decimal digits, and what no event has as its number.
        ...["1e3", "0x10", "+5", "1.0", "1_000", "٣", "５", "Infinity", "NaN", "9".repeat(16), "1".repeat(400), "true"]
          .flatMap((cursor): typeof table => [
            [400, `${path}/events?after=${encodeURIComponent(cursor)}`, {}, ["query", "after"]],
            ...(/^[ -~]*$/.test(cursor)
              ? [
                [400, `${path}/events`, { headers: { "last-event-id": cursor } }, ["headers", "last-event-id"]] as const
              ]
              : [])
          ]),
        [400, `${path}/events?after=`, {}, ["query", "after"]],
        [400, `${path}/events?after=%205%20`, {}, ["query", "after"]],
        [400, `${path}/events?after=5%00`, {}, ["query", "after"]],
        [400, `${path}/events?after=5%0A`, {}, ["query", "after"]],
        [400, `${path}/events`, { headers: { "last-event-id": "" } }, ["headers", "last-event-id"]],
        [400, "/v1/conversations/x", {}, ["params", "id"]],
        [400, `/v1/conversations/${"x".repeat(99)}`, {}, ["params", "id"]],
        [400, "/v1/conversations/%00%0a..", {}, ["params", "id"]],
        [404, `/v1/conversations/${"x".repeat(5000)}`],
        [404, "/v1/conversations/%ZZ"],
        [404, "/v1/conversations/a/b/c/d"],
        [404, "/v1/conversations/../../etc/passwd"],
        [404, "/nothing"],
        [404, "/v1"],
        [404, "/V1/Conversations"],
        [404, "/v1/Conversations", { method: "POST" }],
        [404, "//v1/conversations"],
        [404, "/v1//conversations"],
        [404, `/v1/conversations//${nobodys}`],
        [404, "//"],
        [404, "//page.css"],
        [404, "/docs//"],
        [404, "/Docs"],
        [404, "/READY"],
        [404, `/v1/conversations/${nobodys}`],
        [404, `/v1/conversations/${nobodys}/events`],
        [404, `/v1/conversations/${nobodys}/trace`],
        [404, `/v1/conversations/${nobodys}/approvals`],
        [404, `/v1/conversations/${nobodys}/messages`, post(`{"text":"Hello"}`)],
        [404, `/v1/conversations/${nobodys}/resume`, { method: "POST" }],
        [404, `/v1/conversations/${nobodys}/cancel`, { method: "POST" }],
        [404, `/v1/conversations/${nobodys}`, { method: "DELETE" }],
        [404, decisions, post(`{"decision":"approve"}`), [], colleague],
        [409, `${path}/resume`, { method: "POST" }],
        [405, "/v1/conversations", { method: "PUT" }],
        [405, path, { method: "PATCH" }],
        [405, messages],
        [405, "/health", { method: "POST" }],
        [413, messages, post(JSON.stringify({ text: "x".repeat(10_000_000) }))],
        [413, messages, post("x".repeat(64 * 1024 + 1))],
        [413, "/v1/conversations", post("x".repeat(10_000_000))],
        [415, messages, post("text=Hello", { "content-type": "text/plain" })],
        [415, messages, post("<a/>", { "content-type": "application/xml" })],
        ...["gzip", "br", "identity, gzip", "GZIP"].map((packing): typeof table[number] => [
          415,
          messages,
          post(`{"text":"Hello"}`, { ...json, "content-encoding": packing })
        ]),
        [415, decisions, post(`{"decision":"approve"}`, { ...json, "content-encoding": "gzip" }), [], colleague],
        [415, messages, post(`{"text":"Hello"}`, { "content-type": "application/json; charset=utf-16" })],
        [415, messages, post(`{"text":"Hello"}`, { "content-type": `application/json; Charset="latin1"` })]
      ]
      yield* Effect.forEach(table, ([status, path, init, at, who]) =>
        Effect.gen(function*() {
          const response = yield* serving.fetch(path, init, who)
          const what = `${init?.method ?? "GET"} ${path.slice(0, 80)}`
          assert.strictEqual(response.status, status, what)
          const problem = yield* problemOf(response)
          if (at !== undefined && at.length > 0) assert.deepEqual(problem.errors[0].path, at, what)
          if (status === 405) assert.isNotEmpty(response.headers.get("allow"))
          // Whoever gets a cursor or an encoding wrong is told in a sentence what is right.
          if (/\/events(?!.*&)/.test(path) && status === 400) {
            assert.include(JSON.stringify(problem), "in decimal digits")
          }
          if (/encoding|charset/i.test(JSON.stringify(init?.headers ?? {}))) assert.match(problem.detail, /^A body is /)
        }), { discard: true })
      for (
        const headers of [
          { ...json, "content-encoding": "identity" },
          { "content-type": "application/json; charset=UTF-8" }
        ]
      ) {
        // Read, and refused for what it says.
        const response = yield* serving.fetch(messages, post(`{"text":""}`, headers))
        assert.strictEqual(response.status, 400)
      }
      // It all did nothing.
      const { conversations } = yield* serving.client()
      assert.deepInclude((yield* conversations.list())[0], { title: "", isRunning: false })
    }))

  it.live("that is blank takes no key: the same key serves for what is said then", () =>
    Effect.gen(function*() {
      const serving = yield* serve()
      const { id } = yield* serving.open()
      const say = (text: string) =>
        Effect.map(
          serving.fetch(`/v1/conversations/${id}/messages`, post(JSON.stringify({ text, key: "once" }))),
          ({ status }) => status
        )
      assert.deepStrictEqual([yield* say(" "), yield* say("Hello"), yield* say("Hello")], [400, 202, 202])
      yield* serving.until(id, isEnd)
      const { state } = yield* (yield* serving.client()).conversations.read({ params: { id } })
      assert.lengthOf(state.conversation.turns.filter(({ _tag }) => _tag === "User"), 1)
    }))

  it.live("isn't read beyond the limit, whether its length is told or not", () =>
    Effect.gen(function*() {
      const serving = yield* serve()
      const path = `/v1/conversations/${(yield* serving.open()).id}/messages`
      const { port } = new URL(serving.url)
      // Sends for as long as it may, and says how much that was.
      const send = (framing: string, chunk: Buffer) =>
        Effect.callback<{ readonly sent: number; readonly answer: string }>((resume) => {
          const socket = connect(Number(port), "127.0.0.1")
          let answer = ""
          let sent = 0
          const more = () => {
            while (sent < 10_000_000 && !socket.destroyed) {
              sent += chunk.length
              if (!socket.write(chunk)) return
            }
          }
          socket.on("drain", more).on("error", () => {}).setEncoding("utf8").on("data", (data) => answer += data)
          socket.on("close", () => resume(Effect.succeed({ sent, answer })))
          const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${tokenOf("ada")}\r\n`
          socket.write(`${head}content-type: application/json\r\n${framing}\r\n\r\n`, more)
        })
      const chunk = Buffer.alloc(16_384, 32)
      const chunked = Buffer.concat([Buffer.from("4000\r\n"), chunk, Buffer.from("\r\n")])
      for (
        const { answer, sent } of [
          yield* send("content-length: 10000000", chunk),
          yield* send("transfer-encoding: chunked", chunked)
        ]
      ) {
        assert.match(answer, /^HTTP\/1\.1 413 /)
        assert.include(answer, "body-too-large")
        assert.isBelow(sent, 10_000_000)
      }
    }))

  it.live(
    "that arrives too slowly, or isn't HTTP, is ended with a problem document, and no response is broken into",
    () =>
      Effect.gen(function*() {
        const serving = yield* serve({ settings: { arrival: Duration.millis(300) } })
        const { url } = serving
        const { id } = yield* serving.open()
        const send = (text: string, later = "") =>
          Effect.callback<string>((resume) => {
            const socket = connect(Number(new URL(url).port), "127.0.0.1")
            let answer = ""
            socket.setEncoding("utf8").on("error", () => {}).on("data", (data: string) => {
              if (later !== "" && answer === "") socket.write(later)
              answer += data
            })
            socket.on("close", () => resume(Effect.succeed(answer)))
            socket.write(text)
          })
        const head = `host: x\r\nauthorization: Bearer ${tokenOf("ada")}\r\n`
        const slow =
          `POST /v1/conversations/${id}/messages HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{`
        const large = `GET /health HTTP/1.1\r\nhost: x\r\nx: ${"x".repeat(20_000)}\r\n\r\n`
        for (
          const [text, status] of [[slow, 408], ["GET /he", 408], ["What?\r\n\r\n", 400], [large, 431]] as const
        ) {
          const answer = yield* send(text)
          const [headers, body] = answer.split("\r\n\r\n")
          assert.match(headers!, new RegExp(`^HTTP/1\\.1 ${status} `))
          assert.match(headers!, /\r\ncontent-type: application\/problem\+json\r\n/)
          assert.include(JSON.parse(body!), { status, type: "about:blank" })
        }
        const stream = yield* send(`GET /v1/conversations/${id}/events HTTP/1.1\r\n${head}\r\n`, "What?\r\n\r\n")
        assert.match(stream, /^HTTP\/1\.1 200 /)
        assert.notInclude(stream, "problem+json")
      }),
    5000
  )

  it.live("that makes something break down is answered without its inside", () =>
    Effect.gen(function*() {
      const serving = yield* serve({
        wrap: ({ list, logs }) => ({ logs, list: { ...list, list: () => Effect.die(new Error("a secret")) } })
      })
      const response = yield* serving.fetch("/v1/conversations")
      assert.strictEqual(response.status, 500)
      assert.notInclude(JSON.stringify(yield* problemOf(response)), "secret")
    }))
})

describe("tenants", () => {
  it.live("need a token that is known", () =>
    Effect.gen(function*() {
      const serving = yield* serve()
      for (const authorization of ["", "Bearer", "Bearer ", `Bearer ${tokenOf("eve")}`, `Basic ${tokenOf("ada")}`]) {
        const response = yield* serving.fetch("/v1/conversations", { headers: { authorization } })
        assert.strictEqual(response.status, 401)
        assert.match(response.headers.get("www-authenticate")!, /^Bearer/)
        yield* problemOf(response)
      }
      assert.strictEqual((yield* serving.fetch("/health", { headers: { authorization: "" } })).status, 200)
    }))

  it.live("see nothing of each other's conversations", () =>
    Effect.gen(function*() {
      const serving = yield* serve()
      const path = `/v1/conversations/${(yield* serving.open()).id}`
      const requests: ReadonlyArray<readonly [string, RequestInit?, string?]> = [
        [""],
        ["", { method: "DELETE" }],
        ["/trace"],
        ["/events"],
        ["/approvals"],
        ["/messages", post(`{"text":"Hello"}`)],
        ["/approvals/x", post(`{"decision":"approve"}`), colleagueOf("bob")],
        ["/resume", { method: "POST" }],
        ["/cancel", { method: "POST" }]
      ]
      for (const [rest, init, who = "bob"] of requests) {
        const others = yield* serving.fetch(`${path}${rest}`, init, who)
        const unknown = yield* serving.fetch(`/v1/conversations/${nobodys}${rest}`, init, who)
        assert.strictEqual(others.status, 404)
        const [a, b] = [yield* problemOf(others), yield* problemOf(unknown)]
        assert.deepEqual({ ...a, conversation: nobodys }, b)
      }
      const { conversations } = yield* serving.client("bob")
      assert.deepEqual(yield* conversations.list(), [])
      assert.deepInclude((yield* (yield* serving.client("ada")).conversations.list())[0], { isRunning: false })
    }))

  it.effect("have tokens that can be told apart", () =>
    Effect.gen(function*() {
      const long = "0123456789abcdef"
      const colleague = `ada=${long}-`
      const [first, second, third] = yield* readTokens({ customer: `ada=${long}, ada=${long}==`, colleague })
      assert.deepEqual([first!, second!, third!].map(({ role, tenant }) => [tenant, role]), [
        ["ada", "customer"],
        ["ada", "customer"],
        ["ada", "colleague"]
      ])
      assert.strictEqual(Redacted.value(second!.token), `${long}==`)
      for (
        const bad of ["", "ada", `=${long}`, "ada=short", `a b=${long}`, `ada=${long} x`, `ada=${long},bob=${long}`]
      ) {
        for (const texts of [{ customer: bad }, { customer: `ada=${long}/`, colleague: bad }]) {
          const exit = yield* Effect.exit(readTokens(texts))
          assert.isTrue(Exit.isFailure(exit), bad)
          assert.notInclude(String(exit), long)
        }
      }
      // Nobody is both, and nobody decides where there are no customers.
      for (const [colleague, issue] of [[`ada=${long}`, "twice"], [`bob=${long}-`, "a tenant that TOKENS doesn't"]]) {
        const error = yield* Effect.flip(readTokens({ customer: `ada=${long}`, colleague }))
        assert.deepInclude(error, { name: "COLLEAGUE_TOKENS" })
        assert.include(error.message, issue!)
      }
    }))
})

describe("roles", () => {
  it.live("keep to what is theirs: a customer never decides, a colleague says nothing in a customer's name", () =>
    Effect.gen(function*() {
      const serving = yield* serve()
      const path = `/v1/conversations/${(yield* serving.open()).id}`
      // Nobody reads what the wrong one sends, nor the address beyond its form.
      const bodies = ["{", "null", "", `{"text":7}`, "x".repeat(1_000_000)]
      const unread = (...urls: ReadonlyArray<string>) =>
        urls.flatMap((url) => [
          ...bodies.map((body) => [url, post(body)] as const),
          [url, post("<a/>", { "content-type": "application/xml" })] as const
        ])
      const others: ReadonlyArray<readonly [string, RequestInit?]> = [
        ...unread(`${path}/approvals/x`, `${path}/approvals/%20`, "/v1/conversations/x/approvals/y"),
        ["/v1/approvals"],
        ["/v1/approvals/events"],
        // Whether there is such a call, or such a conversation, makes no difference.
        [`${path}/approvals/x`, post(`{"decision":"approve"}`)],
        [`${path}/approvals/x`, post(`{"decision":"deny","reason":"no"}`)],
        [`/v1/conversations/${nobodys}/approvals/x`, post(`{"decision":"approve"}`)]
      ]
      const customers: ReadonlyArray<readonly [string, RequestInit?]> = [
        ...unread(
          "/v1/conversations",
          `${path}/messages`,
          `${path}/resume`,
          `${path}/cancel`,
          "/v1/conversations/x/messages"
        ),
        ["/v1/conversations/x", { method: "DELETE" }],
        ["/v1/conversations", { method: "POST" }],
        [`${path}/messages`, post(`{"text":"Hello"}`)],
        [`${path}/resume`, { method: "POST" }],
        [`${path}/cancel`, { method: "POST" }],
        [path, { method: "DELETE" }]
      ]
      for (
        const [requests, who, role, detail] of [
          [others, "ada", "colleague", "Only a colleague may do that: a customer waits for the decision"],
          [customers, colleagueOf("ada"), "customer", "Only a customer may do that"]
        ] as const
      ) {
        for (const [url, init] of requests) {
          const response = yield* serving.fetch(url, init, who)
          assert.strictEqual(response.status, 403, url)
          const problem = yield* problemOf(response)
          assert.deepInclude(problem, { type: "urn:troupe-backend:forbidden", role })
          assert.include(problem.detail, detail)
        }
      }
      // Both read, and know who they are.
      for (const [who, role] of [["ada", "customer"], [colleagueOf("ada"), "colleague"]] as const) {
        for (const url of ["/v1/conversations", path, `${path}/trace`, `${path}/approvals`]) {
          assert.strictEqual((yield* serving.fetch(url, {}, who)).status, 200, url)
        }
        const me = yield* serving.fetch("/v1/me", {}, who)
        assert.deepEqual(yield* Effect.promise(() => me.json()), { tenant: "ada", role })
      }
      assert.lengthOf(yield* (yield* serving.client()).conversations.list(), 1)
    }))
})

describe("limits", () => {
  it.live("hold for the requests of each tenant", () =>
    Effect.gen(function*() {
      const serving = yield* serve({ settings: { limits: { rate: 3 } } })
      const status = (tenant: string) =>
        Effect.map(serving.fetch("/v1/conversations", {}, tenant), ({ status }) => status)
      assert.deepEqual(yield* Effect.replicateEffect(status("ada"), 3), [200, 200, 200])
      const refused = yield* serving.fetch("/v1/conversations")
      assert.strictEqual(refused.status, 429)
      const problem = yield* problemOf(refused)
      assert.deepInclude(problem, { type: "urn:troupe-backend:too-many-requests", limit: "rate" })
      assert.strictEqual(refused.headers.get("retry-after"), String(problem.retryAfter))
      assert.isAbove(problem.retryAfter, 0)
      assert.strictEqual(yield* status("bob"), 200)
      // Customers who ask too often keep no colleague from deciding.
      assert.strictEqual(yield* status(colleagueOf("ada")), 200)
    }))

  it.live("hold for the runs and the streams of each tenant", () =>
    Effect.gen(function*() {
      const serving = yield* serve({
        settings: { limits: { runs: 1, streams: 1 }, grace: Duration.zero },
        agents: assistant(MockModel.make(() => Effect.never))
      })
      const say = (id: string, tenant?: string) =>
        serving.fetch(`/v1/conversations/${id}/messages`, post(`{"text":"Hello"}`), tenant)
      const [first, second] = [(yield* serving.open()).id, (yield* serving.open()).id]
      assert.strictEqual((yield* say(first)).status, 202)
      const refused = yield* say(second)
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(refused.headers.get("retry-after"), "1")
      assert.deepInclude(yield* problemOf(refused), { limit: "runs", retryAfter: 1 })
      assert.strictEqual((yield* say((yield* serving.open("bob")).id, "bob")).status, 202)
      assert.strictEqual((yield* serving.fetch(`/v1/conversations/${first}/cancel`, { method: "POST" })).status, 200)
      assert.strictEqual((yield* say(second)).status, 202)

      const controller = new AbortController()
      const events = (signal?: AbortSignal) =>
        serving.fetch(`/v1/conversations/${second}/events`, signal === undefined ? {} : { signal })
      assert.strictEqual((yield* events(controller.signal)).status, 200)
      const crowded = yield* events()
      assert.strictEqual(crowded.status, 429)
      assert.deepInclude(yield* problemOf(crowded), { limit: "streams" })
      controller.abort()
      yield* Effect.repeat(events(), { until: ({ status }) => status === 200 })
    }))
})

it.live("Connections are kept for longer than proxies keep theirs", () =>
  Effect.gen(function*() {
    const serving = yield* serve()
    const response = yield* serving.fetch("/health")
    assert.strictEqual(response.headers.get("keep-alive"), "timeout=75")
  }))

it.live("An instance that has as many conversations in memory as it may says so, and not that its store is away", () => {
  const { lines, logged } = logging()
  const cluster = SingleRunner.layer({
    runnerStorage: "memory",
    shardingConfig: Conversation.sharding({ maxResidentEntities: 1 })
  }).pipe(Layer.provide(NodeCrypto.layerDigest))
  return logged(Effect.gen(function*() {
    const serving = yield* serve({ cluster, agents: assistant(MockModel.queue("Hello.")) })
    const first = yield* serving.begin()
    yield* serving.until(first.id, isEnd)
    const { id } = yield* serving.open()
    for (
      const response of [
        yield* serving.fetch(`/v1/conversations/${id}`),
        yield* serving.fetch(`/v1/conversations/${id}/messages`, post(`{"text":"Hello"}`)),
        yield* serving.fetch(`/v1/conversations/${id}/cancel`, { method: "POST" })
      ]
    ) {
      assert.strictEqual(response.status, 503)
      assert.strictEqual(response.headers.get("retry-after"), "5")
      assert.include(yield* problemOf(response), { detail: "Too many conversations are open at a time" })
    }
    assert.deepEqual(lines, [])
    // What is open can go on.
    assert.isFalse((yield* first.conversations.read({ params: first.params })).isRunning)
  }))
})

describe("the description of the API", () => {
  it.live("is served with its page, which loads nothing from other hosts", () =>
    Effect.gen(function*() {
      const serving = yield* serve()
      const openapi = yield* Effect.promise(async () => (await fetch(`${serving.url}/openapi.json`)).json())
      assert.match(openapi.openapi, /^3\.1/)
      assert.sameMembers(Object.keys(openapi.paths), [
        "/health",
        "/ready",
        "/v1/approvals",
        "/v1/approvals/events",
        "/v1/conversations",
        "/v1/conversations/{id}",
        "/v1/conversations/{id}/approvals",
        "/v1/conversations/{id}/approvals/{callId}",
        "/v1/conversations/{id}/cancel",
        "/v1/conversations/{id}/events",
        "/v1/conversations/{id}/messages",
        "/v1/conversations/{id}/resume",
        "/v1/conversations/{id}/trace",
        "/v1/me"
      ])
      const { responses } = openapi.paths["/v1/conversations/{id}/messages"].post
      assert.sameMembers(Object.keys(responses), [
        "202",
        "400",
        "401",
        "403",
        "404",
        "409",
        "413",
        "415",
        "429",
        "500",
        "503"
      ])
      const docs = yield* Effect.promise(() => fetch(`${serving.url}/docs`))
      assert.strictEqual(docs.status, 200)
      assert.include(docs.headers.get("content-security-policy")!, "default-src 'none'")
      const html = yield* Effect.promise(() => docs.text())
      assert.notMatch(html, /<(?:script|link|img)[^>]*(?:src|href)="?https?:/)
    }))
})
