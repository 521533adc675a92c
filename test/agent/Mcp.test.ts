import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Record, Schedule, Schema } from "effect"
import { McpClient, McpProtocol, McpServer, Tool, Toolkit } from "effect/ai"
import { FetchHttpClient, HttpRouter } from "effect/http"
import { TestClock } from "effect/testing"
import { Agent, AgentState, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { imbalances } from "./balanced.ts"
import { ofTag, told, toldOf, watch } from "./watch.ts"

const { all, toolCall } = MockResponse

class SoldOut extends Schema.TaggedError<SoldOut>("test/SoldOut")("SoldOut", { what: Schema.String }) {}

const Weather = Tool.make("weather", {
  description: "Weather of a city",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.Struct({ celsius: Schema.Finite, at: Schema.String })
})
const Buy = Tool.make("buy", {
  parameters: Schema.Struct({ what: Schema.String }),
  success: Schema.String,
  failure: SoldOut
})
const Bomb = Tool.make("bomb", { success: Schema.String })
const Slow = Tool.make("slow", { success: Schema.String })
const Remote = Toolkit.make(Weather, Buy, Bomb, Slow)

/** What happens on the server's side. */
interface Shop {
  readonly ran: Array<string>
  readonly started: Deferred.Deferred<void>
  readonly stopped: Deferred.Deferred<void>
}

const handlers = (shop: Shop) =>
  Remote.toLayer({
    weather: ({ city }) =>
      Effect.sync(() => {
        shop.ran.push(city)
        return { celsius: 22, at: city }
      }),
    buy: ({ what }) => Effect.fail(new SoldOut({ what })),
    bomb: () => Effect.die(new Error("secret")),
    slow: () =>
      Deferred.succeed(shop.started, undefined).pipe(
        Effect.andThen(Effect.never),
        Effect.onInterrupt(() => Deferred.succeed(shop.stopped, undefined))
      )
  })

type Version = typeof McpProtocol.v2026_07_28 | typeof McpProtocol.v2025_11_25

/** A real server behind a web handler: a request goes to it as a value, and no socket is opened. */
const serve = (protocol: Version, registrations: Layer.Layer<never, never, McpServer.McpServer>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        HttpRouter.toWebHandler(
          McpServer.layerHttp({ name: "shop", version: "1.0.0", path: "/mcp", protocols: [protocol], registrations }),
          { disableLogger: true }
        )
      ),
      ({ dispose }) => Effect.promise(dispose)
    ),
    ({ handler }) => (request: Request) => handler(request)
  )

/** Connects a real client to whatever answers at the time. */
const connect = Effect.fnUntraced(
  function*(protocol: Version, wire: { answer: (request: Request) => Promise<Response> }) {
    const context = yield* Layer.build(
      McpClient.layerHttp({ name: "test", version: "1.0.0", protocol, url: "http://localhost/mcp" }).pipe(
        Layer.provide(FetchHttpClient.layer),
        Layer.provide(Layer.succeed(FetchHttpClient.Fetch, (input, init) => wire.answer(new Request(input, init))))
      )
    )
    return yield* McpClient.McpClient.pipe(Effect.provideContext(context))
  }
)

const open = Effect.fnUntraced(function*(protocol: Version) {
  const shop: Shop = { ran: [], started: yield* Deferred.make<void>(), stopped: yield* Deferred.make<void>() }
  const wire = { answer: yield* serve(protocol, McpServer.toolkit(Remote).pipe(Layer.provide(handlers(shop)))) }
  const client = yield* connect(protocol, wire)
  return { shop, wire, client, toolkit: yield* McpClient.toolkit(client, "shop__") }
})

const turn = (...calls: ReadonlyArray<MockResponse.MockResponse>) =>
  MockModel.layer(MockModel.queue(all(...calls), "Done."))

for (
  const [version, protocol] of [
    ["2026-07-28", McpProtocol.v2026_07_28],
    ["2025-11-25", McpProtocol.v2025_11_25]
  ] as const
) {
  describe(`Tools of an MCP server of ${version}`, () => {
    it.effect("are offered to the model as the server describes them", () =>
      Effect.gen(function*() {
        const { toolkit } = yield* open(protocol)
        yield* Effect.gen(function*() {
          yield* Agent.run(Agent.make("a", { toolkit }), "Go")
          const [call] = yield* MockModel.calls
          assert.deepStrictEqual(
            call?.request.toolNames.toSorted(),
            ["shop__bomb", "shop__buy", "shop__slow", "shop__weather"]
          )
          const weather = call?.request.tools.find(({ name }) => name === "shop__weather")
          assert.strictEqual(weather?.description, "Weather of a city")
          assert.deepStrictEqual(
            weather === undefined ? [] : Object.keys(Tool.getJsonSchema(weather)["properties"] ?? {}),
            ["city"]
          )
        }).pipe(Effect.provide(MockModel.layer(MockModel.queue("Done."))))
      }))

    it.effect("are called, and their failures of all kinds are told to the model", () =>
      Effect.gen(function*() {
        const { shop, toolkit } = yield* open(protocol)
        const agent = Agent.make("a", { toolkit })
        yield* Effect.gen(function*() {
          const { events } = yield* watch(Agent.run(agent, "Go"))
          assert.deepStrictEqual(imbalances(events), [])
          assert.deepStrictEqual(
            ofTag(events, "ToolCallSettled").map(({ callId, outcome }) => [callId, outcome]),
            [
              ["paris", "Succeeded"],
              ["oslo", "Succeeded"],
              ["wrong", "Failed"],
              ["list", "Failed"],
              ["sold", "Failed"],
              ["bomb", "Failed"],
              ["none", "Failed"]
            ]
          )
          assert.deepStrictEqual(JSON.parse(String(yield* toldOf("paris"))), { celsius: 22, at: "Paris" })
          assert.deepStrictEqual(shop.ran.toSorted(), ["Oslo", "Paris"])
          const text = (id: string) => Effect.map(toldOf(id), (result) => JSON.stringify(result))
          assert.match(yield* text("wrong"), /city/)
          assert.match(yield* text("list"), /arguments must be a JSON object/)
          assert.match(yield* text("sold"), /SoldOut/)
          assert.match(yield* text("sold"), /lamp/)
          assert.match(yield* text("bomb"), /[Ii]nternal/)
          assert.notMatch(yield* text("bomb"), /secret/)
          assert.match(String(yield* toldOf("none")), /^There is no tool "weather"/)
          const end = events[events.length - 1]
          assert.strictEqual(end?._tag === "RunCompleted" ? AgentState.text(end.state) : "", "Done.")
        }).pipe(Effect.provide(turn(
          toolCall("shop__weather", { city: "Paris" }, { id: "paris" }),
          toolCall("shop__weather", { city: "Oslo" }, { id: "oslo" }),
          toolCall("shop__weather", { town: "Rome" }, { id: "wrong" }),
          toolCall("shop__weather", ["Rome"], { id: "list" }),
          toolCall("shop__buy", { what: "lamp" }, { id: "sold" }),
          toolCall("shop__bomb", {}, { id: "bomb" }),
          toolCall("weather", { city: "Rome" }, { id: "none" })
        )))
      }))

    it.effect("time out by a policy, which ends the call on the server too", () =>
      Effect.gen(function*() {
        const { shop, toolkit } = yield* open(protocol)
        const tools = Record.map(toolkit.tools, ToolPolicy.set({ timeout: "5 seconds" }))
        const agent = Agent.make("a", { toolkit: { ...toolkit, tools } })
        yield* Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(Agent.run(agent, "Go"))
          yield* Deferred.await(shop.started)
          yield* TestClock.adjust("5 seconds")
          assert.strictEqual(AgentState.text(yield* Fiber.join(fiber)), "Done.")
          assert.strictEqual((yield* told)[0]?.result, "The tool \"shop__slow\" timed out.")
          yield* Deferred.await(shop.stopped)
        }).pipe(Effect.provide(turn(toolCall("shop__slow", {}))))
      }))

    it.effect("that are gone, like servers that are, fail their calls, and what comes back can be retried", () =>
      Effect.gen(function*() {
        const { client, shop, toolkit, wire } = yield* open(protocol)
        const without = yield* serve(
          protocol,
          McpServer.toolkit(Toolkit.make(Bomb)).pipe(Layer.provide(handlers(shop)))
        )
        const { answer } = wire
        const agent = Agent.make("a", { toolkit })
        const call = toolCall("shop__weather", { city: "Paris" })
        const ask = Effect.andThen(Agent.run(agent, "Go"), told).pipe(
          Effect.map(([result]) => [result?.isFailure, JSON.stringify(result?.result)] as const),
          Effect.provide(Layer.fresh(turn(call)))
        )
        for (
          const [other, says] of [
            [() => Promise.resolve(new Response("down", { status: 503 })), /503/],
            [() => Promise.reject(new Error("no route")), /HTTP request failed/],
            [
              () => Promise.resolve(new Response("{", { headers: { "content-type": "application/json" } })),
              /Invalid MCP JSON/
            ]
          ] as const
        ) {
          wire.answer = other
          const [isFailure, text] = yield* ask
          assert.isTrue(isFailure)
          assert.match(text, says)
        }

        let failures = 2
        wire.answer = (request) => failures-- > 0 ? Promise.resolve(new Response("", { status: 503 })) : answer(request)
        const tools = Record.map(toolkit.tools, ToolPolicy.set({ retry: Schedule.recurs(2) }))
        const [isFailure, text] = yield* Effect.andThen(
          Agent.run(Agent.make("a", { toolkit: { ...toolkit, tools } }), "Go"),
          told
        ).pipe(
          Effect.map(([result]) => [result?.isFailure, String(result?.result)] as const),
          Effect.provide(Layer.fresh(turn(call)))
        )
        assert.deepStrictEqual([isFailure, JSON.parse(text)], [false, { celsius: 22, at: "Paris" }])

        wire.answer = without
        assert.isTrue((yield* ask)[0])
        if (protocol === McpProtocol.v2026_07_28) {
          const fresh = yield* McpClient.toolkit(client)
          assert.deepStrictEqual(Object.keys(fresh.tools), ["bomb"])
          assert.match((yield* ask)[1], /weather/)
        }
      }))
  })
}
