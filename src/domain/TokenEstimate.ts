/**
 * How many tokens a model reads of turns: counted text by text, or estimated without the model's own tokenizer.
 *
 * @since 0.1.0
 */
import type { AssistantPart, Conversation, Settled, Turn } from "./StateSchema.ts"

const bytesPerToken = 4

/** A file's size says little about its tokens; images cost about this many. */
const tokensPerFile = 1_000

/** Counts the tokens of a text. */
export type CountTokens = (text: string) => number

/** Counts the bytes of a text in UTF-8. Half of a surrogate pair counts as two bytes. */
const bytesOf = (text: string): number => {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0x80) bytes += code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 1 : 2
  }
  return bytes
}

/** Estimates the tokens of a text: a quarter of its bytes. */
export const estimateText: CountTokens = (text) => bytesOf(text) / bytesPerToken

/** Counts what the model reads of a result. */
const tokensOfResult = ({ modelOutput, result }: Settled, count: CountTokens): number =>
  modelOutput === undefined
    ? count(JSON.stringify(result))
    : modelOutput.reduce((sum, part) => sum + (part.type === "file" ? tokensPerFile : count(part.text)), 0)

const tokensOfPart = (part: AssistantPart, count: CountTokens): number => {
  switch (part._tag) {
    case "Text":
    case "Reasoning":
      return count(part.text)
    case "File":
      return tokensPerFile
    case "Source":
      return 0
    case "Call":
      return count(part.name) + count(JSON.stringify(part.params)) +
        (part.state._tag === "Settled" ? tokensOfResult(part.state, count) : 0)
  }
}

/** Counts the tokens that are sent of a turn, calls and their results included. A file counts as an image. */
export const tokensOf = (turn: Turn, count: CountTokens): number =>
  turn._tag === "Summary" || turn._tag === "Feedback"
    ? count(turn.text)
    : turn.parts.reduce<number>((sum, part) => sum + tokensOfPart(part, count), 0)

/** Estimates the tokens of a conversation. */
export const estimateTokens = ({ turns }: Conversation): number =>
  Math.ceil(turns.reduce((sum, turn) => sum + tokensOf(turn, estimateText), 0))
