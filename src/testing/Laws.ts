/**
 * Laws that hold of every agent, group, mode, history and store, to check one's own against in a line.
 *
 * 1. Each law runs with random models that call whatever they are offered. A model that an agent brings along is asked as it is.
 * 2. What breaks a law is shrunk, and the error says which law it was, what the models said, and what the run told.
 * 3. Nothing here knows a test runner: each law is an Effect that fails with `LawBroken`.
 * 4. Handlers have to give the same for the same parameters, and what they share has to be in the `layer`, which is built anew
 *    for every run. No time passes in a run by the clock.
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
import * as Arbitrary from "effect/Arbitrary"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Agent from "../agent/Agent.ts"
import { type AnyMode, invokable, type ModeServices } from "../agent/modes/ModeEntry.ts"
import * as Session from "../agent/Session.ts"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import * as AgentState from "../domain/AgentState.ts"
import * as Conversation from "../domain/Conversation.ts"
import * as ConversationArbitrary from "./ConversationArbitrary.ts"
import * as ConversationRules from "./ConversationRules.ts"
import { difference } from "./laws/Difference.ts"
import { problems } from "./laws/Legality.ts"
import { Plan } from "./laws/Plan.ts"
import { type Breach, breachOf, type Subject } from "./laws/RunLaws.ts"

export { imbalances } from "./laws/Balance.ts"
export { problems } from "./laws/Legality.ts"

/**
 * Error for a law that is broken.
 *
 * `script` is what the models said in the smallest run that breaks it, `events` what that run told, and `replay` makes a
 * check of the same subject begin with it.
 *
 * @category errors
 * @since 0.1.0
 */
export class LawBroken extends Schema.TaggedError<LawBroken>("troupe/testing/Laws/LawBroken")("LawBroken", {
  subject: Schema.String,
  law: Schema.String,
  issue: Schema.String,
  script: Schema.Array(Schema.String),
  events: Schema.Array(Schema.String),
  replay: Schema.String
}) {
  override get message(): string {
    const list = (title: string, lines: ReadonlyArray<string>) =>
      lines.length === 0 ? [] : [title, ...lines.map((line, index) => `  ${index + 1}. ${line}`)]
    return [
      `${this.subject} breaks a law: ${this.law}`,
      `  ${this.issue}`,
      ...list("What the models said:", this.script),
      ...list("What happened:", this.events),
      `Replay: ${this.replay}`
    ].join("\n")
  }
}

/**
 * How a law is checked: how many random `runs` there are, 25 by default, from which `seed`, or the `replay` of a failure.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly runs?: number
  readonly seed?: string | number
  readonly replay?: string
}

/** Gives what a random value breaks, or nothing. */
type Find<A> = (value: A) => Effect.Effect<Breach | undefined>

const said = (event: AgentEvent): ReadonlyArray<string> => {
  const who = event.path.join("/")
  if (event._tag === "ModelCallFailed") return [`${who} fails: ${event.tag}`]
  if (event._tag !== "ModelResponded") return []
  return [[
    who,
    ...event.parts.flatMap((part) =>
      part._tag === "Text" && part.text !== ""
        ? [`says ${JSON.stringify(part.text)}`]
        : part._tag === "Call"
        ? [`calls ${part.name} ${JSON.stringify(part.params)}`]
        : []
    )
  ].join(" ")]
}

const told = (event: AgentEvent): ReadonlyArray<string> =>
  event._tag.endsWith("Delta")
    ? []
    : ["callId" in event ? `${event._tag} of "${event.callId}"` : event._tag]

const check = <A>(
  subject: string,
  arbitrary: Arbitrary.Arbitrary<A>,
  find: Find<A>,
  { replay, runs = 25, seed }: Options
): Effect.Effect<void, LawBroken> =>
  Effect.flatMap(
    Arbitrary.checkEffect(
      arbitrary,
      (value) =>
        Effect.flatMap(find(value), (breach) => breach === undefined ? Effect.succeed(true) : Effect.fail(breach)),
      {
        runs,
        ...(seed === undefined ? undefined : { seed }),
        ...(replay === undefined ? undefined : { replay })
      }
    ),
    (result) => {
      if (result._tag === "Passed") return Effect.void
      const breach: Breach = result._tag === "Falsified" && result.failure._tag !== "ReturnedFalse"
        ? result.failure.error
        : { law: "the check comes to its end", issue: result._tag, events: [] }
      return Effect.fail(
        new LawBroken({
          subject,
          law: breach.law,
          issue: breach.issue,
          script: breach.events.flatMap(said),
          events: breach.events.flatMap(told),
          replay: result._tag === "Falsified" ? result.replay : ""
        })
      )
    }
  )

/**
 * How the laws of runs are checked: `layer` has all that a run needs beside a model, and `input` is what the user says.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunOptions<R, LE> extends Options {
  readonly layer: Layer.Layer<Exclude<R, LanguageModel.LanguageModel>, LE, LanguageModel.LanguageModel>
  readonly input?: string
}

/** The options of what needs a model alone may be left out. */
type RunArgs<R, LE> = [Exclude<R, LanguageModel.LanguageModel>] extends [never] ? [options?: Partial<RunOptions<R, LE>>]
  : [options: RunOptions<R, LE>]

const plans = Arbitrary.schema(Plan)

const nothing = Layer.empty as Layer.Layer<unknown>

const runs = (
  what: string,
  runnable: Agent.Runnable<string, unknown, unknown, unknown>,
  { input = "What is it?", layer, ...options }: Options & Partial<Omit<Subject, "runnable">>
): Effect.Effect<void, LawBroken> =>
  check(what, plans, (plan) => breachOf({ runnable, layer: layer ?? nothing, input }, plan), options)

/**
 * Checks the laws of runs on an agent.
 *
 * Its states are legal and survive JSON; its events are balanced, and give the same state when they are stored; usage adds up; a
 * run is the same streamed, and goes on from each of its states as if it had never stopped; an interruption anywhere leaves a legal
 * state. Going on isn't checked of a run that a tool ended.
 *
 * @category laws
 * @since 0.1.0
 */
export const agent = <Name extends string, Output, E, R, LE = never>(
  self: Agent.Runnable<Name, Output, E, R>,
  ...[options]: RunArgs<R, LE>
): Effect.Effect<void, LawBroken> => runs(`Agent "${self.name}"`, self, (options ?? {}) as Options)

/**
 * Checks the laws of runs on a group.
 *
 * @category laws
 * @since 0.1.0
 */
export const group = <Name extends string, Output, E, R, LE = never>(
  self: Agent.Runnable<Name, Output, E, R>,
  ...[options]: RunArgs<R, LE>
): Effect.Effect<void, LawBroken> => runs(`Group "${self.name}"`, self, (options ?? {}) as Options)

/**
 * Checks the laws of runs on an agent that has nothing but a mode, which the model enters and leaves, invokable or not.
 *
 * @category laws
 * @since 0.1.0
 */
export const mode = <M extends AnyMode, LE = never>(
  self: M,
  ...[options]: RunArgs<ModeServices<M>, LE>
): Effect.Effect<void, LawBroken> =>
  runs(`Mode "${self.name}"`, Agent.make("agent", { modes: [invokable(self)] }) as never, (options ?? {}) as Options)

type Change<E> = (conversation: Conversation.Conversation) => Effect.Effect<Conversation.Conversation, E>

const historyBreach = <E>(change: Change<E>): Find<Conversation.Conversation> =>
  Effect.fnUntraced(function*(conversation) {
    const breach = (law: string, issue: string): Breach => ({ law, issue, events: [] })
    const exit = yield* Effect.exit(change(conversation))
    if (Exit.isFailure(exit)) {
      return Cause.hasDies(exit.cause)
        ? breach("a history changes nothing that it is given, and throws nothing", String(Cause.squash(exit.cause)))
        : undefined
    }
    const changed = exit.value
    const [problem] = problems(changed)
    if (problem !== undefined) return breach("what crosses is legal", problem)
    const again = yield* Effect.exit(change(conversation))
    const found = Exit.isSuccess(again) ? difference(again.value, changed) : String(again.cause)
    if (found !== undefined) return breach("the same crosses each time", found)
    const prompt = Result.getOrUndefined(Conversation.toPrompt(changed))
    if (prompt === undefined || prompt.content.length === 0) return undefined
    const broken = ConversationRules.check(prompt, { isHandedOver: true })
    return broken.length === 0 ? undefined : breach("what crosses is a prompt", ConversationRules.format(broken))
  })

/**
 * Checks the laws of what changes a conversation on its way: a history of a handoff, or a summary.
 *
 * What it gives is legal, the same each time, and a prompt that a provider takes; what it is given stays as it was. It may fail, and
 * it may give nothing at all.
 *
 * @category laws
 * @since 0.1.0
 */
export const history = <E, R = never, LE = never>(
  change: (conversation: Conversation.Conversation) => Effect.Effect<Conversation.Conversation, E, R>,
  options: Options & { readonly layer?: Layer.Layer<NoInfer<R>, LE> } = {}
): Effect.Effect<void, LawBroken | LE> =>
  Effect.scoped(Effect.flatMap(
    Layer.build((options.layer ?? Layer.empty) as Layer.Layer<R, LE>),
    (services) =>
      check(
        "The history",
        ConversationArbitrary.conversation({ minTurns: 1, open: false }),
        historyBreach((conversation) => Effect.provideContext(change(conversation), services)),
        options
      )
  ))

const storeId = "troupe/laws"

const storeBreach: (
  state: AgentState.AgentState
) => Effect.Effect<Breach | undefined, never, KeyValueStore.KeyValueStore> = Effect.fnUntraced(function*(state) {
  const breach = (law: string, issue: string): Breach => ({ law, issue, events: [] })
  const store = Session.store(storeId)
  const program = Effect.gen(function*() {
    yield* Session.remove(storeId)
    const [one, other] = [yield* store.open, yield* store.open]
    if (one.restored !== undefined) return breach("what is removed is gone", "a state is there")
    yield* one.save(state)
    const { restored } = yield* store.open
    const read = Result.getOrThrow(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(state)))))
    const found = difference(restored, read)
    if (found !== undefined) return breach("what is saved is restored", found)
    const late = yield* Effect.exit(other.save(AgentState.make("another")))
    if (Exit.isSuccess(late)) return breach("nothing is overwritten that a session hasn't seen", "it was")
    yield* one.save(AgentState.log(state, "again"))
    yield* Session.remove(storeId)
    return undefined
  })
  const exit = yield* Effect.exit(Effect.scoped(program))
  return Exit.isSuccess(exit) ? exit.value : breach("a store works", String(Cause.squash(exit.cause)))
})

/**
 * Checks the laws of a store of sessions, given the `KeyValueStore` that it is kept in.
 *
 * What is saved is restored, what is removed is gone, and a session doesn't overwrite what it hasn't seen. The id `troupe/laws` is
 * used and removed.
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
      (state) => Effect.provideContext(storeBreach(state), services),
      options
    )))
