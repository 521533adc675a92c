/**
 * A requested move from mode to mode. It is carried out before the next request to the model.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Count } from "./Count.ts"
import { textNamed } from "./InvalidName.ts"
import * as JsonValue from "./JsonValue.ts"

const target = { name: Schema.NonEmptyString, params: Schema.optionalKey(Schema.Json) }

/**
 * Schema for a move from mode to mode.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ModeTransition = Schema.TaggedUnion({ Switch: target, Push: target, Exit: {}, Stay: {} })

/**
 * A move from mode to mode: replace the mode on top, enter another above it, leave it, or stay.
 *
 * @category models
 * @since 0.1.0
 */
export type ModeTransition = typeof ModeTransition.Type

const to = <Tag extends "Switch" | "Push">(_tag: Tag) => (name: string, params?: Schema.Json) =>
  ({
    _tag,
    name: textNamed("mode", name),
    ...(params === undefined ? undefined : { params: JsonValue.fromUnknown(params) })
  }) as const

/**
 * Leaves the mode on top, if one is entered, and enters another. `params` are JSON, as a model would write them; none by default.
 *
 * @category constructors
 * @since 0.1.0
 */
const switch_: (name: string, params?: Schema.Json) => ModeTransition = to("Switch")
export { switch_ as switch }

/**
 * Keeps the mode on top and enters another above it. `params` are JSON, as a model would write them; none by default.
 *
 * @category constructors
 * @since 0.1.0
 */
export const push: (name: string, params?: Schema.Json) => ModeTransition = to("Push")

/**
 * Leaves the mode on top. If none is entered, `Mode.schedule` fails with `NoMode`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const exit: ModeTransition = Object.freeze({ _tag: "Exit" })

/**
 * Changes nothing, and withdraws an earlier request.
 *
 * @category constructors
 * @since 0.1.0
 */
export const stay: ModeTransition = Object.freeze({ _tag: "Stay" })

/**
 * Returns a move that a program made, as a copy with JSON parameters and nothing that isn't a move's, or `undefined` if it isn't a move.
 */
export const read = (given: unknown): ModeTransition | undefined => {
  if (!Predicate.hasProperty(given, "_tag")) return undefined
  switch (given._tag) {
    case "Stay":
      return stay
    case "Exit":
      return exit
    case "Switch":
    case "Push": {
      const { _tag, name, params }: { readonly _tag: "Switch" | "Push"; name?: unknown; params?: unknown } =
        given as never
      return Predicate.isString(name) ? to(_tag)(name, params as Schema.Json) : undefined
    }
    default:
      return undefined
  }
}

/**
 * Schema for a move that is to be carried out.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Pending = Schema.Struct({
  to: Schema.optionalKey(Count),
  enter: Schema.optionalKey(Schema.Struct(target))
})

/**
 * A move that is to be carried out: modes are left until only `to` remain, and then `enter` is entered, if present. Without `to` no mode is
 * left, and `enter` goes on top of the stack as it is then.
 */
export interface Pending extends Schema.Schema.Type<typeof Pending> {}

/** Returns what a requested move requires when `height` modes are entered. It is `undefined` for `Stay`. */
export const pending = (self: ModeTransition, height: number): Pending | undefined => {
  switch (self._tag) {
    case "Stay":
      return undefined
    case "Exit":
      return { to: Math.max(0, height - 1) }
    case "Switch":
    case "Push": {
      const { _tag, ...enter } = self
      return _tag === "Push" ? { enter } : { to: Math.max(0, height - 1), enter }
    }
  }
}
