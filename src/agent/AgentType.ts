/**
 * What an agent is to those who use one: its name, and in its type what a run of it gives, fails with and needs.
 *
 * @since 0.1.0
 */
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as AgentState from "../domain/AgentState.ts"
import type * as Definition from "./Definition.ts"
import * as Runnable from "../handoff/Runnable.ts"
import * as EventStream from "./EventStream.ts"
import * as Output from "./Output.ts"
import * as Run from "./Run.ts"

const TypeId = "~troupe/agent/Agent"

/**
 * An agent: `Output` is what its answers decode to, `E` what a run of it may fail with beside `AgentError`, and `R`
 * what a run of it needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Agent<out Name extends string, out Output = string, out E = never, out R = never>
  extends Runnable.Runnable<Name, Output, E, R>, Pipeable
{
  readonly [TypeId]: { readonly definition: Definition.Definition }
}

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

const startOf = (self: Any, { input, state }: Runnable.From): Run.From => ({
  state: state ?? AgentState.make(self.name),
  input
})

const interpreter: Runnable.Interpreter = {
  run: (self, from) => {
    const agent = self as Any
    return Run.run(definitionOf(agent), startOf(agent, from), undefined, "Fail")
  },
  stream: (self, from) => {
    const agent = self as Any
    return EventStream.make(definitionOf(agent), startOf(agent, from))
  }
}

/** Makes an agent of its definition. */
export const fromDefinition = <Name extends string, Output, E, R>(
  name: Name,
  definition: Definition.Definition
): Agent<Name, Output, E, R> =>
  Object.assign(Object.create(Proto), {
    [TypeId]: { definition },
    [Runnable.TypeId]: { interpreter },
    [AgentState.ReadOutput]: (state: AgentState.AgentState) => readOutput(definition, state),
    name,
    description: definition.description
  })

/** Gives the definition of an agent. */
export const definitionOf = (agent: Any): Definition.Definition => agent[TypeId].definition

/**
 * Checks whether something is an agent.
 *
 * @category guards
 * @since 0.1.0
 */
export const isAgent = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

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
