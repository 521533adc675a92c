/**
 * The definition of a mode, and what its type collects from it.
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
 * How a mode is entered. With `isResumed` it was entered before, in a stored state or in an earlier run, and now only its resources are set
 * up again.
 */
export interface Entry {
  readonly isResumed: boolean
}

/** The definition of a mode, as a run uses it. */
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
 * A mode: `Params` are its parameters, `E` is what entering or leaving it may fail with, `R` what that needs, and `Recovered` what
 * `Mode.within` returns if the mode recovers from a failure.
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

/** Any mode, without type parameters, so that they are inferred from the mode itself. */
export interface Any {
  readonly [TypeId]: { readonly definition: Definition }
  readonly name: string
}

/** What entering or leaving a mode may fail with. */
export type Error<M> = M extends Mode<infer _Name, infer _Params, infer E, infer _R, infer _Recovered> ? E : never

/** What entering and leaving a mode needs. */
export type Services<M> = M extends Mode<infer _Name, infer _Params, infer _E, infer R, infer _Recovered> ? R : never

/** Returns the definition of a mode. */
export const definitionOf = (mode: Any): Definition => mode[TypeId].definition

/**
 * Checks whether something is a mode.
 *
 * @category guards
 * @since 0.1.0
 */
export const isMode = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/**
 * Options of a mode; everything but `enter` is optional.
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
  /** The set-up, in a scope that is closed when the mode is left: its finalizers run then, after `exit`. */
  readonly enter: (
    params: Schema.Struct<Params>["Type"],
    entry: Entry
  ) => Effect.Effect<unknown, EnterE, EnterR>
  /**
   * The clean-up, which runs before the finalizers; none by default. It gets the `Exit` of the effect, scope or run whose end leaves the
   * mode, or a success if `session.exitMode`, a move or a handoff leaves it.
   *
   * It may return a move. `stay` and `push` keep the mode if `session.exitMode` or a move leaves it; otherwise the mode can't stay, and
   * `push` is like `switch`. A move that isn't possible is a failure of the clean-up.
   */
  readonly exit?:
    | ((exit: Exit.Exit<unknown, unknown>) => Effect.Effect<ModeTransition | void, ExitE, ExitR>)
    | undefined
  /**
   * What `Mode.within` returns if its effect failed; by default it fails too. The `Cause` may be a defect or an interruption. The mode is
   * cleaned up too, and if that fails, so does `Mode.within`.
   */
  readonly recover?: ((cause: Cause.Cause<unknown>) => Effect.Effect<Recovered, RecoverE, RecoverR>) | undefined
  /** How isolated the mode is; `"none"` by default. */
  readonly isolation?: Isolation | undefined
  /** The schema of the mode's parameters; no parameters by default. */
  readonly params?: Schema.Struct<Params> | undefined
  /** Tools that are offered while the mode is entered; none by default. */
  readonly toolkit?: Kit | undefined
  /** Names of the tools from outside the mode that are still offered in it; all by default. A name without a tool is ignored. */
  readonly tools?: ReadonlyArray<string> | undefined
  /**
   * The model that is asked in the mode: a Layer, or an `ExecutionPlan` whose steps are models to fall back on. By default it is the model
   * that is asked outside of the mode.
   */
  readonly model?: Model | undefined
  /** Whether the agent's model can enter the mode by a tool; it can't by default. */
  readonly invokable?: boolean | undefined
  /** The name of the tool that enters the mode; `enter_<name>_mode` by default, with `_` for spaces and signs in the name. */
  readonly toolName?: string | undefined
  /** What the mode is for, in words for the model: in the tool that enters it, and in its system prompt. There are none by default. */
  readonly description?: string | undefined
  /** How the model's call enters the mode: `"push"`, the default, above the mode on top; `"switch"` in place of the mode on top. */
  readonly invocation?: "push" | "switch" | undefined
  /**
   * What entering the mode does if it is already on top: `"push"` enters it again above itself, `"stay"` changes nothing; `"push"` by
   * default.
   */
  readonly whenOnTop?: "push" | "stay" | undefined
}

/** What the toolkit of a mode needs. */
export type KitServices<Kit> = ToolServices<Kit>

/** A toolkit without tools. */
export type NoToolkit = Toolkit.Toolkit<{}>
