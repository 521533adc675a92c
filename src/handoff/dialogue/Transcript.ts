/**
 * What was said in a dialogue, by whom, oldest first, and which of it a participant still has to be told.
 *
 * 1. A participant is told everything that others said, once, in order, and nothing that it said itself.
 * 2. A user's words are told as they are. Each agent's words are told in a separate text, between tags with its name. Each entry begins on
 *    a new line.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { textIn } from "../../domain/Conversation.ts"
import { Count } from "../../domain/Count.ts"
import * as Part from "../../domain/Part.ts"
import { fromInput } from "../../domain/PartCopy.ts"
import type { User } from "../../domain/StateSchema.ts"

/**
 * Schema for what one side said: the user in parts, or an agent in a turn; turns are numbered from 0.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Entry = Schema.TaggedUnion({
  User: { parts: Schema.Array(Part.UserPart) },
  Agent: {
    speaker: Schema.NonEmptyString,
    turn: Count,
    text: Schema.String
  }
})

/** What the user said to everybody. */
export interface UserEntry extends Schema.Schema.Type<typeof Entry.cases.User> {}
/** What an agent said in a turn. */
export interface AgentEntry<out Name extends string = string> extends Schema.Schema.Type<typeof Entry.cases.Agent> {
  readonly speaker: Name
}

/**
 * What one side said.
 *
 * @category models
 * @since 0.1.0
 */
export type Entry<Name extends string = string> = UserEntry | AgentEntry<Name>

/**
 * What was said in a dialogue, oldest first.
 *
 * @category models
 * @since 0.1.0
 */
export type Transcript<Name extends string = string> = ReadonlyArray<Entry<Name>>

/**
 * What a user says: a text, or parts that may be files.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = string | User["parts"]

/** Makes what the user said. */
export const userEntry = (input: Input): UserEntry => ({
  _tag: "User",
  parts: fromInput(input)
})

/**
 * Returns the text of an entry.
 *
 * @category getters
 * @since 0.1.0
 */
export const textOf = (entry: Entry): string => entry._tag === "Agent" ? entry.text : textIn(entry.parts)

/**
 * Returns the text that was said last, the user's or an agent's, or `""` if nobody spoke.
 *
 * @category getters
 * @since 0.1.0
 */
export const lastText = (transcript: Transcript): string => {
  const last = transcript.at(-1)
  return last === undefined ? "" : textOf(last)
}

/**
 * Returns the name of the agent that spoke last, or `undefined` if none did.
 *
 * @category getters
 * @since 0.1.0
 */
export const lastSpeaker = <Name extends string>(transcript: Transcript<Name>): Name | undefined => {
  const last = transcript.findLast((entry) => entry._tag === "Agent")
  return last?._tag === "Agent" ? last.speaker : undefined
}

/** Counts the turns that agents took. */
export const turnsIn = (transcript: Transcript): number =>
  transcript.reduce((turns, entry) => entry._tag === "Agent" ? turns + 1 : turns, 0)

/**
 * What an agent is told if it speaks again though nobody else has spoken since: a model needs words of another to answer.
 *
 * @category constants
 * @since 0.1.0
 */
export const goOn = "Nobody else spoke. Go on."

/** Escapes tags in a text, so that nobody can speak in another's name. */
const harmless = (text: string): string => text.replaceAll(/<(?=\/?message\b)/gi, "&lt;")

const tagged = ({ speaker, text }: AgentEntry): string =>
  `<message from=${JSON.stringify(speaker)}>\n${harmless(text)}\n</message>`

/** Begins the first text on a new line, since a provider may join the texts of a message. */
const onNewLine = (parts: User["parts"]): User["parts"] => {
  const first = parts.findIndex((part) => part._tag === "Text")
  return parts.map((part, index) =>
    index === first && part._tag === "Text" ? { ...part, text: `\n${part.text}` } : part
  )
}

/** Returns what a participant is told: what others said since it had heard so many entries. */
export const wordsFor = (transcript: Transcript, listener: string, heard: number): User["parts"] => {
  const others = transcript.slice(heard).filter((entry) => entry._tag === "User" || entry.speaker !== listener)
  const words = others.flatMap((entry, index) => {
    const parts = entry._tag === "User" ? entry.parts : [Part.text(tagged(entry))]
    return index === 0 ? parts : onNewLine(parts)
  })
  return others.length === 0 ? [Part.text(goOn)] : words
}

/** Returns the whole transcript as text, for a reader who isn't a participant. */
export const toText = (transcript: Transcript): string =>
  transcript.map((entry) => entry._tag === "User" ? textOf(entry) : tagged(entry)).join("\n")
