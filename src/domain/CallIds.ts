/**
 * Ids of calls: unique in a conversation and never empty.
 *
 * Models repeat ids, within a turn and across turns. Approvals by id, and providers that pair results by id, need unique ones.
 *
 * @since 0.1.0
 */
import type { AssistantPart } from "./StateSchema.ts"

/**
 * Gives calls ids that aren't in `taken`, and adds them to it. A number is appended to an id that is taken or empty.
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
