/**
 * What Anthropic refuses of the order in which a conversation's blocks stand.
 *
 * @since 0.1.0
 */
import { refuse } from "./AnthropicRefusal.ts"
import {
  blocksOf,
  isResult,
  type MessagesBlock,
  type MessagesMessage,
  type MessagesRequest
} from "./MessagesRequest.ts"
import type { Refusal } from "./Protocol.ts"
import { first } from "./Refusals.ts"

/** A block with its place. */
interface Placed {
  readonly block: MessagesBlock
  readonly at: string
}

/** Messages of one role that follow each other: to the provider they are one. */
interface Turn {
  readonly role: MessagesMessage["role"]
  readonly at: string
  readonly blocks: ReadonlyArray<Placed>
}

const turnsOf = (messages: ReadonlyArray<MessagesMessage>): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  messages.forEach((message, position) => {
    const { role } = message
    if (role === "system") return
    const at = `messages.${position}`
    const blocks = blocksOf(message).map((block, index) => ({ block, at: `${at}.content.${index}` }))
    const last = turns.at(-1)
    if (last?.role === role) turns[turns.length - 1] = { role, at, blocks: [...last.blocks, ...blocks] }
    else turns.push({ role, at, blocks })
  })
  return turns
}

const idsOf = (turn: Turn | undefined): ReadonlyArray<string> =>
  (turn?.blocks ?? []).flatMap(({ block }) => block.type === "tool_use" ? [block.id] : [])

/** Each call is answered once, by a result at the start of the next message. */
const checkResults = (turn: Turn, before: Turn | undefined): Refusal | undefined => {
  const called = before?.role === "assistant" ? idsOf(before) : []
  const answered = new Set<string>()
  return first(turn.blocks, ({ at, block }) => {
    if (!isResult(block)) return undefined
    const id = block.tool_use_id
    if (!called.includes(id)) {
      return refuse(
        `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must ` +
          "have a corresponding `tool_use` block in the previous message."
      )
    }
    if (answered.has(id)) {
      return refuse(
        `${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`
      )
    }
    answered.add(id)
    return undefined
  })
}

const unanswered = (turn: Turn, after: Turn | undefined): Refusal | undefined => {
  const blocks = after?.blocks ?? []
  const spoken = blocks.findIndex(({ block }) => !isResult(block))
  const answered = blocks.slice(0, spoken === -1 ? blocks.length : spoken).flatMap(({ block }) =>
    isResult(block) ? [block.tool_use_id] : []
  )
  const left = idsOf(turn).filter((id) => !answered.includes(id))
  return left.length === 0 ? undefined : refuse(
    `${turn.at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${left.join(", ")}. ` +
      "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
  )
}

const isThought = ({ type }: MessagesBlock): boolean => type === "thinking" || type === "redacted_thinking"

const documentation = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"

/** If thinking is on, the model's turn since the user last spoke must begin with thinking. Earlier turns may have lost theirs. */
const checkThought = (turns: ReadonlyArray<Turn>): Refusal | undefined => {
  const asked = turns.findLastIndex(({ blocks, role }) =>
    role === "user" && blocks.some(({ block }) => !isResult(block))
  )
  const begun = turns.slice(asked + 1).find(({ role }) => role === "assistant")?.blocks[0]
  return begun === undefined || isThought(begun.block) ? undefined : refuse(
    `${begun.at}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${begun.block.type}\`. When ` +
      "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost " +
      "set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To " +
      `avoid this requirement, disable \`thinking\`. Please consult our documentation at ${documentation}`
  )
}

const endsInSpace = (turn: Turn): boolean => {
  const last = turn.blocks.at(-1)?.block
  return turn.role === "assistant" && last?.type === "text" && /\s$/.test(last.text)
}

/** Why Anthropic refuses the conversation of a request, if it does. */
export const checkTurns = ({ messages, thinking }: MessagesRequest): Refusal | undefined => {
  const turns = turnsOf(messages)
  if (turns.length > 0 && turns[0]!.role !== "user") {
    return refuse("messages: first message must use the \"user\" role")
  }
  const seen = new Set<string>()
  const refusal = first(turns, (turn, index) => {
    if (turn.role === "user") return checkResults(turn, turns[index - 1])
    const repeated = turn.blocks.find(({ block }) => {
      if (block.type !== "tool_use") return false
      if (seen.has(block.id)) return true
      seen.add(block.id)
      return false
    })
    return repeated !== undefined
      ? refuse(`${repeated.at}: \`tool_use\` ids must be unique`)
      : unanswered(turn, turns[index + 1])
  })
  if (refusal !== undefined) return refusal
  if (turns.length > 0 && endsInSpace(turns.at(-1)!)) {
    return refuse("messages: final assistant content cannot end with trailing whitespace")
  }
  return thinking?.type === "enabled" ? checkThought(turns) : undefined
}
