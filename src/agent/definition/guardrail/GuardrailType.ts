/**
 * What a guardrail is, and what its type collects.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { Pipeable } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type { HandoffRequest } from "../../../domain/AgentStatus.ts"
import type { Stage } from "../../../domain/GuardrailStage.ts"
import type { UserPart } from "../../../domain/Part.ts"
import type { AgentState, Outcome } from "../../../domain/StateSchema.ts"
import type { Performer } from "../Performer.ts"
import type { Verdict } from "./Verdict.ts"

/** Marks a guardrail. */
export const TypeId = "~troupe/agent/Guardrail"

/**
 * The subject of a guardrail: `"text"`, which every stage has, or the value of one stage.
 *
 * @category models
 * @since 0.1.0
 */
export type Subject = "text" | Stage

/** The call that a guardrail judges: its id, its tool's name, its parameters as JSON, and its `outcome` once it has a result. */
export interface CheckedCall {
  readonly id: string
  readonly name: string
  readonly params: Schema.Json
  readonly outcome?: Outcome
}

/**
 * Where a guardrail is asked: at which stage of which agent, in which state. There is a `call` at `toolCall` and `toolResult`, and at
 * `handoff` if a model asked for the handoff.
 *
 * @category models
 * @since 0.1.0
 */
export interface Context {
  readonly stage: Stage
  readonly agent: string
  readonly state: AgentState
  readonly call?: CheckedCall
}

/** Where a guardrail on calls or results is asked. */
export interface CallContext extends Context {
  readonly call: CheckedCall
}

/** The value of each subject. */
export interface Values {
  readonly text: string
  readonly input: ReadonlyArray<UserPart>
  readonly output: unknown
  readonly toolCall: Schema.Json
  readonly toolResult: Schema.Json
  readonly handoff: Pick<HandoffRequest, "target" | "reason" | "context">
}

/** Where a guardrail of a subject is asked. */
export type ContextOf<On extends Subject> = On extends "toolCall" | "toolResult" ? CallContext : Context

/** Judges a value, at once or with an effect. */
export type Judge<E = never> = (
  value: never,
  context: never
) => Verdict<unknown> | Effect.Effect<Verdict<unknown>, E, unknown>

/** The internals of a guardrail, for interpreters. `judge` turns failures of the check into verdicts. */
export interface Internals {
  readonly performer: Performer
  readonly on: Subject
  readonly isParallel: boolean
  readonly judge: Judge
}

/**
 * A guardrail: it judges a value, and says whether the value may pass.
 *
 * `Value` is what it judges, `E` what its check may fail with, and `R` what the check needs. A run doesn't fail with `E`: if the check
 * fails, `onError` says whether the value is blocked or passes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Guardrail<out On extends Subject = "text", in Value = Values[On], out E = never, out R = never>
  extends Pipeable
{
  readonly [TypeId]: Internals & {
    readonly _On?: () => On
    readonly _Value?: (value: Value) => void
    readonly _E?: () => E
    readonly _R?: () => R
  }
  readonly name: string
}

/** Any guardrail for a stage with such values, without type parameters for failures and needs, so that they are inferred. */
export interface AnyAt<S extends Stage, Value> extends Pipeable {
  readonly [TypeId]:
    & Internals
    & (
      | { readonly _On?: () => "text"; readonly _Value?: (value: string) => void }
      | { readonly _On?: () => S; readonly _Value?: (value: Value) => void }
    )
  readonly name: string
}

/** Any guardrail. */
export interface Any extends Pipeable {
  readonly [TypeId]: Internals
  readonly name: string
}

/** What the checks of guardrails need. */
export type Services<G> = G extends Guardrail<infer _On, never, infer _E, infer R> ? R : never
/** What the check of a guardrail may fail with. */
export type Error<G> = G extends Guardrail<infer _On, never, infer E, infer _R> ? E : never

/** Returns the internals of a guardrail, for interpreters. */
export const internalsOf = (self: Any): Internals => self[TypeId]

/**
 * Checks whether something is a guardrail.
 *
 * @category guards
 * @since 0.1.0
 */
export const isGuardrail = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)
