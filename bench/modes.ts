/**
 * What a mode costs: the calls of a session, each in a mode of its own that is entered and left, beside the same calls in
 * none. The answers have the last line of the system text in them, so that a mode can't be left out.
 */
import { Effect, Schema } from "effect"
import { Agent, AgentState, Mode, Session, SystemPrompt } from "../src/index.ts"
import * as model from "./effectModel.ts"
import { addition, type Calls, counted, question, remember, system } from "./script.ts"

const aloud = Mode.make("aloud", {
  params: Schema.Struct({ how: Schema.String }),
  enter: ({ how }) => SystemPrompt.append(how)
})

const counter = Agent.make("counter", { instructions: system, toolkit: model.Counting, modes: [aloud] })

/** The calls of a session. */
export interface Calling {
  readonly calls: Calls
  /** Gives what the model says in each of some calls, which take so many steps with the tool. */
  readonly run: (count: number, steps: number) => Promise<ReadonlyArray<string>>
  /** What the model is to say. */
  readonly answer: (steps: number) => string
}

const calling = <E>(
  said: string,
  one: (session: Session.Of<typeof counter>) => Effect.Effect<AgentState.AgentState, E, Mode.Host>
): Calling => {
  const calls: Calls = { model: 0, tool: 0 }
  const runWith = remember((steps: number) =>
    Effect.runPromiseWith(model.services(model.readingBack(calls, steps), calls))
  )
  return {
    calls,
    answer: (steps) => `${counted(steps)} ${said}`,
    run: (count, steps) =>
      runWith(steps)(Effect.scoped(Effect.flatMap(
        Session.make(counter),
        (session) =>
          Effect.provideService(
            Effect.forEach(Array.from({ length: count }), () => Effect.map(one(session), AgentState.text)),
            Mode.Host,
            session
          )
      )))
  }
}

export const withModes = calling(
  addition,
  (session) => Mode.within(session.call(question), aloud, { how: addition })
)

export const withoutModes = calling(system, (session) => session.call(question))
