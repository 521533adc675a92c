import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Result, Schema, Stream } from "effect"
import { AiError, LanguageModel, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, type AgentEvent, AgentState, Mode, StopWhen, Usage } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { places, problems } from "../domain/legal.ts"
import { interruptAt } from "../handoff/interrupter.ts"
import { times } from "../matrix.ts"
import { imbalances } from "./balanced.ts"
import { allCalls, callOf, makeGauge, ofTag, told, toldOf, watch } from "./watch.ts"

const { all, toolCall, withUsage } = MockResponse

const Work = Tool.make("work", { parameters: Schema.Struct({ what: Schema.String }), success: Schema.String })
const Sign = Tool.make("sign", {
  parameters: Schema.Struct({ what: Schema.String }),
  success: Schema.String,
  needsApproval: true
})
const Kit = Toolkit.make(Work, Sign)

const handlers = (ran: Array<string> = []) => {
  const run = ({ what }: { readonly what: string }) =>
    Effect.sync(() => {
      ran.push(what)
      return `${what}!`
    })
  return Kit.toLayer({ work: run, sign: run })
}

const throughText = (state: AgentState.AgentState): AgentState.AgentState =>
  Result.getOrThrow(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))))

const waiting = (state: AgentState.AgentState): ReadonlyArray<string> =>
  AgentState.pendingApprovals(state).map(({ callId }) => callId)

const approve = (state: AgentState.AgentState, ...ids: ReadonlyArray<string>): AgentState.AgentState =>
  ids.reduce((state, id) => Result.getOrThrow(AgentState.approve(state, id)), state)

/** Everything that is wrong with the ids of a tree: each must be its call's alone. */
const repeated = (state: AgentState.AgentState): ReadonlyArray<string> => {
  const ids = allCalls(state).map(({ id }) => id)
  return ids.filter((id, index) => ids.indexOf(id) !== index)
}

const stateOf = (
  events: ReadonlyArray<AgentEvent.AgentEvent>,
  before: AgentState.AgentState
): AgentState.AgentState => {
  assert.deepStrictEqual(imbalances(events), [])
  const after = events.reduce(AgentState.reduce, before)
  assert.deepStrictEqual([...problems(after.conversation), ...repeated(after)], [])
  const end = events[events.length - 1]
  assert.deepStrictEqual(end !== undefined && "state" in end ? end.state : undefined, after)
  assert.deepStrictEqual(throughText(after), after)
  return after
}

/** A model that answers by how often the agent that asks has been answered, then says what it read of its calls. */
const scripted = (script: Readonly<Record<string, ReadonlyArray<MockResponse.Input>>>) =>
  MockModel.layer(MockModel.make((request) => {
    const index = request.state?.conversation.turns.filter((turn) => turn._tag === "Assistant").length ?? 0
    const read = request.lastToolResults.map(({ result }) =>
      typeof result === "string" ? result : JSON.stringify(result)
    )
    const said = script[request.agent]?.[index] ?? `${request.agent}: ${read.join(", ") || request.lastUserText}`
    return typeof said === "string" || said.usage === undefined ? withUsage(said, { input: 10, output: 1 }) : said
  }))

const patient = StopWhen.maxSteps(1000)

const work = (what: string, id = what) => toolCall("work", { what }, { id })
const sign = (what: string, id = what) => toolCall("sign", { what }, { id })
const ask = (agent: string, id: string, task = "go") => toolCall(agent, { task }, { id })

/** An agent that asks another that asks another, each of whom works too. */
const family = (limits: { readonly [agent: string]: StopWhen.StopWhen } = {}) => {
  const limited = (name: string) => limits[name] === undefined ? {} : { stopWhen: limits[name] }
  const low = Agent.make("low", { toolkit: Kit, ...limited("low") })
  const mid = Agent.make("mid", { toolkit: Kit, agents: [Agent.asTool(low)], ...limited("mid") })
  return Agent.make("top", { toolkit: Kit, agents: [Agent.asTool(mid)], ...limited("top") })
}

const familyScript = {
  top: [work("t1"), all("Asking.", ask("mid", "to-mid"), work("t2")), work("t3")],
  mid: [work("m1"), all(work("m2"), ask("low", "to-low")), work("m3")],
  low: [work("l1"), all(work("l2"), work("l3")), work("l4")]
}

const familyTotal = 12

describe("An agent that is a tool", () => {
  it.effect("has its state in the call it answers, while it answers, and its events say where they happened", () =>
    Effect.gen(function*() {
      const events = yield* Agent.stream(family(), "Go").pipe(
        Stream.runCollect,
        Effect.provide([scripted(familyScript), handlers()])
      )
      const last = stateOf(events, AgentState.make("top"))
      assert.strictEqual(AgentState.text(last), "top: t3!")
      const states = events.map((_, index) =>
        events.slice(0, index + 1).reduce(AgentState.reduce, AgentState.make("top"))
      )
      for (const state of states) assert.deepStrictEqual([...problems(state.conversation), ...repeated(state)], [])
      const seen = new Set(
        states.flatMap((state) => places(state).map(({ path, state }) => [...path, state.status._tag].join(" ")))
      )
      for (const status of ["InProgress", "WaitingForTools", "Complete"]) {
        assert.isTrue(seen.has(`top mid low ${status}`), status)
        assert.isTrue(seen.has(`top mid ${status}`), status)
      }
      const paths = events.map(({ calls, path }) => `${path.join(">")} ${calls.join(">")}`)
      assert.deepStrictEqual([...new Set(paths)].toSorted(), ["top ", "top>mid to-mid", "top>mid>low to-mid>to-low"])
      const deltas = ofTag(events, "TextDelta").filter(({ path }) => path.length === 3).map(({ delta }) => delta)
      assert.strictEqual(deltas.join(""), "low: l4!")
      assert.deepStrictEqual(callOf(last, "to-mid")?.state, {
        _tag: "Settled",
        outcome: "Succeeded",
        result: "mid: m3!"
      })
    }))

  it.effect("counts for its caller: steps and tokens, those of its own calls too", () =>
    Effect.gen(function*() {
      const { events } = yield* watch(Agent.run(family(), "Go")).pipe(
        Effect.provide([scripted(familyScript), handlers()])
      )
      const state = stateOf(events, AgentState.make("top"))
      const answers = ofTag(events, "ModelResponded")
      assert.strictEqual(answers.length, familyTotal)
      assert.strictEqual(state.steps, familyTotal)
      assert.strictEqual(state.run.steps, familyTotal)
      assert.strictEqual(state.run.iteration, 4)
      assert.deepStrictEqual(state.usage, answers.reduce((sum, { usage }) => Usage.add(sum, usage), Usage.empty))
      const child = ofTag(events, "RunCompleted").find(({ path }) => path.length === 2)
      assert.deepStrictEqual([child?.state.steps, child?.state.usage.input.known], [8, 80])
    }))

  it.effect("is told in words, or what its parameters say", () =>
    Effect.gen(function*() {
      const child = Agent.make("child", { description: "Helps." })
      const Params = Schema.Struct({ at: Schema.Date, n: Schema.FiniteFromString })
      const agent = Agent.make("top", {
        agents: [
          Agent.asTool(child),
          Agent.asTool(child, { name: "by_schema", description: "Counts.", parameters: Params }),
          Agent.asTool(child, {
            name: "by_function",
            parameters: Params,
            toInput: ({ at, n }) => `${n} since ${at.getUTCFullYear()}`
          })
        ]
      })
      const params = { at: "2024-02-29T00:00:00Z", n: "7" }
      yield* Effect.gen(function*() {
        yield* Agent.run(agent, "Go")
        assert.deepStrictEqual((yield* told).map(({ result }) => result), [
          "child: Help me.",
          "child: {\"at\":\"2024-02-29T00:00:00.000Z\",\"n\":\"7\"}",
          "child: 7 since 2024",
          (yield* told)[3]?.result
        ])
        assert.match(String((yield* told)[3]?.result), /^The parameters of "by_schema" are wrong: /)
        const [first] = yield* MockModel.calls
        assert.deepStrictEqual(
          first?.request.tools.map(({ description, name }) => [name, description]),
          [["child", "Helps."], ["by_schema", "Counts."], ["by_function", "Helps."]]
        )
      }).pipe(Effect.provide(scripted({
        top: [all(
          ask("child", "a", "Help me."),
          toolCall("by_schema", params),
          toolCall("by_function", params),
          toolCall("by_schema", { n: 7 })
        )]
      })))
    }))

  it.effect("answers with its output as JSON, where it has a schema", () =>
    Effect.gen(function*() {
      const Report = Schema.Struct({ at: Schema.Date, tags: Schema.Array(Schema.String) })
      const report = { at: "2024-02-29T00:00:00.000Z", tags: ["a"] }
      const agent = Agent.make("top", {
        agents: [
          Agent.asTool(Agent.make("tool", { output: Report })),
          Agent.asTool(Agent.make("text", { output: Report })),
          Agent.asTool(Agent.make("word", { output: Schema.String })),
          Agent.asTool(Agent.make("list", { output: Schema.Array(Schema.Finite) })),
          Agent.asTool(Agent.make("second", { output: Report }))
        ]
      })
      yield* Effect.gen(function*() {
        yield* Agent.run(agent, "Go")
        assert.deepStrictEqual((yield* told).map(({ result }) => result), [report, report, "word", [1, 2], report])
      }).pipe(Effect.provide(scripted({
        top: [all(...["tool", "text", "word", "list", "second"].map((name) => ask(name, name)))],
        tool: [all("Here: ", toolCall("final_answer", report))],
        text: [JSON.stringify(report)],
        word: [toolCall("final_answer", { value: "word" })],
        list: ["[1,2]"],
        second: ["I don't know.", toolCall("final_answer", report)]
      })))
    }))

  it.effect("has its own model, where it brings one", () =>
    Effect.gen(function*() {
      let built = 0
      const own = Layer.effect(LanguageModel.LanguageModel)(
        Effect.map(LanguageModel.LanguageModel, (model) => {
          built++
          return model
        })
      ).pipe(Layer.provide(MockModel.layer(MockModel.make(({ callCount }) => `own ${callCount}`))))
      const child = Agent.make("child").pipe(Agent.withModel(own))
      const agent = Agent.make("top", { agents: [Agent.asTool(child)] })
      yield* Effect.gen(function*() {
        yield* Agent.run(agent, "Go")
        assert.deepStrictEqual((yield* MockModel.calls).map(({ request }) => request.agent), ["top", "top"])
        assert.deepStrictEqual(yield* toldOf("a"), "own 1")
        assert.strictEqual(built, 1)
      }).pipe(Effect.provide(scripted({ top: [ask("child", "a")] })))
    }))

  it.effect("may itself need approval, and isn't started before", () =>
    Effect.gen(function*() {
      const child = Agent.make("child", { toolkit: Kit })
      const agent = Agent.make("top", { agents: [Agent.asTool(child, { needsApproval: true })] })
      yield* Effect.gen(function*() {
        const first = yield* Agent.run(agent, "Go")
        assert.deepStrictEqual(AgentState.pendingApprovals(first), [
          { path: ["top"], calls: [], callId: "a", name: "child", params: { task: "go" } },
          { path: ["top"], calls: [], callId: "b", name: "child", params: { task: "go" } }
        ])
        assert.strictEqual((yield* MockModel.calls).length, 1)
        const second = yield* Agent.resume(agent, throughText(approve(first, "a")))
        assert.deepStrictEqual(waiting(second), ["inner", "b"])
        const third = Result.getOrThrow(AgentState.deny(throughText(approve(second, "inner")), "b", "one is enough"))
        assert.strictEqual(
          AgentState.text(yield* Agent.resume(agent, third)),
          "top: child: s!, This call was denied: one is enough"
        )
      }).pipe(Effect.provide([
        scripted({ top: [all(ask("child", "a"), ask("child", "b"))], child: [sign("s", "inner")] }),
        handlers()
      ]))
    }))

  it.effect("may call agents twenty deep", () =>
    Effect.gen(function*() {
      type Link = Agent.Agent<string, string, never, LanguageModel.LanguageModel | Tool.HandlersFor<typeof Kit.tools>>
      const deepest: Link = Agent.make("agent20", { toolkit: Kit })
      const outermost = Array.from({ length: 20 }, (_, index) => 19 - index).reduce<Link>(
        (child, depth) =>
          Agent.make(`agent${depth}`, { toolkit: Kit, agents: [Agent.asTool(child)], stopWhen: patient }),
        deepest
      )
      const script = Object.fromEntries(
        Array.from({ length: 20 }, (_, depth) => [`agent${depth}`, [ask(`agent${depth + 1}`, `call${depth}`)]])
      )
      yield* Effect.gen(function*() {
        const { events } = yield* watch(Agent.run(outermost, "Go"))
        const first = stateOf(events, AgentState.make("agent0"))
        const [approval] = AgentState.pendingApprovals(first)
        assert.strictEqual(approval?.path.length, 21)
        const { events: more } = yield* watch(Agent.resume(outermost, throughText(approve(first, "deep"))))
        const last = stateOf(more, throughText(approve(first, "deep")))
        assert.match(AgentState.text(last), /^agent0: agent1: .*agent20: s!$/)
        assert.strictEqual(last.steps, 42)
      }).pipe(Effect.provide([scripted({ ...script, agent20: [sign("s", "deep")] }), handlers()]))
    }))
})

describe("A called agent that fails", () => {
  class Fatal extends Schema.TaggedError<Fatal>("test/Fatal")("Fatal", { why: Schema.String }) {
    override get message() {
      return `fatally ${this.why}`
    }
  }
  const Broken = Toolkit.make(Tool.make("broken", { failure: Fatal }))
  const overloaded = MockResponse.fail(AiError.make({
    module: "Test",
    method: "ask",
    reason: new AiError.InternalProviderError({ description: "overloaded" })
  }))
  const failing = {
    limit: Agent.make("limit", { toolkit: Kit, stopWhen: StopWhen.maxSteps(1) }),
    budget: Agent.make("budget", { toolkit: Kit, stopWhen: StopWhen.tokens(5) }),
    model: Agent.make("model"),
    fatal: Agent.make("fatal", { toolkit: Broken, fatal: ["broken"] }),
    output: Agent.make("output", { output: Schema.Struct({ n: Schema.Int }) }),
    instructions: Agent.make("instructions", { instructions: () => Effect.fail(new Fatal({ why: "speechless" })) }),
    layer: Agent.make("layer").pipe(
      Agent.withModel(Layer.effect(LanguageModel.LanguageModel)(Effect.fail(new Fatal({ why: "keyless" }))))
    ),
    input: Agent.make("input")
  }
  const expected: Record<keyof typeof failing, RegExp> = {
    limit: /^Agent "limit" failed: .*limit of 1 step/,
    budget: /^Agent "budget" failed: .*5 .*tokens/,
    model: /^Agent "model" failed: .*overloaded/,
    fatal: /^Agent "fatal" failed: fatally broke$/,
    output: /^Agent "output" failed: The answer of agent "output" /,
    instructions: /^Agent "instructions" failed: fatally speechless$/,
    layer: /^Agent "layer" failed: fatally keyless$/,
    input: /^Agent "input" failed: .*empty/
  }
  const names = Object.keys(failing) as Array<keyof typeof failing>

  it.effect("fails its call, which the caller's model reads, and its caller goes on", () =>
    Effect.gen(function*() {
      const agent = Agent.make("top", {
        toolkit: Kit,
        agents: [
          Agent.asTool(failing.limit),
          Agent.asTool(failing.budget),
          Agent.asTool(failing.model),
          Agent.asTool(failing.fatal),
          Agent.asTool(failing.output),
          Agent.asTool(failing.instructions),
          Agent.asTool(failing.layer),
          Agent.asTool(failing.input)
        ]
      })
      yield* Effect.gen(function*() {
        const { events, exit } = yield* watch(Agent.run(agent, "Go"))
        assert.isTrue(Exit.isSuccess(exit))
        const state = stateOf(events, AgentState.make("top"))
        assert.strictEqual(state.status._tag, "Complete")
        for (const { id, isFailure, result } of yield* told) {
          assert.match(String(result), expected[id as keyof typeof failing])
          assert.isTrue(isFailure)
        }
        const failed = ofTag(events, "RunFailed").map(({ error, path }) => [path[1], error.tag])
        assert.deepStrictEqual(Object.fromEntries(failed), {
          limit: "StepLimitReached",
          budget: "BudgetExceeded",
          model: "ModelCallFailed",
          fatal: "Fatal",
          output: "OutputInvalid",
          instructions: "Fatal",
          layer: "Fatal",
          input: "InputRejected"
        })
      }).pipe(Effect.provide([
        scripted({
          top: [all(...names.map((name) => ask(name, name, name === "input" ? " " : "go")))],
          limit: [work("x", "limit-1")],
          budget: [work("x", "budget-1")],
          model: [overloaded],
          fatal: [toolCall("broken", {})],
          output: ["none", "none"]
        }),
        handlers(),
        Broken.toLayer({ broken: () => Effect.fail(new Fatal({ why: "broke" })) })
      ]))
    }))

  it.effect("by a defect breaks down its caller too, whose state stays legal", () =>
    Effect.gen(function*() {
      const child = Agent.make("child", { toolkit: Kit })
      const agent = Agent.make("top", { toolkit: Kit, agents: [Agent.asTool(child)] })
      const { events, exit } = yield* watch(Agent.run(agent, "Go")).pipe(Effect.provide([
        scripted({ top: [all(work("w"), ask("child", "c"))], child: [work("bomb")] }),
        Kit.toLayer({
          work: ({ what }) => what === "bomb" ? Effect.die("boom") : Effect.succeed(what),
          sign: () => Effect.succeed("")
        })
      ]))
      assert.strictEqual(Exit.isFailure(exit) ? Cause.squash(exit.cause) : "", "boom")
      const state = stateOf(events, AgentState.make("top"))
      assert.deepStrictEqual(ofTag(events, "RunFailed").map(({ error, path }) => [path.length, error.tag]), [
        [2, "Defect"],
        [1, "Defect"]
      ])
      assert.deepStrictEqual(
        allCalls(state).map((call) => call.state._tag === "Settled" ? call.state.outcome : "open"),
        [
          "Succeeded",
          "Failed"
        ]
      )
    }))
})

describe("A limit of an agent that called", () => {
  const free = Agent.run(family(), "Go").pipe(Effect.provide([scripted(familyScript), handlers()]))

  const meets = Effect.fnUntraced(function*(
    limit: (n: number) => StopWhen.StopWhen,
    tag: "StepLimitReached" | "BudgetExceeded",
    from: number,
    by: number,
    total: number
  ) {
    const expected = yield* free
    for (let first = from; first < total; first += by) {
      for (const raise of [by, by * 3, total]) {
        const ran: Array<string> = []
        let state: AgentState.AgentState | undefined
        for (let at = first; state?.status._tag !== "Complete"; at += raise) {
          const before: AgentState.AgentState = state === undefined
            ? AgentState.make("top")
            : AgentState.reopen(throughText(state))
          const agent = family({ top: limit(at) })
          const { events, exit } = yield* watch(
            state === undefined ? Agent.run(agent, "Go") : Agent.resume(agent, before)
          ).pipe(Effect.provide([scripted(familyScript), handlers(ran)]))
          state = stateOf(events, before)
          if (Exit.isSuccess(exit)) break
          const error = Cause.squash(exit.cause) as AgentEvent.RunFailed["error"] & {
            readonly reason: { readonly _tag: string; readonly agent: string }
            readonly state: AgentState.AgentState
          }
          assert.deepStrictEqual([error.reason._tag, error.reason.agent], [tag, "top"])
          assert.deepStrictEqual(error.state, state)
          assert.deepStrictEqual(
            ofTag(events, "RunFailed").map(({ path }) => path),
            [["top"]]
          )
        }
        assert.deepStrictEqual(state, expected)
        assert.deepStrictEqual(ran.toSorted(), ["l1", "l2", "l3", "l4", "m1", "m2", "m3", "t1", "t2", "t3"])
      }
    }
  })

  it.effect("stops the whole tree, wherever it is met, and a larger one goes on there as if there had been none", () =>
    meets(StopWhen.maxSteps, "StepLimitReached", 1, 1, familyTotal))

  it.effect("counts the tokens of the tree", () => meets(StopWhen.tokens, "BudgetExceeded", 11, 11, familyTotal * 11))

  it.effect("counts the time of the tree, but not the time in which it was stopped", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const slow = (_: unknown, { toolCallId = "" }) =>
        Effect.delay(Effect.sync(() => `${ran.push(toolCallId)}`), "1 minute")
      const layer = Layer.mergeAll(scripted(familyScript), Kit.toLayer({ work: slow, sign: slow }))
      const play = (minutes: number, state: AgentState.AgentState | undefined) =>
        Effect.gen(function*() {
          const agent = family({ top: StopWhen.duration(`${minutes} minutes`) })
          const from = state === undefined ? "Go" : AgentState.reopen(throughText(state))
          const fiber = yield* Effect.forkChild(Agent.settle(agent, from).pipe(Effect.provide(layer)))
          for (let minute = 0; minute < 12; minute++) yield* TestClock.adjust("1 minute")
          return yield* Fiber.join(fiber)
        })
      const first = yield* play(4, undefined)
      assert.strictEqual(first.status._tag === "Failed" ? first.status.error.tag : "", "BudgetExceeded")
      assert.deepStrictEqual(ran.toSorted(), ["l1", "l2", "l3", "m1", "m2", "t1", "t2"])
      assert.strictEqual(first.run.elapsed, 240_000)
      yield* TestClock.adjust("1 day")
      const second = yield* play(6, first)
      assert.deepStrictEqual([ran.slice(7), second.run.elapsed], [["l4", "m3"], 360_000])
      const last = yield* play(60, second)
      assert.deepStrictEqual([AgentState.text(last), ran.slice(9), last.run.elapsed], ["top: 10", ["t3"], 420_000])
    }))

  it.effect("fails the agent whose limit it was, and not those above", () =>
    Effect.gen(function*() {
      yield* Effect.gen(function*() {
        const { events } = yield* watch(Agent.run(family({ mid: StopWhen.maxSteps(4) }), "Go"))
        const state = stateOf(events, AgentState.make("top"))
        assert.strictEqual(state.status._tag, "Complete")
        assert.deepStrictEqual(ofTag(events, "RunFailed").map(({ error, path }) => [path.join(">"), error.tag]), [
          ["top>mid", "StepLimitReached"]
        ])
        assert.deepStrictEqual(ofTag(events, "RunInterrupted").map(({ path }) => path.length), [3])
        const call = callOf(state, "to-mid")?.state
        assert.match(call?._tag === "Settled" ? String(call.result) : "", /^Agent "mid" failed: .*limit of 4 steps/)
        assert.strictEqual(AgentState.text(state), "top: t3!")
      }).pipe(Effect.provide([scripted(familyScript), handlers()]))
    }))

  it.effect("that is the larger one lets the smaller one below it be met first", () =>
    Effect.gen(function*() {
      const limits = { top: StopWhen.maxSteps(7), mid: StopWhen.maxSteps(6), low: StopWhen.maxSteps(2) }
      const { events } = yield* watch(Effect.flip(Agent.run(family(limits), "Go"))).pipe(
        Effect.provide([scripted(familyScript), handlers()])
      )
      stateOf(events, AgentState.make("top"))
      assert.deepStrictEqual(ofTag(events, "RunFailed").map(({ path }) => path.join(">")), ["top>mid>low", "top"])
    }))

  it.effect("met by an agent and by its caller at once is each one's own, wherever the run was cut", () =>
    Effect.gen(function*() {
      const child = Agent.make("child", { toolkit: Kit, stopWhen: StopWhen.maxSteps(2) })
      const top = Agent.make("top", { agents: [Agent.asTool(child)], stopWhen: StopWhen.maxSteps(3) })
      const script = { top: [ask("child", "c")], child: [work("w1"), work("w2"), work("w3")] }
      yield* Effect.gen(function*() {
        const { events } = yield* watch(Agent.settle(top, "Go"))
        const last = stateOf(events, AgentState.make("top"))
        const state = callOf(last, "c")?.state
        assert.deepStrictEqual(state?._tag === "Settled" && [state.outcome, state.result], [
          "Failed",
          "Agent \"child\" failed: Agent \"child\" reached its limit of 2 steps"
        ])
        assert.isTrue(last.status._tag === "Failed" && last.status.error.tag === "StepLimitReached")
        assert.strictEqual(last.run.steps, 3)
        let before = AgentState.make("top")
        for (const event of events.slice(0, -1)) {
          const cut = AgentState.reduce(before, event)
          if (cut !== before) assert.deepStrictEqual(yield* Agent.settle(top, throughText(cut)), last)
          before = cut
        }
      }).pipe(Effect.provide([scripted(script), handlers()]))
    }))

  it.effect("met while somebody has to approve keeps the approval, and the rest goes on later", () =>
    Effect.gen(function*() {
      const child = Agent.make("child", { toolkit: Kit })
      const make = (steps: number) =>
        Agent.make("top", { toolkit: Kit, agents: [Agent.asTool(child)], stopWhen: StopWhen.maxSteps(steps) })
      const ran: Array<string> = []
      yield* Effect.gen(function*() {
        const { events } = yield* watch(Agent.settle(make(2), "Go"))
        const failed = stateOf(events, AgentState.make("top"))
        assert.deepStrictEqual([failed.status._tag, waiting(failed), ran], ["Failed", ["s"], ["c1"]])
        const waits = yield* Agent.resume(make(20), AgentState.reopen(throughText(failed)))
        assert.deepStrictEqual([waits.status._tag, waiting(waits), ran], ["WaitingForTools", ["s"], ["c1", "c2"]])
        const last = yield* Agent.resume(make(20), throughText(approve(waits, "s")))
        assert.strictEqual(AgentState.text(last), "top: s!, child: c2!")
        const same = yield* Agent.settle(make(2), AgentState.reopen(approve(failed, "s")))
        assert.deepStrictEqual([same.status._tag, waiting(same), ran], ["Failed", [], ["c1", "c2", "s", "s"]])
        const early = yield* Agent.resume(make(20), AgentState.reopen(approve(failed, "s")))
        assert.strictEqual(AgentState.text(early), "top: s!, child: c2!")
      }).pipe(Effect.provide([
        scripted({ top: [all(sign("s"), ask("child", "c"))], child: [work("c1"), work("c2")] }),
        handlers(ran)
      ]))
    }))
})

describe("Agents that are called at once", () => {
  const child = Agent.make("child", { toolkit: Kit })
  const top = Agent.make("top", { toolkit: Kit, agents: [Agent.asTool(child)], toolConcurrency: "unbounded" })
  const tasks = Array.from({ length: 8 }, (_, index) => `task ${index}`)
  /** Each child calls by the same ids, and its parent does so too. */
  const model = MockModel.layer(MockModel.make((request) => {
    const isFirst = !request.messages.some((message) => message.role === "assistant")
    const read = request.lastToolResults.map(({ result }) => String(result)).join(", ")
    const { lastUserText: task } = request
    if (!isFirst) return `${task}: ${read}`
    return request.agent === "top"
      ? all(...tasks.map((task) => ask("child", "x", task)), work("own", "x"))
      : all(work(`work for ${task}`, "x"), sign(`sign for ${task}`, "x"), work(`more for ${task}`, "y"))
  }))

  it.effect("don't mix, though all call by the same ids, which the tree keeps apart", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const order = [5, 2, 7, 0, 1, 6, 4, 3]
      let { events } = yield* watch(Agent.run(top, "Go")).pipe(Effect.provide([model, handlers(ran)]))
      let state = stateOf(events, AgentState.make("top"))
      assert.deepStrictEqual(
        AgentState.pendingApprovals(state).map(({ params }) => params),
        tasks.map((task) => ({ what: `sign for ${task}` }))
      )
      assert.strictEqual(new Set(waiting(state)).size, tasks.length)
      for (const index of order) {
        const approval = AgentState.pendingApprovals(state).find(({ params }) =>
          JSON.stringify(params) === JSON.stringify({ what: `sign for task ${index}` })
        )
        const before = throughText(approve(state, approval?.callId ?? ""))
        events = (yield* watch(Agent.resume(top, before)).pipe(Effect.provide([model, handlers(ran)]))).events
        state = stateOf(events, before)
      }
      const texts = tasks.map((task) => `${task}: work for ${task}!, sign for ${task}!, more for ${task}!`)
      assert.strictEqual(AgentState.text(state), `Go: ${[...texts, "own!"].join(", ")}`)
      assert.deepStrictEqual(ran.slice(-8), order.map((index) => `sign for task ${index}`))
      assert.strictEqual(ran.length, 25)
    }))

  it.effect("share the steps of their caller: not one more is taken, and those left out go on later", () =>
    Effect.gen(function*() {
      const waits = MockModel.layer(MockModel.make((request) => {
        const isFirst = !request.messages.some((message) => message.role === "assistant")
        if (request.agent === "top") return isFirst ? all(...tasks.map((task) => ask("child", task, task))) : "Done."
        return Effect.as(Effect.yieldNow, isFirst ? work(request.lastUserText, "w") : `${request.lastUserText}.`)
      }))
      const make = (steps: number) =>
        Agent.make("top", { agents: [Agent.asTool(child)], toolConcurrency: 5, stopWhen: StopWhen.maxSteps(steps) })
      const ran: Array<string> = []
      yield* Effect.gen(function*() {
        let state = yield* Agent.settle(make(1), "Go")
        for (let steps = 2; state.status._tag === "Failed"; steps += 3) {
          const before = AgentState.reopen(throughText(state))
          const { events } = yield* watch(Agent.settle(make(steps), before))
          state = stateOf(events, before)
          assert.strictEqual(state.run.steps, Math.min(steps, 18))
        }
        assert.strictEqual(AgentState.text(state), "Done.")
        assert.deepStrictEqual((yield* told).map(({ result }) => result), tasks.map((task) => `${task}.`))
        assert.deepStrictEqual(ran.toSorted(), tasks)
      }).pipe(Effect.provide([waits, handlers(ran)]))
    }))

  it.effect("are as many as the caller's tools may be", () =>
    Effect.gen(function*() {
      const gauge = makeGauge()
      const two = Agent.make("top", { toolkit: Kit, agents: [Agent.asTool(child)], toolConcurrency: 2 })
      const slow = (_: unknown, { toolCallId = "" }) =>
        gauge.run(toolCallId, Effect.as(Effect.repeat(Effect.yieldNow, { times: 5 }), ""))
      yield* Agent.run(two, "Go").pipe(
        Effect.provide([
          scripted({ top: [all(...tasks.map((task, index) => ask("child", `c${index}`, task)))], child: [work("w")] }),
          Kit.toLayer({ work: slow, sign: slow })
        ])
      )
      assert.deepStrictEqual([gauge.most, gauge.log.length], [2, 16])
    }))
})

describe("The user", () => {
  it.effect("may write while an agent deep down waits, and may wait for it", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      yield* Effect.gen(function*() {
        const first = yield* Agent.run(family(), "Go")
        const second = yield* Agent.continueConversation(family(), throughText(first), "And then?")
        assert.deepStrictEqual([second.status._tag, waiting(second)], ["WaitingForTools", ["deep"]])
        const last = yield* Agent.resume(family(), throughText(approve(second, "deep")))
        const [call] = (yield* MockModel.calls).filter(({ request }) => request.agent === "top").slice(-1)
        assert.deepStrictEqual(call?.request.messages.map(({ role }) => role), ["user", "assistant", "tool", "user"])
        assert.strictEqual(call?.request.lastUserText, "And then?")
        assert.deepStrictEqual([ran, last.status._tag, last.run.steps], [["s"], "Complete", 3])
        assert.strictEqual(last.steps, 6)
      }).pipe(Effect.provide([
        scripted({ top: [ask("mid", "m")], mid: [ask("low", "l")], low: [sign("s", "deep")] }),
        handlers(ran)
      ]))
    }))

  it.effect("is told that an agent within the state has another name now", () =>
    Effect.gen(function*() {
      yield* Effect.gen(function*() {
        const state = yield* Agent.run(family(), "Go")
        const other = Agent.make("other", { toolkit: Kit })
        const mid = Agent.make("mid", { toolkit: Kit, agents: [Agent.asTool(other, { name: "low" })] })
        const changed = Agent.make("top", { toolkit: Kit, agents: [Agent.asTool(mid)] })
        const error = yield* Effect.flip(Agent.resume(changed, state))
        assert.deepStrictEqual(
          error.reason._tag === "AgentMismatch" ? [error.reason.missing, error.reason.wanted, error.reason.agent] : [],
          ["agent", "low", "other"]
        )
        const plain = Agent.make("top", { toolkit: Kit })
        const missing = yield* Effect.flip(Agent.resume(plain, state))
        assert.deepStrictEqual(
          missing.reason._tag === "AgentMismatch" ? [missing.reason.missing, missing.reason.wanted] : [],
          ["tool", "mid"]
        )
      }).pipe(Effect.provide([
        scripted({ top: [ask("mid", "m")], mid: [ask("low", "l")], low: [sign("s", "deep")] }),
        handlers()
      ]))
    }))
})

describe("An interruption inside of a called agent", () => {
  it.effect("ends its call, and the run's last state is legal and goes on", () =>
    Effect.gen(function*() {
      const gauge = makeGauge()
      const started = yield* Deferred.make<void>()
      const slow = Kit.toLayer({
        work: ({ what }) =>
          what === "l2"
            ? gauge.run(what, Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
            : Effect.succeed(`${what}!`),
        sign: () => Effect.succeed("")
      })
      const events: Array<AgentEvent.AgentEvent> = []
      const fiber = yield* Effect.forkChild(
        Agent.observe(Agent.run(family(), "Go"), (event) => Effect.sync(() => void events.push(event))).pipe(
          Effect.provide([scripted(familyScript), slow])
        )
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(gauge.log, ["+l2", "-l2"])
      const state = stateOf(events, AgentState.make("top"))
      assert.deepStrictEqual(ofTag(events, "RunInterrupted").map(({ path }) => path.length), [3, 2, 1])
      assert.deepStrictEqual(
        ofTag(events, "ToolCallSettled").filter(({ outcome }) => outcome === "Interrupted").map(({ callId }) => callId),
        ["l2", "to-low", "to-mid"]
      )
      const last = yield* Agent.resume(family(), throughText(state)).pipe(
        Effect.provide([scripted(familyScript), handlers()])
      )
      assert.strictEqual(AgentState.text(last), "top: t3!")
    }))

  /** Runs from a state until a handler of this work has begun, and interrupts it there. */
  const cutIn = Effect.fnUntraced(
    function*(agent: Agent.Any, state: AgentState.AgentState | string, script: Parameters<typeof scripted>[0]) {
      const started = yield* Deferred.make<void>()
      const hanging = Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      const events: Array<AgentEvent.AgentEvent> = []
      const from = typeof state === "string" ? Agent.run(agent, state) : Agent.resume(agent, state)
      const fiber = yield* Effect.forkChild(
        Agent.observe(from, (event) => Effect.sync(() => void events.push(event))).pipe(
          Effect.provide([scripted(script), Kit.toLayer({ work: () => hanging, sign: () => hanging })])
        ) as Effect.Effect<AgentState.AgentState>
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      return { events, state: stateOf(events, typeof state === "string" ? AgentState.make("top") : state) }
    }
  )

  it.effect("keeps what awaits approval in it, at any depth, and the agents that lead there", () =>
    Effect.gen(function*() {
      const script = {
        top: [all(ask("mid", "m"), work("t"))],
        mid: [all(ask("low", "l"), ask("low", "l2"))],
        low: [all(sign("p1"), sign("p2")), "Signed."]
      }
      const first = yield* Agent.run(family(), "Go").pipe(Effect.provide([scripted(script), handlers()]))
      assert.deepStrictEqual(waiting(first), ["p1", "p2", "p1-2", "p2-2"])
      const cut = yield* cutIn(family(), throughText(approve(first, "p1", "p1-2", "p2-2")), script)
      assert.deepStrictEqual(waiting(cut.state), ["p2"])
      assert.deepStrictEqual(
        cut.events.filter(({ _tag }) => /^(ToolCallS(ettled|uspended)|RunInterrupted)$/.test(_tag))
          .map((event) =>
            [event.path.join(" > ") + ":", event._tag, ...("callId" in event ? [event.callId] : [])].join(" ")
          ),
        [
          "top > mid > low: ToolCallSettled p1",
          "top > mid > low: RunInterrupted",
          "top > mid > low: ToolCallSettled p1-2",
          "top > mid > low: ToolCallSettled p2-2",
          "top > mid > low: RunInterrupted",
          "top > mid: ToolCallSuspended l",
          "top > mid: ToolCallSettled l2",
          "top > mid: RunInterrupted",
          "top: ToolCallSuspended m",
          "top: RunInterrupted"
        ]
      )
      const ran: Array<string> = []
      const last = yield* Agent.resume(family(), throughText(approve(cut.state, "p2"))).pipe(
        Effect.provide([scripted(script), handlers(ran)])
      )
      assert.deepStrictEqual([ran, last.status._tag], [["p2"], "Complete"])
    }))

  it.effect("loses no approval, at whichever operation it comes", () =>
    Effect.gen(function*() {
      const script = { top: [ask("mid", "m")], mid: [ask("low", "l")], low: [all(sign("p1"), sign("p2"))] }
      const environment = Effect.provide([scripted(script), handlers()])
      const first = approve(yield* environment(Agent.run(family(), "Go")), "p1")
      for (let at = 1, isOver = false; !isOver; at++) {
        const events: Array<AgentEvent.AgentEvent> = []
        const resumed = Agent.observe(Agent.resume(family(), first), (event) =>
          Effect.sync(() => void events.push(event)))
        const { exit, scheduler } = yield* interruptAt(environment(resumed), at)
        const state = events.length === 0 ? first : stateOf(events, first)
        assert.deepStrictEqual(waiting(state), ["p2"], `interrupted at operation ${at}`)
        isOver = Exit.isSuccess(exit) && scheduler.ops < at
      }
    }))

  it.effect("keeps the modes of an agent in which an approval is awaited", () =>
    Effect.gen(function*() {
      const careful = Mode.make("careful", { isolation: "fork", enter: () => Effect.void, invokable: true })
      const low = Agent.make("low", { toolkit: Kit, modes: [careful] })
      const top = Agent.make("top", { agents: [Agent.asTool(low)] })
      const script = {
        top: [ask("low", "l")],
        low: [toolCall("enter_careful_mode", {}, { id: "e" }), all(sign("p1"), sign("p2"))]
      }
      const first = yield* Agent.run(top, "Go").pipe(Effect.provide([scripted(script), handlers()]))
      const { state } = yield* cutIn(top, approve(first, "p1"), script)
      assert.deepStrictEqual(waiting(state), ["p2"])
      assert.deepStrictEqual(AgentState.at(state, ["l"])?.modes.map(({ name }) => name), ["careful"])
    }))
})

/** A tree of agents: what each calls, turn by turn. */
interface Node {
  readonly turns: ReadonlyArray<ReadonlyArray<Step>>
}
type Step = "work" | "sign" | "wrong" | "unknown" | Node

const node = (steps: Schema.Codec<Step, unknown>, turns: number): Schema.Codec<Node, unknown> =>
  Schema.Struct({
    turns: Schema.Array(Schema.Array(steps).check(Schema.isMaxLength(3))).check(Schema.isMaxLength(turns))
  }) as Schema.Codec<Node, unknown>
const leaf = Schema.Literals(["work", "sign", "sign", "wrong", "unknown"]) as Schema.Codec<Step, unknown>
const low = node(leaf, 2)
const mid = node(Schema.Union([leaf, low]) as Schema.Codec<Step, unknown>, 2)
const Tree = node(Schema.Union([leaf, mid]) as Schema.Codec<Step, unknown>, 3)

/** Makes the agents of a tree and what their models say. With `clash`, all calls have one id. */
const plant = (tree: Node, needsApproval: boolean, clash: boolean) => {
  const script: Record<string, ReadonlyArray<MockResponse.Input>> = {}
  const toolkit = Toolkit.make(Work, Sign.setNeedsApproval(needsApproval))
  type Grown = Agent.Agent<string, string, never, LanguageModel.LanguageModel | Tool.HandlersFor<typeof Kit.tools>>
  const grow = (node: Node, name: string): Grown => {
    const agents: Array<Agent.AsTool<string, LanguageModel.LanguageModel | Tool.HandlersFor<typeof Kit.tools>>> = []
    script[name] = node.turns.filter((turn) => turn.length > 0).map((turn, at) =>
      all(...turn.map((step, index) => {
        const place = `${name}.${at}${index}`
        const id = clash ? "same" : place
        if (typeof step === "object") {
          const inner = `${name}_${at}${index}`
          agents.push(Agent.asTool(grow(step, inner)))
          return ask(inner, id, place)
        }
        return step === "wrong"
          ? toolCall("work", { who: place }, { id })
          : toolCall(step, { what: place }, { id })
      }))
    )
    return Agent.make(name, { toolkit, agents, toolConcurrency: name.length % 3 + 1, stopWhen: patient })
  }
  return { agent: grow(tree, "n"), script }
}

describe("Any tree of agents", () => {
  const Picks = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))).check(
    Schema.isMinLength(1)
  )

  it.effect.prop(
    "comes to the same with approvals granted one by one as without any",
    [Tree, Picks, Schema.Boolean],
    ([tree, picks, clash]) =>
      Effect.gen(function*() {
        const ranFree: Array<string> = []
        const free = plant(tree, false, clash)
        const { events } = yield* watch(Agent.run(free.agent, "Go")).pipe(
          Effect.provide([scripted(free.script), handlers(ranFree)])
        )
        const expected = stateOf(events, AgentState.make("n"))
        assert.strictEqual(expected.status._tag, "Complete")

        const ran: Array<string> = []
        let state = AgentState.ask(AgentState.make("n"), "Go", 0)
        for (let sitting = 0; state.status._tag !== "Complete"; sitting++) {
          const { agent, script } = plant(tree, true, clash)
          const { events } = yield* watch(Agent.resume(agent, state)).pipe(
            Effect.provide([scripted(script), handlers(ran)])
          )
          state = stateOf(events, state)
          for (const { state: { conversation: { turns } } } of places(state)) {
            assert.deepStrictEqual(turns.map(({ _tag }) => _tag), ["User", ...turns.slice(1).map(() => "Assistant")])
          }
          const ids = waiting(state)
          assert.strictEqual(ids.length > 0, state.status._tag !== "Complete")
          const picked = ids[(picks[sitting % picks.length] ?? 0) % Math.max(1, ids.length)]
          if (picked !== undefined) state = throughText(approve(state, picked))
        }
        assert.deepStrictEqual(ran.toSorted(), ranFree.toSorted())
        assert.strictEqual(AgentState.text(state), AgentState.text(expected))
        assert.deepStrictEqual(state.usage, expected.usage)
        assert.strictEqual(state.steps, expected.steps)
        if (!clash) assert.deepStrictEqual(state, expected)
      }),
    { arbitrary: { runs: times(60, 25) } }
  )

  it.effect.prop(
    "comes to the same run, streamed, and taken step by step",
    [Tree, Schema.Boolean],
    ([tree, needsApproval]) =>
      Effect.gen(function*() {
        const { agent, script } = plant(tree, needsApproval, false)
        const begun = AgentState.ask(AgentState.make("n"), "Go", 0)
        const environment = Effect.provide(Layer.fresh(Layer.merge(scripted(script), handlers())))
        const run = yield* environment(Agent.run(agent, "Go"))
        const events = yield* environment(Stream.runCollect(Agent.stream(agent, "Go")))
        assert.deepStrictEqual(stateOf(events, AgentState.make("n")), run)
        let state = begun
        for (let command = AgentState.next(state); command._tag !== "Await" && command._tag !== "Stop";) {
          state = throughText(yield* environment(Agent.step(agent, state)))
          command = AgentState.next(state)
        }
        assert.deepStrictEqual(state, run)
      }),
    { arbitrary: { runs: times(40, 16) } }
  )
})
