/**
 * What a model is asked when it picks an agent.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { type Conversation, textOf, type Turn } from "../../domain/Conversation.ts"
import type { PickRequest } from "./Picker.ts"

/**
 * Options of picking by a model.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModelOptions<Fallback extends string> {
  /** The agent that begins if the model's answer isn't usable. The model may choose it too. */
  readonly fallback: Fallback
  /** What the model is told besides the question and the agents; nothing by default. */
  readonly instructions?: string | undefined
}

/** What a model sees of a request: only text, and only the last turns, since tools and files say little here. */
export const Question = Schema.Struct({
  conversation: Schema.Array(Schema.Struct({ from: Schema.String, text: Schema.String })),
  lastAgent: Schema.optionalKey(Schema.String),
  lastStatus: Schema.optionalKey(Schema.String)
})

const shownTurns = 10

const fromOf = (turn: Turn): string => turn._tag === "Assistant" ? turn.agent : turn._tag.toLowerCase()

const shown = ({ turns }: Conversation): ReadonlyArray<{ readonly from: string; readonly text: string }> =>
  turns.map((turn) => ({ from: fromOf(turn), text: textOf(turn) })).filter(({ text }) => text !== "").slice(-shownTurns)

/** Returns what a model sees of a request. */
export const questionOf = ({ conversation, lastAgent, lastStatus }: PickRequest): typeof Question.Type => ({
  conversation: shown(conversation),
  ...(lastAgent === undefined ? undefined : { lastAgent }),
  ...(lastStatus === undefined ? undefined : { lastStatus: lastStatus._tag })
})

/** Returns the names to choose from, with the descriptions of their agents. */
export const choicesOf = (
  names: ReadonlyArray<string>,
  { agents }: PickRequest
): ReadonlyArray<readonly [name: string, description: string | undefined]> =>
  names.map((name) => [name, agents.find((agent) => agent.name === name)?.description])

/** The question, the same for each kind of model. */
export const instructionsOf = (instructions: string | undefined): string =>
  ["Choose the agent that is to answer the user's last words.", ...instructions === undefined ? [] : [instructions]]
    .join(" ")
