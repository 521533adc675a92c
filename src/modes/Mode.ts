/**
 * Modes: another prompt, tools, model and values for an agent, for a while.
 *
 * Entering a mode runs its set-up. Leaving it runs its clean-up and its finalizers, last in first out, and undoes its changes, as far as
 * its isolation says.
 *
 * | what | `none` | `config` | `thread` | `fork` |
 * |---|---|---|---|---|
 * | turns that the model sees inside | all | all | all, as a view that may be cut or edited | all, as a copy that may be cut or edited |
 * | new turns, after leaving | kept | kept | kept, after the restored originals | dropped, except what a run still needs |
 * | conversation settings changed inside | stay | restored | stay | restored |
 * | prompt segments that persist | stay | stay | stay | dropped |
 * | values | scoped | scoped | scoped | isolated: nothing is read from outside |
 *
 * **Example** (A mode around two calls)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, AgentState, Mode, Session, SystemPrompt } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const research = Mode.make("research", {
 *   params: Schema.Struct({ topic: Schema.String }),
 *   enter: ({ topic }) => SystemPrompt.append(`Research ${topic}, and cite every claim.`)
 * })
 * const assistant = Agent.make("assistant")
 *
 * const program = Effect.gen(function*() {
 *   const session = yield* Session.Session
 *   const state = yield* Mode.within(session.call("What is new?"), research, { topic: "quantum" })
 *   return AgentState.text(state)
 * }).pipe(
 *   Effect.provide(Session.layer(assistant)),
 *   Effect.provide(MockModel.layer(MockModel.make(({ system }) => system)))
 * )
 *
 * await Effect.runPromise(program) // => 'You are in mode "research".\n\nResearch quantum, and cite every claim.'
 * ```
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import type * as Scope from "effect/Scope"
import { ErrorClass } from "../domain/ErrorClass.ts"
import { named, toolNamed } from "../domain/InvalidName.ts"
import { levels } from "../domain/Isolation.ts"
import * as ToolName from "../domain/ToolName.ts"
import * as Wanted from "../domain/Wanted.ts"
import type { AnyModel, ModelError, ModelServices } from "./AnyModel.ts"
import type { AnyToolkit } from "./AnyToolkit.ts"
import { type Entered, type Host, type Restore, use, whatWasAdded } from "./Host.ts"
import type { ModeError } from "./ModeError.ts"
import {
  type Any,
  type Definition,
  isMode,
  type KitServices,
  type Mode,
  type NoToolkit,
  type Options,
  TypeId
} from "./ModeType.ts"

export * from "./CurrentMode.ts"
export { type CallError, type Enterable, Host } from "./Host.ts"
export {
  isModeError,
  LessIsolated,
  ModeError,
  NameTaken,
  NoConversation,
  NoMode,
  NotOnTop,
  NoView,
  ParamsRejected,
  Reason,
  StepUnderWay,
  TransitionCycle,
  Unavailable,
  UnknownMode,
  UnknownSetting
} from "./ModeError.ts"
export { type Any, type Entry, type Error, isMode, type Mode, type Options, type Services } from "./ModeType.ts"

type AnyOptions = Options<
  {},
  unknown,
  unknown,
  unknown,
  unknown,
  unknown,
  unknown,
  unknown,
  AnyToolkit,
  AnyModel
>

/** A struct without fields has a JSON schema that no provider accepts for a tool. */
const noParamsOfTool = Schema.Record(Schema.String, Schema.Never)

/** A struct without fields accepts any object as it is, so this drops the fields. */
const noParams = Schema.Struct({}).pipe(
  Schema.decodeTo(Schema.Struct({}), SchemaTransformation.transform({ decode: () => ({}), encode: () => ({}) }))
)

/**
 * Error for an invalid option of a mode: its `isolation`, `invocation` or `whenOnTop`.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidOption extends ErrorClass<InvalidOption>("troupe/modes/Mode")(
  "InvalidOption",
  { mode: Schema.String, option: Schema.String, value: Schema.Unknown, expected: Schema.Array(Schema.String) },
  ({ expected, mode, option, value }) =>
    `"${option}" of mode "${mode}" is "${String(value)}", not one of: ${expected.join(", ")}`
) {}

/** Returns the value of an option. Throws `InvalidOption` if it isn't one of the choices. */
const oneOf = <A extends string>(mode: string, option: string, value: A, expected: ReadonlyArray<A>): A => {
  if (expected.includes(value)) return value
  throw new InvalidOption({ mode, option, value, expected })
}

const fromOptions = (name: string, options: AnyOptions, isSingleShot: boolean): Any => {
  named("mode", name)
  const toolName = toolNamed(options.toolName ?? ToolName.from("enter_", name, "_mode"))
  const params = Object.keys(options.params?.fields ?? {}).length === 0 ? undefined : options.params
  return {
    [TypeId]: {
      definition: {
        name,
        description: options.description,
        isolation: oneOf(name, "isolation", options.isolation ?? "none", levels),
        params: Schema.toCodecJson(params ?? noParams),
        paramsOfTool: params ?? noParamsOfTool,
        enter: options.enter as Definition["enter"],
        exit: options.exit,
        recover: options.recover,
        toolkit: options.toolkit,
        tools: options.tools,
        model: options.model,
        isInvokable: options.invokable ?? false,
        toolName,
        invocation: oneOf(name, "invocation", options.invocation ?? "push", ["push", "switch"]),
        whenOnTop: oneOf(name, "whenOnTop", options.whenOnTop ?? "push", ["push", "stay"]),
        isSingleShot
      }
    },
    name
  }
}

/** What a mode needs, without what the program that enters it provides. */
type Needs<R> = Exclude<R, Scope.Scope | Host>

/**
 * Makes a mode.
 *
 * The set-up, the clean-up and the finalizers all run within the mode: its name is on the stack, its values and parameters can be read, and
 * they may talk to the agent by `Mode.call`. If the set-up fails, it is undone, and the mode counts as never entered.
 *
 * Throws `InvalidName` if the name is empty or providers would refuse the name of its tool, and `InvalidOption` for an invalid `isolation`,
 * `invocation` or `whenOnTop`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <
  const Name extends string,
  Params extends Schema.Struct.Fields = {},
  EnterE = never,
  EnterR = never,
  ExitE = never,
  ExitR = never,
  Recovered = never,
  RecoverE = never,
  RecoverR = never,
  Kit extends AnyToolkit = NoToolkit,
  Model extends AnyModel = never
>(
  name: Name,
  options: Options<Params, EnterE, EnterR, ExitE, ExitR, Recovered, RecoverE, RecoverR, Kit, Model>
): Mode<
  Name,
  Schema.Struct<Params>["Type"],
  EnterE | ExitE | RecoverE | ModelError<Model>,
  Needs<EnterR | ExitR | RecoverR> | KitServices<Kit> | ModelServices<Model>,
  Recovered
> =>
  // The types above say what the untyped implementation makes of the options.
  fromOptions(name, options as never, false) as never

/**
 * Makes a mode that is left as soon as it is set up, for its effects, such as a persistent prompt segment or a call. Throws `InvalidName`
 * if the name is empty.
 *
 * @category constructors
 * @since 0.1.0
 */
export const singleShot = <const Name extends string, E, R>(
  name: Name,
  effect: Effect.Effect<unknown, E, R>
): Mode<Name, {}, E, Needs<R>> =>
  // The types above say what the untyped implementation makes of the effect.
  fromOptions(name, { enter: () => effect }, true) as never

/** The parameters of a mode without parameters: an object without keys. */
interface NoParams {
  readonly [name: string]: never
}

type ParamsArgs<Params> = [keyof Params] extends [never] ? [params?: NoParams]
  : {} extends Params ? [params?: Params]
  : [params: Params]

/** Enters a mode in the current conversation, and runs something uninterruptible with it, except for the part that `restore` wraps. */
const entering = (
  operation: string,
  mode: Any,
  params: unknown,
  f: (entered: Entered, restore: Restore) => Effect.Effect<unknown, unknown, unknown>
): Effect.Effect<unknown, unknown, unknown> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.contextWith((context: Context.Context<never>) => {
      if (!isMode(mode)) throw Wanted.mustBe(`The mode of \`${operation}\``, mode, "made by `Mode.make`")
      return use(
        operation,
        (host) => Effect.flatMap(host.enter(mode, params ?? {}, context, restore), (entered) => f(entered, restore))
      )
    })
  )

/**
 * Enters a mode, which is left when the scope closes.
 *
 * Modes that were entered above it since are left first. A failing clean-up is a defect, as in any finalizer; use `Mode.within` for a typed
 * error. If the mode is on top already and has `whenOnTop: "stay"`, nothing is entered or left.
 *
 * Fails with the error of the set-up, or with a `ModeError` before anything runs: `ParamsRejected`, `LessIsolated`, `NameTaken`,
 * `StepUnderWay`, `TransitionCycle` or `Unavailable`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const enter = <Name extends string, Params, E, R, Recovered>(
  mode: Mode<Name, Params, E, R, Recovered>,
  ...[params]: ParamsArgs<NoInfer<Params>>
): Effect.Effect<void, E | ModeError, R | Host | Scope.Scope> =>
  entering(
    "Mode.enter",
    mode,
    params,
    (entered) =>
      Effect.addFinalizer((exit) => Effect.flatMap(entered.leave(exit, false), (left) => whatWasAdded(left, exit)))
  ) as Effect.Effect<void, E | ModeError, R | Host | Scope.Scope>

/**
 * Runs an effect in a mode, and returns its result.
 *
 * The mode is left however the effect ends. Its clean-up gets the `Exit`. If the clean-up fails too, both failures are in the `Cause`, the
 * effect's first. If the mode has a `recover`, its result replaces a failure of the effect.
 *
 * Fails with the errors of the effect, the set-up and the clean-up, and with a `ModeError` if the mode can't be entered, as `Mode.enter`
 * does.
 *
 * @category combinators
 * @since 0.1.0
 */
export const within: {
  <Name extends string, Params, E, R, Recovered>(
    mode: Mode<Name, Params, E, R, Recovered>,
    ...params: ParamsArgs<NoInfer<Params>>
  ): <A, EffectE, EffectR>(
    self: Effect.Effect<A, EffectE, EffectR>
  ) => Effect.Effect<A | Recovered, EffectE | E | ModeError, EffectR | R | Host>
  <A, EffectE, EffectR, Name extends string, Params, E, R, Recovered>(
    self: Effect.Effect<A, EffectE, EffectR>,
    mode: Mode<Name, Params, E, R, Recovered>,
    ...params: ParamsArgs<NoInfer<Params>>
  ): Effect.Effect<A | Recovered, EffectE | E | ModeError, EffectR | R | Host>
} = dual(
  (args) => !isMode(args[0]),
  (self: Effect.Effect<unknown, unknown, unknown>, mode: Any, params?: object) =>
    Effect.suspend(() => {
      const body = Wanted.effectGiven("What `Mode.within` runs", self)
      return entering(
        "Mode.within",
        mode,
        params,
        (entered, restore) =>
          Effect.flatten(Effect.flatMap(Effect.exit(restore(body)), (exit) => entered.leave(exit, true)))
      )
    })
) as never
