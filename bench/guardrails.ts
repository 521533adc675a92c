/**
 * What guardrails cost that let everything pass: an agent with ten of them in each step, beside the same agent with none.
 */
import { Effect } from "effect"
import { Agent, AgentState, Guardrail, StopWhen } from "../src/index.ts"
import * as model from "./effectModel.ts"
import { type Calls, question, remember, system } from "./script.ts"

/** Counts what was looked at, so that no guardrail can be left out. */
export const looked = { count: 0 }

const five = <A>(make: (index: number) => A): ReadonlyArray<A> => Array.from({ length: 5 }, (_, index) => make(index))

const look = (): Guardrail.Pass => {
  looked.count++
  return Guardrail.pass
}

const options = { instructions: system, toolkit: model.Counting, stopWhen: StopWhen.maxSteps(10_000) }

const plain = Agent.make("counter", options)

/** Ten guardrails that look in each step. */
export const ten = {
  toolCall: five((index) => Guardrail.make(`call ${index}`, look, { on: "toolCall" })),
  toolResult: five((index) => Guardrail.make(`result ${index}`, look, { on: "toolResult" }))
}

const guarded = Agent.make("counter", { ...options, guardrails: ten })

/** Runs a tool loop of some steps. */
export interface Looping {
  readonly calls: Calls
  /** How many guardrails look in each step. */
  readonly perStep: number
  readonly run: (steps: number) => Promise<string>
}

const looping = (agent: typeof plain, perStep: number): Looping => {
  const calls: Calls = { model: 0, tool: 0 }
  const runWith = remember((steps: number) =>
    Effect.runPromiseWith(model.services(model.toolLoop(calls, steps), calls))
  )
  return { calls, perStep, run: (steps) => runWith(steps)(Effect.map(Agent.run(agent, question), AgentState.text)) }
}

export const withGuardrails = looping(guarded, 10)

export const withoutGuardrails = looping(plain, 0)
