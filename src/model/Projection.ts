/**
 * The messages of a conversation and their converted forms. Requests only add messages, and each message is converted once.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"

/**
 * The form in which a kind of model takes messages.
 *
 * - `marks` says which messages a model has to know about.
 * - `isEmpty` says which messages aren't sent.
 * - `varies` says which messages have another form in some requests. `convert` gives the form that they have in all others.
 */
export interface Form<A> {
  readonly convert: (message: Prompt.Message) => A
  readonly marks: (made: A) => boolean
  readonly isEmpty: (made: A) => boolean
  readonly varies: (message: Prompt.Message) => boolean
}

/** Converted messages: the form of each message, empty ones too, and the places of messages whose form varies. */
interface Made<A> {
  readonly messages: Array<A>
  readonly varying: Array<number>
  isMarked: boolean
  hasEmpty: boolean
}

/** Messages in a form. */
export type InForm<A> = Readonly<Made<A>>

/** The messages of a conversation. */
export class Projection {
  #messages: Array<Prompt.Message>
  /** Requests to a model that isn't native make none. */
  #made: Map<object, Made<unknown>> | undefined = undefined
  /** How many of the first messages other conversations have too. */
  #shared: number

  constructor(messages: Array<Prompt.Message> = []) {
    this.#messages = messages
    this.#shared = messages.length
  }

  get #forms(): Map<object, Made<unknown>> {
    return this.#made ??= new Map()
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

  /** Returns a projection of its own for the first messages, with their converted forms. */
  fork(count: number): Projection {
    const forked = new Projection(this.#messages.slice(0, count))
    this.#made?.forEach((made, form) => {
      forked.#forms.set(form, {
        ...made,
        messages: made.messages.slice(0, count),
        varying: made.varying.filter((at) => at < count)
      })
    })
    return forked
  }

  /** Replaces the messages that are shared with other conversations by copies. */
  own(): void {
    for (let at = 0; at < this.#shared; at++) this.#messages[at] = copyOf(this.#messages[at]!)
    this.#shared = 0
  }

  /** Returns the messages in a form. */
  in<A>(form: Form<A>): InForm<A> {
    // What is stored under a form was made by it.
    let all = this.#forms.get(form) as Made<A> | undefined
    if (all === undefined) this.#forms.set(form, all = { messages: [], varying: [], isMarked: false, hasEmpty: false })
    for (let at = all.messages.length; at < this.#messages.length; at++) {
      const message = this.#messages[at]!
      const made = form.convert(message)
      all.messages.push(made)
      all.isMarked ||= form.marks(made)
      all.hasEmpty ||= form.isEmpty(made)
      if (form.varies(message)) all.varying.push(at)
    }
    return all
  }
}

/**
 * A constructor that returns the given message, so that a subclass adds its private fields to it. JavaScript has no other way to add a
 * private field to an existing object. TypeScript has no type for a function as a constructor.
 */
const Same = function(message: Prompt.Message): Prompt.Message {
  return message
} as unknown as new(message: Prompt.Message) => object

/** A copy of a message, which knows its original in a private field: neither JSON nor equality sees it. A weak map would cost more. */
class Copy extends Same {
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
