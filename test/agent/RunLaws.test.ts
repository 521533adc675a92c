import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Result, Stream } from "effect"
import { Agent, AgentState, Conversation } from "troupe"
import { problems } from "../domain/legal.ts"
import { times } from "../matrix.ts"
import {
  countsAnswers,
  cutEverywhere,
  endsWhatItStarts,
  holdsItsFold,
  input,
  isTheSameHowever,
  lastOf,
  movesAsListed,
  observe,
  survivesJson
} from "./laws.ts"
import { agentOf, environment, Script, type Script as AnyScript, type Turn } from "./scripts.ts"

/** Every event of a run, how it ended, and every state of it by the fold. */
const observeRun = (script: AnyScript, from: string | AgentState.AgentState = input) =>
  observe(
    Agent.stream(agentOf(script), from),
    typeof from === "string" ? AgentState.make("main") : from
  ).pipe(Effect.provide(environment(script)))

const runOf = (script: AnyScript) =>
  Effect.exit(Agent.run(agentOf(script), input)).pipe(Effect.provide(environment(script)))

const resumeOf = (script: AnyScript, state: AgentState.AgentState) =>
  Agent.settle(agentOf(script), state).pipe(Effect.provide(environment(script)))

/** Goes on by single steps until a step changes nothing. */
const stepOf = Effect.fnUntraced(function*(script: AnyScript, state: AgentState.AgentState) {
  const agent = agentOf(script)
  let before = state
  while (true) {
    const exit = yield* Effect.exit(Agent.step(agent, before))
    const after = lastOf(exit)
    if (after === undefined || after === before || Exit.isFailure(exit)) return after
    before = after
  }
})

const cut = (script: AnyScript, from: string | AgentState.AgentState) =>
  cutEverywhere(
    observeRun(script, from),
    (text) => AgentState.fromJson(JSON.parse(text)),
    (state) => resumeOf(script, state)
  )

const law = { arbitrary: { runs: times(50, 20) } } as const

describe("A run", () => {
  it.effect.prop(
    "gives the fold of its events, which is what its last event holds",
    [Script],
    ([script]) => Effect.map(observeRun(script), holdsItsFold),
    law
  )

  it.effect.prop(
    "makes no move that isn't listed, and leaves no event out",
    [Script],
    ([script]) => Effect.map(observeRun(script), movesAsListed),
    law
  )

  it.effect.prop("streamed, looked at and not, is the same", [Script], ([script]) =>
    Effect.gen(function*() {
      const observed = yield* observeRun(script)
      yield* isTheSameHowever(
        observed,
        Agent.run(agentOf(script), input).pipe(Effect.provide(environment(script))),
        Agent.states(agentOf(script), input).pipe(Stream.provide(environment(script)))
      )
      const settled = yield* Effect.exit(Agent.settle(agentOf(script), input)).pipe(Effect.provide(environment(script)))
      assert.deepStrictEqual(lastOf(settled), observed.last)
    }), law)

  it.effect.prop("is what its steps are, taken by hand", [Script], ([script]) =>
    Effect.gen(function*() {
      const exit = yield* runOf(script)
      const stepped = yield* stepOf(script, AgentState.ask(AgentState.make("main"), input, 0)).pipe(
        Effect.provide(environment(script))
      )
      assert.deepStrictEqual(stepped, lastOf(exit))
    }), law)

  it.effect.prop(
    "goes on from each of its states as if it had never stopped",
    [Script],
    ([script]) =>
      Effect.gen(function*() {
        // A defect isn't told where the run goes on.
        if (script.agent.break !== "crash") yield* cut(script, input)
      }),
    law
  )

  it.effect.prop(
    "goes on from each of its states as if it had never stopped where a limit meets agents that can't take their input",
    [Script],
    ([{ agent, helper, turns }]) => {
      // Half of the tools that are called are the helper.
      const calling = turns.map((turn) => ({
        ...turn,
        parts: turn.parts.map((part) =>
          part._tag === "Call" && (part.tool === "slow" || part.tool === "break")
            ? { ...part, tool: "helper" as const, params: "good" as const }
            : part
        )
      }))
      const stop = agent.stop === "calls" ? "calls" : "land"
      return cut({ turns: calling, helper, agent: { ...agent, stop, hasHelper: true, break: "fail" } }, input)
    },
    law
  )

  it.effect("gives no call an id that a call of an agent had which it called before, stopped or in one go", () =>
    Effect.gen(function*() {
      const turn = (tool: "helper" | "guarded"): Turn => ({
        parts: [{ _tag: "Call", tool, id: tool === "helper" ? "own" : "a", params: "good" }],
        finish: "",
        usage: "none",
        chunks: 0,
        fails: 15
      })
      const script: AnyScript = {
        turns: [turn("helper"), turn("helper")],
        helper: [turn("guarded")],
        agent: {
          steps: 8,
          stop: "",
          hasHelper: true,
          task: "help",
          hasOutput: false,
          break: "fail",
          concurrency: 1,
          isPrompted: false
        }
      }
      const first = yield* cut(script, input)
      const second = yield* cut(script, yield* Effect.fromResult(AgentState.approve(first, "a")))
      assert.deepStrictEqual(AgentState.pendingApprovals(second).map(({ callId }) => callId), ["a-2"])
      const again = AgentState.approve(second, "a")
      assert.strictEqual(Result.isFailure(again) && again.failure.found, "Settled")
      const last = yield* cut(script, yield* Effect.fromResult(AgentState.approve(second, "a-2")))
      assert.strictEqual(last.status._tag, "Complete")
    }))

  it.effect.prop(
    "is legal in each of its states, and ends with no call that could still run",
    [Script],
    ([script]) =>
      Effect.gen(function*() {
        const { last, states } = yield* observeRun(script)
        for (const state of states) {
          assert.deepStrictEqual(problems(state.conversation), [])
          if (state.status._tag !== "Failed") {
            assert.strictEqual(state.status._tag === "WaitingForTools", Conversation.hasOpenCalls(state.conversation))
          }
        }
        const open = Conversation.openCalls(last.conversation).map(({ state }) => state._tag)
        assert.deepStrictEqual(
          open.filter((tag) => !["AwaitingApproval", "AwaitingResult", "Delegated"].includes(tag)),
          []
        )
      }),
    law
  )

  it.effect.prop(
    "ends whatever it starts, and numbers its events without a gap",
    [Script],
    ([script]) => Effect.map(observeRun(script), endsWhatItStarts),
    law
  )

  it.effect.prop(
    "tells events that survive JSON",
    [Script],
    ([script]) => Effect.flatMap(observeRun(script), survivesJson),
    law
  )

  it.effect.prop("adds up the tokens and the steps of all its answers", [Script], ([script]) =>
    Effect.gen(function*() {
      const observed = yield* observeRun(script)
      countsAnswers(observed)
      const own = observed.events.filter((event) => event._tag === "ModelResponded" && event.calls.length === 0)
      assert.strictEqual(observed.last.run.iteration, own.length)
    }), law)

  it.effect.prop("streams deltas that add up to the turn", [Script], ([script]) =>
    Effect.gen(function*() {
      const { events } = yield* observeRun(script)
      const heard = new Map<string, { text: string; reasoning: string }>()
      for (const event of events) {
        const agent = event.calls.join("/")
        if (event._tag === "ModelCallStarted") heard.set(agent, { text: "", reasoning: "" })
        if (event._tag === "TextDelta") heard.get(agent)!.text += event.delta
        if (event._tag === "ReasoningDelta") heard.get(agent)!.reasoning += event.delta
        if (event._tag === "ModelResponded") {
          const said = (tag: "Text" | "Reasoning") =>
            event.parts.map((part) => part._tag === tag ? part.text : "").join("")
          assert.deepStrictEqual(heard.get(agent), { text: said("Text"), reasoning: said("Reasoning") })
        }
      }
    }), law)
})
