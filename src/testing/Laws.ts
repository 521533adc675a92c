/**
 * Laws of every agent, group, mode, history and store, to check your own in a line.
 *
 * 1. Each law runs with random models that call whatever they are offered. Models of the agents' own aren't asked.
 * 2. What breaks a law is shrunk, and the error says which law it was, what the models said, and what the run told.
 * 3. Nothing here knows a test runner: each law is an Effect that fails with `LawBroken`.
 * 4. Handlers must return the same for the same parameters, and their shared state must be in the `layer`, which is built again for every
 *    run. The clock doesn't advance during a run.
 *
 * **Example** (An agent that keeps all laws)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, Toolkit } from "effect/ai"
 * import { Agent } from "troupe"
 * import { Laws } from "troupe/testing"
 *
 * const Weather = Toolkit.make(
 *   Tool.make("get_weather", { parameters: Schema.Struct({ city: Schema.String }), success: Schema.Finite })
 * )
 * const assistant = Agent.make("assistant", { toolkit: Weather })
 * const layer = Weather.toLayer({ get_weather: ({ city }) => Effect.succeed(city.length) })
 *
 * await Effect.runPromise(Laws.agent(assistant, { layer, runs: 5 })) // => undefined
 * ```
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as KeyValueStore from "effect/persistence/KeyValueStore"
import type * as Schema from "effect/Schema"
import * as Agent from "../agent/Agent.ts"
import { type AnyMode, invokable, type ModeServices } from "../agent/definition/AgentModes.ts"
import type * as Guardrail from "../agent/Guardrail.ts"
import { type AnyHistory, crossingOf } from "../agent/perform/HandOver.ts"
import type { Conversation } from "../domain/StateSchema.ts"
import { defaultTexts } from "./arbitrary/Scripts.ts"
import * as ConversationArbitrary from "./ConversationArbitrary.ts"
import * as GuardrailLaws from "./laws/GuardrailLaws.ts"
import * as HistoryLaws from "./laws/HistoryLaws.ts"
import { check, type LawBroken, type Options } from "./laws/LawBroken.ts"
import * as Plan from "./laws/Plan.ts"
import * as RunLaws from "./laws/RunLaws.ts"
import * as StoreLaws from "./laws/StoreLaws.ts"

export { imbalances } from "./laws/Balance.ts"
export { LawBroken, type Options } from "./laws/LawBroken.ts"
export { problems } from "./laws/Legality.ts"
export { illegalMoves } from "./laws/Moves.ts"

/**
 * Options of the laws of runs: `layer` has everything that a run needs besides a model, `input` is what the user says, or a list to choose
 * from, and `texts` are what models say.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunOptions<R> extends Options {
  readonly layer: Layer.Layer<Exclude<R, LanguageModel.LanguageModel>, unknown, LanguageModel.LanguageModel>
  readonly input?: string | readonly [string, ...Array<string>]
  readonly texts?: readonly [string, ...Array<string>]
}

/** The options of what needs a model alone may be left out. */
type RunArgs<R> = [Exclude<R, LanguageModel.LanguageModel>] extends [never] ? [options?: Partial<RunOptions<R>>]
  : [options: RunOptions<R>]

interface AnyRunOptions extends Options, Pick<RunOptions<unknown>, "input" | "texts"> {
  readonly layer?: Layer.Layer<never, unknown, LanguageModel.LanguageModel>
}

const runs = (
  what: string,
  runnable: Agent.Runnable<string, unknown, unknown, unknown>,
  { input = "What is it?", layer = Layer.empty, texts = defaultTexts, ...options }: AnyRunOptions = {}
): Effect.Effect<void, LawBroken> =>
  check(
    what,
    Plan.plansOf(typeof input === "string" ? [input] : input, texts),
    (plan) => RunLaws.breachOf({ runnable, layer }, plan),
    options
  )

/**
 * Checks the laws of runs on an agent.
 *
 * States are legal, survive JSON, and make only moves that `AgentStatus.moves` lists. Events fit, are balanced, and lead to the same state
 * when they are stored. Usage adds up, and nothing dies. A streamed run is the same, sends its models the same requests, and continues from
 * each of its states as if it had never stopped. An interruption anywhere leaves a legal state. Calls that await approval are approved,
 * denied or left, awaited results are given or not, and runs that continue from there keep the laws too. A run that a tool ended isn't continued.
 *
 * @category laws
 * @since 0.1.0
 */
export const agent = <Name extends string, Output, E, R>(
  self: Agent.Runnable<Name, Output, E, R>,
  ...[options]: RunArgs<R>
): Effect.Effect<void, LawBroken> => runs(`Agent "${self.name}"`, self, options)

/**
 * Checks the laws of runs on a group.
 *
 * @category laws
 * @since 0.1.0
 */
export const group = <Name extends string, Output, E, R>(
  self: Agent.Runnable<Name, Output, E, R>,
  ...[options]: RunArgs<R>
): Effect.Effect<void, LawBroken> => runs(`Group "${self.name}"`, self, options)

/**
 * Checks the laws of runs on an agent that has only a mode, which the model enters and leaves, invokable or not.
 *
 * @category laws
 * @since 0.1.0
 */
export const mode = <M extends AnyMode>(
  self: M,
  ...[options]: RunArgs<ModeServices<M>>
): Effect.Effect<void, LawBroken> =>
  // The law runs agents without their types.
  runs(`Mode "${self.name}"`, Agent.make("agent", { modes: [invokable(self)] }) as never, options)

/**
 * How the laws of a guardrail are checked: `texts` are what it is tried with beside random ones, on its own and in what is said in
 * runs, `output` is the schema of the answers that it checks if they aren't texts, and `layer` has what its check needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface GuardrailOptions<Value, R> extends Options {
  readonly layer: Layer.Layer<R, unknown>
  readonly output: Schema.Codec<Value, unknown>
  readonly texts?: readonly [string, ...Array<string>]
}

/** The options that have to be given: what is needed, and the schema of answers that aren't texts. */
type GuardrailNeeds<On, Value, R> =
  | ([R] extends [never] ? never : "layer")
  | (On extends "output" ? string extends Value ? never : "output" : never)

type GuardrailArgs<Value, R, Needs extends keyof GuardrailOptions<Value, R>> = [Needs] extends [never]
  ? [options?: Partial<GuardrailOptions<Value, R>>]
  : [options: Partial<GuardrailOptions<Value, R>> & Pick<GuardrailOptions<Value, R>, Needs>]

/**
 * Checks the laws of a guardrail.
 *
 * The same value has the same verdict each time, which fits its stage; what it puts in the place of a value passes; what it is
 * given stays as it was. An agent with the guardrail, at each stage that it fits, keeps the laws of runs.
 *
 * @category laws
 * @since 0.1.0
 */
export const guardrail = <On extends Guardrail.Subject, Value, E, R>(
  self: Guardrail.Guardrail<On, Value, E, R>,
  ...[options]: GuardrailArgs<Value, R, GuardrailNeeds<On, Value, R>>
): Effect.Effect<void, LawBroken> => {
  const { layer = Layer.empty, output, texts = defaultTexts, ...rest } = options ?? {}
  const subject: GuardrailLaws.Subject = { self, layer, output, texts }
  return check(`Guardrail "${self.name}"`, GuardrailLaws.trialsOf(subject), GuardrailLaws.breachesOf(subject), rest)
}

/**
 * Checks the laws of a function that changes conversations: a history of a handoff, a transform of a policy, or a summary.
 *
 * `change` is a handoff's `history`, or a function of a conversation that returns another, directly or in an Effect. Its result must be
 * legal, the same each time, and a prompt that providers accept; its argument must stay unchanged. It may fail, and may return nothing.
 *
 * @category laws
 * @since 0.1.0
 */
export const history: {
  <E>(change: AnyHistory<E, never>, options?: Options): Effect.Effect<void, LawBroken>
  <E, R, LE>(
    change: AnyHistory<E, R>,
    options: Options & { readonly layer: Layer.Layer<NoInfer<R>, LE> }
  ): Effect.Effect<void, LawBroken | LE>
} = <E, R, LE>(
  change: AnyHistory<E, R>,
  { layer, ...options }: Options & { readonly layer?: Layer.Layer<R, LE> } = {}
): Effect.Effect<void, LawBroken | LE> => {
  const find = (services: Context.Context<R>) => (conversation: Conversation) =>
    HistoryLaws.breachOf((whole) => Effect.provideContext(crossingOf(change, whole), services), conversation)
  // Without a layer nothing is needed.
  const built = layer === undefined ? Effect.succeed(Context.empty() as Context.Context<R>) : Layer.build(layer)
  return Effect.scoped(Effect.flatMap(built, (services) =>
    check(
      "The history",
      ConversationArbitrary.conversation({ minTurns: 1, open: false }),
      find(services),
      options
    )))
}

/**
 * Checks the laws of a store of sessions, given the `KeyValueStore` that it is kept in.
 *
 * A saved state is restored, a removed one is gone, and each id has its own state. A reader during a save finds the new state or the one
 * before. A session doesn't overwrite what it hasn't seen. The id `troupe/laws` is used and removed, and ids like it are read. A store may
 * take its time: within a process sessions wait for each other, and between processes no `KeyValueStore` can.
 *
 * @category laws
 * @since 0.1.0
 */
export const store = <LE>(
  layer: Layer.Layer<KeyValueStore.KeyValueStore, LE>,
  options: Options = {}
): Effect.Effect<void, LawBroken | LE> =>
  Effect.scoped(Effect.flatMap(Layer.build(layer), (services) =>
    check(
      "The store",
      ConversationArbitrary.state({ maxTurns: 3, maxModes: 1 }),
      (state) => Effect.provideContext(StoreLaws.breachOf(state), services),
      options
    )))
