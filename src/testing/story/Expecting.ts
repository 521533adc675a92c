/**
 * What a story expects of a state.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Formatter from "effect/Formatter"
import * as Result from "effect/Result"
import * as AgentState from "../../domain/AgentState.ts"
import * as Wanted from "../../domain/Wanted.ts"
import { type Problem, problem } from "./Problem.ts"
import { commandTitle } from "./Step.ts"

/** Checks what a state needs next. */
export const expectCommandOf = (
  state: AgentState.AgentState,
  expected: AgentState.Command | AgentState.Command["_tag"]
): Result.Result<AgentState.AgentState, Problem> => {
  const command = AgentState.next(state)
  const holds = typeof expected === "string" ? command._tag === expected : Equal.equals(command, expected)
  return holds ? Result.succeed(state) : problem("CommandDiffers", `the state needs ${commandTitle(command)}`)
}

/** Checks a state: by its fields, or by a function that returns `false` or throws if the state is another. */
export const expectStateOf = (
  state: AgentState.AgentState,
  expected: Partial<AgentState.AgentState> | ((state: AgentState.AgentState) => unknown)
): Result.Result<AgentState.AgentState, Problem> => {
  if (typeof expected === "function") {
    const said = Result.try(() => expected(state))
    if (Result.isFailure(said)) {
      const error = said.failure
      return problem("StateDiffers", error instanceof Error ? error.message : Formatter.format(error))
    }
    // Nobody awaits a Promise or runs an Effect, so the expectation would always hold.
    if (Wanted.isUnrun(said.success) || Exit.isExit(said.success)) {
      return problem("StateDiffers", "a story awaits no Promise and runs no Effect, but the function returns one")
    }
    return said.success === false ? problem("StateDiffers", "the function returns false") : Result.succeed(state)
  }
  const fields = Object.keys(expected) as ReadonlyArray<keyof AgentState.AgentState>
  const field = fields.find((field) => !Equal.equals(state[field], expected[field]))
  return field === undefined ? Result.succeed(state) : problem(
    "StateDiffers",
    `${field} is ${Formatter.format(state[field])}, and ${Formatter.format(expected[field])} is expected`
  )
}
