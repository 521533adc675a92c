/**
 * Random conversations, prompts, states and scripts for properties, each of which shrinks to something small.
 *
 * 1. Conversations and states are legal, and prompts keep the default policy of `ConversationRules`.
 * 2. Conversations, states and the messages of prompts are deeply frozen, apart from bytes, so that a property fails if something mutates
 *    them.
 * 3. Every field of the options has an effect, and may be left out.
 *
 * **Example** (A property of every conversation)
 *
 * ```ts
 * import { Arbitrary, Effect } from "effect"
 * import { Conversation } from "troupe"
 * import { ConversationArbitrary } from "troupe/testing"
 *
 * const conversations = ConversationArbitrary.conversation({ maxTurns: 5, tools: ["look"] })
 *
 * const result = await Effect.runPromise(
 *   Arbitrary.checkEffect(conversations, (conversation) => {
 *     const kept = Conversation.truncate(conversation, 2)
 *     return Conversation.count(kept) <= 2
 *   })
 * )
 *
 * result._tag // => "Passed"
 * ```
 *
 * **Example** (A prompt that breaks one rule)
 *
 * ```ts
 * import { Arbitrary, Effect } from "effect"
 * import { ConversationArbitrary, ConversationRules } from "troupe/testing"
 *
 * const broken = ConversationArbitrary.violating("MissingToolResponses")
 *
 * const [sample] = await Effect.runPromise(Arbitrary.sampleEffect(broken, { count: 1, seed: 1 }))
 *
 * ConversationRules.check(sample!.messages, sample!.policy).map(({ kind }) => kind) // => ["MissingToolResponses"]
 * ```
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import type * as Tool from "effect/ai/Tool"
import * as Arbitrary from "effect/Arbitrary"
import * as Conversation from "../domain/Conversation.ts"
import { hasWords } from "../domain/conversation/Sending.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import { deepFreeze, one, oneOf, plain } from "./arbitrary/Choice.ts"
import { type Script, scriptOf, type ScriptOptions } from "./arbitrary/Scripts.ts"
import { conversationOf, settledTurns, stateOf, type StateOptions } from "./arbitrary/States.ts"
import { type TurnOptions, turnsOf } from "./arbitrary/Turns.ts"
import { type Violating, violatingOf } from "./arbitrary/Violating.ts"
import type { Kind } from "./rules/Violation.ts"

export type { Script, ScriptOptions } from "./arbitrary/Scripts.ts"
export type { StateOptions } from "./arbitrary/States.ts"
export type { TurnOptions } from "./arbitrary/Turns.ts"
export type { Violating } from "./arbitrary/Violating.ts"

/**
 * Options of random conversations.
 *
 * **Details**
 *
 * - `open` says whether calls of the last assistant turn may be open, `true` by default.
 * - `depth` is how deep called agents may be nested in open calls, 1 by default; with 0 there are none.
 * - `TurnOptions` says what the other fields are.
 *
 * @category models
 * @since 0.1.0
 */
export interface ConversationOptions extends TurnOptions {
  readonly open?: boolean
  readonly depth?: number
}

/**
 * Options of random prompts. With `system: true` they begin with a system message, with `false` they don't; by default some do.
 *
 * `TurnOptions` says what the other fields are. Here `minTurns` is at least 1, which is its default.
 *
 * @category models
 * @since 0.1.0
 */
export interface PromptOptions extends Omit<TurnOptions, "anyOrder"> {
  readonly system?: boolean
}

/**
 * Random legal conversations: call ids are unique, and only calls of the last assistant turn may be open.
 *
 * @category arbitraries
 * @since 0.1.0
 */
export const conversation = (options: ConversationOptions = {}): Arbitrary.Arbitrary<Conversation.Conversation> =>
  options.open === false
    ? Arbitrary.map(turnsOf(options, undefined), (turns) => plain({ turns: settledTurns(turns, "") }))
    : Arbitrary.map(conversationOf(options, options.depth ?? 1), plain)

const systemMessage = Prompt.systemMessage({ content: "Be brief." })

/** Returns the part of a message that every provider accepts, if there is one. */
const taken = (message: Prompt.Message): ReadonlyArray<Prompt.Message> => {
  if (message.role !== "assistant") return [message]
  const content = message.content.filter((part) => part.type !== "text" || hasWords(part.text))
  return content.every(({ type }) => type === "reasoning") ? [] : [{ ...message, content }]
}

const messagesOf = (options: PromptOptions): Arbitrary.Arbitrary<ReadonlyArray<Prompt.Message>> => {
  const { system } = options
  const [none, some] = [one<ReadonlyArray<Prompt.Message>>([]), one<ReadonlyArray<Prompt.Message>>([systemMessage])]
  return Arbitrary.map(
    Arbitrary.all({
      before: system === undefined ? oneOf(none, some) : system ? some : none,
      turns: turnsOf({ ...options, minTurns: Math.max(1, options.minTurns ?? 1) }, undefined)
    }),
    ({ before, turns }) =>
      deepFreeze([
        ...before,
        ...Conversation.beginWithUser(plain(settledTurns(turns, "")).flatMap(Conversation.toMessages).flatMap(taken))
      ])
  )
}

/**
 * Random prompts as agents send them: all calls have their results, and a user speaks first. Any provider accepts them: they have no texts
 * without words and no answers of reasoning alone, which only some providers accept.
 *
 * @category arbitraries
 * @since 0.1.0
 */
export const prompt = (options: PromptOptions = {}): Arbitrary.Arbitrary<Prompt.Prompt> =>
  Arbitrary.map(messagesOf(options), Prompt.fromMessages)

/**
 * Random states: a legal conversation, a status that fits it, and modes that fit into each other.
 *
 * @category arbitraries
 * @since 0.1.0
 */
export const state = (options: StateOptions = {}): Arbitrary.Arbitrary<AgentState> =>
  Arbitrary.map(stateOf(options), plain)

/**
 * Random scripts for a model: answers with calls whose parameters fit the tools of a toolkit, unless `misfits` is set.
 *
 * The last answer may have calls: for a queue, add an answer without calls behind it. Throws an `Error` if random values can't be derived
 * from the schema of a tool's parameters.
 *
 * @category arbitraries
 * @since 0.1.0
 */
export const script = (
  toolkit: { readonly tools: Readonly<Record<string, Tool.Any>> },
  options: ScriptOptions = {}
): Arbitrary.Arbitrary<Script> => scriptOf(toolkit, options)

/**
 * Random messages that break exactly the rule `kind` and no other, with the policy that has this rule.
 *
 * @category arbitraries
 * @since 0.1.0
 */
export const violating = (kind: Kind, options: PromptOptions = {}): Arbitrary.Arbitrary<Violating> =>
  violatingOf(kind, messagesOf(options))
