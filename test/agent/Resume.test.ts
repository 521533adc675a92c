/**
 * Decision 23 as laws: `resume` continues where it stopped, `reopen` lets what has failed continue, and whatever Troupe keeps is reopened first.
 * For plans and dialogues see test/handoff, for conversations on a cluster test/cluster.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Stream } from "effect"
import { Agent, AgentState, Session } from "troupe"
import { MockModel } from "troupe/testing"
import { times } from "../matrix.ts"
import { input, observe } from "./laws.ts"
import { agentOf, environment, Script } from "./scripts.ts"

const law = { arbitrary: { runs: times(50, 20) } } as const

/** Every different state of a script's run, from the first event on. */
const statesOf = (script: Script) =>
  Effect.map(
    observe(Agent.stream(agentOf(script), input), AgentState.make("main")).pipe(Effect.provide(environment(script))),
    ({ states }) => states.filter((state, at) => state !== states[at - 1])
  )

const isFailed = (state: AgentState.AgentState) => state.status._tag === "Failed"

/** How a run ended, with its state: a failure has it in the error. */
const endOf = (exit: Exit.Exit<AgentState.AgentState, unknown>) =>
  Exit.isSuccess(exit) ? exit.value : { failedWith: Agent.failedState(exit.cause), cause: exit.cause }

/** How resuming a state in a session ends, in an environment of its own. */
const inSession = (script: Script, state: AgentState.AgentState) =>
  Effect.gen(function*() {
    const session = yield* Session.make(agentOf(script), { state })
    return endOf(yield* Effect.exit(session.resume))
  }).pipe(Effect.scoped, Effect.provide(environment(script)))

/** How resuming a state that the program keeps itself ends, in an environment of its own. */
const inProgram = (script: Script, state: AgentState.AgentState) =>
  Effect.map(Effect.exit(Agent.resume(agentOf(script), state)), endOf).pipe(Effect.provide(environment(script)))

describe("Agent.resume", () => {
  it.effect.prop("returns a failed state as it is, and asks nobody", [Script], ([script]) =>
    Effect.gen(function*() {
      for (const failed of (yield* statesOf(script)).filter(isFailed)) {
        const agent = agentOf(script)
        const asked = yield* Effect.gen(function*() {
          assert.strictEqual(yield* Agent.resume(agent, failed), failed)
          assert.deepStrictEqual(yield* Stream.runCollect(Agent.stream(agent, failed)), [])
          return yield* MockModel.calls
        }).pipe(Effect.provide(environment(script)))
        assert.deepStrictEqual(asked, [])
      }
    }), law)
})

describe("session.resume", () => {
  it.effect.prop(
    "continues a failed state as Agent.resume does once it is reopened",
    [Script],
    ([script]) =>
      Effect.gen(function*() {
        for (const failed of (yield* statesOf(script)).filter(isFailed)) {
          assert.deepStrictEqual(yield* inSession(script, failed), yield* inProgram(script, AgentState.reopen(failed)))
        }
      }),
    law
  )

  it.effect.prop("continues any other state as Agent.resume does", [Script], ([script]) =>
    Effect.gen(function*() {
      for (const state of yield* statesOf(script)) {
        if (!isFailed(state)) assert.deepStrictEqual(yield* inSession(script, state), yield* inProgram(script, state))
      }
    }), law)

  const call = (tool: "add" | "final_answer") =>
    ({
      parts: [{ _tag: "Call", tool, id: "own", params: "good" }],
      finish: "",
      usage: "none",
      chunks: 0,
      fails: 2
    }) as const
  const silent = { parts: [], finish: "", usage: "none", chunks: 0, fails: 2 } as const
  const agent: Script["agent"] = {
    steps: 3,
    stop: "",
    hasHelper: false,
    task: "help",
    hasOutput: false,
    break: "fail",
    concurrency: 1,
    isPrompted: false
  }

  // Neither is reopened: that would allow more answers than the run may have.
  it.effect.each<[string, ended: Script, later: Partial<Script["agent"]>]>([
    [
      "a wrong answer that was the last one under a limit",
      { turns: [call("add"), silent, silent], helper: [], agent: { ...agent, stop: "land", hasOutput: true } },
      {}
    ],
    [
      "what a condition ended that the agent no longer has",
      { turns: [call("add")], helper: [], agent: { ...agent, stop: "add" } },
      { stop: "" }
    ]
  ])("doesn't reopen %s", ([, ended, later]) =>
    Effect.gen(function*() {
      const state = (yield* statesOf(ended)).findLast(({ status }) => status._tag === "Complete")!
      const script = { ...ended, agent: { ...ended.agent, ...later } }
      const end = yield* inSession(script, state)
      assert.deepStrictEqual(end, yield* inProgram(script, state))
      const last = end instanceof Object && "failedWith" in end ? Option.getOrThrow(end.failedWith) : end
      assert.strictEqual(last.run.landing, state.run.landing)
      assert.strictEqual(last.steps, state.steps)
    }))
})
