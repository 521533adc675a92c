import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Stream } from "effect"
import { Agent, type AgentEvent, AgentState, Conversation } from "troupe"
import { MockModel } from "troupe/testing"
import { imbalances } from "../agent/balanced.ts"
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
} from "../agent/laws.ts"
import { callsIn, places, problems } from "../domain/legal.ts"
import { times } from "../matrix.ts"
import { environment, keepsAll, runnableOf, Scene } from "./rosters.ts"

/** Every event of a run, how it ended, and every state of it by the fold. */
const observeRun = (scene: Scene, from: string | AgentState.AgentState = input) =>
  observe(
    Agent.stream(runnableOf(scene), from),
    typeof from === "string" ? AgentState.make("a") : from
  ).pipe(Effect.provide(environment(scene)))

const resumeOf = (scene: Scene, state: AgentState.AgentState) =>
  Agent.settle(runnableOf(scene), state).pipe(Effect.provide(environment(scene)))

const cut = (scene: Scene, from: string | AgentState.AgentState) =>
  cutEverywhere(observeRun(scene, from), AgentState.fromJson, (state) => resumeOf(scene, state))

/** What the agents in control said, word by word, as the events tell it. */
const saidIn = (events: ReadonlyArray<AgentEvent.AgentEvent>): ReadonlyArray<string> =>
  events.flatMap((event) =>
    event._tag === "ModelResponded" && event.calls.length === 0
      ? [Conversation.textOf({ _tag: "Assistant", agent: "", parts: event.parts, usage: {}, finishReason: "stop" })]
      : []
  )

const wordsOf = ({ conversation }: AgentState.AgentState): ReadonlyArray<string> =>
  conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? [Conversation.textOf(turn)] : [])

const law = { arbitrary: { runs: times(40, 16) } } as const

describe("A run that changes hands", () => {
  it.effect.prop(
    "gives the fold of its events, which is what its last event holds",
    [Scene],
    ([scene]) => Effect.map(observeRun(scene), holdsItsFold),
    law
  )

  it.effect.prop("streamed, looked at and not, is the same", [Scene], ([scene]) =>
    Effect.gen(function*() {
      const observed = yield* observeRun(scene)
      yield* isTheSameHowever(
        observed,
        Agent.run(runnableOf(scene), input).pipe(Effect.provide(environment(scene))),
        Agent.states(runnableOf(scene), input).pipe(Stream.provide(environment(scene)))
      )
    }), law)

  it.effect.prop("is what its steps are, taken by hand", [Scene], ([scene]) =>
    Effect.gen(function*() {
      const { events, last } = yield* observeRun(scene)
      const [first] = events
      if (first?._tag !== "RunStarted" || first.input === undefined) return
      const runnable = runnableOf(scene)
      let state: AgentState.AgentState | undefined = AgentState.ask(AgentState.make(first.path[0]), input, 0)
      while (state !== undefined) {
        const exit: Exit.Exit<AgentState.AgentState, unknown> = yield* Effect.exit(Agent.step(runnable, state))
        const next = lastOf(exit)
        if (state.status._tag === "Complete") assert.strictEqual(next, state)
        const isOver = next === undefined || next === state || Exit.isFailure(exit)
        if (isOver) {
          // A picker that fails ends the run before a step of it is taken.
          if (events[1]?._tag !== "RunFailed") assert.deepStrictEqual(next, last)
          break
        }
        state = next
      }
    }).pipe(Effect.provide(environment(scene))), law)

  it.effect.prop(
    "goes on from each of its states as if it had never stopped",
    [Scene],
    ([scene]) =>
      Effect.gen(function*() {
        // A run that failed because nobody could be picked isn't begun again by going on.
        if (scene.start !== "broken" || scene.kind === "agent") yield* cut(scene, input)
      }),
    law
  )

  it.effect.prop("goes on after approvals as if it had never stopped", [Scene], ([scene]) =>
    Effect.gen(function*() {
      let state = (yield* observeRun(scene)).last
      for (let n = 0; n < 3; n++) {
        const [first] = AgentState.pendingApprovals(state)
        if (first === undefined) return
        const { callId } = first
        const answered = yield* Effect.fromResult(
          n % 2 === 0 ? AgentState.approve(state, callId) : AgentState.deny(state, callId, "not now")
        )
        state = yield* cut(scene, answered)
      }
    }), law)

  it.effect.prop(
    "is legal in each of its states, and ends with no call that could still run",
    [Scene],
    ([scene]) =>
      Effect.gen(function*() {
        const { last, states } = yield* observeRun(scene)
        for (const state of states) {
          assert.deepStrictEqual(problems(state.conversation), [])
          const { _tag } = state.status
          const isOpen = Conversation.hasOpenCalls(state.conversation)
          if (isOpen) assert.include(["WaitingForTools", "HandoffRequested", "Failed"], _tag)
          if (_tag === "WaitingForTools") assert.isTrue(isOpen)
        }
        const { status } = last
        const asked = status._tag === "HandoffRequested" ? status.request.callId : undefined
        const open = Conversation.openCalls(last.conversation).filter((call) =>
          call.id !== asked && call.state._tag !== "AwaitingApproval" && call.state._tag !== "Delegated"
        )
        // A handoff that failed the run leaves the call that asked for it, so that `reopen` asks again.
        if (status._tag !== "Failed") assert.deepStrictEqual(open, [])
      }),
    law
  )

  it.effect.prop(
    "ends whatever it starts, and numbers its events without a gap",
    [Scene],
    ([scene]) => Effect.map(observeRun(scene), endsWhatItStarts),
    law
  )

  it.effect.prop(
    "makes no move that isn't listed, and leaves no event out",
    [Scene],
    ([scene]) => Effect.map(observeRun(scene), movesAsListed),
    law
  )

  it.effect.prop(
    "tells events that survive JSON",
    [Scene],
    ([scene]) => Effect.flatMap(observeRun(scene), survivesJson),
    law
  )

  it.effect.prop("has a trail of what happened", [Scene], ([scene]) =>
    Effect.gen(function*() {
      const { events, last } = yield* observeRun(scene)
      const taken = events.flatMap((event) =>
        event._tag === "HandoffCompleted" && event.calls.length === 0 ? [event.request.target] : []
      )
      const first = events[0]?.path[0] ?? ""
      assert.deepStrictEqual(last.trail, [first, ...taken])
      assert.strictEqual(last.agent, last.trail[last.trail.length - 1])
      assert.strictEqual(last.run.handoffs ?? 0, taken.length)
      assert.isAtMost(taken.length, scene.maxHandoffs)
      for (const turn of last.conversation.turns) {
        if (turn._tag === "Assistant") assert.include(Conversation.textOf(turn), `<${turn.agent}`)
      }
    }), law)

  it.effect.prop(
    "doubles nothing that was said, and loses nothing unless a handoff says so",
    [Scene],
    ([scene]) =>
      Effect.gen(function*() {
        const { events, states } = yield* observeRun(scene)
        const said = saidIn(events)
        for (const state of states) {
          const words = wordsOf(state)
          assert.strictEqual(new Set(words).size, words.length)
          for (const word of words) assert.include(said, word)
          if (keepsAll(scene)) assert.deepStrictEqual(words, said.slice(0, words.length))
          const ids = places(state).flatMap((place) => callsIn(place.state.conversation)).map(({ id }) => id)
          assert.strictEqual(new Set(ids).size, ids.length)
        }
        const last = states[states.length - 1]
        if (keepsAll(scene) && last !== undefined) {
          assert.deepStrictEqual(wordsOf(last), said)
          const users = last.conversation.turns.filter((turn) => turn._tag === "User")
          assert.deepStrictEqual(users.map(Conversation.textOf), [input])
        }
      }),
    law
  )

  it.effect.prop(
    "asks every model something that isn't answered, with its own instructions alone",
    [Scene],
    ([scene]) =>
      Effect.gen(function*() {
        yield* Effect.exit(Agent.run(runnableOf(scene), input))
        for (const { request } of yield* MockModel.calls) {
          const roles = request.messages.map(({ role }) => role)
          assert.include(["user", "tool"], roles[roles.length - 1])
          if (request.agent === "lead" || request.agent === "worker") continue
          const systems = request.messages.filter(({ role }) => role === "system")
          assert.strictEqual(systems.length, 1)
          assert.strictEqual(`${systems[0]?.content}`.split("\n\n")[0], `I am ${request.agent}.`)
          assert.strictEqual(new Set(request.toolNames).size, request.toolNames.length)
          assert.notInclude(request.toolNames, `handoff_to_${request.agent}`)
        }
      }).pipe(Effect.provide(environment(scene))),
    law
  )

  it.effect.prop(
    "asks nobody for more steps than its limit since it got control",
    [Scene],
    ([scene]) =>
      Effect.gen(function*() {
        const { events } = yield* observeRun(scene)
        let steps = 0
        for (const event of events) {
          if (event._tag === "HandoffCompleted" && event.calls.length === 0) steps = 0
          if (event._tag !== "ModelResponded") continue
          steps++
          const name = event.path[0]
          if (name === "a" || name === "b" || name === "c") assert.isAtMost(steps, scene.members[name].steps)
        }
      }),
    law
  )

  it.effect.prop(
    "adds up the tokens and the steps of all its answers",
    [Scene],
    ([scene]) => Effect.map(observeRun(scene), countsAnswers),
    law
  )

  it.effect.prop(
    "goes on with the agent in control, or with the first, when the user says more",
    [Scene],
    ([scene]) =>
      Effect.gen(function*() {
        const { last } = yield* observeRun(scene)
        const runnable = runnableOf(scene)
        const events: Array<AgentEvent.AgentEvent> = []
        yield* Agent.settle(runnable, "And?", { state: last }).pipe(
          Agent.observe((event) => Effect.sync(() => events.push(event))),
          Effect.provide(environment(scene))
        )
        assert.strictEqual(events[0]?.path[0], last.agent)
        const again: Array<AgentEvent.AgentEvent> = []
        yield* Agent.settle(runnable, "And?", { state: last, control: "first" }).pipe(
          Agent.observe((event) => Effect.sync(() => again.push(event))),
          Effect.provide(environment(scene))
        )
        const isHeld = Conversation.hasOpenCalls(last.conversation) || last.status._tag === "HandoffRequested"
        const first = scene.kind === "agent" || scene.start === "a"
          ? "a"
          : scene.start === "b"
          ? "b"
          : "c"
        assert.strictEqual(again[0]?.path[0], isHeld ? last.agent : first)
        for (const told of [events, again]) {
          assert.deepStrictEqual(imbalances(told), [])
          const after = told.reduce(AgentState.reduce, last)
          const end = told[told.length - 1]
          assert.deepStrictEqual(end !== undefined && "state" in end ? end.state : undefined, after)
          assert.deepStrictEqual(problems(after.conversation), [])
        }
      }),
    law
  )
})
