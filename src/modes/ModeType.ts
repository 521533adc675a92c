/**
 * What a mode is made of, and what its type collects from it.
 *
 * @since 0.1.0
 */
import type * as Toolkit from "effect/ai/Toolkit"
import type * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type { Isolation } from "../domain/Isolation.ts"
import type { ModeTransition } from "../domain/ModeTransition.ts"
import type { AnyModel } from "./AnyModel.ts"
import type { AnyToolkit, ToolServices } from "./AnyToolkit.ts"

/** Marks a mode. */
export const TypeId = "~troupe/modes/Mode"

/**
 * How a mode is entered: `isResumed` where it was entered before, in a state that was stored since or in a run that ended,
 * and now only its resources are set up again.
 */
export interface Entry {
  readonly isResumed: boolean
}

/** What a mode is made of, as it is run. */
export interface Definition {
  readonly name: string
  readonly description: string | undefined
  readonly isolation: Isolation
  readonly params: Schema.Constraint
  readonly paramsOfTool: Schema.Constraint
  readonly enter: (params: unknown, entry: Entry) => Effect.Effect<unknown, unknown, unknown>
  readonly exit: ((exit: Exit.Exit<unknown, unknown>) => Effect.Effect<unknown, unknown, unknown>) | undefined
  readonly recover: ((cause: Cause.Cause<unknown>) => Effect.Effect<unknown, unknown, unknown>) | undefined
  readonly toolkit: AnyToolkit | undefined
  readonly tools: ReadonlyArray<string> | undefined
  readonly model: unknown
  readonly isInvokable: boolean
  readonly toolName: string
  readonly invocation: "push" | "switch"
  readonly whenOnTop: "push" | "stay"
  readonly isSingleShot: boolean
}

/**
 * A mode: `Params` are what it is entered with, `E` is what entering or leaving it may fail with, `R` what that needs, and
 * `Recovered` what `Mode.within` gives where the clean-up recovers from a failure.
 *
 * @category models
 * @since 0.1.0
 */
export interface Mode<out Name extends string, in Params = {}, out E = never, out R = never, out Recovered = never> {
  readonly [TypeId]: {
    readonly definition: Definition
    readonly _E?: () => E
    readonly _R?: () => R
    readonly _Recovered?: () => Recovered
    readonly _Params?: (params: Params) => void
  }
  readonly name: Name
}

/** Any mode, without what its type says, so that inference takes that from the mode. */
export interface Any {
  readonly [TypeId]: { readonly definition: Definition }
  readonly name: string
}

/** What entering or leaving a mode may fail with. */
export type Error<M> = M extends Mode<infer _Name, infer _Params, infer E, infer _R, infer _Recovered> ? E : never

/** What entering and leaving a mode needs. */
export type Services<M> = M extends Mode<infer _Name, infer _Params, infer _E, infer R, infer _Recovered> ? R : never

/** Gives the definition of a mode. */
export const definitionOf = (mode: Any): Definition => mode[TypeId].definition

/**
 * Checks whether something is a mode.
 *
 * @category guards
 * @since 0.1.0
 */
export const isMode = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/**
 * What a mode is made of; everything but `enter` is optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<
  Params extends Schema.Struct.Fields,
  EnterE,
  EnterR,
  ExitE,
  ExitR,
  Recovered,
  RecoverE,
  RecoverR,
  Kit extends AnyToolkit,
  Model extends AnyModel
> {
  /** The set-up, in a scope that is closed when the mode is left: its finalizers are part of the clean-up. */
  readonly enter: (
    params: Schema.Struct<Params>["Type"],
    entry: Entry
  ) => Effect.Effect<unknown, EnterE, EnterR>
  /**
   * The clean-up, before the finalizers. It is given how what ran in the mode ended, and may ask for a move: to `stay` and to
   * `push` keep the mode, unless what it was entered for is over.
   */
  readonly exit?:
    | ((exit: Exit.Exit<unknown, unknown>) => Effect.Effect<ModeTransition | void, ExitE, ExitR>)
    | undefined
  /** What `Mode.within` gives where what ran in the mode failed. The mode is cleaned up all the same. */
  readonly recover?: ((cause: Cause.Cause<unknown>) => Effect.Effect<Recovered, RecoverE, RecoverR>) | undefined
  /** How much the mode keeps to itself; `"none"` by default. */
  readonly isolation?: Isolation | undefined
  /** What the mode is entered with; nothing by default. */
  readonly params?: Schema.Struct<Params> | undefined
  /** Tools that are offered while the mode is entered. */
  readonly toolkit?: Kit | undefined
  /** Names of the tools from outside the mode that go on being offered in it; all by default. */
  readonly tools?: ReadonlyArray<string> | undefined
  /** The model that is asked in the mode: a Layer, or an `ExecutionPlan` whose steps are models to fall back on. */
  readonly model?: Model | undefined
  /** Whether the agent's model can enter the mode by a tool; it can't by default. */
  readonly invokable?: boolean | undefined
  /** The name of that tool; `enter_<name>_mode` by default. */
  readonly toolName?: string | undefined
  /** What the mode is for, in words for the model. */
  readonly description?: string | undefined
  /** Whether the model's call puts the mode on top of the others, or in the place of the one on top; `"push"` by default. */
  readonly invocation?: "push" | "switch" | undefined
  /**
   * What entering the mode does if it is on top already: `"push"` puts it there once more, `"stay"` changes nothing. `"push"` by
   * default.
   */
  readonly whenOnTop?: "push" | "stay" | undefined
}

/** What a toolkit of a mode needs. */
export type KitServices<Kit> = ToolServices<Kit>

/** A toolkit without tools. */
export type NoToolkit = Toolkit.Toolkit<{}>
