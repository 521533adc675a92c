/**
 * What of a conversation crosses a handoff.
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
/** Nothing crosses but the reason and the context. */
interface None {
  readonly _tag: "None"
}
/** What an effect makes of the conversation crosses. */
export interface Custom<out E = never, out R = never> {
  readonly _tag: "Custom"
  readonly change: (conversation: Conversation.Conversation) => Effect.Effect<Conversation.Conversation, E, R>
}

/**
 * What of a conversation crosses a handoff.
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
 * The last user turn crosses, and nothing else.
 *
 * @category history
 * @since 0.1.0
 */
export const lastUser: LastUser = Object.freeze({ _tag: "LastUser" })

/**
 * The last `count` turns cross, as `Conversation.truncate` keeps them; where those are all an assistant's, the last user
 * turn stands in front of them.
 *
 * @category history
 * @since 0.1.0
 */
export const lastTurns = (count: number): LastTurns => ({ _tag: "LastTurns", count })

/**
 * Nothing crosses but the reason and the context.
 *
 * @category history
 * @since 0.1.0
 */
export const none: None = Object.freeze({ _tag: "None" })

/**
 * A summary of the conversation crosses, behind it pinned turns, and the last user turn.
 *
 * `summarize` is given the whole conversation and makes the text of the summary. An empty text stands for nothing: the
 * whole conversation crosses then.
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

/** How many turns these stand for: a summary stands for many. */
const weightOf = (turns: ReadonlyArray<Conversation.Turn>): number =>
  turns.reduce((sum, turn) => sum + (turn._tag === "Summary" ? turn.of : 1), 0)

const isUser = (turn: Conversation.Turn): turn is Conversation.User => turn._tag === "User" && isQuestion(turn)

/** Gives what the user said last; what a mode said in the user's place where no user spoke. */
const questionIn = (turns: ReadonlyArray<Conversation.Turn>): Conversation.User | undefined =>
  turns.findLast((turn): turn is Conversation.User => isUser(turn) && turn.mode === undefined) ?? turns.findLast(isUser)

/** Gives the turns before a place that a summary may stand for: not those that are pinned, nor what the user asked last. */
export const summarizable = (
  turns: ReadonlyArray<Conversation.Turn>,
  before = turns.length
): ReadonlyArray<Conversation.Turn> => {
  const question = questionIn(turns)
  return turns.slice(0, Math.max(0, before)).filter((turn) => turn.pinned !== true && turn !== question)
}

/** Puts a text in the place of turns that it stands for, before all others. */
export const summarized = (
  text: string,
  turns: ReadonlyArray<Conversation.Turn>,
  goes = summarizable(turns)
): ReadonlyArray<Conversation.Turn> => {
  const gone = new Set(goes)
  const stay = turns.filter((turn) => !gone.has(turn))
  return goes.length === 0 ? stay : [{ _tag: "Summary", text, of: weightOf(goes) }, ...stay]
}

/** Puts the last question in front of turns that are all answers: it would be lost. */
const withQuestion = (
  kept: Conversation.Conversation,
  { turns }: Conversation.Conversation
): Conversation.Conversation => {
  const question = questionIn(turns)
  return question === undefined || kept.turns.length === 0 || kept.turns.some(isQuestion)
    ? kept
    : { turns: [question, ...kept.turns] }
}

/** Gives what crosses if that is a function of the conversation alone; all of it if it takes an effect. */
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

/** What of a conversation crosses a handoff: by a value, or by a function that makes it of the conversation. */
export type AnyHistory<E, R> =
  | History<E, R>
  | ((conversation: Conversation.Conversation) => MaybeEffect.MaybeEffect<Conversation.Conversation, E, R>)

/** Gives what a history makes of a conversation. */
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
