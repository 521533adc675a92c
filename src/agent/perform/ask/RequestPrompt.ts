/**
 * The prompt of a request: the system message, and the messages that follow it.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import type { Window } from "../../../domain/AgentEvent.ts"
import { Projection } from "../../../model/Projection.ts"
import type { Choice } from "../window/Choice.ts"
import type { RequestMessages } from "./ModelPort.ts"

/** A prompt, and, if a context window chose its turns, the window's report and its count of tokens. */
export class RequestPrompt implements RequestMessages {
  readonly system: Prompt.SystemMessage | undefined
  readonly projection: Projection | undefined
  readonly window: Window | undefined
  readonly counted: number | undefined
  readonly #behind: Projection
  readonly #count: number
  #prompt: Prompt.Prompt | undefined = undefined
  constructor(
    system: Prompt.SystemMessage | undefined,
    behind: Projection | Array<Prompt.Message>,
    { counted, window }: Partial<Pick<Choice, "window" | "counted">> = {}
  ) {
    this.system = system
    const isProjection = behind instanceof Projection
    this.projection = isProjection ? behind : undefined
    this.window = window
    this.counted = counted
    this.#behind = isProjection ? behind : new Projection(behind)
    // Later requests add to a projection.
    this.#count = this.#behind.messages.length
  }
  get prompt(): Prompt.Prompt {
    if (this.#prompt !== undefined) return this.#prompt
    // A program that reads the messages may record which ones were sent, by their identity. So no other conversation may share them.
    this.projection?.own()
    return this.#prompt = Prompt.fromMessages(this.#behind.behind(this.system, this.#count))
  }
}
