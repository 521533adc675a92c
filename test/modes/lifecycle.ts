/** What tests of the lives of modes share: an assistant, a log of what happened, and the texts of it. */
import { Cause, Effect, Exit, Layer, Option, Schema } from "effect"
import { Agent, type AgentEvent, type AgentState, Conversation, Mode, Session } from "troupe"
import { MockModel } from "troupe/testing"

export class Broken extends Schema.TaggedError<Broken>()("Broken", { what: Schema.String }) {}
export const broken = (what: string) => Effect.fail(new Broken({ what }))

export const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`))
export const assistant = Agent.make("assistant", { instructions: "Be brief." })

/** Gives a program a session of an agent, and a model that repeats what it is told. */
export const withAssistant = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.provide(self, Layer.provideMerge(Session.layer(assistant), echo))

/** Lets everything that can go on do so. */
export const settleDown = Effect.repeat(Effect.yieldNow, { times: 50 })

export const texts = (state: AgentState.AgentState) => state.conversation.turns.map(Conversation.textOf)
export const names = (state: AgentState.AgentState) => state.modes.map(({ name }) => name)
export const stateNow = Effect.flatMap(Session.Session, (session) => session.state)

export const reasonOf = <A>(exit: Exit.Exit<A, unknown>): string | undefined => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return Mode.isModeError(error) ? error.reason._tag : undefined
}

/** What of a cause somebody can see, in its order. */
export const reasons = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<string> =>
  Exit.isSuccess(exit) ? [] : exit.cause.reasons.map((reason) =>
    Cause.isFailReason(reason)
      ? reason.error instanceof Broken ? reason.error.what : String(reason.error)
      : Cause.isDieReason(reason)
      ? `defect: ${String(reason.defect)}`
      : "interrupted"
  )

export const outcome = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit) ? "success" : reasons(exit).join(" & ")

export type Log = Array<string>
export const write = (log: Log, line: string) => Effect.sync(() => void log.push(line))

/** A mode that writes down when its parts run, and how what ran in it ended. */
export const telling = <const Name extends string>(log: Log, name: Name) =>
  Mode.make(name, {
    enter: Effect.fn(function*() {
      yield* Effect.addFinalizer((exit) => write(log, `${name} first finalizer: ${outcome(exit)}`))
      yield* write(log, `${name} set-up`)
      yield* Effect.addFinalizer((exit) => write(log, `${name} second finalizer: ${outcome(exit)}`))
    }),
    exit: (exit) => write(log, `${name} exit: ${outcome(exit)}`)
  })

/** What `telling` writes down of a mode in which all ended in a way. */
export const told = (name: string, how: string) => [
  `${name} exit: ${how}`,
  `${name} second finalizer: ${how}`,
  `${name} first finalizer: ${how}`
]

export const modeEvents = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.flatMap((event) =>
    event._tag === "ModeFailed"
      ? [`ModeFailed ${event.name} ${event.phase} ${event.tag}`]
      : event._tag.startsWith("Mode") && "name" in event
      ? [`${event._tag} ${event.name}`]
      : []
  )

export const around = (name: string) => [`ModeEntering ${name}`, `ModeEntered ${name}`]
export const left = (name: string) => [`ModeExiting ${name}`, `ModeExited ${name}`]

/** All of a state that a mode can change. What an answer took was used all the same. */
export const held = (
  { conversation, handoff, initialQuery, logs, modes, prompt, settings, status, transition }: AgentState.AgentState
) => ({
  conversation,
  handoff,
  initialQuery,
  logs,
  modes: modes.map(({ name, params, values, view }) => ({ name, params, values, view })),
  prompt,
  settings,
  status,
  transition
})
