/**
 * Conversations that went different ways from the same beginning: made, compared, and put together again.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import { dual } from "effect/Function"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { withUniqueIds } from "../CallIds.ts"
import { ErrorClass } from "../ErrorClass.ts"
import type * as Part from "../Part.ts"
import type { Assistant, AssistantPart, Call, Conversation, Turn } from "../StateSchema.ts"
import { appendUnchecked, appendUser, callIds, fork } from "./Turns.ts"

/**
 * Lets the user say something else in the place of a turn, counted from 0: that turn and all behind it are left out.
 *
 * Behind the end it is said as what comes next. `AgentState.editAt` does the same to a state, which can go on from there.
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
 * What two conversations have: the first `common` turns are the same in both, and `left` and `right` are what follows in
 * each.
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

/** Joins equal turns. A pin makes no difference, and stays. */
const same: Join = (left, right) =>
  Equal.equals(left, right)
    ? left
    : left.pinned !== right.pinned && Equal.equals(unpinned(left), unpinned(right))
    ? { ...left, pinned: true }
    : undefined

/**
 * Compares two conversations: how many turns they share from their beginning, and what each has behind those.
 *
 * A turn whose calls are open in one and settled in the other isn't the same. That one is pinned makes no difference.
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

/** Gives a call as the model wrote it: it may have been approved with other parameters in one of the two. */
const asWritten = ({ asked, ...call }: Call): Call => asked === undefined ? call : { ...call, params: asked }

/** Gives the part that is further on, where both are the same part: a call may have its result in one of them. */
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

/** Joins what is the same turn, its calls as far as either got. */
const join: Join = (left, right) =>
  same(left, right) ??
    (left._tag === "Assistant" && right._tag === "Assistant" ? joinAssistants(left, right) : undefined)

/**
 * Error for conversations that both went on from what they have in common: the first `common` turns.
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
    `Both conversations went on behind turn ${common}: one by ${left} turns, the fork by ${right}`
) {}

/** Puts turns behind others, with ids of their own for their calls. */
const appendAll = (self: Conversation, turns: ReadonlyArray<Turn>): Conversation => {
  const taken = new Set(callIds(self))
  return turns.reduce<Conversation>(
    (all, turn) =>
      appendUnchecked(all, turn._tag === "Assistant" ? { ...turn, parts: withUniqueIds(turn.parts, taken) } : turn),
    self
  )
}

/**
 * How a fork is merged whose original went on, too: `"fail"` by default, or `"append"`, which puts the fork's turns behind the
 * original's.
 *
 * @category models
 * @since 0.1.0
 */
export interface MergeOptions {
  readonly onDiverged?: "fail" | "append" | undefined
}

/**
 * Brings what was said in a fork back into the conversation that it was made of.
 *
 * Where only one of them went on, the result is that one. Where both did, it fails with `Diverged`, since nobody can have
 * said in one what was said in the other; with `onDiverged: "append"` the fork's turns come behind the original's. Calls that
 * are settled in one of them are in the result, and what ids the fork gave to its calls changes where they are taken.
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
 * // => "Both conversations went on behind turn 2: one by 1 turns, the fork by 2"
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
  (args) => args.length >= 2 && "turns" in args[1],
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
