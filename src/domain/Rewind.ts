/**
 * Going back to an earlier turn of a conversation, to continue from there as if the rest hadn't happened.
 *
 * The agent in control, the modes that were entered and what the run had used are as they were at that turn, as far as a state knows.
 * The state's own `steps`, `usage`, `models` and `logs`, and the ids of calls, aren't reset. Conversation settings and pieces of the prompt
 * stay as they are, except those of a mode that is undone.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import { ask } from "./Beginning.ts"
import { fork } from "./conversation/Turns.ts"
import { statusOf } from "./ImpliedStatus.ts"
import * as ModeStack from "./ModeStack.ts"
import * as RunRecord from "./RunRecord.ts"
import type { AgentState, ModeFrame, Turn, User } from "./StateSchema.ts"
import * as TakenIds from "./TakenIds.ts"
import * as Usage from "./Usage.ts"

/** Undoes modes that were entered after a place in the conversation, the innermost first. */
const undoModes = (self: AgentState, count: number): AgentState => {
  let state = self
  for (let top = ModeStack.top(state); top !== undefined && top.turns > count; top = ModeStack.top(state)) {
    state = ModeStack.undo(state, false)
  }
  return state
}

/** Corrects how many turns a view shows if some of them are cut. */
const cutView = (frame: ModeFrame, count: number): ModeFrame =>
  frame.view === undefined || frame.view.shown <= count
    ? frame
    : { ...frame, view: { ...frame.view, shown: count } }

/** Returns the agents that spoke, without repetitions in a row. A speaker of an imported history that was never in control is left out. */
const speakers = (turns: ReadonlyArray<Turn>, trail: ReadonlyArray<string>): ReadonlyArray<string> =>
  turns.flatMap((turn) => turn._tag === "Assistant" && trail.includes(turn.agent) ? [turn.agent] : [])
    .filter((agent, index, all) => agent !== all[index - 1])

/** Returns the agent that was in control before the turns in `gone`, and the trail up to it. */
const inControl = (
  { agent, trail }: AgentState,
  gone: ReadonlyArray<Turn>
): Pick<AgentState, "agent" | "trail"> => {
  const spoke = speakers(gone, trail)
  const [first] = spoke
  if (first === undefined || spoke.every((name) => name === agent)) return { agent, trail }
  const later = spoke.length - (spoke.at(-1) === agent ? 1 : 0)
  const before = trail.slice(0, Math.max(0, trail.length - later))
  return { agent: first, trail: before.at(-1) === first ? before : [...before, first] }
}

/** Returns what is known of the run at the end of some turns: the answers since a user or another agent spoke. */
const runOf = (self: AgentState, agent: string, turns: ReadonlyArray<Turn>): AgentState["run"] => {
  const start = turns.findLastIndex((turn) =>
    turn._tag === "Assistant" ? turn.agent !== agent : turn._tag === "User" && turn.mode === undefined
  )
  const answers = turns.slice(start + 1).filter((turn) => turn._tag === "Assistant")
  return {
    ...RunRecord.begin(self.run.startedAt),
    iteration: answers.length,
    steps: answers.length,
    usage: answers.reduce((usage, answer) => Usage.add(usage, answer.usage), Usage.empty)
  }
}

/**
 * Goes back to the first `count` turns of the conversation. The state can continue from there, whatever its status was.
 *
 * Modes that were entered later are undone, and a requested handoff or move between modes is withdrawn. The agent of the first removed
 * answer is in control. The state's own `steps`, `usage`, `models` and `logs`, and the ids of calls, aren't reset. Conversation settings
 * and pieces of the prompt stay as they are, except those of a mode that is undone. If `count` is the number of turns or more, only the status is derived anew.
 *
 * @category combinators
 * @since 0.1.0
 */
export const forkAt: {
  (count: number): (self: AgentState) => AgentState
  (self: AgentState, count: number): AgentState
} = dual(2, (self: AgentState, count: number): AgentState => {
  if (count >= self.conversation.turns.length) return { ...self, status: statusOf(self.conversation) }
  const { handoff, initialQuery, transition: _, ...undone } = undoModes(self, Math.max(0, Math.trunc(count) || 0))
  const conversation = fork(undone.conversation, count)
  const { turns } = conversation
  const { agent, trail } = inControl(undone, undone.conversation.turns.slice(turns.length))
  const asked = turns.some((turn) => turn._tag === "User" && turn.mode === undefined)
  return TakenIds.keep(self, {
    ...undone,
    agent,
    trail,
    conversation,
    status: statusOf(conversation),
    ...(asked && initialQuery !== undefined ? { initialQuery } : undefined),
    ...(handoff !== undefined && trail === undone.trail ? { handoff } : undefined),
    modes: undone.modes.map((frame) => cutView(frame, turns.length)),
    run: runOf(self, agent, turns)
  })
})

/**
 * Replaces a turn, counted from 0, by other words of the user: the conversation ends with them, and they begin a new run. The model speaks
 * next, unless calls before them are open. The rest of the state is as after `forkAt`.
 *
 * **Example** (Asking differently)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentState } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const guide = Agent.make("guide")
 *
 * const program = Effect.gen(function*() {
 *   const state = yield* Agent.run(guide, "Is Rome warm?")
 *   const edited = AgentState.editAt(state, 0, "Is Oslo warm?")
 *   return AgentState.text(yield* Agent.resume(guide, edited))
 * }).pipe(Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) => `You ask: ${lastUserText}`))))
 *
 * await Effect.runPromise(program) // => "You ask: Is Oslo warm?"
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const editAt: {
  (index: number, input: string | User["parts"]): (self: AgentState) => AgentState
  (self: AgentState, index: number, input: string | User["parts"]): AgentState
} = dual(
  3,
  (self: AgentState, index: number, input: string | User["parts"]): AgentState =>
    ask(forkAt(self, index), input, self.run.startedAt)
)
