/**
 * The tokens that a response reports on the wire: those of the script, and an estimate where it says nothing.
 *
 * @since 0.1.0
 */
import type { RequestUsage } from "../../domain/Usage.ts"
import type { Delivery } from "../Delivery.ts"
import type { Asked } from "./Asked.ts"

/** The tokens of a response. Providers always say them. */
export type Tokens = Required<RequestUsage>

const charactersPerToken = 4

const estimate = (texts: ReadonlyArray<string>): number =>
  Math.ceil(texts.reduce((length, text) => length + text.length, 0) / charactersPerToken)

const said = (delivery: Delivery): ReadonlyArray<string> =>
  delivery.parts.map((part) =>
    part.type === "text" ? part.text : part.type === "tool-call" ? part.name + JSON.stringify(part.params) : ""
  )

const thought = (delivery: Delivery): ReadonlyArray<string> =>
  delivery.parts.map((part) => part.type === "reasoning" ? part.text : "")

/** The texts of a request. What its messages of the system say is in `system`, too. */
const textsOf = ({ messages, system }: Asked): ReadonlyArray<string> => [
  system,
  ...messages.flatMap(({ role, texts }) => role === "system" ? [] : texts)
]

/** The tokens of what a request says. */
export const inputOf = (asked: Asked): number => estimate(textsOf(asked))

/** The tokens of a response, four characters a token where the script doesn't say. */
export const tokensOf = ({ usage = {}, ...delivery }: Delivery, asked: Asked): Tokens => {
  const reasoning = usage.reasoning ?? (usage.output === undefined ? estimate(thought(delivery)) : 0)
  return {
    input: usage.input ?? inputOf(asked),
    output: usage.output ?? reasoning + estimate(said(delivery)),
    reasoning,
    cached: usage.cached ?? 0
  }
}
