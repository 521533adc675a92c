/**
 * Finds the chain of a conversation, and how far the model is in it.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import type * as Result from "effect/Result"
import type { WireMessage } from "../provider/Asked.ts"
import { type ChainError, type Parsed, readMarked } from "./Parse.ts"
import * as Tags from "./Tags.ts"

/** A chain in the message of this index, and the model's turns since. */
export interface Found {
  readonly message: number
  readonly turns: number
  readonly parsed: Result.Result<Parsed, ChainError>
}

/**
 * Counts the turns of the model from a message on.
 *
 * Assistant messages that follow each other are one turn, whatever is in them. Messages of the system between them don't count.
 */
export const countTurns = (messages: ReadonlyArray<WireMessage>, from: number): number => {
  let turns = 0
  let isSpeaking = false
  for (let index = from; index < messages.length; index++) {
    const { role } = messages[index]!
    if (role === "assistant" && !isSpeaking) turns++
    if (role !== "system") isSpeaking = role === "assistant"
  }
  return turns
}

/** Finds the last chain that a user's message carries, a malformed one too. */
export const find = (messages: ReadonlyArray<WireMessage>): Found | undefined => {
  for (let message = messages.length - 1; message >= 0; message--) {
    const { role, texts } = messages[message]!
    if (role !== "user") continue
    for (let index = texts.length - 1; index >= 0; index--) {
      const marked = Tags.last(texts[index]!)
      if (marked === undefined) continue
      return { message, turns: countTurns(messages, message + 1), parsed: readMarked(marked) }
    }
  }
  return undefined
}

/** Converts the messages of a prompt to the form that those of a request on the wire have. */
export const fromPrompt = (prompt: Prompt.Prompt): ReadonlyArray<WireMessage> =>
  prompt.content.map((message) => ({
    role: message.role,
    texts: typeof message.content === "string"
      ? [message.content]
      : message.content.flatMap((part) => part.type === "text" ? [part.text] : [])
  }))
