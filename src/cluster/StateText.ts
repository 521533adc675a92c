/**
 * Writes the states of one conversation as JSON, and reuses what it has written before.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { lazy } from "../domain/Lazy.ts"
import { AgentState, type Conversation, Turn } from "../domain/StateSchema.ts"
import { Summarized } from "../domain/Summarized.ts"

/** The codecs of a state's parts. They check nothing: only a legal state becomes a part of another one. */
const codecsOfParts = lazy(() => {
  const { conversation: _, ...fields } = AgentState.fields
  return {
    turn: Schema.encodeSync(Schema.toCodecJson(Turn)),
    others: Schema.encodeSync(Schema.toCodecJson(Schema.Struct(fields))),
    summaries: Schema.encodeSync(Schema.toCodecJson(Schema.Array(Summarized)))
  }
})

/**
 * Writes the texts of one conversation's states. A settled turn is encoded once, so that a text costs what is new in it.
 *
 * What was written is compared with the turns by their identity, so it needs no invalidation when turns change.
 */
export class TextWriter {
  #turns: ReadonlyArray<Turn> = []
  #count = 0
  #text = ""

  /** Returns the text of `StateJson.toJson` of a state, with the conversation behind the other keys. */
  write({ conversation, ...others }: AgentState): string {
    const codecs = codecsOfParts()
    const { summaries } = conversation
    const summarized = summaries === undefined ? "" : `,"summaries":${JSON.stringify(codecs.summaries(summaries))}`
    const first = JSON.stringify(codecs.others(others)).slice(0, -1)
    return `${first},"conversation":{"turns":[${this.#write(conversation)}]${summarized}}}`
  }

  #write({ turns }: Conversation): string {
    const settled = Math.max(0, turns.findLastIndex(({ _tag }) => _tag === "Assistant"))
    let isSame = this.#count <= settled
    for (let at = 0; isSame && at < this.#count; at++) isSame = this.#turns[at] === turns[at]
    if (!isSame) {
      this.#count = 0
      this.#text = ""
    }
    this.#text = joined(this.#text, textOf(turns.slice(this.#count, settled)))
    this.#turns = turns
    this.#count = settled
    return joined(this.#text, textOf(turns.slice(settled)))
  }
}

const joined = (one: string, other: string): string => one === "" || other === "" ? one + other : `${one},${other}`

const textOf = (turns: ReadonlyArray<Turn>): string =>
  turns.map((turn) => JSON.stringify(codecsOfParts().turn(turn))).join(",")
