/**
 * Finding turns: by their kind, their words, or their place.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as Predicate from "effect/Predicate"
import type { AssistantPart, Conversation, Turn } from "../StateSchema.ts"

/**
 * Keeps the turns that satisfy a predicate. The predicate is called with each turn and its place, from 0.
 *
 * A turn is dropped with its calls and their results, so the rest is legal. If any turn is dropped, the conversation's `summaries` are too.
 *
 * @category combinators
 * @since 0.1.0
 */
export const filter: {
  (predicate: (turn: Turn, index: number) => boolean): (self: Conversation) => Conversation
  (self: Conversation, predicate: (turn: Turn, index: number) => boolean): Conversation
} = dual(2, (self: Conversation, predicate: (turn: Turn, index: number) => boolean): Conversation => {
  const turns = self.turns.filter((turn, index) => predicate(turn, index))
  return turns.length === self.turns.length ? self : { turns }
})

/**
 * Returns the last `n` turns, or all if there are fewer.
 *
 * `truncate` makes a conversation of them: it drops answers at its beginning whose question was cut, unless nothing else would be left.
 *
 * @category getters
 * @since 0.1.0
 */
export const lastTurns: {
  (n: number): (self: Conversation) => ReadonlyArray<Turn>
  (self: Conversation, n: number): ReadonlyArray<Turn>
} = dual(2, (self: Conversation, n: number): ReadonlyArray<Turn> => n >= 1 ? self.turns.slice(-n) : [])

/**
 * How many turns each side took.
 *
 * @category models
 * @since 0.1.0
 */
export type TurnCounts = { readonly [Role in Turn["_tag"]]: number }

/**
 * Counts the turns of each side: users, assistants, summaries, and feedback.
 *
 * @category getters
 * @since 0.1.0
 */
export const countByRole = (self: Conversation): TurnCounts => {
  const counts: { [Role in Turn["_tag"]]: number } = { User: 0, Assistant: 0, Summary: 0, Feedback: 0 }
  for (const { _tag } of self.turns) counts[_tag]++
  return counts
}

/**
 * A turn that was found, and its place in the conversation, from 0.
 *
 * @category models
 * @since 0.1.0
 */
export interface Found {
  readonly index: number
  readonly turn: Turn
}

/** Returns the texts of a part that are searched: its words, and a call's name, parameters and result. */
const wordsOf = (part: AssistantPart): ReadonlyArray<string> => {
  switch (part._tag) {
    case "Text":
    case "Reasoning":
      return [part.text]
    case "File":
      return part.fileName === undefined ? [] : [part.fileName]
    case "Source":
      return [part.title, ...(part.url === undefined ? [] : [part.url])]
    case "Call":
      return [
        part.name,
        JSON.stringify(part.params),
        ...(part.state._tag === "Settled" ? [JSON.stringify(part.state.result)] : [])
      ]
  }
}

const textsOf = (turn: Turn): ReadonlyArray<string> =>
  turn._tag === "Summary" || turn._tag === "Feedback" ? [turn.text] : turn.parts.flatMap(wordsOf)

/** Returns a function that checks a text. The `lastIndex` of a pattern with `g` or `y` is ignored. */
const matcher = (query: string | RegExp): (text: string) => boolean => {
  if (Predicate.isRegExp(query)) {
    const pattern = new RegExp(query.source, query.flags.replaceAll(/[gy]/g, ""))
    return (text) => pattern.test(text)
  }
  const wanted = query.toLowerCase()
  return (text) => wanted !== "" && text.toLowerCase().includes(wanted)
}

/**
 * Finds the turns that contain a text, ignoring case, or that match a pattern.
 *
 * It searches all text, reasoning, names of files, titles and URLs of sources, and the names, parameters and results of calls (parameters
 * and results as JSON). An empty text is never found.
 *
 * **Example** (Finding a turn)
 *
 * ```ts
 * import { Conversation } from "troupe"
 *
 * const conversation = Conversation.make([
 *   Conversation.user("My order is 1042."),
 *   Conversation.assistant("desk", "It is on its way."),
 *   Conversation.user("Where is ORDER 1043?")
 * ])
 *
 * Conversation.search(conversation, "order").map(({ index }) => index) // => [0, 2]
 * Conversation.search(conversation, /\b1043\b/).map(({ index }) => index) // => [2]
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const search: {
  (query: string | RegExp): (self: Conversation) => ReadonlyArray<Found>
  (self: Conversation, query: string | RegExp): ReadonlyArray<Found>
} = dual(2, (self: Conversation, query: string | RegExp): ReadonlyArray<Found> => {
  const matches = matcher(query)
  return self.turns.flatMap((turn, index) => textsOf(turn).some(matches) ? [{ index, turn }] : [])
})
