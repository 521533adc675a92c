/**
 * When a loop must not ask its model again: it has what it wanted, or a limit was met, its own or one around it.
 *
 * @since 0.1.0
 */
import { next } from "../domain/Command.ts"
import { callsOf, lastAssistant } from "../domain/Conversation.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import { wrongAnswer } from "./Correction.ts"
import type { Definition } from "./Definition.ts"
import { Halt } from "./Halt.ts"
import * as Loop from "./Loop.ts"
import * as Output from "./Output.ts"
import * as StopWhen from "./StopWhen.ts"

/** The limit that a loop has met: its own, or one of a loop around it, which then stops this one. */
export const met = (loop: Loop.Loop): "Own" | "Outer" | undefined => {
  const time = Loop.now(loop)
  for (let at: Loop.Loop | undefined = loop; at !== undefined; at = at.parent) {
    const verdict = StopWhen.evaluate(at.definition.stopWhen, Loop.foreseen(at), time)
    if (verdict !== undefined && verdict !== "Finish") return at === loop ? "Own" : "Outer"
  }
  return undefined
}

/** Gives what a loop's own limit stops it with, where it was met. */
export const toHalt = (loop: Loop.Loop): Halt | undefined => {
  const verdict = StopWhen.evaluate(loop.definition.stopWhen, loop.state, Loop.now(loop))
  return verdict === undefined || verdict === "Finish" ? undefined : new Halt(verdict)
}

/** Checks whether a loop has what it wanted: an accepted output, or a condition that finishes its run. */
export const isFinished = (loop: Loop.Loop): boolean =>
  loop.state.run.iteration > 0 && (
    (loop.definition.output !== undefined && Output.isAccepted(loop.state)) ||
    StopWhen.evaluate(loop.definition.stopWhen, loop.state, Loop.now(loop)) === "Finish"
  )

/** Checks whether all that a loop could do is let agents ask their models, while a limit forbids it. */
export const isStuck = (loop: Loop.Loop): boolean =>
  met(loop) !== undefined && onlyAgentsAsk(loop.definition, loop.state, Loop.now(loop))

const onlyAgentsAsk = (definition: Definition, state: AgentState, time: number): boolean => {
  const command = next(state)
  const turn = lastAssistant(state.conversation)
  return command._tag === "RunCalls" && (turn === undefined ? [] : callsOf(turn)).every((call) => {
    if (!command.callIds.includes(call.id)) return true
    const entry = definition.tools.get(call.name)
    if (call.state._tag !== "Delegated" || entry?._tag !== "Agent") return false
    const { child } = call.state
    const inControl = entry.roster().agents.get(child.agent)
    return inControl !== undefined && asks(inControl, child, time)
  })
}

/** Checks whether an agent asks its model next: one whose own limit or wish is met, or whose answer is wrong, doesn't. */
const asks = (definition: Definition, state: AgentState, time: number): boolean => {
  const verdict = StopWhen.evaluate(definition.stopWhen, state, time)
  if (next(state)._tag !== "AskModel") {
    return (verdict === undefined || verdict === "Finish") && onlyAgentsAsk(definition, state, time)
  }
  return verdict === undefined && !Output.isAccepted(state) && wrongAnswer({ definition, state }) === undefined
}
