/**
 * What can hold a conversation, an agent or a group, as this floor knows it.
 *
 * This floor is below the one that runs agents, so each agent has its interpreter as a value, and a group, a plan or a dialogue uses those
 * of its members.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { constVoid, identity } from "effect/Function"
import * as Predicate from "effect/Predicate"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { AgentError } from "../domain/AgentError.ts"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import type { GivesOutput, NoOutput } from "../domain/AgentOutput.ts"
import type { ReadCall, ReadsParams } from "../domain/CallParams.ts"
import { ErrorClass } from "../domain/ErrorClass.ts"
import type { AgentState, User } from "../domain/StateSchema.ts"

/** Marks what can hold a conversation. */
export const TypeId = "~troupe/handoff/Runnable"

/**
 * What can hold a conversation: `Output` is what its answers decode to, `E` what a run of it may fail with besides `AgentError`, and `R`
 * what a run of it needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Runnable<out Name extends string, out Output = string, out E = never, out R = never>
  extends GivesOutput<Output>, ReadsParams
{
  readonly [TypeId]: Runs<E, R>
  readonly name: Name
  readonly description: string | undefined
}

/** An agent: what can take a conversation over, or be a member of a group. */
export interface Member<out Name extends string, out Output = string, out E = never, out R = never>
  extends Runnable<Name, Output, E, R>
{
  readonly [TypeId]: Runs<E, R> & { readonly kind: "Agent" }
}

/** The interpreter of an agent or a group, and in its type what a run may fail with and needs. */
interface Runs<out E, out R> {
  readonly interpreter: Interpreter
  readonly kind: "Agent" | "Group"
  readonly _E?: () => E
  readonly _R?: () => R
}

/** Anything that can hold a conversation. */
export type Any = Runnable<string, unknown, unknown, unknown>

/** Anything that can hold a conversation, without type parameters, so that they are inferred from the thing itself. */
export interface AnyRunnable {
  readonly [TypeId]: { readonly interpreter: Interpreter; readonly kind: "Agent" | "Group" }
  readonly name: string
}

/** Any agent, without type parameters. */
export interface AnyMember extends AnyRunnable {
  readonly [TypeId]: { readonly interpreter: Interpreter; readonly kind: "Agent" }
}

/** Returns the thing with the type that it has: nothing else is an `AnyRunnable`. */
export const typed = (self: AnyRunnable): Any => self as Any

/**
 * What a run starts from: a state, and the user's input unless the run continues. `beside` holds the states of others whose calls are
 * approved in the same place: the run's new calls don't get any of their ids.
 */
export interface From {
  readonly state: AgentState | undefined
  readonly input: User["parts"] | undefined
  readonly beside?: ReadonlyArray<AgentState> | undefined
}

/**
 * Runs agents and groups, and streams events. Without a state a conversation begins.
 *
 * - `check` throws if an agent or a group can't be run.
 * - `checkTogether` throws if several can't be run in one environment. It returns a check that includes agents that are looked up later.
 * - `modesOf` returns the names of an agent's modes.
 * - `read` returns the answer of a state, and `said` the same answer as other agents get it.
 * - `readParams` returns the parameters of a call in a state.
 * - `together` returns the surroundings in which several run.
 */
export interface Interpreter {
  readonly check: (self: Any) => void
  readonly checkTogether: (selves: ReadonlyArray<Any>) => () => void
  readonly modesOf: (self: Any | AnyMember) => ReadonlySet<string>
  readonly read: (self: Any, state: AgentState) => Result.Result<unknown, NoOutput>
  readonly said: (self: Any, state: AgentState) => Schema.Json
  readonly readParams: (self: Any, ...call: Parameters<ReadCall>) => ReturnType<ReadCall>
  readonly run: (self: Any, from: From) => Effect.Effect<AgentState, unknown, unknown>
  readonly stream: (self: Any, from: From) => Stream.Stream<AgentEvent, unknown, unknown>
  readonly together: (selves: ReadonlyArray<Any>) => Surroundings
}

/** Returns the context in which things run together: each knows the others, and the model counts its requests, if there is one. */
export type Surroundings = <R>(context: Context.Context<R>) => Context.Context<R>

/** Checks whether something can hold a conversation. */
export const isRunnable = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/**
 * Error for an agent that is `undefined` because two modules import each other, and one of them is evaluated first.
 *
 * @category errors
 * @since 0.1.0
 */
export class MissingAgent extends ErrorClass<MissingAgent>("troupe/handoff")(
  "MissingAgent",
  {
    to: Schema.String
  },
  ({ to }) =>
    `\`${to}\` was given no agent. Modules that import each other in a circle are read one after the other, so one of them ` +
    `doesn't have its agent yet${
      to.startsWith("Handoff")
        ? ": `Handoff.suspend(\"name\", () => agent)` looks it up later"
        : ". Make both in one module"
    }`
) {}

/** Returns its argument, or throws if that is `undefined`: the value of an import may not be there yet, whatever its type says. */
export const given = <A>(agent: A, to: string): A => {
  if (agent === undefined) throw new MissingAgent({ to })
  return agent
}

/** Throws if these can't be run in one environment, as far as that is known, and returns the check to make before they run. */
export const checkTogether = (selves: ReadonlyArray<Any>): () => void =>
  selves[0]?.[TypeId].interpreter.checkTogether(selves) ?? constVoid

/** Returns the surroundings in which a plan or a dialogue runs these: they know each other, and requests beside their runs are counted. */
export const together = (selves: ReadonlyArray<Any>): Surroundings =>
  selves[0]?.[TypeId].interpreter.together(selves) ?? identity

/** Returns what other agents get as the answer of a complete run: its output as JSON, or the last text if it has no output schema. */
export const said = (self: Any, state: AgentState): Schema.Json => self[TypeId].interpreter.said(self, state)

/** Runs what can hold a conversation, and returns its last state. */
export const run = <Name extends string, Output, E, R>(
  self: Runnable<Name, Output, E, R>,
  from: From
): Effect.Effect<AgentState, AgentError | E, R> =>
  // Interpreters run things without their types.
  self[TypeId].interpreter.run(self, from) as Effect.Effect<AgentState, AgentError | E, R>

/** Runs an agent or a group, and streams its events. The last event holds the last state. */
export const stream = <Name extends string, Output, E, R>(
  self: Runnable<Name, Output, E, R>,
  from: From
): Stream.Stream<AgentEvent, AgentError | E, R> =>
  // Interpreters run things without their types.
  self[TypeId].interpreter.stream(self, from) as Stream.Stream<AgentEvent, AgentError | E, R>
