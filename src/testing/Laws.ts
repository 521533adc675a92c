/**
 * Laws of every agent, group, mode, history and store, to check your own in a line.
 *
 * 1. The laws of runs use random models, which call whatever they are offered. Models that agents have themselves aren't asked.
 * 2. A failure is shrunk, and the error says which law was broken, what the models said, and what happened in the run.
 * 3. No test runner is needed: each law is an Effect that fails with `LawBroken`.
 * 4. Handlers must return the same for the same parameters, and their shared state must be in the `layer`, which is built again for every
 *    run. The clock doesn't advance during a run. Nobody waits for the delays of `retry` schedules, but sleeps take their real time,
 *    also under a `TestClock`.
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
 * Options of the laws of runs, beside those of all laws.
 *
 * **Details**
 *
 * - `layer` has everything that a run needs besides a model, such as handlers. It may be left out if nothing is needed.
 * - `input` is what the user says, or a list to choose from; `"What is it?"` by default.
 * - `texts` are what models say; by default two short texts and an empty one.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunOptions<R> extends Options {
  readonly layer: Layer.Layer<Exclude<R, LanguageModel.LanguageModel>, unknown, LanguageModel.LanguageModel>
  readonly input?: string | readonly [string, ...Array<string>]
  readonly texts?: readonly [string, ...Array<string>]
}

/** The options may be left out if a run needs only a model. */
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
 * - States are legal, survive JSON, and make only moves that `AgentStatus.moves` lists.
 * - Events fit the state, each start has its end, and stored events lead to the same state. Usage adds up, and nothing dies.
 * - A streamed run ends in the same state and sends its models the same requests.
 * - A run that is continued from any of its states ends in the same state. States around an answer that isn't in the conversation, for
 *   example because a guardrail blocked it or it broke off, are left out. If called agents work in parallel and a limit is met, a continued
 *   run may end differently.
 * - An interruption anywhere leaves a legal state.
 * - Calls that await approval are approved, denied or left, and awaited results are given, given as failures or left. Runs that continue
 *   from there keep the laws too.
 *
 * Fails with `LawBroken` at the first law that is broken.
 *
 * @category laws
 * @since 0.1.0
 */
export const agent = <Name extends string, Output, E, R>(
  self: Agent.Runnable<Name, Output, E, R>,
  ...[options]: RunArgs<R>
): Effect.Effect<void, LawBroken> => runs(`Agent "${self.name}"`, self, options)

/**
 * Checks the laws of runs on a group, as `agent` does. Fails with `LawBroken`.
 *
 * @category laws
 * @since 0.1.0
 */
export const group = <Name extends string, Output, E, R>(
  self: Agent.Runnable<Name, Output, E, R>,
  ...[options]: RunArgs<R>
): Effect.Effect<void, LawBroken> => runs(`Group "${self.name}"`, self, options)

/**
 * Checks the laws of runs, as `agent` does, on an agent that has only this mode, which the model enters and leaves, even if the mode isn't
 * invokable. Fails with `LawBroken`.
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
 * Options of the laws of a guardrail, beside those of all laws.
 *
 * **Details**
 *
 * - `layer` has the services that the guardrail's check needs. It may be left out if there are none.
 * - `output` is the schema of the answers that a guardrail on `output` checks. It may be left out if they are texts.
 * - `texts` are tried beside random ones, and said in the runs; by default two short texts and an empty one. Add texts that the guardrail
 *   looks for.
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
 * The same value has the same verdict each time, and the verdict fits its stage. The guardrail passes its own replacements. The check
 * doesn't change the value and throws nothing; if it fails, its verdict is the one that `onError` says. An agent that has the guardrail at
 * each stage that it fits keeps the laws of runs. Fails with `LawBroken`, also if the layer can't be built.
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
 * legal, storable, the same each time, and a prompt that providers accept; its argument must stay unchanged. It may fail, and may return
 * an empty conversation, but must not throw. `layer` has the services that it needs. Fails with `LawBroken`, or as the layer does.
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
 * before. A session doesn't overwrite a change that it hasn't seen. Fails with `LawBroken`, or as the layer does.
 *
 * The check writes and removes the id `troupe/laws` and keys that begin with it, and reads ids that a store may confuse with it, such as
 * `troupe/LAWS`. It doesn't check sessions in several processes: no `KeyValueStore` can make those wait for each other.
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
