/**
 * The messages of a conversation, to which requests only add.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import { ReturnOverride } from "./ReturnOverride.ts"

/** The messages of a conversation. */
export class Projection {
  /** What native models made of the messages (`MessageForm`). */
  made: Map<object, object> | undefined = undefined
  #messages: Array<Prompt.Message>
  /** How many of the first messages other conversations have too. */
  #shared: number

  constructor(messages: Array<Prompt.Message> = []) {
    this.#messages = messages
    this.#shared = messages.length
  }

  get messages(): ReadonlyArray<Prompt.Message> {
    return this.#messages
  }

  /** Adds messages. */
  add(messages: ReadonlyArray<Prompt.Message>): void {
    // A push onto an empty array makes room for 16 more, which a run that waits for its only answer would keep for nothing.
    if (this.#messages.length === 0) this.#messages = messages.slice()
    else for (const message of messages) this.#messages.push(message)
  }

  /** Copies the first messages, behind a system message if there is one. */
  behind(system: Prompt.SystemMessage | undefined, count: number): Array<Prompt.Message> {
    const first = count === this.#messages.length ? this.#messages : this.#messages.slice(0, count)
    return system === undefined ? first.slice() : first.toSpliced(0, 0, system)
  }

  /** Returns a projection of its own for the first messages. */
  fork(count: number): Projection {
    return new Projection(this.#messages.slice(0, count))
  }

  /** Replaces the messages that are shared with other conversations by copies. */
  own(): void {
    for (let at = 0; at < this.#shared; at++) this.#messages[at] = copyOf(this.#messages[at]!)
    this.#shared = 0
  }
}

/** A copy of a message, which knows its original in a private field: neither JSON nor equality sees it. A weak map would cost more. */
class Copy extends ReturnOverride<Prompt.Message> {
  #original: Prompt.Message | undefined

  static of(message: Prompt.Message): Prompt.Message {
    const copy = Object.assign(Object.create(Object.getPrototypeOf(message) as object) as Prompt.Message, message)
    const same = new Copy(copy)
    same.#original = Copy.originalOf(message)
    return copy
  }

  static originalOf(message: Prompt.Message): Prompt.Message {
    // The field says that it is a `Copy`; TypeScript doesn't see that, because a message isn't a class.
    return #original in message ? (message as unknown as Copy).#original! : message
  }
}

/** Returns an equal message with an identity of its own. */
export const copyOf = (message: Prompt.Message): Prompt.Message => Copy.of(message)

/** Returns the message that a copy was made of, or the message itself. Both have the same form. */
export const originalOf = (message: Prompt.Message): Prompt.Message => Copy.originalOf(message)
