/**
 * States and prompts without what a provider chooses for itself: ids of calls, what it attaches, the name of its model, and
 * what it counts. What it doesn't say at all, as OpenAI's chat completions don't say what a model thinks, is left out too.
 */
import type { Prompt } from "effect/ai"
import { AgentState } from "troupe"

type Json = ReturnType<typeof AgentState.toJson>

const own = new Set(["metadata", "usage", "models", "model", "counted"])

const isReasoning = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "_tag" in value && value._tag === "Reasoning"

/** A state as its JSON says it, apart from what is the provider's own. */
export const plainState = (state: AgentState.AgentState, { reasons }: { readonly reasons: boolean }): Json => {
  const ids = new Map<string, string>()
  const plain = (value: Json): Json => {
    if (Array.isArray(value)) return value.filter((item) => reasons || !isReasoning(item)).map(plain)
    if (typeof value !== "object" || value === null) return value
    const copy: Record<string, Json> = {}
    for (const [key, item] of Object.entries(value)) {
      if (own.has(key)) continue
      if ((key === "id" || key === "callId") && typeof item === "string") {
        if (!ids.has(item)) ids.set(item, `call ${ids.size + 1}`)
        copy[key] = ids.get(item)!
      } else copy[key] = plain(item)
    }
    return copy
  }
  return plain(AgentState.toJson(state))
}

/** What stands in a message, in the order in which any protocol can have it. How a result is told is the provider's. */
const contentOf = (part: Exclude<Prompt.Message["content"], string>[number]): ReadonlyArray<unknown> => {
  switch (part.type) {
    case "text":
      return [["text", part.text]]
    case "tool-call":
      return [["call", part.name, part.params]]
    case "tool-result":
      return [["result", part.name]]
    default:
      return []
  }
}

/**
 * The words and calls of a prompt, message by message, and which tools gave results. What an assistant says beside its calls
 * is left out for a provider's package that forgets it.
 */
export const plainPrompt = (
  { content }: Prompt.Prompt,
  { forgets = false }: { readonly forgets?: boolean } = {}
): ReadonlyArray<unknown> =>
  content.flatMap((message) => {
    if (typeof message.content === "string") return [[message.role, ["text", message.content]]]
    const calls = message.content.some((part) => part.type === "tool-call")
    const parts = forgets && calls ? message.content.filter((part) => part.type !== "text") : message.content
    return parts.flatMap(contentOf).map((said) => [message.role, said])
  })
