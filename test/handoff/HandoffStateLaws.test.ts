import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { Agent, type AgentEvent, AgentState, Handoff } from "troupe"
import { observe } from "../agent/laws.ts"
import { times } from "../matrix.ts"
import { environment, make, Scene } from "./crossings.ts"
import { throughText } from "./scripted.ts"

/** A handoff of a run: the states that ask for it, what completed it, and the state after that. */
interface Taken {
  readonly from: ReadonlyArray<AgentState.AgentState>
  readonly completed: AgentEvent.HandoffCompleted
  readonly after: AgentState.AgentState
}

/** Every handoff of a run, with all the states from which nothing is left to do but to hand over. */
const handoffsIn = (
  events: ReadonlyArray<AgentEvent.AgentEvent>,
  states: ReadonlyArray<AgentState.AgentState>
): ReadonlyArray<Taken> => {
  const taken: Array<Taken> = []
  let from: Array<AgentState.AgentState> = []
  events.forEach((event, index) => {
    const state = states[index]!
    if (event._tag === "HandoffCompleted") {
      taken.push({ from, completed: event, after: state })
      from = []
    } else if (AgentState.next(state)._tag === "HandOver") from.push(state)
  })
  return taken
}

/** A state but for when things happened. */
const timeless = ({ modes, run, ...state }: AgentState.AgentState) => ({
  ...state,
  modes: modes.map((frame) => ({ ...frame, enteredAt: 0 })),
  run: { ...run, startedAt: 0, elapsed: 0, before: { ...run.before, elapsed: 0 }, sharing: run.sharing?.length }
})

describe("The state of the agent that takes over, built by hand", () => {
  it.effect.prop(
    "is that of the run, whatever the modes, the policy and the clock",
    [Scene],
    ([scene]) =>
      Effect.gen(function*() {
        const { asked, desk } = make(scene)
        const options = { systemMessage: "Be kind." }
        const { events, states } = yield* observe(
          Agent.stream(desk, "What is it?", options),
          AgentState.make("a", options)
        )
        const taken = handoffsIn(events, states)
        assert.isAbove(taken.length, 0)
        for (const { after, completed: { at }, from } of taken) {
          assert.isAbove(from.length, 0)
          // What a clean-up says to the agent can't be known before.
          for (const state of scene.modes.talks ? from.slice(-1) : from) {
            if (state.status._tag !== "HandoffRequested") return assert.fail(state.status._tag)
            const { request } = state.status
            const { handoff, isPure, policy, target } = asked(state, request)
            // What takes no effect needs nothing to be made before.
            if (isPure) {
              assert.deepStrictEqual(Handoff.buildHandoffState(state, handoff, request, { at, target }), after)
            }
            const crossing = yield* Handoff.cross(state, handoff, request, { policy, target })
            assert.deepStrictEqual(Handoff.buildHandoffState(state, handoff, request, { at, crossing, target }), after)
          }
        }
      }).pipe(Effect.provide([environment(scene), Logger.layer([])])),
    { arbitrary: { runs: times(300, 100) } }
  )

  it.effect.prop(
    "is reached from each state that asks for it, in another process too",
    [Scene],
    ([scene]) =>
      Effect.gen(function*() {
        const { desk } = make(scene)
        const { events, last, states } = yield* observe(Agent.stream(desk, "What is it?"), AgentState.make("a"))
        for (const { from } of handoffsIn(events, states)) {
          for (const state of scene.modes.talks ? from.slice(-1) : from) {
            const resumed = yield* Agent.resume(desk, throughText(state))
            assert.deepStrictEqual(timeless(resumed), timeless(last))
          }
        }
      }).pipe(Effect.provide([environment(scene), Logger.layer([])])),
    { arbitrary: { runs: times(100, 35) } }
  )
})
