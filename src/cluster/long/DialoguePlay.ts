/**
 * How a dialogue is played on a cluster: by its own loop, whose agents are conversations of their own.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { own } from "../../domain/OwnValue.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import * as Approval from "../../handoff/dialogue/DialogueApproval.ts"
import * as DialogueError from "../../handoff/dialogue/DialogueError.ts"
import type { DialogueEvent } from "../../handoff/dialogue/DialogueEvent.ts"
import * as DialogueJson from "../../handoff/dialogue/DialogueJson.ts"
import * as DialogueResult from "../../handoff/dialogue/DialogueResult.ts"
import type { DialogueState } from "../../handoff/dialogue/DialogueState.ts"
import type { DialogueStatus } from "../../handoff/dialogue/DialogueStatus.ts"
import { type Any, type Definition, definitionOf, fromDefinition } from "../../handoff/dialogue/DialogueType.ts"
import * as Loop from "../../handoff/dialogue/Loop.ts"
import * as Problem from "../../handoff/dialogue/Problem.ts"
import { type Entry, lastSpeaker, lastText } from "../../handoff/dialogue/Transcript.ts"
import * as Turn from "../../handoff/dialogue/Turn.ts"
import type { Any as Agent } from "../../handoff/Runnable.ts"
import { shown } from "../Answer.ts"
import * as Protocol from "../Protocol.ts"
import * as Asking from "./Asking.ts"
import { kind, type State, type Step } from "./DialogueSteps.ts"
import { callsIn, type Child, type LongRun, type Outcome, type Place, type Play, waitingIn } from "./LongRun.ts"
import { AgentStopped, remote } from "./Remote.ts"

const placeOf = (speaker: string): Place => ({ place: speaker, name: speaker, suffix: "" })

const entryOf = (entry: State["transcript"][number]): Entry =>
  entry._tag === "User" ? { _tag: "User", parts: Protocol.inputFromJson(entry.input) } : entry

const statusOf = ({ next }: State, hasState: (speaker: string) => boolean): DialogueStatus => {
  switch (next._tag) {
    case "Choose":
      return { _tag: "Choosing" }
    case "Decide":
      return { _tag: "Deciding" }
    case "Stop":
      return { _tag: "Ended", reason: next.reason }
    case "TakeTurn": {
      const { turn: { isTold, speaker } } = next
      return { _tag: isTold && hasState(speaker) ? "Speaking" : "Chosen", speaker }
    }
  }
}

/** Returns the dialogue's state with those of the agents in it. */
const toDialogue = (
  names: ReadonlyArray<string>,
  state: State,
  states: ReadonlyMap<string, AgentState>
): DialogueState => ({
  version: 1,
  participants: names.map((name) => {
    const agent = states.get(name)
    return { name, heard: own(state.heard, name) ?? 0, ...(agent === undefined ? undefined : { state: agent }) }
  }),
  transcript: state.transcript.map(entryOf),
  turns: state.turns,
  status: statusOf(state, (speaker) => states.has(speaker))
})

/** Reads the states of agents that were asked. */
const statesOf = (state: State, speakers: ReadonlyArray<string>, child: (of: Place) => Child) =>
  Effect.map(
    Effect.forEach(
      speakers.filter((speaker) => (own(state.events, speaker) ?? 0) > 0),
      (speaker) => Effect.map(child(placeOf(speaker)).state, (own) => [speaker, own] as const)
    ),
    (states) => new Map(states)
  )

const waiting = (place: Place, state: DialogueState): Outcome => {
  const awaited = DialogueResult.pendingResults(state).map(shown)
  return {
    status: "Waiting",
    text: "",
    ...waitingIn(place, {
      pending: Approval.pendingApprovals(state).map(shown),
      ...(awaited.length === 0 ? undefined : { awaited })
    })
  }
}

const failed = (speaker: string, error: unknown): Outcome => ({
  status: "Failed",
  text: "",
  pending: [],
  error: error instanceof AgentStopped
    ? error.failure
    : { ...Problem.fromFailure(error), agent: speaker, step: 0 }
})

/** What a failed dialogue reports about its reason: the agent's own error, or that of a choice. */
const errorOf = ({ reason }: DialogueError.DialogueError): unknown => "error" in reason ? reason.error : reason

/** Finds the participants that a state names, if the dialogue lacks one of them, because it was renamed or removed since. */
const findMismatch = (
  names: ReadonlyArray<string>,
  { heard, next, transcript }: State
): DialogueError.ParticipantMismatch | undefined => {
  const found = new Set([
    ...Object.keys(heard),
    ...transcript.flatMap((entry) => entry._tag === "Agent" ? [entry.speaker] : []),
    ...(next._tag === "TakeTurn" ? [next.turn.speaker] : [])
  ])
  return [...found].every((name) => names.includes(name))
    ? undefined
    : new DialogueError.ParticipantMismatch({ found: [...found], available: names })
}

const play = (definition: Definition) => (given: Play<State, Step>): Effect.Effect<Outcome, unknown> =>
  Effect.gen(function*() {
    const { child, isClosed, keep, message, state } = given
    if (state.transcript.length === 0) return { status: "Stopped" as const, text: "", pending: [] }
    const names = definition.participants.map(({ name }) => name)
    const mismatch = findMismatch(names, state)
    if (mismatch !== undefined) return failed("", mismatch)
    const next = state.next._tag === "TakeTurn" ? state.next.turn.speaker : undefined
    const speakers = new Set([next, lastSpeaker(state.transcript.map(entryOf))].filter((name) => name !== undefined))
    const states = yield* Asking.persist(statesOf(state, [...speakers], child))
    const events = new Map(Object.entries(state.events))
    let turn = state.next._tag === "TakeTurn" ? state.next.turn : undefined
    let isTold = turn?.isTold ?? false
    let isDecided = turn?.decided?.message === message
    let place: Turn.TurnPlace | undefined
    const stopped = (speaker: string, reply: Asking.Reply) => {
      isTold = reply.isTold
      events.set(speaker, reply.answer.cursor)
      const step: Step = { _tag: "TurnStopped", speaker, turn: place?.turn ?? 0, isTold, events: reply.answer.cursor }
      return keep([step], callsIn(placeOf(speaker), reply.answer.unknown))
    }
    const asked = (agent: Agent): Agent => {
      const speaker = agent.name
      return remote(agent, ({ input }) =>
        Effect.gen(function*() {
          if (isDecided && turn?.decided?.error !== undefined) {
            return yield* Effect.fail(new AgentStopped({ failure: turn.decided.error }))
          }
          const conversation = child(placeOf(speaker))
          const reply = yield* Asking.ask(
            conversation,
            {
              place: `turn/${place!.turn}`,
              words: input ?? [],
              message,
              by: turn?.message ?? message,
              attempt: 0,
              isTold,
              before: events.get(speaker) ?? 0
            },
            isClosed,
            (reply) => Effect.ignore(stopped(speaker, reply))
          )
          const { answer } = reply
          if (answer.status !== "Complete") yield* stopped(speaker, reply)
          else {
            events.set(speaker, answer.cursor)
            const unknown = callsIn(placeOf(speaker), answer.unknown)
            if (unknown.length > 0) yield* keep([], unknown)
          }
          if (answer.status === "Complete" || answer.status === "Waiting") {
            return yield* Asking.persist(conversation.state)
          }
          return yield* Effect.fail(new AgentStopped({ failure: AgentStopped.failureOf(speaker, answer) }))
        }))
    }
    const elsewhere = fromDefinition({ ...definition, participants: definition.participants.map(asked) })
    const performance = Loop.prepare(elsewhere, toDialogue(names, state, states), Turn.whole)
    const told = (event: DialogueEvent): ReadonlyArray<Step> => {
      switch (event._tag) {
        case "SpeakerChosen":
          turn = undefined
          isTold = false
          isDecided = false
          return [event]
        case "TurnStarted": {
          const { speaker, turn: number } = event
          place = { speaker, turn: number }
          return turn?.message === undefined ? [{ ...event, message }] : []
        }
        case "TurnCompleted": {
          const { speaker, text, turn: number } = event
          return [{ _tag: "TurnCompleted", speaker, turn: number, text, events: events.get(speaker) ?? 0 }]
        }
        case "DialogueEnded":
          return event.state.status._tag === "Ended" && state.next._tag !== "Stop"
            ? [{ _tag: "DialogueEnded", reason: event.state.status.reason }]
            : []
        default:
          return []
      }
    }
    const running = Stream.runForEach(Loop.play(performance), (event) => {
      const steps = told(event)
      return steps.length === 0 ? Effect.void : keep(steps)
    })
    const exit = yield* Effect.exit(running)
    const speaker = place?.speaker ?? ""
    if (Exit.isSuccess(exit)) {
      const { state } = performance
      return state.status._tag === "Ended"
        ? { status: "Complete" as const, text: lastText(state.transcript), pending: [] }
        : waiting(placeOf(speaker || (next ?? "")), state)
    }
    const error = Cause.squash(exit.cause)
    return isClosed() || !DialogueError.isDialogueError(error) ? yield* exit : failed(speaker, errorOf(error))
  }) as Effect.Effect<Outcome, unknown>

/** Makes a long run of a dialogue. */
export const make = (dialogue: Any): LongRun<State, Step> => {
  const definition = definitionOf(dialogue)
  const names = definition.participants.map(({ name }) => name)
  return {
    kind,
    said: (input) => ({ _tag: "UserSpoke", input }),
    resumed: { _tag: "DialogueResumed" },
    decided: ({ error, message }) => ({
      _tag: "TurnDecided",
      message,
      ...(error === undefined ? undefined : { error })
    }),
    play: play(definition),
    isMismatched: (state) => findMismatch(names, state) !== undefined,
    waiting: ({ next }) => next._tag === "TakeTurn" ? [placeOf(next.turn.speaker)] : [],
    conversations: ({ events }) => names.filter((name) => (own(events, name) ?? 0) > 0).map(placeOf),
    unknown: () => [],
    show: (state, child) =>
      Effect.map(
        statesOf(state, names, child),
        (states) => DialogueJson.toJson(toDialogue(names, state, states)) as Schema.Json
      )
  }
}
