/**
 * The type of a handoff, with what a run may fail with and needs because of it, and its internals for interpreters.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import type { Pipeable } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { prototypeOf } from "../domain/Shown.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import * as Wanted from "../domain/Wanted.ts"
import type * as History from "./History.ts"
import type * as Runnable from "./Runnable.ts"

const TypeId = "~troupe/handoff/Handoff"

/**
 * Default parameters of a handoff: the reason, and anything that the target should know. The model may leave out both.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  reason: Schema.optionalKey(Schema.String.annotate({ description: "Why you hand over" })),
  context: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Json).annotate({ description: "What the other agent should know" })
  )
})

/** Default parameters of a handoff. */
export interface Parameters extends Schema.Schema.Type<typeof Parameters> {}

/**
 * A handoff: `Params` are the parameters that the model writes, `Output` what the target's answers decode to, `E` what a run may fail with
 * because of it, and `R` what a run needs for it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handoff<
  out Target extends string,
  out Params = Parameters,
  out Output = never,
  out E = never,
  out R = never,
  out ToolName extends string = `handoff_to_${Target}`
> extends Pipeable {
  readonly [TypeId]: Internals & Variance<Params, Output, E, R>
  readonly target: Target
  readonly toolName: ToolName
  readonly preserveContext: boolean
  readonly transferSystemMessage: boolean
}

/** The internals of a handoff, for interpreters. */
export interface Internals {
  readonly tool: Tool.Any
  readonly agent: (() => Runnable.Any) | undefined
  readonly isLazy: boolean
  readonly history: History.History<unknown, unknown>
  readonly when: ((state: AgentState) => boolean) | undefined
  readonly carryModes: boolean
  readonly decode: (params: Schema.Json) => Result.Result<unknown, Schema.SchemaError>
  readonly encode: (decoded: unknown) => Result.Result<Schema.Json, Schema.SchemaError>
  readonly isDefault: boolean
  /** Returns this handoff with a description of its target. It is `undefined` if the handoff has a description already. */
  readonly describedBy: ((description: string) => Any) | undefined
}

interface Variance<out Params, out Output, out E, out R> {
  readonly _Params?: () => Params
  readonly _Output?: () => Output
  readonly _E?: () => E
  readonly _R?: () => R
}

/** Any handoff. */
export type Any = Handoff<string, unknown, unknown, unknown, unknown, string>

/** Any handoff, without type parameters, so that they are inferred from the handoff itself. */
export interface AnyOffer {
  readonly [TypeId]: Internals
  readonly target: string
}

/** What the answers of the target of a handoff decode to. */
export type Output<H> = H extends Handoff<string, unknown, infer Output, unknown, unknown, string> ? Output : never
/** What a run may fail with because of a handoff. */
export type Error<H> = H extends Handoff<string, unknown, unknown, infer E, unknown, string> ? E : never
/** What a run needs for a handoff. */
export type Services<H> = H extends Handoff<string, unknown, unknown, unknown, infer R, string> ? R : never

const Proto = prototypeOf((self: Any) => ({ _id: "Handoff", target: self.target, toolName: self.toolName }))

/** Makes a handoff from its public fields and its internals. */
export const fromInternals = (
  shown: Pick<Any, "target" | "toolName" | "preserveContext" | "transferSystemMessage">,
  internals: Internals
): Any => Object.assign(Object.create(Proto), { [TypeId]: internals }, shown)

/**
 * Checks whether something is a handoff.
 *
 * @category guards
 * @since 0.1.0
 */
export const isHandoff = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/** Returns the internals of a handoff, for interpreters. */
export const internalsOf = (self: AnyOffer): Internals => self[TypeId]

/** Checks whether a handoff is offered in a state, by its `when`. */
export const isOfferedIn = (self: AnyOffer, state: AgentState): boolean => {
  const { when } = internalsOf(self)
  return when === undefined || Wanted.booleanAtOnce(`\`when\` of the handoff to "${self.target}"`, when(state))
}
