/**
 * Stores that fail or are slow when they are told to.
 */
import { Effect } from "effect"
import { ConversationStore } from "troupe/cluster"
import { StoreFailed } from "../../examples/backend/store/Store.ts"
import type { Kept } from "./serving.ts"

type Operation = "create" | "read" | "check" | "append"

/** What of a store fails for now. */
export type Failing = Set<Operation>

/** What is kept in a store that fails when it is told to. Whoever can't append is away. */
export const failing = (failing: Failing) => ({ list, logs }: Kept): Kept => {
  const guard = <A extends ReadonlyArray<unknown>, B, E>(
    operation: Operation,
    f: (...args: A) => Effect.Effect<B, E | StoreFailed>
  ) =>
  (...args: A): Effect.Effect<B, E | StoreFailed> =>
    Effect.suspend(() =>
      failing.has(operation)
        ? Effect.fail(new StoreFailed({ operation, cause: new Error("it was told to") }))
        : f(...args)
    )
  return {
    list: {
      ...list,
      create: guard("create", list.create),
      read: guard("read", list.read),
      check: guard("check", () => list.check)(),
      isAway: () => failing.has("append")
    },
    logs: {
      ...logs,
      append: (entry) =>
        Effect.suspend(() =>
          failing.has("append")
            ? Effect.fail(
              new ConversationStore.ConversationStoreError({ operation: "append", issue: "it was told to", error: "" })
            )
            : logs.append(entry)
        )
    }
  }
}
