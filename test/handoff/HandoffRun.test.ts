import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, ExecutionPlan, Exit, Fiber, Layer, Schema, Stream } from "effect"
import { AiError, LanguageModel, Tool, Toolkit } from "effect/ai"
import {
  Agent,
  type AgentEvent,
  AgentState,
  AgentStatus,
  type Conversation,
  Group,
  Handoff,
  HandoffPolicy,
  StopWhen,
  Trace
} from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { imbalances } from "../agent/balanced.ts"
import { recorded, tree } from "../agent/spans.ts"
import { told, watch } from "../agent/watch.ts"
import { parse } from "../mermaid.ts"
import {
  checked,
  handlers,
  handoffEvents,
  handTo,
  Kit,
  models,
  outcomes,
  requests,
  sign,
  throughText,
  work
} from "./scripted.ts"

const { all, toolCall, withUsage } = MockResponse

const c = Agent.make("c")
const b = Agent.make("b", { description: "Knows b", toolkit: Kit, handoffs: [Handoff.to(c)] })
const a = Agent.make("a", { toolkit: Kit, handoffs: [Handoff.to(b)] })

describe("A run that changes hands", () => {
  const script = { a: [all(work("w"), handTo("b", { reason: "why" }, "h"))], b: [handTo("c", {}, "i")], c: ["Done."] }

  it.effect("tells of each handoff when it is asked for and when it is done", () =>
    Effect.gen(function*() {
      const { events } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.deepStrictEqual(handoffEvents(events), [
        "RunStarted a",
        "HandoffRequested a",
        "HandoffCompleted a",
        "HandoffRequested b",
        "HandoffCompleted b",
        "RunCompleted c"
      ])
      const request = { target: "b", callId: "h", tool: "handoff_to_b", reason: "why" }
      assert.deepInclude(events.find(({ _tag }) => _tag === "HandoffRequested"), { request, step: 0, calls: [] })
      assert.deepInclude(events.find(({ _tag }) => _tag === "HandoffCompleted"), { request, step: 0, calls: [] })
      const steps = events.flatMap(({ _tag, path, step }) => _tag === "ModelCallStarted" ? [[path, step]] : [])
      assert.deepStrictEqual(steps, [[["a"], 0], [["b"], 0], [["c"], 0]])
    }).pipe(Effect.provide([models(script), handlers])))

  it.effect("streams the same, each agent's text as it arrives", () =>
    Effect.gen(function*() {
      const whole = yield* Agent.run(a, "Hi").pipe(Effect.provide([models(script), handlers]))
      const events = yield* Stream.runCollect(Agent.stream(a, "Hi"))
      assert.deepStrictEqual(imbalances(events), [])
      const last = events[events.length - 1]
      assert.deepStrictEqual(last?._tag === "RunCompleted" && last.state, whole)
      const said = events.flatMap((event) => event._tag === "TextDelta" ? [`${event.path.join()} ${event.delta}`] : [])
      assert.strictEqual(said.join(""), "c Done.")
    }).pipe(Effect.provide([models(script), handlers])))

  it.effect("has a span for each agent that took over, below the run's and as long as it is in control", () =>
    Effect.gen(function*() {
      const { spans } = yield* recorded(Agent.run(a, "Hi"))
      assert.deepStrictEqual(tree(spans), [
        ["invoke_agent a", undefined],
        ["chat", "invoke_agent a"],
        ["execute_tool work", "invoke_agent a"],
        ["invoke_agent b", "invoke_agent a"],
        ["chat", "invoke_agent b"],
        ["invoke_agent c", "invoke_agent a"],
        ["chat", "invoke_agent c"]
      ])
      for (const { status } of spans) assert.isTrue(status._tag === "Ended" && Exit.isSuccess(status.exit))
      const attributes = Object.fromEntries(spans[3]!.attributes)
      assert.deepInclude(attributes, {
        "gen_ai.agent.name": "b",
        "gen_ai.agent.description": "Knows b",
        "troupe.handoff.from": "a"
      })
      assert.notProperty(attributes, "troupe.handoff.reason")
      const { spans: told } = yield* recorded(Agent.run(a, "Hi")).pipe(
        Effect.provideService(Agent.RecordContent, true),
        Effect.provide([models(script), handlers])
      )
      assert.strictEqual(told[3]?.attributes.get("troupe.handoff.reason"), "why")
    }).pipe(Effect.provide([models(script), handlers])))

  it.effect("can be read as Markdown and seen as a diagram", () =>
    Effect.gen(function*() {
      const { events } = yield* checked(Agent.run(a, "Hi"), "a")
      const markdown = Trace.toMarkdown(events)
      for (const line of ["`a` hands over to `b`", "## Handed over to `b` by `a`", "## Complete: `c`"]) {
        assert.include(markdown, line)
      }
      const diagram = Trace.toMermaid(events)
      yield* Effect.promise(() => parse(diagram))
      assert.deepStrictEqual(diagram.split("\n").filter((line) => line.includes("takes over")), [
        "  Agent1->>Agent3: takes over#58; why",
        "  Agent3->>Agent4: takes over"
      ])
    }).pipe(Effect.provide([models(script), handlers])))

  it.effect("can be read and seen where it stopped before the handoff", () =>
    Effect.gen(function*() {
      const { events } = yield* checked(Agent.run(a, "Hi"), "a")
      const markdown = Trace.toMarkdown(events)
      assert.include(markdown, "`b` didn't take over yet")
      assert.include(markdown, "## Stopped before `b` took over: `a`")
      yield* Effect.promise(() => parse(Trace.toMermaid(events)))
    }).pipe(Effect.provide([models({ a: [all(sign, handTo("b"))] }), handlers])))
})

describe("A run that is interrupted before its handoff", () => {
  const Stuck = Toolkit.make(
    Tool.make("stuck", { success: Schema.String }),
    Tool.make("sign", { success: Schema.String, needsApproval: true })
  )
  const agent = Agent.make("a", { toolkit: Stuck, handoffs: [Handoff.to(c)] })

  /** Interrupts a run once a handler has begun, and gives its events. */
  const cut = <E, R>(run: Effect.Effect<AgentState.AgentState, E, R>, said: MockResponse.MockResponse) =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const never = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
      const events: Array<AgentEvent.AgentEvent> = []
      const fiber = yield* Agent.observe(run, (event) => Effect.sync(() => void events.push(event))).pipe(
        Effect.provide([models({ a: [said] }), Stuck.toLayer({ stuck: () => never, sign: () => never })]),
        Effect.forkChild
      )
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(imbalances(events), [])
      const last = events[events.length - 1]
      assert.strictEqual(last?._tag, "RunInterrupted")
      return { events, state: last?._tag === "RunInterrupted" ? last.state : AgentState.make("a") }
    })

  const said = all(sign, handTo("c", {}, "h"))

  it.effect("settles what ran beside it, asks for the handoff still, and goes on", () =>
    Effect.gen(function*() {
      const { events, state } = yield* cut(Agent.run(agent, "Hi"), all(handTo("c", {}, "h"), toolCall("stuck", {})))
      assert.deepStrictEqual(
        state.status,
        AgentStatus.handoffRequested({ target: "c", callId: "h", tool: "handoff_to_c" })
      )
      assert.deepStrictEqual(outcomes(state.conversation), [["handoff_to_c", "Pending"], ["stuck", "Interrupted"]])
      assert.deepStrictEqual(handoffEvents(events).slice(-2), ["HandoffSuspended a", "RunInterrupted a"])
      const { state: last } = yield* checked(Agent.resume(agent, throughText(state)), state)
      assert.strictEqual(last.agent, "c")
    }).pipe(Effect.provide([
      models({ c: ["Done."] }),
      Stuck.toLayer({ stuck: () => Effect.succeed(""), sign: () => Effect.succeed("") })
    ])))

  it.effect("asks for it still when the one that was interrupted was resumed", () =>
    Effect.gen(function*() {
      const Refused = Stuck.toLayer({ stuck: () => Effect.succeed(""), sign: () => Effect.succeed("") })
      const first = yield* Agent.run(agent, "Hi").pipe(Effect.provide([models({ a: [said] }), Refused]))
      const approved = throughText(yield* Effect.fromResult(AgentState.approve(first, "sign")))
      const { state } = yield* cut(Agent.resume(agent, approved), said)
      assert.deepStrictEqual(
        state.status,
        AgentStatus.handoffRequested({ target: "c", callId: "h", tool: "handoff_to_c" })
      )
      assert.deepStrictEqual(outcomes(state.conversation), [["sign", "Interrupted"], ["handoff_to_c", "Pending"]])
      const { state: last } = yield* checked(Agent.resume(agent, throughText(state)), state).pipe(
        Effect.provide([models({ c: ["Done."] }), Refused])
      )
      assert.strictEqual(last.agent, "c")
    }))
})

describe("The model of a run that changes hands", () => {
  /** A model of its own that says its name and how often it has been asked, and logs when it is built and let go. */
  const own = (name: string, log: Array<string>, ...said: ReadonlyArray<MockResponse.Input>) =>
    Layer.effect(LanguageModel.LanguageModel)(
      Effect.andThen(
        Effect.acquireRelease(Effect.sync(() => log.push(`+${name}`)), () => Effect.sync(() => log.push(`-${name}`))),
        LanguageModel.LanguageModel
      )
    ).pipe(Layer.provide(MockModel.layer(MockModel.make(({ agent, callCount }) => {
      log.push(`${agent} asks ${name}`)
      return said[callCount - 1] ?? `${name} ${callCount}`
    }))))

  it.effect("is the target's own, built once a run and let go at its end", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const b = Agent.make("b", { handoffs: [Handoff.to("a")] }).pipe(
        Agent.withModel(own("mB", log, handTo("a"), handTo("a")))
      )
      const a = Agent.make("a", { handoffs: [Handoff.to(b)] }).pipe(
        Agent.withModel(own("mA", log, handTo("b"), handTo("b"), "Done."))
      )
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.strictEqual(state.trail.join(""), "ababa")
      assert.deepStrictEqual(log, [
        "+mA",
        "a asks mA",
        "+mB",
        "b asks mB",
        "a asks mA",
        "b asks mB",
        "a asks mA",
        "-mB",
        "-mA"
      ])
    }))

  it.effect("is that of the agent whose handoff leads to one that brings none", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const c = Agent.make("c")
      const b = Agent.make("b", { handoffs: [Handoff.to(c)] })
      const a = Agent.make("a", { handoffs: [Handoff.to(b)] }).pipe(
        Agent.withModel(own("mA", log, handTo("b"), handTo("c"), "Done."))
      )
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.deepStrictEqual(log, ["+mA", "a asks mA", "b asks mA", "c asks mA", "-mA"])
      yield* Agent.continueConversation(a, throughText(state), "More")
      assert.deepStrictEqual(log.slice(5, 7), ["+mA", "c asks mA"])
    }))

  it.effect("is that of the environment again where control goes back to an agent without", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const b = Agent.make("b", { handoffs: [Handoff.to("a")] }).pipe(Agent.withModel(own("mB", log, handTo("a"))))
      const a = Agent.make("a", { handoffs: [Handoff.to(b)] })
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.deepStrictEqual([state.trail.join(""), AgentState.text(state)], ["aba", "Done."])
      assert.deepStrictEqual((yield* requests).map(({ agent }) => agent), ["a", "a"])
      assert.deepStrictEqual(log, ["+mB", "b asks mB", "-mB"])
    }).pipe(Effect.provide(models({ a: [handTo("b"), "Done."] }))))

  it.effect("is a plan's where the source's is one, and the next own one's after it", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const down = MockResponse.fail(new AiError.InternalProviderError({ description: "down" }))
      const d = Agent.make("d")
      const c = Agent.make("c", { handoffs: [Handoff.to(d)] }).pipe(Agent.withModel(own("mC", log, handTo("d"))))
      const b = Agent.make("b", { handoffs: [Handoff.to(c)] })
      const a = Agent.make("a", { handoffs: [Handoff.to(b)] }).pipe(
        Agent.withModel(ExecutionPlan.make(
          { provide: own("first", log, down, down) },
          { provide: own("second", log, handTo("b"), handTo("c")) }
        ))
      )
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.strictEqual(state.trail.join(""), "abcd")
      assert.deepStrictEqual(log.filter((line) => line.includes("asks")), [
        "a asks first",
        "a asks second",
        "b asks first",
        "b asks second",
        "c asks mC",
        "d asks mC"
      ])
    }))

  it.effect("fails the run where it can't be built, and the one that took over is in control", () =>
    Effect.gen(function*() {
      const keyless = Layer.effect(LanguageModel.LanguageModel)(Effect.fail("keyless" as const))
      const a = Agent.make("a", { handoffs: [Handoff.to(Agent.make("b").pipe(Agent.withModel(keyless)))] })
      const { exit, state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual([state.status._tag, state.agent], ["Failed", "b"])
      const reopened = AgentState.reopen(state)
      const b = Agent.make("b")
      const good = Agent.make("a", { handoffs: [Handoff.to(b)] })
      assert.strictEqual(AgentState.text(yield* Agent.resume(good, throughText(reopened))), "Done.")
    }).pipe(Effect.provide(models({ a: [handTo("b")], b: ["Done."] }))))
})

describe("An agent that was called", () => {
  const top = Agent.make("top", { toolkit: Kit, agents: [Agent.asTool(a)], handoffs: [Handoff.to(c)] })
  const call = toolCall("a", { task: "go" }, { id: "call" })

  it.effect("may hand over in its own run, and its call gets the answer of the one that ended in control", () =>
    Effect.gen(function*() {
      const { events, state } = yield* checked(Agent.run(top, "Hi"), "top")
      assert.deepStrictEqual([state.agent, state.trail, AgentState.text(state)], ["top", ["top"], "Thanks."])
      assert.deepStrictEqual(yield* told, [{ id: "call", isFailure: false, result: "From c." }])
      assert.deepStrictEqual(handoffEvents(events), [
        "RunStarted top",
        "RunStarted top/a",
        "HandoffRequested top/a",
        "HandoffCompleted top/a",
        "HandoffRequested top/b",
        "HandoffCompleted top/b",
        "RunCompleted top/c",
        "RunCompleted top"
      ])
      assert.strictEqual(state.run.handoffs, undefined)
      assert.strictEqual(state.steps, 5)
      yield* Effect.promise(() => parse(Trace.toMermaid(events)))
    }).pipe(Effect.provide([
      models({ top: [call, "Thanks."], a: [handTo("b")], b: [handTo("c")], c: ["From c."] }),
      handlers
    ])))

  it.effect("waits for an approval of the one that took over, and hands over while it waits", () =>
    Effect.gen(function*() {
      const { state: first } = yield* checked(Agent.run(top, "Hi"), "top")
      assert.deepStrictEqual(AgentState.pendingApprovals(first), [
        { path: ["top", "b"], calls: ["call"], callId: "sign", name: "sign", params: {} }
      ])
      const approved = throughText(yield* Effect.fromResult(AgentState.approve(first, "sign")))
      const { state } = yield* checked(Agent.resume(top, approved), approved)
      assert.deepStrictEqual([state.agent, AgentState.text(state)], ["c", "top is done."])
      assert.deepStrictEqual(outcomes(state.conversation), [["a", "Succeeded"], ["handoff_to_c", "HandedOff"]])
    }).pipe(Effect.provide([
      models({
        top: [all(call, handTo("c"))],
        a: [handTo("b")],
        b: [all(sign, handTo("c"))],
        c: ["From c.", "top is done."]
      }),
      handlers
    ])))

  it.effect("may hand over beside another that does, whatever ids their models give", () =>
    Effect.gen(function*() {
      const b = Agent.make("b", { toolkit: Kit })
      const a = Agent.make("a", { toolkit: Kit, handoffs: [Handoff.to(b, { history: Handoff.none })] })
      const agent = Agent.make("top", { toolkit: Kit, agents: [Agent.asTool(a)] })
      const { state } = yield* checked(Agent.run(agent, "Hi"), "top")
      assert.deepStrictEqual(outcomes(state.conversation), [["a", "Succeeded"], ["a", "Succeeded"], [
        "work",
        "Succeeded"
      ]])
      assert.deepStrictEqual((yield* told).map(({ result }) => result), ["b is done.", "b is done.", "x!"])
    }).pipe(Effect.provide([
      MockModel.layer(MockModel.make(({ agent, iteration }) =>
        iteration > 0
          ? `${agent} is done.`
          : agent === "top"
          ? all(...["1", "2"].map((task) => toolCall("a", { task }, { id: "x" })), work("x"))
          : agent === "a"
          ? all(work("x"), handTo("b", {}, "x"))
          : work("x")
      )),
      handlers
    ])))

  it.effect("answers with the output of the one that ended in control, as JSON", () =>
    Effect.gen(function*() {
      const typed = Agent.make("typed", { output: Schema.Struct({ at: Schema.Date }) })
      const child = Agent.make("child", { output: Schema.Finite, handoffs: [Handoff.to(typed)] })
      yield* checked(Agent.run(Agent.make("top", { agents: [Agent.asTool(child)] }), "Hi"), "top")
      assert.deepStrictEqual((yield* told).map(({ result }) => result), [{ at: "2024-02-29T00:00:00.000Z" }])
    }).pipe(Effect.provide(models({
      top: [toolCall("child", { task: "go" }), "Thanks."],
      child: [handTo("typed")],
      typed: [toolCall("final_answer", { at: "2024-02-29T00:00:00.000Z" })]
    }))))

  it.effect("has a limit of handoffs of its own, which fails its call", () =>
    Effect.gen(function*() {
      const limited = Agent.make("limited", { maxHandoffs: 1, handoffs: [Handoff.to(b)] })
      const agent = Agent.make("top", { agents: [Agent.asTool(limited)] })
      yield* checked(Agent.run(agent, "Hi"), "top")
      assert.deepStrictEqual(yield* told, [{
        id: "call",
        isFailure: true,
        result: "Agent \"b\" failed: The run reached its limit of 1 handoff: limited → b"
      }])
    }).pipe(Effect.provide([
      models({
        top: [toolCall("limited", { task: "go" }, { id: "call" }), "Oh."],
        limited: [handTo("b")],
        b: [handTo("c")]
      }),
      handlers
    ])))

  it.effect("may be a group, which picks, hands over, and answers", () =>
    Effect.gen(function*() {
      const group = Group.make({ a, b, c }, {
        name: "desk",
        description: "Everybody",
        start: "b",
        policy: HandoffPolicy.sequential(["b", "c"])
      })
      const agent = Agent.make("top", { agents: [Agent.asTool(group)] })
      const { events, state } = yield* checked(Agent.run(agent, "Hi"), "top")
      assert.strictEqual(AgentState.text(state), "Thanks.")
      assert.deepStrictEqual(yield* told, [{ id: "call", isFailure: false, result: "From c." }])
      assert.deepStrictEqual((yield* requests)[0]?.tools.map(({ description, name }) => [name, description]), [
        ["desk", "Everybody"]
      ])
      assert.deepStrictEqual(handoffEvents(events).slice(1, -1), [
        "RunStarted top/b",
        "HandoffRequested top/b",
        "HandoffCompleted top/b",
        "RunCompleted top/c"
      ])
    }).pipe(Effect.provide([
      models({ top: [toolCall("desk", { task: "go" }, { id: "call" }), "Thanks."], b: ["From b."], c: ["From c."] }),
      handlers
    ])))
})

describe("A condition that finishes a run", () => {
  it.effect("doesn't keep an agent from handing over, nor the target from answering", () =>
    Effect.gen(function*() {
      const stopWhen = StopWhen.any(StopWhen.toolCalled("handoff_to_b"), StopWhen.satisfies(() => true))
      const b = Agent.make("b", { stopWhen })
      const { state } = yield* checked(Agent.run(Agent.make("a", { stopWhen, handoffs: [Handoff.to(b)] }), "Hi"), "a")
      assert.deepStrictEqual([state.agent, AgentState.text(state)], ["b", "Done."])
    }).pipe(Effect.provide(models({ a: [handTo("b")], b: ["Done."] }))))
})

describe("Usage and steps", () => {
  it.effect("of a run that changes hands count all its agents", () =>
    Effect.gen(function*() {
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.deepStrictEqual([state.steps, state.run.steps, state.run.iteration], [3, 3, 1])
      assert.deepStrictEqual([state.usage.input.known, state.run.usage.output.known], [60, 6])
      const turns = state.conversation.turns.filter((turn): turn is Conversation.Assistant => turn._tag === "Assistant")
      assert.deepStrictEqual(turns.map(({ agent, usage }) => [agent, usage.input]), [["a", 10], ["b", 20], ["c", 30]])
      const { events } = yield* watch(Agent.continueConversation(a, state, "More"))
      const last = events[events.length - 1]
      assert.deepStrictEqual(last?._tag === "RunCompleted" && [last.state.steps, last.state.run.steps], [4, 1])
    }).pipe(Effect.provide([
      models({
        a: [withUsage(handTo("b"), { input: 10, output: 1 })],
        b: [withUsage(handTo("c"), { input: 20, output: 2 })],
        c: [withUsage("Done.", { input: 30, output: 3 }), "More."]
      }),
      handlers
    ])))
})
