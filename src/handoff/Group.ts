/**
 * Several agents that hold one conversation: who starts, and how they collaborate.
 *
 * The agents' own handoffs apply besides the group's policy. A group is a value without state: it serves any number of conversations at
 * once, and everything that runs an agent runs a group. When a conversation continues, the agent last in control answers, unless
 * the run is given `control: "first"`, for example by `Agent.continueConversation` or `session.call`.
 *
 * **Example** (A desk)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentPicker, AgentState, Group, HandoffPolicy } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const desk = Group.make({ triage: Agent.make("triage"), billing: Agent.make("billing") }, {
 *   start: AgentPicker.match([[/invoice/i, "billing"]], "triage"),
 *   policy: HandoffPolicy.explicit("billing", { reason: "Questions about money" })
 * })
 *
 * const program = Effect.gen(function*() {
 *   const picked = yield* Agent.run(desk, "My invoice is wrong")
 *   const handed = yield* Agent.run(desk, "I paid twice")
 *   return [picked.trail, handed.trail, AgentState.text(handed)]
 * }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
 *   triage: MockModel.queue(MockResponse.toolCall("handoff_to_billing", {})),
 *   billing: MockModel.queue("I'll correct it.", "You'll have it back.")
 * }))))
 *
 * await Effect.runPromise(program) // => [["billing"], ["triage", "billing"], "You'll have it back."]
 * ```
 *
 * @since 0.1.0
 */
import type { Pipeable } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { ReadOutput } from "../domain/AgentOutput.ts"
import { type ReadCall, ReadParams } from "../domain/CallParams.ts"
import { listOf } from "../domain/Described.ts"
import { ErrorClass } from "../domain/ErrorClass.ts"
import { countOf } from "../domain/InvalidLimit.ts"
import { prototypeOf } from "../domain/Shown.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import * as AgentPicker from "./picker/Picker.ts"
import * as HandoffPolicy from "./policy/Policy.ts"
import * as Runnable from "./Runnable.ts"

export { InvalidLimit } from "../domain/InvalidLimit.ts"

const TypeId = "~troupe/handoff/Group"

/** Agents by their names. */
export type Members = Readonly<Record<string, Runnable.AnyMember>>

/**
 * A group: `Agents` are its members by name, `Output` what their answers decode to, `E` what a run may fail with besides `AgentError`, and
 * `R` what a run needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Group<out Agents extends Members, out Output = string, out E = never, out R = never>
  extends Runnable.Runnable<string, Output, E, R>, Pipeable
{
  readonly [TypeId]: Internals
  readonly agents: Agents
}

interface Internals {
  readonly start: string
  readonly picker: AgentPicker.Any | undefined
  readonly policy: HandoffPolicy.Any | undefined
  readonly maxHandoffs: number
}

/** Any group. */
export type Any = Group<Members, unknown, unknown, unknown>

/** The names of a group's members. */
export type Names<G> = G extends { readonly agents: infer Agents } ? keyof Agents & string : never

type OutputOf<A> = A extends Runnable.Runnable<string, infer Output, unknown, unknown> ? Output : never
type ErrorOf<A> = A extends Runnable.Runnable<string, unknown, infer E, unknown> ? E : never
type ServicesOf<A> = A extends Runnable.Runnable<string, unknown, unknown, infer R> ? R : never

/**
 * Error for an invalid group: a start, a picker or a policy names an agent that isn't a member, or a handoff names an agent that no member
 * can reach.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownMember extends ErrorClass<UnknownMember>("troupe/handoff/Group")("UnknownMember", {
  group: Schema.String,
  member: Schema.String,
  available: Schema.Array(Schema.String)
}, ({ available, group, member }) => `Group "${group}" has no agent "${member}"; it has: ${listOf(available)}`) {}

/**
 * Error for an invalid group: an agent's key in the record isn't its name.
 *
 * @category errors
 * @since 0.1.0
 */
export class MisnamedMember extends ErrorClass<MisnamedMember>("troupe/handoff/Group")(
  "MisnamedMember",
  { group: Schema.String, key: Schema.String, name: Schema.String },
  ({ group, key, name }) => `Group "${group}" has the agent "${name}" under the key "${key}"; the key must be its name`
) {}

const Proto = prototypeOf((self: Any) => ({ _id: "Group", name: self.name, agents: Object.keys(self.agents) }))

/** Throws if a member is `undefined` or isn't under its own name, or if a group names an agent that it doesn't have. */
const checkNames = (group: string, agents: Members, named: ReadonlyArray<string>): void => {
  for (const [key, agent] of Object.entries(agents)) {
    const { name } = Runnable.given(agent, "Group.make")
    if (key !== name) throw new MisnamedMember({ group, key, name })
  }
  for (const member of named) {
    if (!Object.hasOwn(agents, member)) {
      throw new UnknownMember({ group, member, available: Object.keys(agents) })
    }
  }
}

/** A policy with a fixed sequence defines how often it hands over. */
const defaultLimit = (policy: HandoffPolicy.Any | undefined): number =>
  Math.max(10, policy === undefined ? 0 : HandoffPolicy.internalsOf(policy).handoffs)

/**
 * Makes a group of agents, each under its own name.
 *
 * Throws `UnknownMember`, `MisnamedMember`, `InvalidLimit` for an invalid `maxHandoffs`, `Handoff.MissingAgent` if a member is `undefined`,
 * and `Agent.DuplicateAgent`, `DuplicateHandoff`, `DuplicateTool` or `AmbiguousTool` if the members don't fit together. Throws
 * `Agent.InvalidParams` if a parameter of a policy's handoff can't be written as JSON.
 *
 * If a member, or an agent that it can reach, uses `Handoff.suspend`, its target and the names in handoffs are checked later. Then an agent
 * that doesn't fit is a defect of the first run, and a handoff to an unknown name fails its run with `HandoffTargetNotFound`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Agents extends Members, PickE = never, PickR = never, PolicyE = never, PolicyR = never>(
  agents: Agents & { readonly [Name in keyof Agents]: { readonly name: Name } },
  options: {
    /** The agent that begins, or a picker that chooses it. */
    readonly start: (keyof Agents & string) | AgentPicker.AgentPicker<keyof Agents & string, PickE, PickR>
    /** How the agents collaborate besides their own handoffs; by default the first answer ends the run. */
    readonly policy?: HandoffPolicy.HandoffPolicy<keyof Agents & string, PolicyE, PolicyR> | undefined
    /**
     * How many handoffs a run may have: a whole number from 0 on, or `Infinity`; 10 by default, or more if a sequence of the policy needs
     * more. One more fails the run with `HandoffLimitReached`.
     */
    readonly maxHandoffs?: number | undefined
    /** The group's name as a tool and in a plan; `"group"` by default. */
    readonly name?: string | undefined
    /** What the group is for, in words for models; none by default. */
    readonly description?: string | undefined
  }
): Group<
  Agents,
  OutputOf<Agents[keyof Agents]>,
  ErrorOf<Agents[keyof Agents]> | PickE | PolicyE,
  ServicesOf<Agents[keyof Agents]> | PickR | PolicyR
> => {
  const name = options.name ?? "group"
  const members: Members = { ...agents }
  const { policy, start } = options
  const picker = typeof start === "string" ? undefined : start
  const first = typeof start === "string" ? start : Object.keys(members)[0] ?? ""
  checkNames(name, members, [
    first,
    ...(picker === undefined ? [] : AgentPicker.namesOf(picker)),
    ...(policy === undefined ? [] : HandoffPolicy.internalsOf(policy).names)
  ])
  const { interpreter } = members[first]![Runnable.TypeId]
  const group: Any = Object.assign(Object.create(Proto), {
    [TypeId]: {
      start: first,
      picker,
      policy,
      maxHandoffs: countOf("maxHandoffs", options.maxHandoffs ?? defaultLimit(policy), 0)
    },
    [Runnable.TypeId]: { interpreter, kind: "Group" },
    [ReadOutput]: (state: AgentState) => interpreter.read(group, state),
    [ReadParams]: ((...call) => interpreter.readParams(group, ...call)) satisfies ReadCall,
    name,
    description: options.description,
    agents: members
  })
  interpreter.check(group)
  // The types above say what the members answer, fail with and need.
  return group as never
}

/**
 * Checks whether something is a group.
 *
 * @category guards
 * @since 0.1.0
 */
export const isGroup = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/** Returns the internals of a group, for interpreters. */
export const internalsOf = (self: Any): Internals => self[TypeId]
