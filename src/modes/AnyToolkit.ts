/**
 * What a toolkit's type says about its tools: their handlers, services and errors.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import type * as Effect from "effect/Effect"

/** A toolkit whose handlers come from the environment, or one that has them. */
export type AnyToolkit = Toolkit.Any | AnyWithHandler

/** Any `Toolkit.WithHandler`, whose own type parameter is invariant. */
interface AnyWithHandler {
  readonly tools: Record<string, Tool.Any>
  readonly handle: (name: never, params: never, toolCallId?: string) => Effect.Effect<unknown, unknown, unknown>
}

type ToolsOf<T> = T extends Toolkit.Any ? Toolkit.Tools<T> : Toolkit.WithHandlerTools<T>

/** The tools of a toolkit. */
export type ToolOf<T> = Extract<ToolsOf<T>[keyof ToolsOf<T>], Tool.Any>

/** The handlers that a toolkit's tools need, one by one, so that a hover names each. */
type HandlersOf<T> = T extends Toolkit.Toolkit<infer Tools>
  ? { readonly [Name in keyof Tools]: Tool.HandlersFor<{ readonly [_ in Name]: Tools[Name] }> }[keyof Tools]
  : never

/** The handlers and services that a toolkit's tools need. They are inferred, so that a hover names them and not this type. */
export type ToolServices<T> = [HandlersOf<T> | Tool.HandlerServices<ToolOf<T>>] extends [
  infer R
] ? 0 extends 1 & R ? unknown : R :
  never

/** The error of a tool of some name. */
export type FailureOf<T, Name extends string> = Tool.Failure<Extract<ToolOf<T>, { readonly name: Name }>>
