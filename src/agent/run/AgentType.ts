/**
 * What an agent is to those who use one: its name, and in its type what a run of it gives, fails with and needs.
 *
 * @since 0.1.0
 */
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as AgentState from "../../domain/AgentState.ts"
import * as Runnable from "../../handoff/Runnable.ts"
import * as Definition from "../definition/AgentDefinition.ts"
import { startOf } from "../definition/Input.ts"
import * as Output from "../definition/OutputCodec.ts"
import * as Roster from "../definition/Roster.ts"
import * as EventStream from "./EventStream.ts"
import * as Run from "./Run.ts"

/**
 * An agent: `Output` is what its answers decode to, `E` what a run of it may fail with beside `AgentError`, and `R`
 * what a run of it needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Agent<out Name extends string, out Output = string, out E = never, out R = never>
  extends Runnable.Member<Name, Output, E, R>, Definition.Defined, Pipeable
{}

/** Any agent. */
export type Any = Agent<string, unknown, unknown, unknown>

/** What a run of an agent may fail with beside `AgentError`. */
export type RunError<A extends Any> = A extends Agent<infer _Name, infer _Output, infer E, infer _R> ? E : never

/** What a run of an agent needs. */
export type Services<A extends Any> = A extends Agent<infer _Name, infer _Output, infer _E, infer R> ? R : never

const Proto = {
  pipe() {
    return pipeArguments(this, arguments)
  },
  toJSON(this: Any) {
    return { _id: "Agent", name: this.name }
  }
}

const interpreter: Runnable.Interpreter = {
  check: Roster.check,
  modesOf: (self) => new Set(Definition.definitionOf(self as Any).modes.keys()),
  read: (self, state) => {
    const { agents, first } = Roster.rosterOf(self)
    return readOutput(agents.get(state.agent) ?? first, state)
  },
  run: (self, from) => {
    const roster = Roster.rosterOf(self)
    return Run.run(roster, startOf(roster, from), undefined, "Fail")
  },
  stream: (self, from) => {
    const roster = Roster.rosterOf(self)
    return EventStream.make(roster, startOf(roster, from))
  }
}

/** Makes an agent of its definition. */
export const fromDefinition = <Name extends string, Output, E, R>(
  name: Name,
  definition: Definition.Definition
): Agent<Name, Output, E, R> => {
  const agent: Any = Object.assign(Object.create(Proto), {
    [Definition.TypeId]: { definition },
    [Runnable.TypeId]: { interpreter, kind: "Agent" },
    [AgentState.ReadOutput]: (state: AgentState.AgentState) => interpreter.read(agent, state),
    name,
    description: definition.description
  })
  Roster.check(agent)
  return agent as Agent<Name, Output, E, R>
}

/**
 * Checks whether something is an agent.
 *
 * @category guards
 * @since 0.1.0
 */
export const isAgent = (u: unknown): u is Any => Predicate.hasProperty(u, Definition.TypeId)

const readOutput = (
  definition: Definition.Definition,
  state: AgentState.AgentState
): Result.Result<unknown, AgentState.NoOutput> => {
  const fail = (issue: string): AgentState.NoOutput =>
    new AgentState.NoOutput({ agent: state.agent, status: state.status._tag, issue })
  if (state.status._tag !== "Complete") return Result.fail(fail("the run hasn't ended with an answer"))
  return definition.output === undefined
    ? Result.succeed(AgentState.text(state))
    : Result.mapError(Output.read(definition.output, state), (error) => fail(error.message))
}
