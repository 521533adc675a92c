/**
 * The type of a dialogue: its participants, and what a run may fail with and needs.
 *
 * @since 0.1.0
 */
import type { Pipeable } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import { prototypeOf } from "../../domain/Shown.ts"
import type * as Runnable from "../Runnable.ts"
import type { Candidate, Choice, Predicate as TranscriptPredicate } from "./Choice.ts"

const TypeId = "~troupe/handoff/Dialogue"

/**
 * A dialogue: `Name` is the union of its participants' names, `E` what the agents, the choice and `until` may fail with besides
 * `AgentError`, and `R` what all of them need.
 *
 * @category models
 * @since 0.1.0
 */
export interface Dialogue<out Name extends string, out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: Plays<E, R>
  /** Names and descriptions of the participants, in their order. */
  readonly participants: ReadonlyArray<Candidate<Name>>
}

/** The definition of a dialogue, and in its type what it may fail with and needs. */
interface Plays<out E, out R> {
  readonly definition: Definition
  readonly _E?: () => E
  readonly _R?: () => R
}

/** Any dialogue. */
export type Any = Dialogue<string, unknown, unknown>

/** What a dialogue consists of; `check` throws if its participants can't run together. */
export interface Definition {
  readonly participants: ReadonlyArray<Runnable.Any>
  readonly check: () => void
  readonly speaker: Choice<string, unknown, unknown>
  readonly until: TranscriptPredicate<unknown, unknown> | undefined
  readonly maxTurns: number
  readonly stopTool: string
}

const Proto = prototypeOf((self: Any) => ({ _id: "Dialogue", participants: self.participants.map(({ name }) => name) }))

/** Makes a dialogue from its definition. */
export const fromDefinition = <Name extends string, E, R>(definition: Definition): Dialogue<Name, E, R> =>
  Object.assign(Object.create(Proto), {
    [TypeId]: { definition },
    participants: definition.participants.map(({ description, name }) => ({ name, description }))
  })

/** Returns the definition of a dialogue. */
export const definitionOf = (self: Any): Definition => self[TypeId].definition

/**
 * Checks whether something is a dialogue.
 *
 * @category guards
 * @since 0.1.0
 */
export const isDialogue = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)
