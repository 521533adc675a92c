/**
 * What a loop has made of its conversation for requests, kept from one to the next: a step costs what its new turns do.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import type { Window } from "../../../domain/AgentEvent.ts"
import type { AgentState } from "../../../domain/StateSchema.ts"
import type { Definition } from "../../definition/AgentDefinition.ts"
import type { Entries } from "./WindowTurns.ts"

/**
 * The system message, and the messages of the settled turns, made once in a run. `turns` says of how many, `starts` where those of
 * each begin, and `note` what the agent in control was handed and can't read in its conversation.
 *
 * Where the agent has a context window, `entries` are the turns as that knows them, `window` is what it made of the last request,
 * and `counted` how many tokens it took that for.
 */
export interface Sent {
  readonly messages: Array<Prompt.Message>
  readonly starts: Array<number>
  system: string
  turns: number
  note: string | undefined
  composed: Composed | undefined
  entries: Entries | undefined
  window: Window | undefined
  counted: number | undefined
}

/** A system text, and what it was composed of. */
interface Composed {
  readonly definition: Definition
  readonly prompt: AgentState["prompt"]
  readonly modes: AgentState["modes"]
  readonly systemMessage: string | undefined
  readonly instructions: string | undefined
  readonly note: string | undefined
  readonly text: string
}

/** Begins with nothing that was sent, and a note of what was handed over. */
export const make = (note: string | undefined): Sent => ({
  messages: [],
  starts: [],
  system: "",
  turns: 0,
  note,
  composed: undefined,
  entries: undefined,
  window: undefined,
  counted: undefined
})

/** Forgets what a context window knows of the turns: another agent's may count otherwise. */
export const forgetWindow = (self: Sent): void => {
  self.entries = undefined
  self.window = undefined
  self.counted = undefined
}

/** Forgets what was made of turns that are others now. */
export const forget = (self: Sent): void => {
  self.messages.length = 0
  self.starts.length = 0
  self.turns = 0
  forgetWindow(self)
}
