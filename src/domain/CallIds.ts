/**
 * Ids of calls: unique in a conversation and never empty.
 *
 * Models repeat ids, within a turn and across turns. Approvals by id, and providers that pair results by id, need unique ones.
 *
 * @since 0.1.0
 */
import type { AssistantPart } from "./StateSchema.ts"

/** Ids that are taken. `another` makes a free id from a taken one; by default the first free number is appended. */
export interface Taken {
  readonly has: (id: string) => boolean
  readonly add: (id: string) => unknown
  readonly another?: (id: string) => string
}

/** For each set of taken ids, the number that was last appended to each id. */
const numbers = new WeakMap<object, Map<string, number>>()

/**
 * Appends the first number that makes an id free.
 *
 * A model may give every call the same id, so the numbers that were tried before are remembered for the object `taken` and not tried again.
 * They stay taken, because ids are never removed from it.
 */
export const counted = (taken: Pick<Taken, "has">, id: string): string => {
  const last = numbers.get(taken) ?? new Map<string, number>()
  let n = last.get(id) ?? 2
  while (taken.has(`${id}-${n}`)) n++
  numbers.set(taken, last.set(id, n))
  return `${id}-${n}`
}

/**
 * Gives calls ids that aren't in `taken`, and adds them to it. A number is appended to an id that is taken; an empty one counts as `call`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withUniqueIds = (parts: ReadonlyArray<AssistantPart>, taken: Taken): ReadonlyArray<AssistantPart> => {
  let changed = false
  const unique = parts.map((part) => {
    if (part._tag !== "Call") return part
    const asked = part.id === "" ? "call" : part.id
    const id = !taken.has(asked) ? asked : taken.another?.(asked) ?? counted(taken, asked)
    taken.add(id)
    if (id === part.id) return part
    changed = true
    return { ...part, id }
  })
  return changed ? unique : parts
}
