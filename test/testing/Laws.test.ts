import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Context, Effect, Layer, Schedule, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import {
  Agent,
  AgentPicker,
  Conversation,
  Group,
  Guardrail,
  Handoff,
  HandoffPolicy,
  Mode,
  StopWhen,
  SystemPrompt,
  ToolPolicy
} from "troupe"
import { Laws, MockModel } from "troupe/testing"
import { times } from "../matrix.ts"

const Tools = Toolkit.make(
  Tool.make("look", { parameters: Schema.Struct({ at: Schema.String, since: Schema.Date }), success: Schema.String }),
  Tool.make("open", { success: Schema.String, needsApproval: true }),
  Tool.make("fail", { failure: Schema.String })
)
const layer = Tools.toLayer({
  look: ({ at }) => Effect.as(Effect.yieldNow, `${at}: a tree`),
  open: () => Effect.succeed("opened"),
  fail: () => Effect.fail("no")
})

/** What is said of a law that doesn't hold. */
const broken = <E>(law: Effect.Effect<void, Laws.LawBroken | E>) =>
  Effect.map(Effect.flip(law), (error) => {
    assert.instanceOf(error, Laws.LawBroken)
    return error as Laws.LawBroken
  })

/** A store in memory, of which some functions are others. */
const storeOf = (change: (store: KeyValueStore.KeyValueStore) => Partial<KeyValueStore.KeyValueStore>) =>
  Layer.effect(
    KeyValueStore.KeyValueStore,
    Effect.map(KeyValueStore.KeyValueStore, (store) => ({ ...store, ...change(store) }))
  ).pipe(Layer.provide(KeyValueStore.layerMemory))

describe("Laws", () => {
  it.effect("hold of an agent without anything", () => Laws.agent(Agent.make("assistant")))

  it.effect("hold of an agent with tools, an agent that it calls, an output and handoffs", () => {
    const helper = Agent.make("helper", { toolkit: Tools, stopWhen: StopWhen.maxSteps(2) })
    const expert = Agent.make("expert", { toolkit: Tools })
    const desk = Agent.make("desk", {
      toolkit: Tools,
      agents: [Agent.asTool(helper)],
      handoffs: [Handoff.to(expert)],
      output: Schema.Struct({ answer: Schema.String })
    })
    return Laws.agent(desk, { layer, seed: 7 })
  }, 60_000)

  it.effect("hold of agents with fatal tools, at the top, called at any depth, and after a handoff", () => {
    const Calls = Toolkit.make(
      Tool.make("fail", { failure: Schema.String }),
      Tool.make("look", { success: Schema.String }),
      Tool.make("open", { success: Schema.String, failure: Schema.String, needsApproval: true })
    )
    const layer = Calls.toLayer({
      fail: () => Effect.fail("it broke"),
      look: () => Effect.succeed("a tree"),
      open: () => Effect.fail("it is locked")
    })
    const fatal = ["fail", "open"] as const
    const hidden = Guardrail.make(
      "hidden",
      (result) => result === "it broke" ? Guardrail.replace("it is hidden", "a secret") : Guardrail.pass,
      { on: "toolResult" }
    )
    const leaf = Agent.make("leaf", { toolkit: Calls, fatal })
    const guarded = Agent.make("guarded", { toolkit: Calls, fatal, guardrails: { toolResult: [hidden] } })
    const middle = Agent.make("middle", { agents: [Agent.asTool(leaf)] })
    const root = Agent.make("root", { agents: [Agent.asTool(guarded), Agent.asTool(middle)] })
    const clerk = Agent.make("clerk", { toolkit: Calls, fatal, handoffs: [Handoff.to(leaf)] })
    return Effect.forEach(
      [leaf, guarded, root, clerk],
      (agent) => Laws.agent(agent, { layer, runs: times(60, 8), seed: 1 })
    )
  }, 120_000)

  it.effect("hold of a group", () => {
    const a = Agent.make("a", { toolkit: Tools, handoffs: [Handoff.to("b")] })
    const b = Agent.make("b", { toolkit: Tools })
    return Laws.group(Group.make({ a, b }, { start: "a", policy: HandoffPolicy.sequential(["a", "b"]) }), { layer })
  }, 60_000)

  const soft = { onExhausted: "finish" } as const
  const polite = Guardrail.make("polite", (text) => text.length % 2 === 1 ? Guardrail.block("odd") : Guardrail.pass)

  for (
    const [name, stopWhen] of Object.entries({
      steps: StopWhen.maxSteps(1, soft),
      "no steps": StopWhen.maxSteps(0, soft),
      tokens: StopWhen.tokens(15, soft),
      cost: StopWhen.cost({ limit: 1, prices: {}, ...soft }),
      calls: StopWhen.toolCalls(1, soft),
      "calls that fail the run": StopWhen.toolCalls(1),
      "steps that fail the run": StopWhen.maxSteps(1)
    })
  ) {
    it.effect(`hold where a limit (${name}) meets agents that can't take their input`, () =>
      Effect.gen(function*() {
        const guarded = Agent.make("guarded", { guardrails: { input: [polite] }, toolkit: Tools })
        const short = Agent.make("short", { maxInputLength: 3, agents: [Agent.asTool(guarded)] })
        const desk = Group.make({ first: Agent.make("first"), guarded }, {
          start: AgentPicker.match([[/a/, "guarded"]], "first")
        })
        for (const called of [guarded, short, desk]) {
          const boss = Agent.make("boss", { toolkit: Tools, agents: [Agent.asTool(called)], stopWhen })
          yield* Laws.agent(boss, { layer, runs: times(15, 2), seed: 1 })
        }
        const own = Agent.make("own", { guardrails: { input: [polite] }, stopWhen })
        yield* Laws.agent(own, { input: ["Is it?", "Odd"], runs: 10, seed: 1 })
      }), 60_000)
  }

  it.effect(
    "hold where a limit is met while agents that work side by side are being answered",
    () =>
      Effect.gen(function*() {
        const slow = Guardrail.make("slow", () => Effect.as(Effect.yieldNow, Guardrail.pass))
        const pair = Agent.make("pair", { toolkit: Tools, guardrails: { output: [slow], toolResult: [slow] } })
        const Look = Toolkit.make(Tool.make("see", { success: Schema.String }))
        const see = Look.toLayer({ see: () => Effect.as(Effect.yieldNow, "a tree") })
        for (const stopWhen of [StopWhen.toolCalls("see", 1, soft), StopWhen.tokens(30, soft), StopWhen.tokens(30)]) {
          const boss = Agent.make("boss", { toolkit: Look, agents: [Agent.asTool(pair)], stopWhen })
          yield* Laws.agent(boss, { layer: Layer.merge(layer, see), runs: times(100, 8), seed: 3 })
        }
      }),
    60_000
  )

  it.effect("hold of agents that fail as soon as they have started, called or not", () =>
    Effect.gen(function*() {
      const short = Agent.make("short", { maxInputLength: 3 })
      const lost = Group.make({ a: Agent.make("a"), b: Agent.make("b") }, {
        name: "lost",
        start: AgentPicker.make(({ text }) => text.includes("b") ? Effect.succeed("b" as const) : Effect.fail("lost"))
      })
      for (const called of [short, lost]) {
        yield* Laws.agent(called, { input: ["", "Is it?", "b"], runs: times(10, 4), seed: 1 })
        yield* Laws.agent(Agent.make("boss", { agents: [Agent.asTool(called)] }), { runs: times(20, 6), seed: 1 })
      }
    }), 60_000)

  it.effect("hold of a mode, which is entered and left for it", () =>
    Effect.gen(function*() {
      const done: Array<string> = []
      const research = Mode.make("research", {
        params: Schema.Struct({ topic: Schema.String }),
        toolkit: Tools,
        enter: ({ topic }) =>
          Effect.andThen(Effect.sync(() => done.push("in")), SystemPrompt.append(`Research ${topic}.`)),
        exit: () => Effect.asVoid(Effect.sync(() => done.push("out")))
      })
      yield* Laws.mode(research, { layer, runs: 25, seed: 7 })
      assert.includeMembers(done, ["in", "out"])
    }), 60_000)

  it.effect(
    "hold where calls are approved and denied, in called agents too, without the models that agents bring",
    () =>
      Effect.gen(function*() {
        const real = MockModel.layer(MockModel.make(() => Effect.die(new Error("a real model was asked"))))
        const Doors = Toolkit.make(Tool.make("open", { success: Schema.String, needsApproval: true }))
        const layer = Doors.toLayer({ open: () => Effect.succeed("opened") })
        const keeper = Agent.withModel(Agent.make("keeper", { toolkit: Doors }), real)
        const boss = Agent.withModel(Agent.make("boss", { agents: [Agent.asTool(keeper)] }), real)
        const seen = new Set<string>()
        const look = Agent.observe((event) =>
          Effect.sync(() => {
            if (event._tag === "RunStarted") seen.add(`the user says ${JSON.stringify(event.input)}`)
            if (event._tag === "ModelResponded") seen.add(JSON.stringify(event.parts[0]))
            if (event._tag === "ToolCallSettled") seen.add(`${event.path.join("/")}: ${event.outcome}`)
            if (event._tag === "RunCompleted" && JSON.stringify(event.state).includes("Denied")) {
              seen.add(`${event.path[0]}: Denied`)
            }
          })
        )
        yield* look(Laws.agent(keeper, { layer, input: ["One", "Two"], texts: ["a", "b"], seed: 3 }))
        yield* look(Laws.agent(boss, { layer, runs: times(40, 20), seed: 3 }))
        assert.includeMembers([...seen], [
          "the user says [{\"_tag\":\"Text\",\"text\":\"One\"}]",
          "the user says [{\"_tag\":\"Text\",\"text\":\"Two\"}]",
          "{\"_tag\":\"Text\",\"text\":\"a\"}",
          "{\"_tag\":\"Text\",\"text\":\"b\"}",
          "keeper: Denied",
          "keeper: Succeeded",
          "boss/keeper: Succeeded",
          "boss: Denied"
        ])
      }),
    60_000
  )

  it.effect("hold of guardrails, wherever they can stand, and whatever they say", () =>
    Effect.gen(function*() {
      const texts = ["Well.", "Mail ada@example.com"] as const
      const stages = new Set<string>()
      const verdicts = new Set<string>()
      const look = Agent.observe((event) =>
        Effect.sync(() => {
          if (event._tag !== "GuardrailSettled") return
          stages.add(event.stage)
          verdicts.add(event.verdict)
        })
      )
      const leet = Guardrail.make(
        "leet",
        (text) =>
          Effect.as(
            Effect.yieldNow,
            text.includes("e") ? Guardrail.replace(text.replaceAll("e", "3"), "an e") : Guardrail.pass
          ),
        { mode: "parallel" }
      )
      yield* look(Laws.guardrail(leet, { texts, seed: 6 }))
      assert.deepStrictEqual([...stages].toSorted(), ["handoff", "input", "output", "toolCall", "toolResult"])
      const again = Guardrail.make(
        "again",
        (text: string) => text === "Done." ? Guardrail.pass : Guardrail.retry("Not so."),
        { on: "output" }
      )
      yield* look(Laws.guardrail(again, { runs: 10, seed: 1 }))
      const few = Guardrail.make(
        "few",
        (count: number) =>
          count > 10 ? Guardrail.replace(10, "many") : count < 0 ? Guardrail.block("less") : Guardrail.pass,
        { on: "output" }
      )
      yield* look(Laws.guardrail(few, { output: Schema.Finite, runs: 10, seed: 1 }))
      class Limit extends Context.Service<Limit, number>()("test/Limit") {}
      const odd = Guardrail.make(
        "odd",
        ({ reason = "" }) =>
          Effect.map(Limit, (limit) => reason.length % limit === 0 ? Guardrail.warn("even") : Guardrail.block("odd")),
        { on: "handoff" }
      )
      yield* look(Laws.guardrail(odd, { layer: Layer.succeed(Limit, 2), texts, seed: 5 }))
      assert.deepStrictEqual(
        [...verdicts].filter((verdict) => verdict !== "Interrupted").toSorted(),
        ["Block", "Pass", "Replace", "Retry", "Warn"]
      )
    }), 60_000)

  it.effect("hold of histories, and of a store", () =>
    Effect.gen(function*() {
      for (const history of [Handoff.full, Handoff.lastUser, Handoff.none]) yield* Laws.history(history)
      // Turns of users that say nothing are rare.
      yield* Laws.history(Handoff.lastTurns(2), { runs: 100, seed: 1 })
      yield* Laws.history(Handoff.summary(({ turns }) => Effect.succeed(`${turns.length} turns`)))
      yield* Laws.history(({ turns }) => ({ turns: turns.slice(0, 1) }))
      yield* Laws.history((conversation) => Effect.succeed(conversation))
      yield* Laws.history(({ turns }) => Effect.succeed({ turns: turns.slice(0, 1) }))
      yield* Laws.history(() => Effect.fail("can't"))
      yield* Laws.store(KeyValueStore.layerMemory)
    }), 60_000)

  it.effect("hold of handlers that sleep, and of retries and guardrails that wait, under a clock that nobody adjusts", () =>
    Effect.gen(function*() {
      const Slow = Toolkit.make(Tool.make("nap", { success: Schema.String }))
      const patient = Agent.make("patient", {
        toolkit: Slow,
        retry: Schedule.max([Schedule.spaced(1), Schedule.recurs(1)])
      })
      const napping = Slow.toLayer({ nap: () => Effect.as(Effect.sleep(1), "slept") })
      yield* Laws.agent(patient, { layer: napping, runs: 5, seed: 1 })

      const slow = Guardrail.make("slow", () => Effect.as(Effect.sleep(1), Guardrail.pass), { timeout: "1 minute" })
      yield* Laws.guardrail(slow, { runs: 2, seed: 1 })
      yield* Laws.history((conversation) => Effect.as(Effect.sleep(1), conversation), { runs: 2, seed: 1 })
      const slowStore = storeOf((store) => ({
        set: (key, value) => Effect.andThen(Effect.sleep(1), store.set(key, value))
      }))
      yield* Laws.store(slowStore, { runs: 1, seed: 1 })
    }))

  it.effect("hold of retries that would wait for hours, and of called agents' and tools' too, at once", () => {
    let failures = 0
    const Flaky = Toolkit.make(
      ToolPolicy.set(Tool.make("look", { success: Schema.String, failure: Schema.String }), {
        retry: Schedule.max([Schedule.exponential("1 hour"), Schedule.recurs(2)])
      })
    )
    const hourly = Schedule.max([Schedule.spaced("1 hour"), Schedule.recurs(2)])
    const helper = Agent.make("helper", { toolkit: Flaky, retry: hourly, stopWhen: StopWhen.maxSteps(2) })
    const boss = Agent.make("boss", { toolkit: Flaky, agents: [Agent.asTool(helper)], retry: hourly })
    const flaky = Flaky.toLayer({ look: () => Effect.suspend(() => Effect.fail(`no ${failures++ >= 0}`)) })
    return Effect.map(
      Laws.agent(boss, { layer: flaky, runs: 5, seed: 1 }),
      () => assert.isAbove(failures, 3)
    )
  })

  it.effect("hold of a handler that reads a clock, which stands still", () => {
    const Watch = Toolkit.make(Tool.make("look", { success: Schema.Array(Schema.String) }))
    const layer = Watch.toLayer({
      look: () =>
        Effect.map(
          Effect.all([Clock.currentTimeMillis, Clock.currentTimeNanos, Clock.monotonicTimeNanos]),
          (times) => times.map(String)
        )
    })
    return Laws.agent(Agent.make("watcher", { toolkit: Watch }), { layer, runs: 10, seed: 1 })
  })
})

/** Sample agents, each with a defect of one kind. */
let sold = 0
const Sell = Toolkit.make(Tool.make("sell", { success: Schema.Finite }))
const counting = Sell.toLayer({ sell: () => Effect.sync(() => ++sold) })

class Stock extends Context.Service<Stock, { readonly next: Effect.Effect<number> }>()("test/Stock") {}
const stock = Layer.sync(Stock, () => {
  let count = 0
  return { next: Effect.sync(() => ++count) }
})

describe("A law that is broken", () => {
  const clerk = Agent.make("clerk", { toolkit: Sell })

  it.effect(
    "is found in a tool that counts for itself, and shrunk to a handful of events",
    () =>
      Effect.gen(function*() {
        const error = yield* broken(Laws.agent(clerk, { layer: counting, runs: 100, seed: 1 }))
        assert.strictEqual(error.law, "a run is the same streamed")
        assert.deepStrictEqual(error.script, ["clerk says \"Well.\" calls sell {}", "clerk says \"Done.\""])
        assert.deepStrictEqual(error.events, [
          "RunStarted",
          "StepStarted",
          "ModelCallStarted",
          "ModelResponded",
          "ToolCallStarted of \"clerk0.0\"",
          "ToolCallSettled of \"clerk0.0\"",
          "StepCompleted",
          "StepStarted",
          "ModelCallStarted",
          "ModelResponded",
          "StepCompleted",
          "RunCompleted"
        ])
        assert.include(error.message, "Agent \"clerk\" breaks a law: a run is the same streamed")
        assert.include(error.message, "result is ")
        assert.include(
          error.message,
          "What the models said:\n  1. clerk says \"Well.\" calls sell {}\n  2. clerk says \"Done.\"\n"
        )
        assert.include(error.message, "What happened:\n  1. RunStarted\n")
        assert.include(error.message.split("\n"), `Replay: ${error.replay}`)
        const again = yield* broken(Laws.agent(clerk, { layer: counting, replay: error.replay }))
        assert.deepStrictEqual(again.script, error.script)
        // Once the tool is mended, a check that begins with what failed goes on with others.
        let calls = 0
        const mended = Sell.toLayer({ sell: () => Effect.sync(() => calls++).pipe(Effect.as(1)) })
        yield* Laws.agent(clerk, { layer: mended, replay: error.replay, runs: 8, seed: 1 })
        assert.isAbove(calls, 20)
      }),
    60_000
  )

  it.effect("is shrunk to the same script from any seed", () =>
    Effect.gen(function*() {
      const texts = ["First.", "Second.", "Third."] as const
      const layer = Sell.toLayer({ sell: () => Effect.die("sold out") })
      for (let seed = 0; seed < 8; seed++) {
        const { script } = yield* broken(Laws.agent(clerk, { layer, texts, input: ["One", "Two"], runs: 100, seed }))
        assert.deepStrictEqual(script, ["clerk says \"First.\" calls sell {}"], `seed ${seed}`)
      }
    }), 60_000)

  it.effect("is found behind an approval", () =>
    Effect.gen(function*() {
      const Guarded = Toolkit.make(Tool.make("sell", { success: Schema.Finite, needsApproval: true }))
      let sold = 0
      const layer = Guarded.toLayer({ sell: () => Effect.sync(() => ++sold) })
      const guarded = Agent.make("clerk", { toolkit: Guarded })
      const error = yield* broken(Laws.agent(guarded, { layer, runs: 100, seed: 1 }))
      assert.strictEqual(error.law, "a run is the same streamed")
      assert.deepStrictEqual(error.script, ["clerk says \"Well.\" calls sell {}", "clerk says \"Done.\""])
      assert.include(error.events, "ApprovalRequested of \"clerk0.0\"")
    }), 60_000)

  it.effect(
    "is found in a count that a run that goes on in another process doesn't know",
    () =>
      Effect.gen(function*() {
        const layer = Sell.toLayer(Effect.gen(function*() {
          const { next } = yield* Stock
          return { sell: () => next }
        })).pipe(Layer.provide(stock))
        const error = yield* broken(Laws.agent(clerk, { layer, runs: 80, seed: 1 }))
        assert.strictEqual(error.law, "a run continues from each of its states as if it had never stopped")
        assert.include(error.issue, "resumed after event ")
        assert.strictEqual(error.script.filter((line) => line.includes("sell")).join("").split("calls sell").length, 3)
      }),
    60_000
  )

  it.effect(
    "is found in a history that loses the results of calls, or the user, or gives something else each time",
    () =>
      Effect.gen(function*() {
        const users = yield* broken(
          Laws.history(({ turns }) => Effect.succeed({ turns: turns.filter((turn) => turn._tag !== "User") }), {
            runs: 200,
            seed: 1
          })
        )
        assert.strictEqual(users.law, "what crosses is a prompt")
        const truncated = yield* broken(
          Laws.history((conversation) => Effect.succeed(Conversation.truncate(conversation, 2)), { runs: 200, seed: 1 })
        )
        assert.match(truncated.issue, /^AssistantBeforeUser/)
        const opened = yield* broken(Laws.history(({ turns }) =>
          Effect.succeed({
            turns: [...turns, ...turns]
          }), { runs: 200, seed: 1 }))
        assert.strictEqual(opened.law, "what crosses is legal")
        let calls = 0
        const fickle = yield* broken(
          Laws.history(() => Effect.sync(() => Conversation.make([Conversation.user(`${++calls}`)])))
        )
        assert.strictEqual(fickle.law, "the same conversation crosses each time")
        const mutating = yield* broken(Laws.history((conversation) =>
          Effect.sync(() => {
            ;(conversation.turns as Array<unknown>).pop()
            return conversation
          })
        ))
        assert.strictEqual(mutating.law, "a history changes nothing that it is given, and throws nothing")
      }),
    60_000
  )

  it.effect("is none if the check of a guardrail fails, since that has a verdict too", () =>
    Effect.gen(function*() {
      for (const onError of ["block", "pass"] as const) {
        const down = Guardrail.make("down", () => Effect.fail("offline"), { onError })
        yield* Laws.guardrail(down, { runs: 5, seed: 1 })
      }
    }))

  it.effect("is found in a guardrail that changes its mind or what it sees, or puts in what can't stand or doesn't pass", () =>
    Effect.gen(function*() {
      const lawOf = (check: (text: string) => Guardrail.Verdict<string>, texts: readonly [string] = ["e"]) =>
        Effect.map(
          broken(Laws.guardrail(Guardrail.make("g", check), { texts, seed: 1 })),
          ({ issue, law, subject }) => [subject, law, issue]
        )
      let calls = 0
      assert.deepStrictEqual(yield* lawOf(() => ++calls % 2 === 0 ? Guardrail.pass : Guardrail.block("odd")), [
        "Guardrail \"g\"",
        "a check returns the same verdict for the same value",
        "_tag is \"Pass\", and \"Block\" is expected"
      ])
      const fits = "a check returns a verdict that fits its stage"
      assert.strictEqual((yield* lawOf(() => ({ _tag: "Perhaps" }) as never))[1], fits)
      assert.strictEqual((yield* lawOf(() => Guardrail.warn(undefined as never)))[1], fits)
      assert.deepStrictEqual((yield* lawOf(() => Guardrail.replace(1 as never, "one"))).slice(1), [
        fits,
        "it returned a \"Replace\" that doesn't fit"
      ])
      const passes = "a guardrail passes its own replacement"
      assert.deepStrictEqual((yield* lawOf((text) => Guardrail.replace(`${text}!`, "louder"))).slice(1), [
        passes,
        "it is \"e!!\", and \"e!\" is expected"
      ])
      assert.deepStrictEqual(
        (yield* lawOf((text) => text === "e" ? Guardrail.replace("x", "no e") : Guardrail.retry("no x"))).slice(1),
        [passes, "it is refused: no x"]
      )
      const throwing = "a check changes nothing that it is given, and throws nothing"
      assert.strictEqual(
        (yield* lawOf(() => {
          throw new Error("broken check")
        }))[1],
        throwing
      )
      class Limit extends Context.Service<Limit, number>()("test/Limit") {}
      const needy = Guardrail.make("needy", () => Effect.map(Limit, () => Guardrail.pass))
      for (const unbuilt of [Effect.fail("no limit"), Effect.die("no limit")]) {
        const { issue, law } = yield* broken(Laws.guardrail(needy, { layer: Layer.effect(Limit, unbuilt) }))
        assert.deepStrictEqual([law, issue], ["the check comes to its end", "no limit"])
      }
      const popping = Guardrail.make("popping", (parts) => {
        ;(parts as Array<unknown>).pop()
        return Guardrail.pass
      }, { on: "input" })
      assert.strictEqual((yield* broken(Laws.guardrail(popping))).law, throwing)
      const elsewhere = Guardrail.make("elsewhere", () => Guardrail.replace({ target: "x" }, "x"), { on: "handoff" })
      const said = yield* broken(Laws.guardrail(elsewhere))
      assert.deepStrictEqual([said.law, said.issue], [fits, "the replacement isn't a handoff to the same agent"])
      for (const on of ["input", "toolCall", "toolResult"] as const) {
        const wrong = Guardrail.make("wrong", () => Guardrail.replace((() => 1) as never, "1"), { on })
        assert.strictEqual((yield* broken(Laws.guardrail(wrong))).law, fits, on)
      }
      const wrong = Guardrail.make("wrong", (n: number) => Guardrail.replace(`${n}` as never, "text"), { on: "output" })
      const answer = yield* broken(Laws.guardrail(wrong, { output: Schema.Finite }))
      assert.deepStrictEqual([answer.law, answer.issue], [fits, "the replacement isn't an answer"])
    }))

  it.effect("is found in a guardrail that counts for itself in a run", () =>
    Effect.gen(function*() {
      let seen: object | undefined
      let calls = 0
      // It gives the same state the same verdict, and each run has states of its own.
      const counting = Guardrail.make("counting", (_: string, { state }) => {
        if (state !== seen) calls++
        seen = state
        return calls % 3 === 0 ? Guardrail.block("the third") : Guardrail.pass
      }, { on: "output" })
      const error = yield* broken(Laws.guardrail(counting, { runs: 100, seed: 1 }))
      assert.strictEqual(error.law, "a run is the same streamed")
    }))

  it.effect("is found in a tool that dies, and in a guardrail that throws, with the smallest script and a replay", () =>
    Effect.gen(function*() {
      const dying = Tools.toLayer({
        look: () => Effect.die(new Error("no eyes")),
        open: () => Effect.succeed("opened"),
        fail: () => Effect.fail("no")
      })
      const agent = Agent.make("clerk", { toolkit: Tools })
      const died = yield* broken(Laws.agent(agent, { layer: dying, runs: 100, seed: 1 }))
      assert.deepStrictEqual([died.law, died.issue], ["nothing in a run dies", "Error: no eyes"])
      assert.strictEqual(died.script.length, 1)
      assert.match(died.script[0]!, /^clerk says "Well\." calls look \{[^}]*\}$/)
      const again = yield* broken(Laws.agent(agent, { layer: dying, runs: 1, seed: 2, replay: died.replay }))
      assert.deepStrictEqual(again.script, died.script)

      const throwing = Guardrail.make("throwing", (text: string) => {
        if (text.length > 5) throw new Error("too long for me")
        return Guardrail.pass
      }, { on: "output" })
      const guarded = Agent.make("clerk", { guardrails: { output: [throwing] } })
      const thrown = yield* broken(Laws.agent(guarded, { texts: ["short", "a longer text"], runs: 100, seed: 1 }))
      assert.deepStrictEqual([thrown.law, thrown.issue], [
        "nothing in a run dies",
        `troupe/agent/Guardrail/NoVerdict: Guardrail "throwing" returned no verdict: it threw: too long for me`
      ])
      assert.notStrictEqual(thrown.replay, "")
    }))

  it.effect("is found in a layer that can't be built, which is named", () =>
    Effect.gen(function*() {
      class NoDatabase extends Schema.TaggedError<NoDatabase>()("NoDatabase", {}) {
        override get message() {
          return "the database is away"
        }
      }
      const error = yield* broken(
        Laws.agent(Agent.make("assistant"), { layer: Layer.effectDiscard(Effect.fail(new NoDatabase())), runs: 1 })
      )
      assert.deepStrictEqual(
        [error.law, error.issue],
        ["a run emits events", "it fails before it begins: NoDatabase: the database is away"]
      )
    }))

  it.effect("is found in a history whose result can't be stored", () =>
    Effect.gen(function*() {
      const issueOf = (turn: object) =>
        Effect.map(
          broken(Laws.history(({ turns }) => ({ turns: [...turns, turn as Conversation.Turn] }), { runs: 1, seed: 1 })),
          ({ issue, law }) => [law, issue.split("\n")[0]]
        )
      const law = "what crosses survives JSON"
      const answer = {
        _tag: "Assistant",
        agent: "a",
        parts: [{
          _tag: "Call",
          id: "k",
          name: "find",
          params: { at: Number.NaN },
          state: { _tag: "Settled", outcome: "Succeeded", result: null }
        }],
        usage: {},
        finishReason: "stop"
      }
      const user = { _tag: "User", parts: [{ _tag: "Text", text: 3 }] }
      assert.deepStrictEqual(yield* issueOf(user), [law, "SchemaError(Expected string"])
      assert.deepStrictEqual(yield* issueOf(answer), [law, "SchemaError(Expected JSON value"])
      assert.strictEqual((yield* issueOf({ _tag: "Remark" }))[0], law)
    }))

  it.effect("is found without its replay, and a replay that isn't one is named", () =>
    Effect.gen(function*() {
      const fickle = Guardrail.make("fickle", () => Guardrail.replace(3 as never, "three"))
      const { law } = yield* broken(Laws.guardrail(fickle, { runs: 1, replay: "" }))
      assert.strictEqual(law, "a check returns a verdict that fits its stage")
      for (const replay of ["the last one", "[1]"]) {
        const error = yield* Effect.flip(Effect.sandbox(Laws.guardrail(fickle, { runs: 1, replay })))
        assert.strictEqual(
          String(Cause.squash(error)),
          `TypeError: The option "replay" is ${JSON.stringify(replay)}, not the "replay" of a LawBroken`
        )
      }
    }))

  it.effect("is found in instructions that differ at each request", () =>
    Effect.gen(function*() {
      let asked = 0
      const agent = Agent.make("clerk", { instructions: () => `Request ${++asked}.` })
      const error = yield* broken(Laws.agent(agent, { runs: 5, seed: 1 }))
      assert.strictEqual(error.law, "a run asks its models the same each time")
      assert.match(error.issue, /Request \d+\./)
    }))

  it.effect("is found in a store that takes ids for the same, or shows the half of what it writes", () =>
    Effect.gen(function*() {
      const blind = storeOf((store) => ({
        get: (key) => store.get(key.toLowerCase()),
        set: (key, value) => store.set(key.toLowerCase(), value),
        remove: (key) => store.remove(key.toLowerCase())
      }))
      const same = yield* broken(Laws.store(blind, { runs: 2 }))
      assert.deepStrictEqual(
        [same.law, same.issue],
        ["each id has a state of its own", `"troupe/LAWS" has that of "troupe/laws"`]
      )
      const short = storeOf((store) => ({
        get: (key) => store.get(key.slice(0, 12)),
        set: (key, value) => store.set(key.slice(0, 12), value),
        remove: (key) => store.remove(key.slice(0, 12))
      }))
      const cut = yield* broken(Laws.store(short, { runs: 2 }))
      assert.strictEqual(cut.law, "each key has a value of its own")
      const torn = storeOf((store) => ({
        set: (key, value) =>
          store.set(key, value.slice(0, value.length / 2)).pipe(
            Effect.andThen(Effect.yieldNow),
            Effect.andThen(store.set(key, value))
          )
      }))
      const half = yield* broken(Laws.store(torn, { runs: 2 }))
      assert.strictEqual(half.law, "a reader during a save finds the new state or the one before")
      const absent = storeOf((store) => ({
        set: (key, value) =>
          store.remove(key).pipe(Effect.andThen(Effect.yieldNow), Effect.andThen(store.set(key, value)))
      }))
      const none = yield* broken(Laws.store(absent, { runs: 2 }))
      assert.deepStrictEqual([none.law, none.issue], [half.law, "there was none"])
      const keeping = yield* broken(Laws.store(storeOf(() => ({ remove: () => Effect.void })), { runs: 2 }))
      assert.strictEqual(keeping.law, "what is removed is gone")
      yield* Laws.store(storeOf((store) => ({
        set: (key, value) => Effect.andThen(Effect.yieldNow, store.set(key, value))
      })))
    }))

  it.effect("is found in a store that forgets", () =>
    Effect.gen(function*() {
      const forgetful = Layer.effect(
        KeyValueStore.KeyValueStore,
        Effect.map(KeyValueStore.KeyValueStore, (store) => ({ ...store, get: () => Effect.succeed(undefined) }))
      ).pipe(Layer.provide(KeyValueStore.layerMemory))
      const error = yield* broken(Laws.store(forgetful))
      assert.isTrue(["what is saved is restored", "a store works"].includes(error.law), error.message)
    }))
})
