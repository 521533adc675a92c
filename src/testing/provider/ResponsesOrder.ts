/**
 * What OpenAI refuses of the order in which the items of an input stand.
 *
 * @since 0.1.0
 */
import { refuse } from "./OpenAiRefusal.ts"
import type { Refusal } from "./Protocol.ts"
import { first } from "./Refusals.ts"
import { thoughtOf } from "./ResponsesItems.ts"
import { isMessage, isOutput, itemsOf, type ResponsesItem, type ResponsesRequest } from "./ResponsesRequest.ts"

/** Each call has an output, and each output a call. A reference to a call may stand for any call, since it has no `call_id`. */
const checkOutputs = (items: ReadonlyArray<ResponsesItem>): Refusal | undefined => {
  const open = new Set<string>()
  const called = new Set<string>()
  let referred = 0
  const refusal = first(items, (item) => {
    if (item.type === "item_reference" && item.id.startsWith("fc")) referred++
    if (item.type === "function_call") {
      open.add(item.call_id)
      called.add(item.call_id)
    }
    if (item.type !== "function_call_output") return undefined
    const id = item.call_id
    if (!called.has(id) && --referred < 0) {
      return refuse(`No tool call found for function call output with call_id ${id}.`, "input")
    }
    open.delete(id)
    return undefined
  })
  const [unanswered] = open
  return refusal ?? (unanswered === undefined
    ? undefined
    : refuse(`No tool output found for function call ${unanswered}.`, "input"))
}

const isSpoken = (item: ResponsesItem | undefined): boolean =>
  item !== undefined && !isOutput(item) && (!isMessage(item) || item.role === "assistant")

/** Reasoning stands before what it led to, and a call that came with reasoning stands behind it. */
const checkThoughts = (items: ReadonlyArray<ResponsesItem>): Refusal | undefined => {
  const thoughts = new Set<string>()
  return first(items, (item, index) => {
    if (item.type === "reasoning" || (item.type === "item_reference" && item.id.startsWith("rs"))) thoughts.add(item.id)
    if (item.type === "reasoning" && !isSpoken(items[index + 1])) {
      return refuse(
        `Item '${item.id}' of type 'reasoning' was provided without its required following item.`,
        "input"
      )
    }
    const thought = item.type === "function_call" && item.id ? thoughtOf(item.id) : undefined
    return thought === undefined || thoughts.has(thought) ? undefined : refuse(
      `Item '${item.id}' of type 'function_call' was provided without its required 'reasoning' item: '${thought}'.`,
      "input"
    )
  })
}

/** Items have ids of their own. */
const checkIds = (items: ReadonlyArray<ResponsesItem>): Refusal | undefined => {
  const seen = new Set<string>()
  return first(items, ({ id }) => {
    if (typeof id !== "string") return undefined
    if (seen.has(id)) {
      return refuse(
        `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
        "input"
      )
    }
    seen.add(id)
    return undefined
  })
}

/** Why OpenAI refuses the items of a request, if it does. */
export const checkItems = (request: ResponsesRequest): Refusal | undefined => {
  const items = itemsOf(request)
  return checkIds(items) ?? checkThoughts(items) ?? checkOutputs(items)
}
