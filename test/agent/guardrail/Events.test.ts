/**
 * What is told and recorded of guardrails, whatever happens.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Fiber, Layer, Option, References, Result, Schema, Stream, Tracer } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, type AgentEvent, AgentState, Guardrail, Handoff, Session, Trace } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { problems } from "../../domain/legal.ts"
import { interruptAt } from "../../handoff/interrupter.ts"
import { imbalances } from "../balanced.ts"
import { attributesOf, recorded, tree } from "../spans.ts"
import { ofTag } from "../watch.ts"
import { model, ran, said } from "./looking.ts"

const Say = Tool.make("say", { parameters: Schema.Struct({ text: Schema.String }), success: Schema.String })
const Kit = Toolkit.make(Say)
const handlers = Kit.toLayer({ say: ({ text }) => Effect.as(Effect.yieldNow, `said ${text}`) })
const say = (text: string, id: string) => MockResponse.toolCall("say", { text }, { id })

const named = (name: string, verdict: Guardrail.Verdict<string> = Guardrail.pass) => Guardrail.make(name, () => verdict)

/** A guardrail that takes its turns, and holds something open meanwhile. */
const slow = (name: string, open: Set<string>, options: Guardrail.Options<"text"> = {}) =>
  Guardrail.make(name, (text) =>
    Effect.acquireUseRelease(
      Effect.sync(() => void open.add(name)),
      () =>
        Effect.as(
          Effect.andThen(Effect.yieldNow, Effect.yieldNow),
          text.includes("Ada") ? Guardrail.replace(text.replaceAll("Ada", "her"), "a name") : Guardrail.pass
        ),
      () => Effect.sync(() => void open.delete(name))
    ), options)

/** An agent on whose every way something slow stands, one after the other and beside its model. */
const slowly = (open: Set<string>) => {
  const other = Agent.make("other", {
    guardrails: { input: [slow("other's input", open)], output: [slow("other's output", open)] }
  })
  return Agent.make("agent", {
    toolkit: Kit,
    handoffs: [Handoff.to(other)],
    guardrails: {
      input: [slow("input", open), named("at once"), slow("beside", open, { mode: "parallel" })],
      output: [slow("output", open)],
      toolCall: [slow("call", open)],
      toolResult: [slow("result", open), named("at once")],
      handoff: [slow("handoff", open)]
    }
  })
}

const answers = MockModel.layer(MockModel.byAgent({
  agent: MockModel.conditional(
    MockModel.when(
      ({ lastToolResults }) => lastToolResults.length === 0,
      MockResponse.all("One moment, Ada.", say("one", "1"), say("Ada", "2"))
    ),
    MockModel.otherwise(MockResponse.toolCall("handoff_to_other", { reason: "Ada asks" }))
  ),
  other: MockModel.make(() => MockResponse.withUsage("It is Ada.", { input: 3, output: 2 }))
}))

const environment = Layer.fresh(Layer.merge(handlers, answers))

const through = (event: AgentEvent.AgentEvent): unknown => JSON.parse(JSON.stringify(event))

describe("What a guardrail says", () => {
  it.effect("is told when it begins and when it knows, each with the number of its start and the time that it took", () =>
    Effect.gen(function*() {
      const later = Guardrail.make("later", () => Effect.delay(Effect.succeed(Guardrail.warn("odd")), "3 seconds"))
      const agent = Agent.make("agent", { guardrails: { input: [named("at once"), later], output: [named("out")] } })
      const fiber = yield* Effect.forkChild(ran(Agent.run(agent, "Hi")).pipe(Effect.provide(model("Hello."))))
      yield* TestClock.adjust("3 seconds")
      const { events } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        events.filter(({ _tag }) => _tag.startsWith("Guardrail")).map(through),
        [
          { _tag: "GuardrailStarted", sequence: 2, guardrail: "at once", stage: "input", at: 0 },
          {
            _tag: "GuardrailSettled",
            sequence: 3,
            guardrail: "at once",
            stage: "input",
            at: 0,
            started: 2,
            verdict: "Pass",
            duration: 0
          },
          { _tag: "GuardrailStarted", sequence: 4, guardrail: "later", stage: "input", at: 0 },
          {
            _tag: "GuardrailSettled",
            sequence: 5,
            guardrail: "later",
            stage: "input",
            at: 3000,
            started: 4,
            verdict: "Warn",
            reason: "odd",
            duration: 3000
          },
          { _tag: "GuardrailStarted", sequence: 7, guardrail: "out", stage: "output", at: 3000 },
          {
            _tag: "GuardrailSettled",
            sequence: 8,
            guardrail: "out",
            stage: "output",
            at: 3000,
            started: 7,
            verdict: "Pass",
            duration: 0
          }
        ].map((event) => ({ ...event, run: events[0]?.run, path: ["agent"], calls: [], step: 0 }))
      )
    }))

  it.effect("takes the time that its check does, at once too", () =>
    Effect.gen(function*() {
      let time = 0
      const taking = (millis: number) =>
        Guardrail.make(`taking ${millis}`, () => {
          time += millis
          return Guardrail.pass
        })
      const agent = Agent.make("agent", { guardrails: { input: [taking(5), taking(20), taking(3)] } })
      const ticking: Clock.Clock = {
        ...(yield* Effect.clockWith(Effect.succeed)),
        currentTimeMillisUnsafe: () => time,
        currentTimeNanosUnsafe: () => BigInt(time) * 1_000_000n
      }
      const { exit, spans } = yield* recorded(ran(Agent.run(agent, "Hi"))).pipe(
        Effect.provideService(Clock.Clock, ticking),
        Effect.provide(model("Hello."))
      )
      assert.isTrue(Exit.isSuccess(exit))
      if (!Exit.isSuccess(exit)) return
      const { events } = exit.value
      assert.deepStrictEqual(
        ofTag(events, "GuardrailSettled").map(({ at, duration }) => [at, duration]),
        [[5, 5], [25, 20], [28, 3]]
      )
      assert.deepStrictEqual(ofTag(events, "GuardrailStarted").map(({ at }) => at), [0, 5, 25])
      assert.deepStrictEqual(
        spans.filter(({ name }) => name.startsWith("guardrail")).map(({ status }) =>
          status._tag === "Ended" ? [status.startTime, status.endTime] : []
        ),
        [[0n, 5_000_000n], [5_000_000n, 25_000_000n], [25_000_000n, 28_000_000n]]
      )
    }))

  it.effect("is told one by one: none of them knows what another says", () =>
    Effect.gen(function*() {
      const agent = Agent.make("agent", {
        guardrails: { input: [named("one"), named("two", Guardrail.block("bad")), named("three")] }
      })
      const { events } = yield* ran(Agent.run(agent, "Hi"))
      assert.deepStrictEqual(
        events.flatMap((event) =>
          event._tag === "GuardrailStarted" || event._tag === "GuardrailSettled"
            ? [`${event._tag} ${event.guardrail}`]
            : []
        ),
        ["GuardrailStarted one", "GuardrailSettled one", "GuardrailStarted two", "GuardrailSettled two"]
      )
      assert.deepStrictEqual(said(events), ["input: one Pass", "input: two Block (bad)"])
    }).pipe(Effect.provide(model())))

  it.effect("comes before the end of the run, and before what it is about is told to be done", () =>
    Effect.gen(function*() {
      const { events } = yield* ran(Agent.run(slowly(new Set()), "Ada?")).pipe(Effect.provide(environment))
      const last = events.findLastIndex(({ _tag }) => _tag === "GuardrailSettled")
      assert.strictEqual(events[last + 1]?._tag, "ModelResponded")
      for (const settled of ofTag(events, "ToolCallSettled")) {
        const looked = events.filter((event) =>
          event._tag === "GuardrailSettled" && event.callId === settled.callId && event.stage === "toolResult"
        )
        assert.isTrue(looked.every(({ sequence }) => sequence < settled.sequence))
        assert.strictEqual(looked.length, 2)
      }
      assert.strictEqual(events[events.length - 1]?._tag, "RunCompleted")
    }))

  it.effect("has a line in a trace, but for a pass in a diagram", () =>
    Effect.gen(function*() {
      const agent = Agent.make("agent", {
        guardrails: { input: [named("passing"), named("warning", Guardrail.warn("odd"))] }
      })
      const { events } = yield* ran(Agent.run(agent, "Hi"))
      const markdown = Trace.toMarkdown(events)
      assert.include(markdown, "guardrail `passing` lets pass the input")
      assert.include(markdown, "guardrail `warning` warns of the input")
      const diagram = Trace.toMermaid(events)
      assert.notInclude(diagram, "passing")
      assert.include(diagram, "guardrail warning warns of the input")
    }).pipe(Effect.provide(model("Hello."))))
})

describe("An interruption at any operation", () => {
  for (
    const [how, program] of [
      ["of a run", (open: Set<string>) => Agent.run(slowly(open), "Ada?")],
      ["of a stream", (open: Set<string>) => Stream.runDrain(Agent.stream(slowly(open), "Ada?"))]
    ] as const
  ) {
    it.effect(`${how} ends each check that has begun, once, and leaves a legal state that goes on`, () =>
      Effect.gen(function*() {
        const start = Effect.fnUntraced(function*(at: number) {
          const open = new Set<string>()
          const events: Array<AgentEvent.AgentEvent> = []
          const { exit, spans } = yield* recorded(interruptAt(
            program(open).pipe(
              Agent.observe((event) => Effect.sync(() => void events.push(event))),
              Effect.provide(environment)
            ),
            at
          ))
          return { open, events, spans, ops: Exit.isSuccess(exit) ? exit.value.scheduler.ops : 0 }
        })
        const { ops } = yield* start(0)
        const seen = new Set<string>()
        for (let at = 1; at <= ops; at += 13) {
          const { events, open, spans } = yield* start(at)
          const where = `interrupted at operation ${at}`
          assert.deepStrictEqual([...open], [], where)
          assert.deepStrictEqual(imbalances(events), [], where)
          const looks = spans.filter(({ name }) => name.startsWith("guardrail "))
          assert.isTrue(looks.every(({ status }) => status._tag === "Ended"), where)
          for (const { guardrail, verdict } of ofTag(events, "GuardrailSettled")) seen.add(`${guardrail} ${verdict}`)
          const end = events[events.length - 1]
          if (end?._tag !== "RunInterrupted") continue
          assert.deepStrictEqual(problems(end.state.conversation), [], where)
          const stored = Result.getOrThrow(
            AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(end.state))))
          )
          const last = yield* Agent.resume(slowly(open), stored).pipe(Effect.provide(environment))
          assert.strictEqual(last.status._tag, "Complete", where)
        }
        for (
          const name of ["input", "beside", "call", "result", "handoff", "output", "other's input", "other's output"]
        ) {
          assert.isTrue(seen.has(`${name} Interrupted`), `${name} was never interrupted`)
        }
      }))
  }
})

describe("The span of a guardrail", () => {
  it.effect("stands in that of what it is part of, with what the guardrail was asked and said", () =>
    Effect.gen(function*() {
      const agent = Agent.make("agent", {
        toolkit: Kit,
        guardrails: {
          input: [named("at once"), slow("later", new Set())],
          toolCall: [named("call", Guardrail.warn("odd"))],
          toolResult: [slow("result", new Set())],
          output: [named("refusing", Guardrail.block("bad"))]
        }
      })
      const { spans } = yield* recorded(Agent.run(agent, "Hi")).pipe(Effect.provide([
        handlers,
        model(say("x", "1"), "Hello.")
      ]))
      const looks = spans.filter(({ name }) => name.startsWith("guardrail"))
      assert.deepStrictEqual(tree(looks), [
        ["guardrail at once", "invoke_agent agent"],
        ["guardrail later", "invoke_agent agent"],
        ["guardrail call", "invoke_agent agent"],
        ["guardrail result", "execute_tool say"],
        ["guardrail refusing", "invoke_agent agent"]
      ])
      assert.deepStrictEqual(
        looks.map(attributesOf),
        [
          ["at once", "input", "Pass"],
          ["later", "input", "Pass"],
          ["call", "toolCall", "Warn"],
          ["result", "toolResult", "Pass"],
          ["refusing", "output", "Block"]
        ].map(([name, stage, verdict]) => ({
          "gen_ai.agent.name": "agent",
          "troupe.guardrail.name": name,
          "troupe.guardrail.stage": stage,
          "troupe.guardrail.verdict": verdict
        }))
      )
      assert.isTrue(looks.every(({ status }) => status._tag === "Ended" && Exit.isSuccess(status.exit)))
    }))

  it.effect("is around what a check does itself", () =>
    Effect.gen(function*() {
      const tracing = Guardrail.make("tracing", () => Effect.withSpan(Effect.succeed(Guardrail.pass), "inside"))
      const agent = Agent.make("agent", { guardrails: { input: [tracing] } })
      const { spans } = yield* recorded(Agent.run(agent, "Hi")).pipe(Effect.provide(model("Hello.")))
      assert.deepStrictEqual(tree(spans.filter(({ name }) => name === "inside")), [["inside", "guardrail tracing"]])
    }))

  it.effect("fails where its check breaks down, at once or later", () =>
    Effect.gen(function*() {
      for (
        const check of [
          () => Effect.die("broken"),
          (): never => {
            throw new Error("broken")
          }
        ]
      ) {
        const agent = Agent.make("agent", { guardrails: { input: [Guardrail.make("broken", check)] } })
        const { spans } = yield* recorded(Agent.run(agent, "Hi")).pipe(Effect.provide(model()))
        const [look] = spans.filter(({ name }) => name === "guardrail broken")
        assert.isTrue(look?.status._tag === "Ended" && Exit.isFailure(look.status.exit))
        assert.strictEqual(look?.attributes.get("troupe.guardrail.verdict"), "Interrupted")
      }
    }))

  it.effect("is the same of a verdict that is there at once as of one that takes its time, whatever spans are to be like", () =>
    Effect.gen(function*() {
      const agent = Agent.make("agent", {
        guardrails: { input: [named("look"), Guardrail.make("look", () => Effect.succeed(Guardrail.pass))] }
      })
      const outside = Tracer.externalSpan({ traceId: "1".repeat(32), spanId: "2".repeat(16), sampled: false })
      const hidden = Tracer.externalSpan({
        traceId: "3".repeat(32),
        spanId: "4".repeat(16),
        sampled: true,
        annotations: Context.make(Tracer.DisablePropagation, true)
      })
      const ways: Readonly<Record<string, <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>>> = {
        "as they are": (self) => self,
        "annotated": (self) => Effect.annotateSpans(self, { tenant: "a", "troupe.guardrail.stage": "other" }),
        "linked": (self) => Effect.linkSpans(self, outside, { why: "because" }),
        "untimed": (self) => Effect.withTracerTiming(self, false),
        "of a level that isn't recorded": (self) =>
          Effect.provideService(
            Effect.provideService(self, Tracer.MinimumTraceLevel, "Error"),
            Tracer.CurrentTraceLevel,
            "Debug"
          ),
        "of a level that is recorded": (self) =>
          Effect.provideService(
            Effect.provideService(self, Tracer.MinimumTraceLevel, "Info"),
            Tracer.CurrentTraceLevel,
            "Error"
          ),
        "below one that isn't sampled": (self) => Effect.withParentSpan(self, outside),
        "below one that has none below it": (self) => Effect.withParentSpan(self, hidden)
      }
      const shapeOf = (span: Tracer.NativeSpan | undefined) => {
        assert.isDefined(span)
        const { annotations, attributes, kind, links, name, parent, sampled, status } = span!
        return {
          name,
          kind,
          sampled,
          annotations,
          attributes: Object.fromEntries(attributes),
          links: links.map(({ attributes, span }) => [span.spanId, attributes]),
          parent: Option.getOrUndefined(Option.map(parent, ({ spanId }) => spanId)),
          isTimed: status._tag === "Ended" && status.startTime > 0n && status.endTime > 0n,
          status: status._tag
        }
      }
      yield* TestClock.adjust("1 second")
      for (const [how, way] of Object.entries(ways)) {
        const { spans } = yield* recorded(way(Agent.run(agent, "Hi"))).pipe(Effect.provide(model("Hello.")))
        const [atOnce, later] = spans.filter(({ name }) => name === "guardrail look")
        assert.deepStrictEqual(shapeOf(atOnce), shapeOf(later), how)
      }
      // What a program calls stands in the program's own span, whatever that is.
      const calling = Agent.make("agent", {
        toolkit: Kit,
        guardrails: {
          toolCall: [named("look"), Guardrail.make("look", () => Effect.succeed(Guardrail.pass))]
        }
      })
      for (const [how, way] of Object.entries(ways)) {
        const { spans } = yield* recorded(way(Effect.scoped(Effect.flatMap(
          Session.make(calling),
          (session) => session.invoke(Say, { text: "x" })
        )))).pipe(Effect.provide([handlers, model()]))
        const [atOnce, later] = spans.filter(({ name }) => name === "guardrail look")
        assert.deepStrictEqual(shapeOf(atOnce), shapeOf(later), how)
      }
      const { spans } = yield* recorded(
        Effect.provideService(Agent.run(agent, "Hi"), References.TracerEnabled, false)
      ).pipe(Effect.provide(model("Hello.")))
      assert.deepStrictEqual(spans, [])
    }))
})
