/**
 * About how many tokens a model reads of a conversation, without the model's own tokenizer.
 *
 * @since 0.1.0
 */
import type { AssistantPart, Conversation, Turn } from "../../domain/StateSchema.ts"

const bytesOf = new TextEncoder()
const bytesPerToken = 4

/** A file's size says little of what it costs; images are about this. */
const bytesPerFile = 1_000 * bytesPerToken

const bytes = (text: string): number => bytesOf.encode(text).length

const bytesOfPart = (part: AssistantPart): number => {
  switch (part._tag) {
    case "Text":
    case "Reasoning":
      return bytes(part.text)
    case "File":
      return bytesPerFile
    case "Source":
      return 0
    case "Call":
      return bytes(part.name) + bytes(JSON.stringify(part.params)) +
        (part.state._tag === "Settled" ? bytes(JSON.stringify(part.state.modelOutput ?? part.state.result)) : 0)
  }
}

const bytesOfTurn = (turn: Turn): number =>
  turn._tag === "Summary" || turn._tag === "Feedback"
    ? bytes(turn.text)
    : turn.parts.reduce<number>((sum, part) => sum + bytesOfPart(part), 0)

/** Estimates tokens: a quarter of the bytes of what is sent, calls and their results included. */
export const estimateTokens = ({ turns }: Conversation): number =>
  Math.ceil(turns.reduce((sum, turn) => sum + bytesOfTurn(turn), 0) / bytesPerToken)
