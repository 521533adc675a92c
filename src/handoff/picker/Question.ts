/**
 * What a model is asked when it is to pick an agent.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { type Conversation, textOf, type Turn } from "../../domain/Conversation.ts"
import type { PickRequest } from "./Picker.ts"

/**
 * How a model picks: the agent that begins where it gives no usable answer, and what it is told beside the agents.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModelOptions<Fallback extends string> {
  readonly fallback: Fallback
  readonly instructions?: string | undefined
}

/** What a model sees of a request: text alone, and the last turns alone, as tools and files say little here. */
export const Question = Schema.Struct({
  conversation: Schema.Array(Schema.Struct({ from: Schema.String, text: Schema.String })),
  lastAgent: Schema.optionalKey(Schema.String),
  lastStatus: Schema.optionalKey(Schema.String)
})

const shownTurns = 10

const fromOf = (turn: Turn): string => turn._tag === "Assistant" ? turn.agent : turn._tag.toLowerCase()

const shown = ({ turns }: Conversation): ReadonlyArray<{ readonly from: string; readonly text: string }> =>
  turns.map((turn) => ({ from: fromOf(turn), text: textOf(turn) })).filter(({ text }) => text !== "").slice(-shownTurns)

/** Gives what a model sees of a request. */
export const questionOf = ({ conversation, lastAgent, lastStatus }: PickRequest): typeof Question.Type => ({
  conversation: shown(conversation),
  ...(lastAgent === undefined ? undefined : { lastAgent }),
  ...(lastStatus === undefined ? undefined : { lastStatus: lastStatus._tag })
})

/** Gives the agents to choose from, once each, with their descriptions. */
export const choicesOf = (
  names: ReadonlyArray<string>,
  { agents }: PickRequest
): ReadonlyArray<readonly [name: string, description: string | undefined]> =>
  names.map((name) => [name, agents.find((agent) => agent.name === name)?.description])

/** What is asked, whatever the model. */
export const instructionsOf = (instructions: string | undefined): string =>
  ["Choose the agent that is to answer the user's last words.", ...instructions === undefined ? [] : [instructions]]
    .join(" ")
