/**
 * What a provider is sent of a conversation, turn by turn.
 *
 * 1. The messages of a turn depend on that turn alone, so they are made once for a settled turn.
 * 2. A user speaks first, as providers require. If an assistant's turn is first, an opening goes before it, which is always the same.
 * 3. A text without words isn't sent, and neither is a turn that would be empty without it. But a model's text with metadata is sent.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import { memoize } from "effect/Function"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { hasWords, isAnswered, isSaid, isSilent } from "./conversation/Sending.ts"
import { detached } from "./JsonValue.ts"
import type * as Part from "./Part.ts"
import type { Assistant, Call, Conversation, Settled, Turn } from "./StateSchema.ts"

/**
 * Error for a conversation whose calls are open, so that it has no prompt. `callIds` are their ids.
 *
 * @category errors
 * @since 0.1.0
 */
export class OpenCalls extends Schema.TaggedError<OpenCalls>("troupe/domain/Projection/OpenCalls")("OpenCalls", {
  callIds: Schema.NonEmptyArray(Schema.String)
}) {
  override get message(): string {
    return `No prompt exists while calls are open: ${this.callIds.map((id) => `"${id}"`).join(", ")}`
  }
}

const noOptions: Part.Metadata = Object.freeze({})

/**
 * Parts and messages that are copied for each turn. `Prompt.makePart` and `makeMessage` spread fields that V8 doesn't know beforehand. That
 * takes several times as long as the copy of an object of a known shape, most of all on Node 20.
 */
const template = {
  text: Prompt.makePart("text", { text: "", options: noOptions }),
  reasoning: Prompt.makePart("reasoning", { text: "", options: noOptions }),
  call: Prompt.makePart("tool-call", { id: "", name: "", params: null, providerExecuted: false, options: noOptions }),
  result: Prompt.makePart("tool-result", {
    id: "",
    name: "",
    isFailure: false,
    result: null,
    providerExecuted: false,
    options: noOptions
  }),
  user: Prompt.makeMessage("user", { content: [] }),
  assistant: Prompt.makeMessage("assistant", { content: [] }),
  tool: Prompt.makeMessage("tool", { content: [] })
}

const textPart = ({ metadata = noOptions, text }: Part.Text): Prompt.TextPart => ({
  ...template.text,
  text,
  options: metadata
})

const reasoningPart = ({ metadata = noOptions, text }: Part.Reasoning): Prompt.ReasoningPart => ({
  ...template.reasoning,
  text,
  options: metadata
})

const filePart = (part: Part.File): Prompt.FilePart =>
  Prompt.makePart("file", {
    mediaType: part.mediaType,
    data: part.data,
    options: part.metadata ?? noOptions,
    ...(part.fileName === undefined ? undefined : { fileName: part.fileName })
  })

const callPart = ({ id, metadata = noOptions, name, params, providerExecuted }: Call): Prompt.ToolCallPart => ({
  ...template.call,
  id,
  name,
  params,
  providerExecuted: providerExecuted === true,
  options: metadata
})

const resultPart = (
  { id, name, providerExecuted }: Call,
  { metadata = noOptions, modelOutput, outcome, result }: Settled
): Prompt.ToolResultPart => {
  const part = {
    ...template.result,
    id,
    name,
    isFailure: outcome !== "Succeeded" && outcome !== "HandedOff",
    result,
    providerExecuted: providerExecuted === true,
    options: metadata
  }
  return modelOutput === undefined
    ? part
    : { ...part, modelOutput: modelOutput.filter((part) => part.type !== "text" || hasWords(part.text)) }
}

/** The answer to a provider that asked for an approval before it ran a call. */
const approvalPart = (approvalId: string, { outcome, result }: Settled): Prompt.ToolApprovalResponsePart => {
  const approved = outcome === "Succeeded"
  return Prompt.makePart("tool-approval-response", {
    approvalId,
    approved,
    ...(approved || typeof result !== "string" ? undefined : { reason: result })
  })
}

const assistantMessages = (turn: Assistant): ReadonlyArray<Prompt.Message> => {
  const content: Array<Prompt.AssistantMessagePart> = []
  const results: Array<Prompt.ToolMessagePart> = []
  for (const part of turn.parts) {
    if (!isAnswered(part)) continue
    switch (part._tag) {
      case "Text":
        content.push(textPart(part))
        break
      case "Reasoning":
        content.push(reasoningPart(part))
        break
      case "File":
        content.push(filePart(part))
        break
      case "Source":
        break
      case "Call": {
        content.push(callPart(part))
        if (part.state._tag === "Settled") {
          if (part.approvalId !== undefined) results.push(approvalPart(part.approvalId, part.state))
          else if (part.providerExecuted === true) content.push(resultPart(part, part.state))
          else results.push(resultPart(part, part.state))
        }
        break
      }
    }
  }
  // A list that has grown keeps room for 17 parts, and messages are kept as long as the conversation: a copy is as large as it has to be.
  const messages: Array<Prompt.Message> = []
  if (content.length > 0) messages.push({ ...template.assistant, content: content.slice(), options: {} })
  if (results.length > 0) messages.push({ ...template.tool, content: results.slice(), options: {} })
  return messages
}

const userMessage = (content: ReadonlyArray<Prompt.UserMessagePart>): Prompt.Message => ({
  ...template.user,
  content,
  options: {}
})

/**
 * Returns the messages that a provider is sent of a turn.
 *
 * There are none if the turn says nothing, and two for an assistant turn with results of calls that Troupe ran, or with approvals for the
 * provider. A summary and feedback are sent as a user's words.
 *
 * @category conversions
 * @since 0.1.0
 */
export const toMessages = (turn: Turn): ReadonlyArray<Prompt.Message> => {
  switch (turn._tag) {
    case "User": {
      const parts = turn.parts.filter(isSaid)
      return parts.length === 0
        ? []
        : [userMessage(parts.map((part) => part._tag === "Text" ? textPart(part) : filePart(part)))]
    }
    case "Assistant":
      return assistantMessages(turn)
    case "Summary":
    case "Feedback":
      return isSilent(turn) ? [] : [userMessage([Prompt.makePart("text", { text: turn.text })])]
  }
}

/**
 * The user's message that is sent first if the first turn that is sent is an assistant's, or if no turn is sent. It says nothing about the
 * turns behind it, since they may change.
 */
export const openingText = "[The conversation begins here.]"

const opening = (): Prompt.Message => userMessage([Prompt.makePart("text", { text: openingText })])

/**
 * Returns the opening for a first message, one for each. A record of what a provider was sent knows messages by identity, so two
 * conversations mustn't share one.
 */
const openingOf = memoize((_first: Prompt.Message) => opening())

/**
 * Puts the user's message `[The conversation begins here.]` before messages that don't begin with a user's: providers refuse those. A
 * system message stays first.
 *
 * @category conversions
 * @since 0.1.0
 */
export const beginWithUser = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<Prompt.Message> => {
  const at = messages[0]?.role === "system" ? 1 : 0
  const first = messages[at]
  return first?.role === "user"
    ? messages
    : messages.toSpliced(at, 0, first === undefined ? opening() : openingOf(first))
}

const openIds = (turn: Turn): ReadonlyArray<string> =>
  turn._tag === "Assistant"
    ? turn.parts.flatMap((part) => part._tag === "Call" && part.state._tag !== "Settled" ? [part.id] : [])
    : []

/**
 * Returns the prompt of a conversation, or fails with `OpenCalls` while calls are open.
 *
 * The prompt has no system message: each request composes it anew. It shares nothing with the conversation.
 *
 * @category conversions
 * @since 0.1.0
 */
export const toPrompt = (self: Conversation): Result.Result<Prompt.Prompt, OpenCalls> => {
  const [first, ...rest] = self.turns.flatMap(openIds)
  return first === undefined
    // Messages are plain objects, so a copy of them is messages.
    ? Result.succeed(
      Prompt.fromMessages(detached(beginWithUser(self.turns.flatMap(toMessages))) as Array<Prompt.Message>)
    )
    : Result.fail(new OpenCalls({ callIds: [first, ...rest] }))
}
