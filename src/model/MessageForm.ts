/**
 * The forms in which kinds of models take messages. Each message is converted once for each form.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import { originalOf, type Projection } from "./Projection.ts"
import { ReturnOverride } from "./ReturnOverride.ts"

/**
 * A message in a form.
 *
 * - `isEmpty` says that it isn't sent.
 * - `varies` says that it has another form in some requests.
 * - `hasAddress` says that it has files by address, which a request may have to download.
 */
export interface Formed<A> {
  readonly made: A
  readonly isEmpty: boolean
  readonly varies: boolean
  readonly hasAddress: boolean
}

/** The form in which a kind of model takes messages. */
export interface Form<A> {
  readonly convert: (message: Prompt.Message) => Formed<A>
}

/** What was made of a message by one form, and then what was made by others. */
interface Known {
  readonly form: Form<unknown>
  readonly formed: Formed<unknown>
  readonly others: Known | undefined
}

/** The forms of messages that somebody has frozen: no field can be added to those. */
const frozen = new WeakMap<Prompt.Message, Known>()

/** A message that knows its forms in a private field. */
class FormedMessage extends ReturnOverride<Prompt.Message> {
  #known: Known | undefined = undefined

  static knownOf(message: Prompt.Message): Known | undefined {
    // The field says that it is one; TypeScript doesn't see that, because a message isn't a class.
    return #known in message ? (message as unknown as FormedMessage).#known : frozen.get(message)
  }

  static keep(message: Prompt.Message, known: Known): void {
    if (#known in message) (message as unknown as FormedMessage).#known = known
    else if (!Object.isExtensible(message)) frozen.set(message, known)
    else {
      const same = new FormedMessage(message)
      same.#known = known
    }
  }
}

/** Returns a message in a form. A copy has the form of its original. */
export const formed = <A>(copy: Prompt.Message, form: Form<A>): Formed<A> => {
  const message = originalOf(copy)
  const known = FormedMessage.knownOf(message)
  // What is kept with a form was made by it.
  for (let each = known; each !== undefined; each = each.others) if (each.form === form) return each.formed as Formed<A>
  const made = form.convert(message)
  FormedMessage.keep(message, { form, formed: made, others: FormedMessage.knownOf(message) })
  return made
}

/** Messages in a form, empty ones too, and the places of those that a request looks at once more. */
interface Made<A> {
  readonly messages: Array<A>
  readonly varying: Array<number>
  readonly addressed: Array<number>
  hasEmpty: boolean
}

/** The messages of a conversation in a form. */
export type InForm<A> = Readonly<Made<A>>

/** Returns the messages of a conversation in a form. Only those that are new since the last request are visited. */
export const inForm = <A>(projection: Projection, form: Form<A>): InForm<A> => {
  const known = projection.made ??= new Map()
  // What is kept under a form was made by it.
  let all = known.get(form) as Made<A> | undefined
  if (all === undefined) known.set(form, all = { messages: [], varying: [], addressed: [], hasEmpty: false })
  const { messages } = projection
  for (let at = all.messages.length; at < messages.length; at++) {
    const { hasAddress, isEmpty, made, varies } = formed(messages[at]!, form)
    all.messages.push(made)
    all.hasEmpty ||= isEmpty
    if (varies) all.varying.push(at)
    if (hasAddress) all.addressed.push(at)
  }
  return all
}
