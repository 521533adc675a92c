import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer, Metric, Stream } from "effect"
import { AiError } from "effect/ai"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { Agent } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { measured } from "../../examples/backend/metrics.ts"
import * as Observability from "../../examples/backend/observability.ts"
import { Around } from "../../examples/backend/service/Runs.ts"
import { desk, layer as tools } from "../../examples/desk/agents/desk.ts"
import * as Model from "../../examples/desk/model/model.ts"
import { type Collector, collector, placeOf, pointsOf, sendingTo, servicesOf, spansOf, unitOf } from "./collector.ts"
import { isEnd, serve, tokenOf } from "./serving.ts"

/** Runs a program with what is exported of it, until all of that is sent. */
const exported = <A, E, R>(self: Effect.Effect<A, E, R>, provider: ConfigProvider.ConfigProvider) =>
  self.pipe(
    Effect.provide(Observability.layer.pipe(Layer.provide(ConfigProvider.layer(provider)))),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )

const environment = Layer.mergeAll(Model.layer, tools)

/** A request that begins a run and is answered before that ends. */
const ask = (words: string) =>
  Effect.gen(function*() {
    const run = yield* Stream.runDrain(Agent.stream(desk, words)).pipe(
      measured,
      Effect.forkDetach({ startImmediately: true }),
      Effect.withSpan("POST /messages")
    )
    yield* Fiber.join(run)
  }).pipe(Effect.provide(environment))

const words = "The floor lamp of order 1047 is cracked"

const placesOf = (stub: Collector) => {
  const spans = spansOf(stub)
  return spans.map((span) => placeOf(spans, span))
}

describe("what the backend exports", () => {
  it.live("is each run's spans below the request that began it, though the run goes on without it", () =>
    Effect.gen(function*() {
      const stub = yield* collector
      yield* exported(ask(words), sendingTo(stub))
      const places = placesOf(stub)
      const triage = "POST /messages > invoke_agent triage"
      const refunds = `${triage} > invoke_agent refunds`
      assert.includeMembers(places, [
        "POST /messages",
        triage,
        `${triage} > chat`,
        refunds,
        `${refunds} > chat`,
        `${refunds} > execute_tool find_order`
      ])
      const spans = spansOf(stub)
      assert.strictEqual(new Set(spans.map(({ traceId }) => traceId)).size, 1)
      const call = spans.find(({ name }) => name === "execute_tool find_order")
      assert.strictEqual(call?.attributes["gen_ai.agent.name"], "refunds")
      assert.deepStrictEqual(new Set(servicesOf(stub)), new Set(["troupe-backend"]))
    }))

  it.live("is what runs, models, tools, handoffs and approvals came to, in numbers", () =>
    Effect.gen(function*() {
      const stub = yield* collector
      yield* exported(Effect.andThen(ask(words), ask("Please cancel order 1043")), sendingTo(stub))
      const points = (name: string, ...by: ReadonlyArray<string>) => pointsOf(stub, name, ...by)
      assert.deepStrictEqual(points("troupe.runs", "gen_ai.agent.name", "troupe.run.outcome"), {
        "refunds WaitingForTools": 1,
        "orders Complete": 1
      })
      assert.deepStrictEqual(points("troupe.handoffs", "troupe.handoff.from", "troupe.handoff.to"), {
        "triage refunds": 1,
        "triage orders": 1
      })
      assert.deepStrictEqual(
        points("troupe.tool_calls", "gen_ai.agent.name", "gen_ai.tool.name", "troupe.tool_call.outcome"),
        {
          "refunds find_order Succeeded": 1,
          "orders cancel_order Failed": 1
        }
      )
      assert.deepStrictEqual(points("gen_ai.execute_tool.duration", "gen_ai.tool.name", "error.type"), {
        "find_order ": 1,
        "cancel_order Failed": 1
      })
      assert.deepStrictEqual(points("troupe.approvals", "gen_ai.tool.name"), { open_claim: 1 })
      assert.deepStrictEqual(points("gen_ai.client.operation.duration", "gen_ai.operation.name", "error.type"), {
        "chat ": 6
      })
      assert.deepStrictEqual(unitOf(stub, "gen_ai.client.operation.duration"), "s")
      assert.deepStrictEqual(points("troupe.steps", "gen_ai.agent.name"), { triage: 2, refunds: 2, orders: 2 })
      assert.deepStrictEqual(unitOf(stub, "gen_ai.invoke_agent.duration"), "s")
    }))

  it.live("is nothing where no collector is named", () =>
    Effect.gen(function*() {
      const stub = yield* collector
      let requests = 0
      const counting: typeof fetch = (...args) => {
        requests++
        return fetch(...args)
      }
      const send = (provider: ConfigProvider.ConfigProvider) =>
        Effect.provideService(exported(ask(words), provider), FetchHttpClient.Fetch, counting)
      yield* send(ConfigProvider.fromEnv({ env: { OTEL_TRACES_EXPORTER: "otlp" } }))
      yield* send(ConfigProvider.fromEnv({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: "" } }))
      yield* send(sendingTo(stub, { OTEL_SDK_DISABLED: "true" }))
      assert.deepStrictEqual([requests, stub.arrived], [0, []])
      yield* send(sendingTo(stub))
      assert.strictEqual(requests, 2)
    }))

  it.live("goes out with the headers and under the name that the environment says, without what was said", () =>
    Effect.gen(function*() {
      const stub = yield* collector
      yield* exported(
        ask(words),
        sendingTo(stub, { OTEL_SERVICE_NAME: "desk", OTEL_EXPORTER_OTLP_HEADERS: "x-team=support%20one" })
      )
      assert.sameMembers(stub.arrived.map(({ path }) => path), ["/v1/traces", "/v1/metrics"])
      assert.isTrue(stub.arrived.every(({ headers }) => headers["x-team"] === "support one"))
      assert.deepStrictEqual(new Set(servicesOf(stub)), new Set(["desk"]))
      assert.notMatch(JSON.stringify(stub.arrived), /cracked|sorry|Priya/)
    }))
})

/** The kind of spans of requests that were answered, in OTLP. */
const serverKind = 2

describe("what the service exports of a request", () => {
  it.live("is the run that it began, in its trace, and what that came to in numbers, though it was answered before", () =>
    Effect.gen(function*() {
      const stub = yield* collector
      const id = yield* exported(
        Effect.scoped(Effect.gen(function*() {
          const service = yield* serve()
          const { id } = yield* service.begin(words)
          yield* service.until(id, isEnd)
          return id
        })).pipe(Effect.provideService(Around, measured)),
        sendingTo(stub)
      )
      const spans = spansOf(stub)
      const run = spans.find(({ name }) => name === "invoke_agent triage")
      assert.isDefined(run)
      /** What an instance's request to the conversation's entity stands between is the request that began it. */
      type Span = typeof spans[number]
      const above = (span: Span | undefined): Span | undefined =>
        span === undefined || span.attributes["http.request.method"] !== undefined && span.kind === serverKind
          ? span
          : above(spans.find(({ spanId }) => spanId === span.parentSpanId))
      const request = above(run)
      assert.deepStrictEqual([request?.kind, request?.attributes["http.request.method"]], [serverKind, "POST"])
      assert.match(String(request?.attributes["url.path"]), /\/messages$/)
      const within = spans.filter(({ traceId }) => traceId === run!.traceId).map((span) => placeOf(spans, span))
      assert.strictEqual(run!.attributes["gen_ai.conversation.id"], id)
      const triage = placeOf(spans, run!)
      assert.includeMembers(within, [
        `${triage} > chat`,
        `${triage} > invoke_agent refunds`,
        `${triage} > invoke_agent refunds > chat`,
        `${triage} > invoke_agent refunds > execute_tool find_order`
      ])
      assert.deepStrictEqual(pointsOf(stub, "troupe.runs", "gen_ai.agent.name", "troupe.run.outcome"), {
        "refunds WaitingForTools": 1
      })
      assert.notInclude(JSON.stringify(stub.arrived), tokenOf("ada"))
    }))
})

describe("metrics of agents", () => {
  const agent = Agent.make("clerk")

  const kept = <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.andThen(Effect.exit(self), Metric.snapshot).pipe(
      Effect.map((snapshot) =>
        Object.fromEntries(snapshot.map(({ attributes, id, state }) => {
          const { unit: _, "gen_ai.operation.name": __, "gen_ai.token.modality": ___, ...by } = attributes ?? {}
          const value = "sum" in state ? `${state.count} in ${state.sum}` : "count" in state ? state.count : undefined
          return [[id, ...Object.values(by)].join(" "), value]
        }))
      ),
      Effect.provideService(Metric.MetricRegistry, new Map())
    )

  it.effect("count tokens by kind where they are known, and nothing where they aren't", () =>
    Effect.gen(function*() {
      const metrics = yield* kept(measured(Agent.run(agent, "Hello"))).pipe(
        Effect.provide(MockModel.layer(MockModel.queue(
          MockResponse.withUsage("Hi", { input: 10, cached: 4, output: 7, reasoning: 3 })
        )))
      )
      assert.deepInclude(metrics, {
        "gen_ai.client.token.usage input": "1 in 10",
        "gen_ai.client.inference.usage.cache_read.input_tokens clerk": 4,
        "gen_ai.client.token.usage output": "1 in 7",
        "gen_ai.client.inference.usage.reasoning.output_tokens clerk": 3
      })
      const unknown = yield* kept(measured(Agent.run(agent, "Hello"))).pipe(
        Effect.provide(MockModel.layer(MockModel.queue("Hi")))
      )
      assert.deepStrictEqual(Object.keys(unknown).filter((name) => name.includes("token")), [])
    }))

  it.effect("say how runs failed, and count tools that a model makes up as one", () =>
    Effect.gen(function*() {
      const made = MockResponse.all(MockResponse.toolCall("magic_1", {}), MockResponse.toolCall("magic_2", {}))
      const metrics = yield* kept(measured(Agent.run(agent, "Hello"))).pipe(
        Effect.provide(MockModel.layer(MockModel.queue(made, MockResponse.fail(new AiError.RateLimitError({})))))
      )
      assert.deepInclude(metrics, {
        "troupe.tool_calls clerk _OTHER Failed": 2,
        "troupe.runs clerk Failed": 1,
        "gen_ai.invoke_agent.duration clerk ModelCallFailed": "1 in 0",
        "gen_ai.client.operation.duration RateLimitError": "1 in 0"
      })
      assert.strictEqual(metrics["gen_ai.execute_tool.duration clerk _OTHER Failed"], undefined)
    }))

  it.effect("measure runs and requests that go on side by side, each on its own", () =>
    Effect.gen(function*() {
      const quick = Agent.make("quick")
      const fiber = yield* kept(Effect.all([
        measured(Agent.run(agent, "Hello")),
        Effect.delay(measured(Agent.run(quick, "Hello")), "1 second")
      ], { concurrency: 2 })).pipe(Effect.forkChild)
      yield* TestClock.adjust("10 seconds")
      const metrics = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        ["gen_ai.invoke_agent.duration clerk", "gen_ai.invoke_agent.duration quick", "gen_ai.client.operation.duration"]
          .map((name) => metrics[name]),
        ["1 in 5", "1 in 2", "2 in 7"]
      )
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      clerk: MockModel.make(() => Effect.as(Effect.sleep("5 seconds"), "Hi")),
      quick: MockModel.make(() => Effect.as(Effect.sleep("2 seconds"), "Hi"))
    })))))

  it.effect("say where a run was interrupted", () =>
    Effect.gen(function*() {
      const fiber = yield* kept(Effect.timeout(measured(Agent.run(agent, "Hello")), "3 seconds")).pipe(Effect.forkChild)
      yield* TestClock.adjust("10 seconds")
      const metrics = yield* Fiber.join(fiber)
      assert.deepInclude(metrics, {
        "troupe.runs clerk Interrupted": 1,
        "gen_ai.invoke_agent.duration clerk Interrupted": "1 in 3",
        "gen_ai.client.operation.duration Interrupted": "1 in 3"
      })
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(() => Effect.never)))))
})
