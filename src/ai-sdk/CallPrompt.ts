/**
 * The prompt of a provider's call: each message in the form of the model's specification. A message is converted once for each form.
 *
 * @since 0.1.0
 */
import type { LanguageModelV3Message, LanguageModelV4Message } from "@ai-sdk/provider"
import type * as Prompt from "effect/ai/Prompt"
import { type Form, formed, inForm } from "../model/MessageForm.ts"
import type * as NativeModel from "../model/NativeModel.ts"
import type { AnyModel } from "./AnyModel.ts"
import { hasAddress } from "./Download.ts"
import { freeze } from "./Frozen.ts"
import { type Takes, toMessage, varies } from "./Messages.ts"
import * as Specification3 from "./Specification3.ts"

/** A message in one of the supported specifications. */
export type Message = LanguageModelV3Message | LanguageModelV4Message

/** The form of messages in each specification. */
interface Forms {
  readonly v3: Form<Message>
  readonly v4: Form<LanguageModelV4Message>
}

/** Returns a message in a specification. */
export const inSpecification = (
  message: LanguageModelV4Message,
  specification: AnyModel["specificationVersion"]
): Message => specification === "v4" ? message : freeze(Specification3.toMessage(message))

const isEmpty = ({ content }: Message): boolean => content.length === 0

const formsFor = (takes: Takes): Forms => {
  const v4: Forms["v4"] = {
    convert: (message) => {
      const made = freeze(toMessage(message, takes))
      return { made, isEmpty: isEmpty(made), varies: varies(message), hasAddress: hasAddress(made) }
    }
  }
  return {
    v4,
    v3: {
      convert: (message) => {
        const newer = formed(message, v4)
        const made = inSpecification(newer.made, "v3")
        return { ...newer, made, isEmpty: isEmpty(made) }
      }
    }
  }
}

/** The forms that all requests share, unless a tool may take a text. */
const shared = {
  withFiles: formsFor({ takesFiles: true, textTools: [] }),
  withoutFiles: formsFor({ takesFiles: false, textTools: [] })
}

/** The forms for requests with tools that may take a text. Only messages that vary have them. */
const withText = new Map<string, Forms>()

const formsWithText = (takes: Takes): Forms => {
  const key = JSON.stringify([takes.takesFiles, takes.textTools])
  const known = withText.get(key)
  if (known !== undefined) return known
  const made = formsFor(takes)
  withText.set(key, made)
  return made
}

/** The messages to send, and the projection that they end with, if that is known. */
export type Sent = { readonly prompt: Prompt.Prompt } & Partial<Pick<NativeModel.Request, "system" | "projection">>

/** A message in specification 4 that has files by address, which a download may replace later, and its place among the messages. */
export interface Addressed {
  readonly at: number
  readonly message: LanguageModelV4Message
}

/** The messages of a call, empty ones too, and which of them have files by address. */
export interface CallPrompt {
  readonly messages: Array<Message>
  readonly addressed: ReadonlyArray<Addressed>
  readonly hasEmpty: boolean
}

/**
 * Returns the messages of a request for a model of a specification. The list is the request's own; the messages are shared. A prompt whose
 * projection is known isn't read, because reading makes it.
 */
export const make = (
  sent: Sent,
  specification: AnyModel["specificationVersion"],
  takes: Takes
): CallPrompt => {
  const { projection, system } = sent
  const forms = takes.takesFiles ? shared.withFiles : shared.withoutFiles
  const form: Form<Message> = forms[specification]
  const variants = takes.textTools.length === 0 ? undefined : formsWithText(takes)
  // What the form of a message depends on was found when it was first made.
  const formsOf = (message: Prompt.Message): Forms =>
    variants !== undefined && formed(message, form).varies ? variants : forms
  const addressIn = (message: Prompt.Message, at: number): Addressed => ({
    at,
    message: formed(message, formsOf(message).v4).made
  })
  if (projection === undefined) {
    const { content } = sent.prompt
    const all = content.map((message) => formed<Message>(message, formsOf(message)[specification]))
    return {
      messages: all.map(({ made }) => made),
      addressed: all.flatMap(({ hasAddress }, at) => hasAddress ? [addressIn(content[at]!, at)] : []),
      hasEmpty: all.some(({ isEmpty }) => isEmpty)
    }
  }
  const { addressed, hasEmpty, messages, varying } = inForm(projection, form)
  const before = system === undefined ? [] : [formed(system, form).made]
  const all = before.length === 0 ? messages.slice() : before.concat(messages)
  const ofTurns = projection.messages
  if (variants !== undefined) {
    for (const at of varying) all[before.length + at] = formed<Message>(ofTurns[at]!, variants[specification]).made
  }
  return { messages: all, addressed: addressed.map((at) => addressIn(ofTurns[at]!, before.length + at)), hasEmpty }
}

/** Returns the messages that are sent: all but the empty ones, which providers refuse. */
export const complete = ({ hasEmpty, messages }: CallPrompt): Array<Message> =>
  hasEmpty ? messages.filter((message) => !isEmpty(message)) : messages
