/**
 * What becomes of open calls where a limit lets the model answer once more. A called agent's own input comes before its caller's limit: an
 * input that it can't take fails the call. A call is given up if its agent could only ask its model, and no other call is.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import {
  Agent,
  AgentPicker,
  AgentState,
  AgentStatus,
  Conversation,
  Group,
  Guardrail,
  Handoff,
  Mode,
  StopWhen
} from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { cutEverywhere, input, observe } from "./laws.ts"

const Kit = Toolkit.make(
  Tool.make("look", { success: Schema.String }),
  Tool.make("sign", { success: Schema.String, needsApproval: true })
)
const handlers = Kit.toLayer({ look: () => Effect.succeed("seen"), sign: () => Effect.succeed("signed") })

const soft = { onExhausted: "finish" } as const
const limits = {
  steps: StopWhen.maxSteps(1, soft),
  tokens: StopWhen.tokens(1, soft),
  cost: StopWhen.cost({ limit: 1, prices: {}, ...soft }),
  calls: StopWhen.toolCalls("look", 1, soft),
  any: StopWhen.any(StopWhen.maxSteps(9), StopWhen.tokens(1, soft))
}

const block = (mode: "blocking" | "parallel") =>
  Guardrail.make(
    "polite",
    (text) =>
      text.includes("bad") ? Guardrail.block("rude") : Guardrail.replace(text.replaceAll("odd", "even"), "parity"),
    { mode }
  )
const polite = block("blocking")
const research = Mode.make("research", { description: "Looks", invokable: true, enter: () => Effect.void })

const helpers = {
  plain: Agent.make("helper", { toolkit: Kit }),
  guarded: Agent.make("helper", { toolkit: Kit, guardrails: { input: [polite] } }),
  parallel: Agent.make("helper", { toolkit: Kit, guardrails: { input: [block("parallel")] } }),
  limited: Agent.make("helper", { maxInputLength: 5, stopWhen: StopWhen.maxSteps(3) }),
  structured: Agent.make("helper", { output: Schema.Struct({ a: Schema.Boolean }), guardrails: { input: [polite] } }),
  modal: Agent.make("helper", { modes: [research], guardrails: { input: [polite] } }),
  group: Group.make({ helper: Agent.make("helper", { guardrails: { input: [polite] } }), other: Agent.make("other") }, {
    name: "helper",
    start: AgentPicker.match([[/other/, "other"]], "helper")
  }),
  deep: Agent.make("helper", { agents: [Agent.asTool(Agent.make("deep"))], guardrails: { input: [polite] } })
}
type Helper = keyof typeof helpers

const callerOf = (helper: Helper, stopWhen: StopWhen.StopWhen) => {
  const self: Agent.Runnable<string, unknown, never, unknown> = helpers[helper]
  return Agent.make("boss", { toolkit: Kit, agents: [Agent.asTool(self)], stopWhen })
}

/** The caller's model looks, so that each limit is met, and asks the helper with these tasks. The helper's answers. */
const modelOf = (tasks: ReadonlyArray<string>) =>
  MockModel.layer(MockModel.make(({ agent, iteration }) =>
    MockResponse.withUsage(
      agent !== "boss" || iteration > 0 ? "Done." : MockResponse.all(
        MockResponse.toolCall("look", {}, { id: "look" }),
        ...tasks.map((task, index) => MockResponse.toolCall("helper", { task }, { id: `t${index}` }))
      ),
      { input: 10, output: 0 }
    )
  ))

const outcomes = (state: AgentState.AgentState): ReadonlyArray<string> =>
  state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? Conversation.callsOf(turn) : []).map(
    ({ state }) => state._tag === "Settled" ? `${state.outcome}: ${JSON.stringify(state.result)}` : state._tag
  )

/** Runs it, cuts the run at each of its states, and steps through it by hand: all end alike. Returns the last state. */
const everyWay = Effect.fnUntraced(function*(
  boss: Agent.Agent<string, unknown, unknown, unknown>,
  tasks: ReadonlyArray<string>
) {
  const layer = Layer.merge(modelOf(tasks), handlers)
  const provided = <A, E>(self: Effect.Effect<A, E, unknown>) =>
    Effect.provide(self, Layer.fresh(layer)) as Effect.Effect<A, E>
  const last = yield* cutEverywhere(
    provided(observe(Agent.stream(boss, input), AgentState.make("boss"))),
    (text) => AgentState.fromJson(JSON.parse(text)),
    (state) => provided(Agent.settle(boss, state))
  )
  let stepped = AgentState.ask(AgentState.make("boss"), input, 0)
  while (!AgentStatus.isTerminal(stepped.status)) {
    const exit = yield* Effect.exit(provided(Agent.step(boss, stepped)))
    stepped = exit._tag === "Success" ? exit.value : last
  }
  assert.deepStrictEqual(outcomes(stepped), outcomes(last))
  return last
})

const interrupted = "Interrupted: \"A limit was met before this had a result.\""
const failed = (why: string) => `Failed: ${JSON.stringify(`Agent "helper" failed: ${why}`)}`
const empty = failed("Agent \"helper\" was given an empty input")
const rude = failed("Guardrail \"polite\" of agent \"helper\" blocked the input: rude")

const isGuarded = (helper: Helper): boolean => helper !== "plain" && helper !== "limited"

describe("A caller's limit that lets the model answer once more", () => {
  for (const [name, limit] of Object.entries(limits)) {
    it.effect(`${name}: fails the call of an agent that can't take its input, and gives up the others, cut or not`, () =>
      Effect.gen(function*() {
        for (const helper of Object.keys(helpers) as ReadonlyArray<Helper>) {
          const boss = callerOf(helper, limit)
          const bad = isGuarded(helper) ? rude : interrupted
          const last = yield* everyWay(boss, ["", "odd", "bad"])
          assert.deepStrictEqual(outcomes(last), ["Succeeded: \"seen\"", empty, interrupted, bad], helper)
          assert.deepStrictEqual([last.status._tag, AgentState.text(last)], ["Complete", "Done."], helper)
          for (const task of ["", " ", "odd", "bad"]) {
            const alone = outcomes(yield* everyWay(boss, [task]))[1]
            const expected = task.trim() === "" ? empty : task === "bad" ? bad : interrupted
            assert.strictEqual(alone, expected, `${helper} ${task}`)
          }
        }
      }))
  }
})

describe("Calls that a limit gives up", () => {
  const helper = Agent.make("helper", { toolkit: Kit })
  const other = Agent.make("other", { toolkit: Kit })
  const next = Agent.make("next")
  const boss = Agent.make("boss", {
    agents: [Agent.asTool(helper), Agent.asTool(other)],
    handoffs: [Handoff.to(next)],
    stopWhen: StopWhen.maxSteps(2, soft)
  })
  const task = (name: string) => MockResponse.toolCall(name, { task: "Look." }, { id: name })
  const scripted = (beside: MockResponse.MockResponse) =>
    Layer.fresh(Layer.merge(
      handlers,
      MockModel.layer(MockModel.make(({ agent, iteration }) =>
        agent === "boss" && iteration === 0
          ? MockResponse.all(task("other"), task("helper"), beside)
          : agent === "other" && iteration === 0
          ? MockResponse.toolCall("sign", {}, { id: "sign" })
          : "Done."
      ))
    ))
  const cut = (beside: MockResponse.MockResponse, from = AgentState.ask(AgentState.make("boss"), input, 0)) =>
    cutEverywhere(
      observe(Agent.stream(boss, from), from).pipe(Effect.provide(scripted(beside))),
      (text) => AgentState.fromJson(JSON.parse(text)),
      (state) => Agent.settle(boss, state).pipe(Effect.provide(scripted(beside)))
    )

  it.effect("are those that could only ask: agents that wait for an approval go on waiting", () =>
    Effect.gen(function*() {
      const waiting = yield* cut(MockResponse.text(""))
      assert.deepStrictEqual(outcomes(waiting), ["Delegated", interrupted])
      assert.deepStrictEqual(AgentState.pendingApprovals(waiting).map(({ callId }) => callId), ["sign"])
      const last = yield* cut(MockResponse.text(""), Result.getOrThrow(AgentState.approve(waiting, "sign")))
      assert.deepStrictEqual(outcomes(last), [interrupted, interrupted])
      assert.deepStrictEqual([last.status._tag, AgentState.text(last), last.run.calls], ["Complete", "Done.", {
        helper: 1,
        other: 1,
        sign: 1
      }])
    }))

  it.effect("are without the handoff beside them, which is carried out as it is alone", () =>
    Effect.gen(function*() {
      const handoff = MockResponse.toolCall("handoff_to_next", {}, { id: "handoff" })
      const waiting = yield* cut(handoff)
      assert.deepStrictEqual(outcomes(waiting), ["Delegated", interrupted, "Pending"])
      const last = yield* cut(handoff, Result.getOrThrow(AgentState.deny(waiting, "sign", "No.")))
      assert.deepStrictEqual([last.agent, last.status._tag], ["next", "Complete"])
    }))
})
