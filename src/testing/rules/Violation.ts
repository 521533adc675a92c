/**
 * What breaks a rule: which one, where, and which calls.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"

/**
 * Every rule that can be broken.
 *
 * @category constants
 * @since 0.1.0
 */
export const kinds = [
  "AssistantBeforeUser",
  "RepeatedRole",
  "MissingToolResponses",
  "UnknownToolResponse",
  "DuplicateToolResponse",
  "ToolResponsesOutOfOrder",
  "SystemNotFirst",
  "UnsupportedMessageType",
  "EmptyMessage",
  "DuplicateToolCallIds",
  "EmptyToolCallId",
  "EmptyToolResponseId",
  "ToolBeforeAssistant",
  "ToolResponsesNotContiguous",
  "NoUserMessage",
  "ReasoningSeparated",
  "UnknownApproval",
  "HandoffWithoutUser"
] as const

/**
 * A rule that can be broken.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = typeof kinds[number]

/**
 * A rule that is broken.
 *
 * `kind` is the rule, and `message` says in words what breaks it. `index` is the place of the message that breaks it, from 0, and 0 if no
 * single message does. `ids` are the calls or the approval that it is about, none if the rule isn't about calls.
 *
 * @category models
 * @since 0.1.0
 */
export interface Violation {
  readonly kind: Kind
  readonly index: number
  readonly ids: ReadonlyArray<string>
  readonly message: string
}

/**
 * A message of a role that prompts of `effect/ai` don't have.
 *
 * @category models
 * @since 0.1.0
 */
export interface ForeignMessage {
  readonly role: "developer" | "function"
  readonly content: unknown
}

/**
 * A message of `effect/ai`, or of a role that `effect/ai` doesn't have.
 *
 * @category models
 * @since 0.1.0
 */
export type Message = Prompt.Message | ForeignMessage

/** Makes a violation. */
export const violation = (kind: Kind, index: number, ids: ReadonlyArray<string>, message: string): Violation => ({
  kind,
  index,
  ids,
  message
})

/** Names ids in a sentence. */
export const quoted = (ids: ReadonlyArray<string>): string => ids.map((id) => `"${id}"`).join(", ")
