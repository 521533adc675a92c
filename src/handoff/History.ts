/**
 * Which part of a conversation crosses a handoff.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Conversation from "../domain/Conversation.ts"
import { isQuestion } from "../domain/conversation/Sending.ts"
import { empty, truncate } from "../domain/conversation/Turns.ts"
import * as Wanted from "../domain/Wanted.ts"
import * as MaybeEffect from "./MaybeEffect.ts"

/** The whole conversation crosses. */
export interface Full {
  readonly _tag: "Full"
}
/** The last user turn crosses. */
export interface LastUser {
  readonly _tag: "LastUser"
}
/** The last `count` turns cross. */
interface LastTurns {
  readonly _tag: "LastTurns"
  readonly count: number
}
/** Nothing of the conversation crosses. */
interface None {
  readonly _tag: "None"
}
/** The result of an effect on the conversation crosses. */
export interface Custom<out E = never, out R = never> {
  readonly _tag: "Custom"
  readonly change: (conversation: Conversation.Conversation) => Effect.Effect<Conversation.Conversation, E, R>
}

/**
 * Which part of a conversation crosses a handoff.
 *
 * @category models
 * @since 0.1.0
 */
export type History<E = never, R = never> = Full | LastUser | LastTurns | None | Custom<E, R>

/**
 * The whole conversation crosses, the call that asked for the handoff included.
 *
 * @category history
 * @since 0.1.0
 */
export const full: Full = Object.freeze({ _tag: "Full" })

/**
 * The last user turn crosses, and nothing else of the conversation.
 *
 * @category history
 * @since 0.1.0
 */
export const lastUser: LastUser = Object.freeze({ _tag: "LastUser" })

/**
 * The last `count` turns cross, as `Conversation.truncate` keeps them. If all of them are an assistant's, the last user turn is put before
 * them.
 *
 * @category history
 * @since 0.1.0
 */
export const lastTurns = (count: number): LastTurns => ({ _tag: "LastTurns", count })

/**
 * Nothing of the conversation crosses. The target still gets the reason and the context of the handoff.
 *
 * @category history
 * @since 0.1.0
 */
export const none: None = Object.freeze({ _tag: "None" })

/**
 * A summary of the conversation crosses, then pinned turns and the last user turn in their order.
 *
 * `summarize` is called with the whole conversation and returns an Effect of the summary's text. If that is empty, the whole conversation
 * crosses. If the Effect fails, the run fails with its error.
 *
 * @category history
 * @since 0.1.0
 */
export const summary = <E, R>(
  summarize: (conversation: Conversation.Conversation) => Effect.Effect<string, E, R>
): Custom<E, R> => ({
  _tag: "Custom",
  change: (conversation) =>
    Effect.map(
      MaybeEffect.call(() => summarize(conversation), (text) => Wanted.text("`Handoff.summary`", text)),
      (text) => {
        if (text.trim() === "") return conversation
        return { turns: summarized(text, conversation.turns) }
      }
    )
})

/** Counts the turns that these turns represent: a summary represents several. */
const weightOf = (turns: ReadonlyArray<Conversation.Turn>): number =>
  turns.reduce((sum, turn) => sum + (turn._tag === "Summary" ? turn.of : 1), 0)

const isUser = (turn: Conversation.Turn): turn is Conversation.User => turn._tag === "User" && isQuestion(turn)

/** Returns what the user said last, or, if no user spoke, what a mode said in the user's place. */
const questionIn = (turns: ReadonlyArray<Conversation.Turn>): Conversation.User | undefined =>
  turns.findLast((turn): turn is Conversation.User => isUser(turn) && turn.mode === undefined) ?? turns.findLast(isUser)

/** Returns the turns before a place that a summary may replace: all but pinned ones and the user's last question. */
export const summarizable = (
  turns: ReadonlyArray<Conversation.Turn>,
  before = turns.length
): ReadonlyArray<Conversation.Turn> => {
  const question = questionIn(turns)
  return turns.slice(0, Math.max(0, before)).filter((turn) => turn.pinned !== true && turn !== question)
}

/** Replaces turns by their summary, which goes before all others. */
export const summarized = (
  text: string,
  turns: ReadonlyArray<Conversation.Turn>,
  goes = summarizable(turns)
): ReadonlyArray<Conversation.Turn> => {
  const gone = new Set(goes)
  const stay = turns.filter((turn) => !gone.has(turn))
  return goes.length === 0 ? stay : [{ _tag: "Summary", text, of: weightOf(goes) }, ...stay]
}

/** Puts the last question before turns that are all answers, since it would be lost otherwise. */
const withQuestion = (
  kept: Conversation.Conversation,
  { turns }: Conversation.Conversation
): Conversation.Conversation => {
  const question = questionIn(turns)
  return question === undefined || kept.turns.length === 0 || kept.turns.some(isQuestion)
    ? kept
    : { turns: [question, ...kept.turns] }
}

/** Returns what crosses if that is a function of the conversation alone; the whole conversation if it needs an effect. */
export const select = (
  self: History<unknown, unknown>,
  conversation: Conversation.Conversation
): Conversation.Conversation => {
  switch (self._tag) {
    case "Full":
    case "Custom":
      return conversation
    case "LastUser": {
      const question = questionIn(conversation.turns)
      return { turns: question === undefined ? [] : [question] }
    }
    case "LastTurns":
      return withQuestion(truncate(conversation, self.count), conversation)
    case "None":
      return empty
  }
}

/** Which part of a conversation crosses a handoff: given as a value, or as a function from the conversation. */
export type AnyHistory<E, R> =
  | History<E, R>
  | ((conversation: Conversation.Conversation) => MaybeEffect.MaybeEffect<Conversation.Conversation, E, R>)

/** Returns the conversation that crosses by a history. */
export const crossingOf = <E, R>(
  history: AnyHistory<E, R>,
  whole: Conversation.Conversation
): Effect.Effect<Conversation.Conversation, E, R> =>
  MaybeEffect.call(
    () =>
      typeof history === "function"
        ? history(whole)
        : history._tag === "Custom"
        ? history.change(whole)
        : select(history, whole),
    (made) => Wanted.conversation("The `history` of a handoff", made)
  )
