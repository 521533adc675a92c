/**
 * What a picker is: a function from a request to the name of an agent.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { Pipeable } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import type { AgentStatus } from "../../domain/AgentStatus.ts"
import { prototypeOf } from "../../domain/Shown.ts"
import type { Conversation } from "../../domain/StateSchema.ts"

const TypeId = "~troupe/handoff/AgentPicker"

/**
 * Picks the agent that begins a run: `Names` are the names that it may return, `E` is what picking may fail with, and `R` what it needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface AgentPicker<out Names extends string, out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: Internals<Names, E, R>
}

interface Internals<out Names extends string, out E, out R> {
  readonly names: ReadonlyArray<string>
  readonly pick: (request: PickRequest) => Effect.Effect<Names, E, R>
}

/** Any picker. */
export type Any = AgentPicker<string, unknown, unknown>

/** The names that a picker may return. */
export type Names<Picker> = Picker extends AgentPicker<infer Names, unknown, unknown> ? Names : never
/** What picking may fail with. */
export type Error<Picker> = Picker extends AgentPicker<string, infer E, unknown> ? E : never
/** What picking needs. */
export type Services<Picker> = Picker extends AgentPicker<string, unknown, infer R> ? R : never

/**
 * What a picker decides by.
 *
 * @category models
 * @since 0.1.0
 */
export interface PickRequest {
  /** The conversation, with the user's new words last. */
  readonly conversation: Conversation
  /** The text of the user's new words. */
  readonly text: string
  /** How the last run ended; `undefined` in a new conversation. */
  readonly lastStatus: AgentStatus | undefined
  /** Who was in control at the end of the last run; `undefined` in a new conversation. */
  readonly lastAgent: string | undefined
  /** The agents to choose from. */
  readonly agents: ReadonlyArray<{ readonly name: string; readonly description: string | undefined }>
}

const Proto = prototypeOf((self: Any) => ({ _id: "AgentPicker", names: self[TypeId].names }))

/** Makes a picker with the names that it is known to return. */
export const fromNames = <Names extends string, E, R>(
  names: ReadonlyArray<string>,
  pick: (request: PickRequest) => Effect.Effect<Names, E, R>
): AgentPicker<Names, E, R> => {
  const internals: Internals<Names, E, R> = { names: [...new Set(names)], pick }
  return Object.assign(Object.create(Proto), { [TypeId]: internals })
}

/**
 * Checks whether something is a picker.
 *
 * @category guards
 * @since 0.1.0
 */
export const isAgentPicker = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/**
 * Returns the names that a picker is known to return; none for a picker of `make`, whose function may return any.
 *
 * @category getters
 * @since 0.1.0
 */
export const namesOf = (self: Any): ReadonlyArray<string> => self[TypeId].names

/**
 * Returns the name of the agent that begins, in an Effect that fails as the picker does.
 *
 * @category combinators
 * @since 0.1.0
 */
export const pick: {
  (request: PickRequest): <Names extends string, E, R>(self: AgentPicker<Names, E, R>) => Effect.Effect<Names, E, R>
  <Names extends string, E, R>(self: AgentPicker<Names, E, R>, request: PickRequest): Effect.Effect<Names, E, R>
} = dual(2, (self: AgentPicker<never>, request: PickRequest) => self[TypeId].pick(request))
