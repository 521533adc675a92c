/**
 * The rules of providers for conversations, to check any prompt.
 *
 * 1. Every violation is found, not only the first, in the order of the messages, with its index and the ids of its calls.
 * 2. The default policy accepts every prompt that an agent sends, unless a function of yours that changes conversations breaks it, such as
 *    the `history` of a handoff.
 * 3. Parallel calls are one turn: their results may be one message or several.
 *
 * **Example** (A result that comes twice)
 *
 * ```ts
 * import { Prompt } from "effect/ai"
 * import { ConversationRules } from "troupe/testing"
 *
 * const result = Prompt.toolResultPart({ id: "c1", name: "look", isFailure: false, result: "a tree", providerExecuted: false })
 * const call = Prompt.toolCallPart({ id: "c1", name: "look", params: {}, providerExecuted: false })
 * const messages = [
 *   Prompt.userMessage({ content: [Prompt.textPart({ text: "What do you see?" })] }),
 *   Prompt.assistantMessage({ content: [call] }),
 *   Prompt.toolMessage({ content: [result, result] })
 * ]
 *
 * ConversationRules.check(messages).map(({ ids, index, kind }) => ({ kind, index, ids }))
 * // => [{ kind: "DuplicateToolResponse", index: 2, ids: ["c1"] }]
 * ConversationRules.check(messages, { allowDuplicateToolResponse: true }) // => []
 * ```
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import { checkMessages } from "./rules/MessageRules.ts"
import { defaultPolicy, type Policy } from "./rules/Policy.ts"
import { checkTools } from "./rules/ToolRules.ts"
import type { Message, Violation } from "./rules/Violation.ts"

export { defaultPolicy, type Policy, strictPolicy } from "./rules/Policy.ts"
export { type ForeignMessage, type Kind, kinds, type Message, type Violation } from "./rules/Violation.ts"

/**
 * Returns every violation of the rules in a prompt or in messages, in the order of the messages; none if all are kept.
 *
 * Fields that `policy` leaves out are those of `defaultPolicy`.
 *
 * @category getters
 * @since 0.1.0
 */
export const check = (
  input: Prompt.Prompt | ReadonlyArray<Message>,
  policy?: Partial<Policy>
): ReadonlyArray<Violation> => {
  const messages: ReadonlyArray<Message> = Prompt.isPrompt(input) ? input.content : input
  const whole = { ...defaultPolicy, ...policy }
  return [...checkMessages(messages, whole), ...checkTools(messages, whole)]
    .toSorted((self, that) => self.index - that.index)
}

/**
 * Formats violations as text, one line for each; `""` if there are none.
 *
 * @category conversions
 * @since 0.1.0
 */
export const format = (violations: ReadonlyArray<Violation>): string =>
  violations.map(({ kind, message }) => `${kind}: ${message}`).join("\n")
