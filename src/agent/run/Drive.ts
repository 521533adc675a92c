/**
 * The one loop: what a state needs next is done, what happened is taken in, until nothing is needed any more.
 *
 * Running, streaming and resuming are this loop with others looking on; stepping is one turn of it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import { next } from "../../domain/Command.ts"
import { Halt } from "../journal/Halt.ts"
import * as Loop from "../journal/Loop.ts"
import * as Telemetry from "../journal/Telemetry.ts"
import { askModel } from "../perform/ask/AskModel.ts"
import * as OwnModel from "../perform/ask/OwnModel.ts"
import { runCalls } from "../perform/call/RunCalls.ts"
import * as CallGuard from "../perform/guard/CallGuard.ts"
import { handOver } from "../perform/HandOver.ts"
import { takeAll } from "../perform/mode/Moving.ts"
import * as Correction from "../rules/Corrections.ts"
import { emptyInput } from "../rules/InputIssue.ts"
import * as Limit from "../rules/Limits.ts"

/** How far a loop goes: to the end of its run, or of one step. */
export type Extent = "Run" | "Step"

/** How a loop that didn't fail has ended. */
export type Ending = "Ended" | "Suspended"

/** How driving a loop has ended: for good, or because there may be another model now. */
type Driven = Ending | "HandedOver" | "Moved"

/**
 * Goes on until nothing is needed any more, or to the end of one step.
 *
 * Gives `"Suspended"` when a limit of a loop around this one was met: that loop fails, this one can go on later; and
 * `"HandedOver"` or `"Moved"` when another agent has taken over, or another mode, which may have a model of its own.
 */
const drive: (loop: Loop.Loop, extent: Extent) => Effect.Effect<Driven, unknown, unknown> = Effect
  .fnUntraced(function*(loop: Loop.Loop, extent: Extent) {
    while (true) {
      const command = next(loop.state)
      switch (command._tag) {
        case "Stop":
        case "AskModel": {
          const issue = Correction.wrongAnswer(loop)
          if (issue !== undefined) {
            const halt = Correction.correct(loop, issue)
            if (halt !== undefined) return yield* Effect.fail(halt)
            break
          }
          const conclusion = conclude(loop)
          if (conclusion !== undefined) {
            const isHandingOver = yield* finish(loop, conclusion)
            if (isHandingOver) break
            return "Ended"
          }
          if (loop.state.conversation.turns.length === 0) {
            return yield* Effect.fail(new Halt(emptyInput(loop.definition)))
          }
          const limit = Limit.met(loop)
          if (limit !== undefined) {
            if (limit.of !== loop) return "Suspended"
            const halt = Limit.stop(loop, limit)
            if (halt !== undefined) return yield* Effect.fail(halt)
            break
          }
          if (loop.state.transition !== undefined && loop.live.between === 0) {
            yield* takeAll(loop)
            return "Moved"
          }
          loop.live.moves = 0
          loop.step = loop.state.run.iteration
          Loop.startStep(loop)
          yield* askModel(loop)
          const calls = next(loop.state)
          if (calls._tag === "RunCalls") yield* runCalls(loop, calls.callIds)
          Loop.endStep(loop)
          yield* loop.root.flush
          if (extent === "Step") return "Ended"
          break
        }
        case "RunCalls": {
          const limit = Limit.metByAgents(loop)
          if (limit !== undefined) {
            if (limit.of !== loop) return "Suspended"
            const halt = Limit.stop(loop, limit)
            if (halt !== undefined) return yield* Effect.fail(halt)
            break
          }
          loop.step = Math.max(0, loop.state.run.iteration - 1)
          Loop.startStep(loop)
          yield* runCalls(loop, command.callIds)
          Loop.endStep(loop)
          yield* loop.root.flush
          if (extent === "Step") return "Ended"
          break
        }
        case "HandOver": {
          yield* handOver(loop, command.request)
          return extent === "Step" ? "Ended" : "HandedOver"
        }
        case "Await":
          return "Ended"
      }
    }
  })

/** Gives the handoff that the policy wants of an agent that has its answer. */
const decide = ({ live, roster, state }: Loop.Loop): HandoffRequest | undefined =>
  state.status._tag === "Failed" || live.between > 0 || state.run.landing !== undefined
    ? undefined
    : roster.decide(state)

/**
 * Concludes what has nothing left to ask the model, unless an answer is wrong: the loop ends, or hands over where its policy wants
 * that. Gives `undefined` where the model, a call or another agent is next.
 */
export const conclude = (loop: Loop.Loop): "Ended" | HandoffRequest | undefined => {
  const { _tag } = next(loop.state)
  if (_tag !== "Stop" && (_tag !== "AskModel" || !Limit.isFinished(loop))) return undefined
  return decide(loop) ?? "Ended"
}

/** Ends a loop as was concluded, once the guardrails have let that pass. Gives whether another agent is to take over. */
export const finish = Effect.fnUntraced(function*(loop: Loop.Loop, conclusion: "Ended" | HandoffRequest) {
  if (conclusion === "Ended") return false
  if (loop.definition.guardrails.handoff.length === 0) Loop.requestHandoff(loop, conclusion)
  else Loop.requestHandoff(loop, yield* CallGuard.seeDecision(loop, conclusion))
  return true
})

/** Checks whether a loop has nothing left to do, so that it needs no model. */
export const isOver = (loop: Loop.Loop): boolean =>
  next(loop.state)._tag === "Stop" && Correction.wrongAnswer(loop) === undefined && decide(loop) === undefined

/** Drives a loop with the model of the agent in control, and goes on with the next one's when another takes over. */
export const driveAll = (loop: Loop.Loop, extent: Extent): Effect.Effect<Ending, unknown, unknown> => {
  const driveOne = (): Effect.Effect<Driven, unknown, unknown> =>
    isOver(loop) ? drive(loop, extent) : OwnModel.provide(loop, () => drive(loop, extent))
  const goOn = (driven: Driven): Effect.Effect<Ending, unknown, unknown> =>
    driven === "HandedOver"
      ? Effect.flatMap(Telemetry.handoffSpan(loop, driveOne()), goOn)
      : driven === "Moved"
      ? Effect.flatMap(Effect.suspend(driveOne), goOn)
      : Effect.succeed(driven)
  return Effect.flatMap(driveOne(), goOn)
}
