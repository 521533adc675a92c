/**
 * Random lives of a conversation, told by the pure functions alone: runs that end, stop and go on, calls that are answered, called
 * agents, handoffs, modes, and what people decide in between.
 *
 * Each step is told twice: as the event that it is, and as what the function does to the state that is there for it.
 */
import { assert } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import { AgentEvent, AgentState, AgentStatus, Conversation } from "troupe"
import { below } from "../../src/testing/arbitrary/Choice.ts"
import { deepFreeze, type Place, places } from "./legal.ts"

const events = AgentEvent.AgentEvent.cases

/** What happens next: the event, and the state after it where another function than `reduce` makes it. */
interface Act {
  readonly event: AgentEvent.AgentEvent
  readonly by?: (state: AgentState.AgentState) => AgentState.AgentState
}

/** A life as it was told: every event, and every state from the first. */
export interface Life {
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
  readonly states: readonly [AgentState.AgentState, ...Array<AgentState.AgentState>]
}

/** Which of what may happen does, and what varies in it. */
interface Choice {
  readonly at: number
  readonly act: number
  readonly variant: number
}

/** Random choices: a life makes of each what may happen where it stands. */
export const choices: Arbitrary.Arbitrary<ReadonlyArray<Choice>> = Arbitrary.array(
  Arbitrary.all({ at: below(3), act: below(720), variant: below(12) }),
  { minLength: 16, maxLength: 40 }
)

const usage = { input: 3, output: 1 }
const isolations = ["none", "config", "thread", "fork"] as const
const text = (variant: number) => [Conversation.text(`text ${variant}`)]

/** Numbers of a life: each event has its own, and so has each call. */
class Telling {
  now = 0
  called = 0
}

/** What may happen in an agent: at a place in the state, and as a whole where that is the outermost. */
const actsAt = (telling: Telling, { calls, path, state }: Place, variant: number): ReadonlyArray<Act> => {
  const here = { path, calls, run: "run", step: state.run.iteration, sequence: telling.now, at: telling.now }
  const isOutermost = calls.length === 0
  const name = path[path.length - 1]!
  const { _tag } = state.status
  const open = Conversation.openCalls(state.conversation)
  const asking = state.status._tag === "HandoffRequested" ? state.status.request : undefined
  const others = open.filter(({ id }) => id !== asking?.callId)
  const frame = state.modes[state.modes.length - 1]

  const call = (tool: string) => Conversation.call(`c${telling.called + 1}`, tool, { variant })
  const answers = (parts: ReadonlyArray<Conversation.AssistantPart>, feedback?: string): Act => ({
    event: events.ModelResponded.make({
      ...here,
      parts,
      usage,
      finishReason: "stop",
      ...(feedback === undefined ? undefined : { feedback })
    })
  })
  const speaks = (): Act => ({
    event: events.RunStarted.make({ ...here, input: text(variant) }),
    ...(isOutermost ? { by: AgentState.ask(text(variant), here.at) } : undefined)
  })
  const stops: ReadonlyArray<Act> = [
    { event: events.RunInterrupted.make({ ...here, state }) },
    {
      event: events.RunFailed.make({
        ...here,
        error: { tag: "Defect", message: `${variant}`, agent: name, step: 0 },
        state
      })
    }
  ]
  const completes: Act = { event: events.RunCompleted.make({ ...here, state }) }
  const invokes: Act = {
    event: events.ToolInvoked.make({ ...here, callId: `c${telling.called + 1}`, name: "look", params: {} })
  }
  const requests = (request: AgentStatus.HandoffRequest): Act => ({
    event: events.HandoffRequested.make({ ...here, request })
  })
  const reopens: Act = {
    event: events.RunStarted.make({ ...here, isReopened: true }),
    by: (state) => AgentState.reduce(AgentState.reopen(state), events.RunStarted.make(here))
  }
  const endsByHand: Act = {
    event: events.StepCompleted.make({ ...here, endsRun: true }),
    by: (state) => ({ ...state, status: AgentStatus.complete })
  }
  const mode = (isolation: typeof isolations[number]) => ({ name: `mode-${isolation}`, stack: [], params: {} })
  const modes: ReadonlyArray<Act> = [
    ...(["Complete", "InProgress"].includes(_tag) && state.modes.length < 3
      ? isolations.map((isolation): Act => ({
        event: events.ModeEntering.make({ ...here, ...mode(isolation), isolation })
      }))
      : []),
    ...(frame === undefined ? [] : [
      { event: events.ModeExited.make({ ...here, ...mode("none"), name: frame.name, duration: 0 }) },
      {
        event: events.ModeFailed.make({
          ...here,
          ...mode("none"),
          name: frame.name,
          phase: "SetUp",
          tag: "Failure",
          message: ""
        })
      },
      {
        event: events.ModeEntered.make({ ...here, ...mode("none"), name: frame.name, duration: 0, note: "Go on." })
      }
    ])
  ]
  const speaksInMode: ReadonlyArray<Act> = frame === undefined || _tag === "Failed" ? [] : [
    { event: events.InputGiven.make({ ...here, input: text(variant), mode: frame.name }) }
  ]
  const ofCall = (call: Conversation.Call): ReadonlyArray<Act> => {
    const about = { ...here, callId: call.id, name: call.name }
    const settles = (outcome: Conversation.Outcome): Act => ({
      event: events.ToolCallSettled.make({ ...about, outcome, result: variant, duration: 0 })
    })
    switch (call.state._tag) {
      case "Pending":
        switch (call.name) {
          case "guarded":
            return [{ event: events.ApprovalRequested.make({ ...about, params: call.params }) }]
          case "helper":
            return [{
              event: events.RunStarted.make({
                ...here,
                path: [...path, "helper"],
                calls: [...calls, call.id],
                input: text(variant)
              })
            }]
          case "handoff":
            return asking === undefined
              ? [requests({ target: "other", callId: call.id, reason: "why" })]
              : [settles("Failed")]
          case "order":
            return [{ event: events.ResultAwaited.make({ ...about, params: call.params }) }]
          default:
            return [settles("Succeeded"), settles("Interrupted")]
        }
      case "AwaitingApproval": {
        const params = { edited: variant }
        return [
          { event: events.CallApproved.make(about), by: approves(call.id) },
          { event: events.CallApproved.make({ ...about, params }), by: approves(call.id, { params }) },
          {
            event: events.CallDenied.make({ ...about, reason: "no" }),
            by: (state) => Result.getOrThrow(AgentState.deny(state, call.id, "no"))
          }
        ]
      }
      case "AwaitingResult": {
        const given = { outcome: "Succeeded", result: { given: variant } } as const
        return [
          {
            event: events.ResultGiven.make({ ...about, ...given }),
            by: (state) => Result.getOrThrow(AgentState.giveResult(state, call.id, given.result))
          },
          {
            event: events.ResultGiven.make({ ...about, outcome: "Failed", result: "lost" }),
            by: (state) => Result.getOrThrow(AgentState.giveFailure(state, call.id, "lost"))
          }
        ]
      }
      case "Answered":
        return [settles(call.state.outcome)]
      case "Approved":
        return [settles("Succeeded")]
      case "Delegated":
        return call.state.child.status._tag === "Complete" ? [settles("Succeeded")] : []
      case "Settled":
        return []
    }
  }
  const answered = open
    .filter(({ state }) => state._tag === "AwaitingApproval" || state._tag === "AwaitingResult")
    .flatMap(ofCall)
  switch (_tag) {
    case "InProgress":
      return state.conversation.turns.length === 0 ? [speaks(), invokes, ...modes] : [
        answers(text(variant)),
        answers([call("look")]),
        answers([call("guarded")]),
        answers([call("helper")]),
        answers([call("order")]),
        answers([call("handoff")]),
        answers([{ ...call("guarded"), id: `c${telling.called + 2}` }, call("handoff")]),
        answers(text(variant), "In JSON."),
        { event: events.ModelCallFailed.make({ ...here, attempt: 0, tag: "Blocked", message: "", usage }) },
        { event: events.LimitReached.make({ ...here, limit: "maxSteps", text: "Answer now." }) },
        requests({ target: "other" }),
        completes,
        ...stops,
        ...(isOutermost ? [...modes, ...speaksInMode, invokes, endsByHand] : [])
      ]
    case "WaitingForTools":
      return [...open.flatMap(ofCall), ...stops, ...(isOutermost ? [...modes, speaks(), completes] : [])]
    case "HandoffRequested":
      return [
        ...others.flatMap(ofCall),
        ...(others.length > 0 ? [] : [{ event: events.HandoffCompleted.make({ ...here, request: asking! }) }]),
        ...(asking?.callId === undefined || others.length > 0 ? [] : [{
          event: events.ToolCallSettled.make({
            ...here,
            callId: asking.callId,
            name: "handoff",
            outcome: "HandedOff",
            result: null,
            duration: 0
          })
        }]),
        ...stops,
        ...(isOutermost ? [speaks(), ...modes, ...speaksInMode] : [])
      ]
    case "Complete":
      return !isOutermost ? [] : [
        speaks(),
        reopens,
        invokes,
        requests({ target: "other" }),
        { event: events.FeedbackGiven.make({ ...here, text: "It doesn't fit." }) },
        ...stops,
        ...modes,
        ...speaksInMode
      ]
    case "Failed":
      return !isOutermost ? [] : [speaks(), reopens, ...(open.length === 0 ? [invokes] : []), ...answered, ...modes]
  }
}

const approves =
  (callId: string, options?: AgentState.ApproveOptions) => (state: AgentState.AgentState): AgentState.AgentState =>
    Result.getOrThrow(AgentState.approve(state, callId, options))

/** Tells a life: each choice is one of what may happen, in one of the agents that are at work. */
export const live = (choices: ReadonlyArray<Choice>): Life => {
  const telling = new Telling()
  const told: Array<AgentEvent.AgentEvent> = []
  let state = deepFreeze(AgentState.make("desk"))
  const states: [AgentState.AgentState, ...Array<AgentState.AgentState>] = [state]
  for (const { act, at, variant } of choices) {
    const working = places(state)
    const acts = actsAt(telling, working[at % working.length]!, variant)
    if (acts.length === 0) continue
    const { by, event } = deepFreeze(acts[act % acts.length]!)
    const happened = AgentState.reduce(state, event)
    state = deepFreeze(by === undefined ? happened : by(state))
    telling.now++
    telling.called += event._tag === "ModelResponded" ? 2 : event._tag === "ToolInvoked" ? 1 : 0
    told.push(event)
    states.push(state)
  }
  return { events: told, states }
}

const Stored = Schema.fromJsonString(Schema.toCodecJson(Schema.Array(AgentEvent.AgentEvent)))

/** A state is the fold of all its events, those too that people made: also once they were stored. */
export const isItsFold = ({ events, states }: Life): void => {
  const stored = Schema.decodeSync(Stored)(Schema.encodeSync(Stored)(events))
  let folded = states[0]
  stored.forEach((event, at) => {
    folded = deepFreeze(AgentState.reduce(folded, event))
    assert.deepStrictEqual(folded, states[at + 1], `${at}, ${event._tag}`)
  })
}
