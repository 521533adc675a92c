import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schedule, Schema, Stream } from "effect"
import { AiError, LanguageModel, type Response, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentState, Guardrail, Handoff, Usage } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag } from "../watch.ts"
import { model, ran, said, sent, shown, streamed, turns } from "./looking.ts"

const Refund = Tool.make("refund", { parameters: Schema.Struct({ order: Schema.String }), success: Schema.String })
const Refunds = Toolkit.make(Refund)
const refund = MockResponse.toolCall("refund", { order: "7" })

/** A guardrail that takes its time beside the model. */
const slow = (verdict: (text: string) => Guardrail.Verdict<string>, seconds = 10) =>
  Guardrail.make("slow", (text) => Effect.delay(Effect.sync(() => verdict(text)), `${seconds} seconds`), {
    mode: "parallel"
  })

const passing = slow(() => Guardrail.pass)
const blocking = slow(() => Guardrail.block("it is bad"))
const replacing = slow((text) =>
  text.includes("Ada") ? Guardrail.replace(text.replaceAll("Ada", "her"), "a name") : Guardrail.pass
)

const tokens = { input: 10, output: 5 }

/** Lets a program run for a minute. */
const inTime = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(self)
    yield* TestClock.adjust("1 minute")
    return yield* Fiber.join(fiber)
  })

const tags = (events: Parameters<typeof ofTag>[0]) =>
  events.map(({ _tag }) => _tag).filter((tag) => /Guardrail|Model|Delta|Tool|Handoff/.test(tag))

describe("A guardrail beside the model", () => {
  it.effect("that blocks, slower than the model: no tool has run, no text was seen, no handoff happened", () =>
    Effect.gen(function*() {
      const effects: Array<string> = []
      const other = Agent.make("other")
      const agent = Agent.make("a", {
        toolkit: Refunds,
        handoffs: [Handoff.to(other)],
        guardrails: { input: [blocking] }
      })
      const result = yield* inTime(streamed(Agent.stream(agent, "Give it to me."))).pipe(Effect.provide([
        Refunds.toLayer({ refund: ({ order }) => Effect.sync(() => String(effects.push(order))) }),
        model(
          MockResponse.withUsage(
            MockResponse.all(
              MockResponse.reasoning("Why not?"),
              "Here you are.",
              refund,
              MockResponse.toolCall("handoff_to_other", {})
            ),
            tokens
          )
        )
      ]))
      assert.deepStrictEqual(effects, [])
      assert.deepStrictEqual(tags(result.events), [
        "ModelCallStarted",
        "GuardrailStarted",
        "GuardrailSettled",
        "ModelCallFailed"
      ])
      assert.isTrue(result.error?.reason._tag === "GuardrailBlocked" && result.error.reason.stage === "input")
      assert.deepStrictEqual(turns(result.state), ["User: (This was blocked and isn't shown.)"])
      assert.deepStrictEqual(
        ofTag(result.events, "ModelCallFailed").map(({ message, tag, usage }) => [tag, message, usage]),
        [["GuardrailBlocked", result.error?.message, tokens]]
      )
      assert.deepStrictEqual(result.state.usage, Usage.add(Usage.empty, tokens))
    }))

  it.effect("that blocks before the model has answered interrupts it", () =>
    Effect.gen(function*() {
      let isInterrupted = false
      const agent = Agent.make("a", { guardrails: { input: [blocking] } })
      const { error, events, state } = yield* inTime(ran(Agent.run(agent, "Give it to me."))).pipe(
        Effect.provide(MockModel.layer(MockModel.make(() =>
          Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (isInterrupted = true)))
        )))
      )
      assert.isTrue(isInterrupted)
      assert.strictEqual(error?.reason._tag, "GuardrailBlocked")
      assert.deepStrictEqual(tags(events), [
        "ModelCallStarted",
        "GuardrailStarted",
        "GuardrailSettled",
        "ModelCallFailed"
      ])
      assert.strictEqual(ofTag(events, "ModelCallFailed")[0]?.at, 10_000)
      // What the model had used by then nobody knows.
      assert.deepStrictEqual(state.usage, Usage.add(Usage.empty, {}))
      assert.strictEqual(state.steps, 0)
    }))

  it.effect("that passes lets go of what it held back, and of all that follows", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { guardrails: { input: [passing] } })
      const response = MockResponse.delay(MockResponse.chunked("one two three", 4), "6 seconds")
      const { events, state } = yield* inTime(streamed(Agent.stream(agent, "Count."))).pipe(
        Effect.provide(model(response))
      )
      assert.strictEqual(shown(events), "one two three")
      assert.strictEqual(AgentState.text(state), "one two three")
      const settled = events.findIndex(({ _tag }) => _tag === "GuardrailSettled")
      assert.deepStrictEqual(events.slice(0, settled).filter(({ _tag }) => _tag.endsWith("Delta")), [])
      const deltas = ofTag(events, "TextDelta")
      assert.isTrue(deltas.length > 1)
      assert.isTrue(deltas.every(({ at }) => at >= 10_000))
    }))

  for (const fails of [false, true]) {
    const what = fails ? "shows nothing more of an attempt once it has failed" : "shows its pieces in their order"
    it.effect(`that passes ${what}, although the reader is slower than the model`, () =>
      Effect.gen(function*() {
        const hasArrived = yield* Deferred.make<void>()
        const isShown = yield* Deferred.make<void>()
        const numbered = (attempt: number, from: number, to: number) =>
          Array.from({ length: to - from }, (_, n): Response.StreamPartEncoded => ({
            type: "text-delta",
            id: "t",
            delta: `${attempt}:${from + n} `
          }))
        const start: Response.StreamPartEncoded = { type: "text-start", id: "t" }
        let attempts = 0
        const provider = LanguageModel.make({
          generateText: () => Effect.die("It streams."),
          streamText: () => {
            if (attempts++ > 0) return Stream.fromIterable([start, ...numbered(2, 0, 300)])
            const broken = AiError.make({
              module: "m",
              method: "m",
              reason: new AiError.InternalProviderError({ description: "x" })
            })
            return Stream.concat(
              Stream.fromIterable([start, ...numbered(1, 0, 600)]),
              Stream.unwrap(Effect.gen(function*() {
                yield* Deferred.succeed(hasArrived, undefined)
                yield* Deferred.await(isShown)
                return fails ? Stream.fail(broken) : Stream.fromIterable(numbered(1, 600, 700))
              }))
            )
          }
        })
        const waiting = Guardrail.make("waiting", () => Effect.as(Deferred.await(hasArrived), Guardrail.pass), {
          mode: "parallel"
        })
        const agent = Agent.make("a", { retry: Schedule.recurs(1), guardrails: { input: [waiting] } })
        const events = yield* Agent.stream(agent, "Count.").pipe(
          Stream.tap(({ _tag }) => _tag === "TextDelta" ? Deferred.succeed(isShown, undefined) : Effect.void),
          Stream.rechunk(1),
          Stream.tap(() => Effect.yieldNow),
          Stream.runCollect,
          Effect.provideServiceEffect(LanguageModel.LanguageModel, provider)
        )
        const all = (parts: ReadonlyArray<Response.StreamPartEncoded>) =>
          parts.map((part) => part.type === "text-delta" ? part.delta : "").join("")
        const failed = events.findIndex(({ _tag }) => _tag === "ModelCallFailed")
        assert.isTrue(shown(events.slice(failed + 1)) === all(fails ? numbered(2, 0, 300) : numbered(1, 0, 700)))
        if (fails) assert.isTrue(all(numbered(1, 0, 600)).startsWith(shown(events.slice(0, failed))))
      }))
  }

  it.effect("that is through before the model begins holds nothing back", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        instructions: () => Effect.as(Effect.sleep("20 seconds"), "Be brief."),
        guardrails: { input: [passing] }
      })
      const { events } = yield* inTime(streamed(Agent.stream(agent, "Hi"))).pipe(
        Effect.provide(model(MockResponse.chunked("one two three", 4)))
      )
      assert.strictEqual(shown(events), "one two three")
    }))

  it.effect("that warns, or finds nothing to look at for long, costs no second request", () =>
    Effect.gen(function*() {
      const warning = Guardrail.make("warning", () => Guardrail.warn("odd"), { mode: "parallel" })
      const agent = Agent.make("a", { guardrails: { input: [warning] } })
      const { events } = yield* streamed(Agent.stream(agent, "Hi"))
      assert.strictEqual(shown(events), "Hello.")
      assert.deepStrictEqual(said(events), ["input: warning Warn (odd)"])
      yield* MockModel.expectCalls(1)
    }).pipe(Effect.provide(model("Hello."))))

  it.effect("that replaces the input has the model asked anew: what it said of the other is never seen", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { guardrails: { input: [replacing] } })
      const { events, state } = yield* inTime(streamed(Agent.stream(agent, "Is it Ada?")))
      assert.deepStrictEqual(turns(state), ["User: Is it her?", "a: It is her."])
      assert.deepStrictEqual(yield* sent, [["user: Is it Ada?"], ["user: Is it her?"]])
      assert.strictEqual(shown(events), "It is her.")
      assert.deepStrictEqual(
        ofTag(events, "ModelCallFailed").map(({ tag, usage }) => [tag, usage]),
        [["Interrupted", tokens]]
      )
      assert.deepStrictEqual([state.steps, state.run.iteration], [2, 1])
      assert.deepStrictEqual(state.usage, Usage.add(Usage.add(Usage.empty, tokens), tokens))
    }).pipe(
      Effect.provide(
        MockModel.layer(
          MockModel.make(({ lastUserText }) =>
            MockResponse.withUsage(lastUserText.replace("Is it", "It is").replace("?", "."), tokens)
          )
        )
      )
    ))

  it.effect("comes after those that stand before the request", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const noting = (name: string, mode: "blocking" | "parallel") =>
        Guardrail.make(name, (text) => {
          order.push(`${name}: ${text}`)
          return Guardrail.replace(`${text}!`, "why")
        }, { mode })
      const agent = Agent.make("a", {
        guardrails: {
          input: [
            noting("one", "parallel"),
            noting("two", "blocking"),
            noting("three", "parallel"),
            noting("four", "blocking")
          ]
        }
      })
      const { events, state } = yield* ran(Agent.run(agent, "Go"))
      assert.deepStrictEqual(order, ["two: Go", "four: Go!", "one: Go!!", "three: Go!!!"])
      assert.strictEqual(turns(state)[0], "User: Go!!!!")
      assert.deepStrictEqual(tags(events).slice(0, 5), [
        "GuardrailStarted",
        "GuardrailSettled",
        "GuardrailStarted",
        "GuardrailSettled",
        "ModelCallStarted"
      ])
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(() => "Fine.")))))

  it.effect("is interrupted where the model fails", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { guardrails: { input: [passing] } })
      const { error, events } = yield* inTime(ran(Agent.run(agent, "Hi")))
      assert.strictEqual(error?.reason._tag, "ModelCallFailed")
      assert.deepStrictEqual(said(events), ["input: slow Interrupted"])
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(() =>
      Effect.as(
        Effect.sleep("5 seconds"),
        MockResponse.fail(new AiError.AuthenticationError({ kind: "InvalidKey" }))
      )
    )))))

  it.effect("waits through the attempts of a model, and shows nothing of those that failed", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        retry: Schedule.spaced("20 seconds"),
        guardrails: { input: [passing] }
      })
      const { events } = yield* inTime(streamed(Agent.stream(agent, "Count.")))
      assert.strictEqual(shown(events), "one two three")
      assert.strictEqual(ofTag(events, "TextDelta")[0]?.at, 20_000)
      assert.strictEqual(ofTag(events, "ModelCallFailed").length, 1)
    }).pipe(Effect.provide(model(
      MockResponse.breakAfter(
        MockResponse.chunked("never shown", 4),
        3,
        new AiError.InternalProviderError({ description: "overloaded" })
      ),
      MockResponse.chunked("one two three", 4)
    ))))

  it.effect("holds back until it and the guardrails on the answer have passed", () =>
    Effect.gen(function*() {
      const calm = Guardrail.make("calm", (text) => Guardrail.replace(text.replaceAll("!", "."), "loud"))
      const agent = Agent.make("a", { guardrails: { input: [passing], output: [calm] } })
      const { events, state } = yield* inTime(streamed(Agent.stream(agent, "Hi"))).pipe(
        Effect.provide(model(MockResponse.chunked("Hello!", 2)))
      )
      assert.strictEqual(shown(events), "Hello.")
      assert.strictEqual(ofTag(events, "TextDelta").length, 1)
      assert.strictEqual(AgentState.text(state), "Hello.")
      const both = Agent.make("a", { guardrails: { input: [replacing], output: [calm] } })
      const anew = yield* inTime(streamed(Agent.stream(both, "Hi Ada"))).pipe(
        Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) => `${lastUserText}!`)))
      )
      assert.strictEqual(shown(anew.events), "Hi her.")
      const plain = Agent.make("a", {
        guardrails: { input: [replacing], output: [Guardrail.make("plain", () => Guardrail.pass)] }
      })
      const passed = yield* inTime(streamed(Agent.stream(plain, "Hi Ada"))).pipe(
        Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) => `${lastUserText}!`)))
      )
      assert.strictEqual(shown(passed.events), "Hi her!")
    }))

  it.effect("lets text go as it comes once it has passed, where answers are released early", () =>
    Effect.gen(function*() {
      const wordy = Guardrail.make("wordy", () => Guardrail.pass)
      const agent = Agent.make("a", { guardrails: { input: [passing], output: [wordy], releaseEarly: true } })
      const { events } = yield* inTime(streamed(Agent.stream(agent, "Hi"))).pipe(
        Effect.provide(model(MockResponse.chunked("one two three", 4)))
      )
      assert.strictEqual(shown(events), "one two three")
      const first = events.findIndex(({ _tag }) => _tag === "TextDelta")
      const looked = events.findIndex((event) => event._tag === "GuardrailStarted" && event.stage === "output")
      assert.isTrue(first < looked)
    }))

  it.effect("says nothing of how it stands at other stages", () =>
    Effect.gen(function*() {
      const both = Guardrail.make("both", () => Guardrail.pass, { mode: "parallel" })
      const agent = Agent.make("a", { toolkit: Refunds, guardrails: { toolCall: [both], output: [both] } })
      const { events } = yield* ran(Agent.run(agent, "Go"))
      assert.deepStrictEqual(said(events), ["toolCall: both Pass", "output: both Pass"])
    }).pipe(Effect.provide([Refunds.toLayer({ refund: () => Effect.succeed("done") }), model(refund, "Done.")])))

  it.effect("that breaks down is a defect of the run", () =>
    Effect.gen(function*() {
      const broken = Guardrail.make("broken", () => Effect.die("broken"), { mode: "parallel" })
      const agent = Agent.make("a", { guardrails: { input: [broken] } })
      const { events, exit, state } = yield* ran(Agent.run(agent, "Hi"))
      assert.strictEqual(exit._tag, "Failure")
      assert.deepStrictEqual(said(events), ["input: broken Interrupted"])
      assert.isTrue(state.status._tag === "Failed" && state.status.error.tag === "Defect")
      assert.deepStrictEqual(ofTag(events, "ModelCallFailed").map(({ tag }) => tag), ["Defect"])
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(() => Effect.never)))))

  it.effect("is interrupted with the run", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const waiting = Guardrail.make(
        "waiting",
        () => Effect.as(Effect.andThen(Deferred.succeed(gate, undefined), Effect.never), Guardrail.pass),
        { mode: "parallel" }
      )
      const agent = Agent.make("a", { guardrails: { input: [waiting] } })
      const events: Array<Parameters<typeof AgentState.reduce>[1]> = []
      const fiber = yield* Effect.forkChild(
        Agent.run(agent, "Hi").pipe(Agent.observe((event) => Effect.sync(() => void events.push(event))))
      )
      yield* Deferred.await(gate)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(said(events), ["input: waiting Interrupted"])
      const end = events[events.length - 1]
      assert.isTrue(end?._tag === "RunInterrupted")
      if (end?._tag !== "RunInterrupted") return
      assert.deepStrictEqual(turns(end.state), ["User: Hi"])
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(() => Effect.never)))))
})
