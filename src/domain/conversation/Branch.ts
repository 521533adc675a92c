/**
 * Branches of a conversation: made, compared, and merged.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import { dual } from "effect/Function"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { counted } from "../Described.ts"
import { ErrorClass } from "../ErrorClass.ts"
import type * as Part from "../Part.ts"
import type { Assistant, AssistantPart, Call, Conversation, Turn } from "../StateSchema.ts"
import { appendAll, appendUser, fork } from "./Turns.ts"

/**
 * Replaces a turn, counted from 0, by other words of the user, and drops all turns behind it.
 *
 * A place behind the end appends the words. `AgentState.editAt` does the same to a state, which can continue from there.
 *
 * @category combinators
 * @since 0.1.0
 */
export const edit: {
  (index: number, input: string | ReadonlyArray<Part.UserPart>): (self: Conversation) => Conversation
  (self: Conversation, index: number, input: string | ReadonlyArray<Part.UserPart>): Conversation
} = dual(
  3,
  (self: Conversation, index: number, input: string | ReadonlyArray<Part.UserPart>): Conversation =>
    appendUser(fork(self, index), input)
)

/**
 * The difference of two conversations: the first `common` turns are the same in both, and `left` and `right` are what follows in each.
 *
 * @category models
 * @since 0.1.0
 */
export interface Difference {
  readonly common: number
  readonly left: ReadonlyArray<Turn>
  readonly right: ReadonlyArray<Turn>
}

type Join = (left: Turn, right: Turn) => Turn | undefined

/** Joins turns from the beginning as long as that works. */
const joined = (left: ReadonlyArray<Turn>, right: ReadonlyArray<Turn>, join: Join): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  for (let at = 0; at < left.length && at < right.length; at++) {
    const turn = join(left[at]!, right[at]!)
    if (turn === undefined) break
    turns.push(turn)
  }
  return turns
}

const unpinned = (turn: Turn): unknown => {
  const { pinned: _, ...rest } = turn
  return rest
}

/** Joins equal turns. Pins aren't compared, and are kept. */
const same: Join = (left, right) =>
  Equal.equals(left, right)
    ? left
    : left.pinned !== right.pinned && Equal.equals(unpinned(left), unpinned(right))
    ? { ...left, pinned: true }
    : undefined

/**
 * Compares two conversations: how many turns they share from their beginning, and what each has behind those.
 *
 * A turn whose calls are open in one and settled in the other isn't the same. Pins aren't compared.
 *
 * @category getters
 * @since 0.1.0
 */
export const diff: {
  (that: Conversation): (self: Conversation) => Difference
  (self: Conversation, that: Conversation): Difference
} = dual(2, (self: Conversation, that: Conversation): Difference => {
  const common = joined(self.turns, that.turns, same).length
  return { common, left: self.turns.slice(common), right: that.turns.slice(common) }
})

/** Returns a call as the model wrote it: one branch may have approved it with other parameters. */
const asWritten = ({ asked, ...call }: Call): Call => asked === undefined ? call : { ...call, params: asked }

/** Joins two versions of the same part: of a call that is settled in one branch only, it returns the settled version. */
const joinParts = (left: AssistantPart, right: AssistantPart): AssistantPart | undefined => {
  if (Equal.equals(left, right)) return left
  if (left._tag !== "Call" || right._tag !== "Call") return undefined
  if (!Equal.equals({ ...asWritten(left), state: right.state }, asWritten(right))) return undefined
  const isSettled = left.state._tag === "Settled"
  return isSettled === (right.state._tag === "Settled") ? undefined : isSettled ? left : right
}

const joinAssistants = (left: Assistant, right: Assistant): Turn | undefined => {
  const rest = same({ ...left, parts: [] }, { ...right, parts: [] })
  if (rest?._tag !== "Assistant" || left.parts.length !== right.parts.length) return undefined
  const parts: Array<AssistantPart> = []
  for (const [at, part] of left.parts.entries()) {
    const both = joinParts(part, right.parts[at]!)
    if (both === undefined) return undefined
    parts.push(both)
  }
  return { ...rest, parts }
}

/** Joins two versions of the same turn. A call that is settled in one of them only is settled in the result. */
const join: Join = (left, right) =>
  same(left, right) ??
    (left._tag === "Assistant" && right._tag === "Assistant" ? joinAssistants(left, right) : undefined)

/**
 * Error for conversations that both continued after their first `common` turns, which they share.
 *
 * @category errors
 * @since 0.1.0
 */
export class Diverged extends ErrorClass<Diverged>("troupe/domain/Conversation")(
  "Diverged",
  {
    common: Schema.Int,
    left: Schema.Int,
    right: Schema.Int
  },
  ({ common, left, right }) =>
    `Both conversations continued after the ${
      counted(common, "turn")
    } that they share, the original by ${left} and the fork by ${right} turns: merge with \`onDiverged: "append"\` to keep both`
) {}

/**
 * What merging does if the original continued too: `"fail"` by default, or `"append"`, which puts the fork's turns behind the original's.
 *
 * @category models
 * @since 0.1.0
 */
export interface MergeOptions {
  readonly onDiverged?: "fail" | "append" | undefined
}

/**
 * Merges a fork back into the conversation that it was made from.
 *
 * If only one of them continued, the result is that one. If both did, it fails with `Diverged`; with `onDiverged: "append"` the fork's
 * turns come behind the original's. A call that is settled in one of them alone is settled in the result. If a turn that both have differs
 * in another way, as when a call has two results, both count as continued from there; pins aren't compared. Calls of the fork get other ids
 * if theirs are taken.
 *
 * **Example** (Trying something, and keeping it)
 *
 * ```ts
 * import { Result } from "effect"
 * import { Conversation } from "troupe"
 *
 * const draft = Conversation.make([Conversation.user("A title?"), Conversation.assistant("writer", "Dawn.")])
 * const fork = Conversation.append(
 *   Conversation.appendUser(draft, "Something shorter?"),
 *   Conversation.assistant("writer", "Sun.")
 * )
 * Conversation.merge(draft, fork) // => Result.succeed(fork)
 *
 * const meanwhile = Conversation.appendUser(draft, "Never mind.")
 * const failed = Conversation.merge(meanwhile, fork)
 * Result.isFailure(failed) && failed.failure.message
 * // => "Both conversations continued after the 2 turns that they share, the original by 1 and the fork by 2 turns: merge with `onDiverged: \"append\"` to keep both"
 *
 * const both = Conversation.merge(meanwhile, fork, { onDiverged: "append" })
 * Result.isSuccess(both) && both.success.turns.map(Conversation.textOf)
 * // => ["A title?", "Dawn.", "Never mind.", "Something shorter?", "Sun."]
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const merge: {
  (fork: Conversation, options?: MergeOptions): (self: Conversation) => Result.Result<Conversation, Diverged>
  (self: Conversation, fork: Conversation, options?: MergeOptions): Result.Result<Conversation, Diverged>
} = dual(
  (args) => Predicate.hasProperty(args[1], "turns"),
  (self: Conversation, fork: Conversation, options?: MergeOptions): Result.Result<Conversation, Diverged> => {
    const both = joined(self.turns, fork.turns, join)
    const common = both.length
    const left = self.turns.slice(common)
    const right = fork.turns.slice(common)
    if (left.length > 0 && right.length > 0 && options?.onDiverged !== "append") {
      return Result.fail(new Diverged({ common, left: left.length, right: right.length }))
    }
    const base = left.length === 0 && right.length > 0 ? fork : self
    const merged: Conversation = { ...base, turns: [...both, ...base.turns.slice(common)] }
    return Result.succeed(base === fork ? merged : appendAll(merged, right))
  }
)
