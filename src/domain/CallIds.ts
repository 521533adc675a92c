/**
 * Ids that calls keep to themselves: unique in a conversation and never empty.
 *
 * Models repeat ids, over turns and within one; an approval by id, and a provider that pairs results by id, need one each.
 *
 * @since 0.1.0
 */
import type { AssistantPart } from "./StateSchema.ts"

/**
 * Gives calls ids that `taken` doesn't hold and adds them to it: a taken or empty id gets a number behind it.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withUniqueIds = (
  parts: ReadonlyArray<AssistantPart>,
  taken: Set<string>
): ReadonlyArray<AssistantPart> => {
  let changed = false
  const unique = parts.map((part) => {
    if (part._tag !== "Call") return part
    let id = part.id === "" ? "call" : part.id
    for (let n = 2; taken.has(id); n++) id = `${part.id === "" ? "call" : part.id}-${n}`
    taken.add(id)
    if (id === part.id) return part
    changed = true
    return { ...part, id }
  })
  return changed ? unique : parts
}
