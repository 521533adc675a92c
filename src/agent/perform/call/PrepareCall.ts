/**
 * Prepares a call: its tool must be offered, its parameters must decode and pass the guardrails, and it must be approved if it needs that.
 *
 * A call that can't run is settled at once. A call that needs approval stays open, and so does the first that requests a handoff.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { lastAssistant } from "../../../domain/conversation/Turns.ts"
import type { Settlement } from "../../../domain/Happening.ts"
import * as JsonValue from "../../../domain/JsonValue.ts"
import * as ModeStack from "../../../domain/ModeStack.ts"
import * as ModeTransition from "../../../domain/ModeTransition.ts"
import { toMessages } from "../../../domain/Projection.ts"
import { refusedBecause } from "../../../domain/RefusedCall.ts"
import type { Answered, Call } from "../../../domain/StateSchema.ts"
import * as Wanted from "../../../domain/Wanted.ts"
import * as Handoff from "../../../handoff/Handoff.ts"
import type { HandoffTool, ModeTool, RunTool, ToolEntry } from "../../definition/AgentDefinition.ts"
import * as Codec from "../../definition/Codec.ts"
import * as Loop from "../../journal/Loop.ts"
import { isUnjudged, judgedBy } from "../../rules/JudgedCall.ts"
import { mayCall } from "../../rules/OfferedTools.ts"
import { type Guard, guardAt } from "../guard/Guard.ts"
import * as CheckMove from "../mode/CheckMove.ts"
import * as GivenResult from "./GivenResult.ts"
import { type CallResult, failed } from "./ToolCall.ts"

/** A call that is ready to run. */
export interface Job {
  readonly call: Call
  readonly entry: RunTool
  readonly params: unknown
  readonly slot: CallSlot
}

/**
 * A call in its turn. Its result is emitted once it is done and those of all calls before it are emitted. `move` is the move between modes
 * that it requested, `ending` why it ends the run.
 */
export interface CallSlot {
  isDone: boolean
  settlement: Settlement | undefined
  move: ModeTransition.Pending | undefined
  ending: { readonly callId: string; readonly cause: Cause.Cause<unknown> } | undefined
}

/** Settles a call that has no handler to run. Its result is kept until it is emitted, even if the run is interrupted before. */
const settleAtOnce = (loop: Loop.Loop, call: Call, slot: CallSlot, { settlement }: CallResult): undefined => {
  slot.isDone = true
  slot.settlement = { callId: call.id, name: call.name, ...settlement, duration: 0 }
  Loop.keepCall(loop, slot.settlement)
  return undefined
}

/** Settles a call that can't be run, in words that the model reads. */
const refuse = (loop: Loop.Loop, call: Call, slot: CallSlot, why: string): undefined =>
  settleAtOnce(loop, call, slot, failed(why))

type Prepared = Job | undefined

/** The preparation of a call: its result, or an effect that returns that. */
type Preparing = Prepared | Effect.Effect<Prepared, never, unknown>

/**
 * Prepares a call, settles it if it can't run, or leaves it waiting for approval.
 *
 * Guardrails judge it first, even if it can't run, because the model reads such calls too. Calls that were refused already aren't judged.
 */
export const prepare = (loop: Loop.Loop, call: Call, slot: CallSlot): Preparing => {
  const guard = judgeOf(loop, call)
  return guard === undefined
    ? prepareJudged(loop, call, slot)
    : Effect.flatMap(guard.look(loop, call, loop.state), (seen) => asEffect(prepareJudged(loop, seen, slot)))
}

/** Returns the guard if guardrails have to judge a call before it runs. A final answer has its own guardrails. */
const judgeOf = (loop: Loop.Loop, call: Call): Guard | undefined => {
  const { definition } = loop
  const stage = stageOf(definition.tools.get(call.name))
  if (stage === undefined || refusedBecause(call) !== undefined) return undefined
  const guard = stage === "handoff" || isUnjudged(definition, call) ? guardAt(definition, stage) : undefined
  return guard?.hasPassed(loop, call) === false ? guard : undefined
}

/** Returns the stage of the guardrails that judge calls of a tool. */
const stageOf = (entry: ToolEntry | undefined): "toolCall" | "handoff" | undefined => {
  switch (entry?._tag) {
    case "Output":
      return undefined
    case "Handoff":
      return "handoff"
    default:
      return "toolCall"
  }
}

/** Prepares a call that guardrails have let pass or refused. */
const prepareJudged = (loop: Loop.Loop, call: Call, slot: CallSlot): Preparing => {
  const refused = refusedBecause(call)
  if (refused !== undefined) return refuse(loop, call, slot, refused)
  if (call.approvalId !== undefined) return askForProvider(loop, call, slot)
  const entry = loop.definition.tools.get(call.name)
  if (entry === undefined) {
    const names = [...loop.definition.tools.keys()]
    const available = names.length === 0 ? "There are no tools." : `Available tools: ${names.join(", ")}.`
    return refuse(loop, call, slot, `There is no tool "${call.name}". ${available}`)
  }
  if (!mayCall(loop.definition, loop.state, call, entry, loop.isChangingModes)) {
    return refuse(loop, call, slot, `"${call.name}" isn't offered now.`)
  }
  if (entry._tag === "Handoff") return askForHandoff(loop, call, slot, entry)
  if (call.state._tag === "Answered") return takeResult(loop, call, slot, entry, call.state)
  return decode(loop, call, slot, entry, (params) => ready(loop, call, slot, entry, params))
}

/**
 * Asks for the approval of a call that the provider runs. The approval is the result of the call; the provider's own result is in a later
 * answer.
 */
const askForProvider = (loop: Loop.Loop, call: Call, slot: CallSlot): undefined => {
  if (call.state._tag !== "Pending") {
    return settleAtOnce(loop, call, slot, { settlement: { outcome: "Succeeded", result: "Approved" } })
  }
  return askForApproval(loop, call, slot)
}

/** Leaves a call waiting for approval. Its parameters have passed the guardrails. */
const askForApproval = (loop: Loop.Loop, { id: callId, name, params }: Call, slot: CallSlot): undefined => {
  slot.isDone = true
  Loop.emit(loop, { _tag: "ApprovalRequested", callId, name, params, ...judgedBy(loop.definition) })
  return undefined
}

/** Settles a call with the result that somebody gave. If its tool has no handler any more, the call fails: nothing can read the result. */
const takeResult = (
  loop: Loop.Loop,
  call: Call,
  slot: CallSlot,
  entry: ToolEntry,
  { _tag, ...given }: Answered
): Preparing =>
  entry._tag === "Handled"
    ? Effect.map(
      GivenResult.readGiven(loop, call, entry, given),
      (answered) => settleAtOnce(loop, call, slot, answered)
    )
    : refuse(loop, call, slot, `The tool "${call.name}" accepts no result from outside.`)

const asEffect = (preparing: Preparing): Effect.Effect<Prepared, never, unknown> =>
  Effect.isEffect(preparing) ? preparing : Effect.succeed(preparing)

/** Decodes a call's parameters and continues with them, or settles the call if they don't fit. A defect in decoding stays a defect. */
const decode = (
  loop: Loop.Loop,
  call: Call,
  slot: CallSlot,
  entry: RunTool | ModeTool,
  use: (params: unknown) => Preparing
): Preparing => {
  const take = (exit: Codec.CodecExit): Preparing => {
    if (Exit.isSuccess(exit)) return use(exit.value)
    const error = Cause.findError(exit.cause)
    return Result.isFailure(error) ? Effect.failCause(error.failure) : refuseParams(loop, call, slot, error.success)
  }
  const decoded = Codec.run(entry.decode, JsonValue.fromUnknown(call.params))
  return Exit.isExit(decoded) ? take(decoded) : Effect.flatMap(decoded, (exit) => asEffect(take(exit)))
}

const refuseParams = (loop: Loop.Loop, call: Call, slot: CallSlot, { message }: Error): undefined =>
  refuse(loop, call, slot, `The parameters of "${call.name}" are wrong: ${message}`)

/** Requests a handoff, unless its parameters are wrong, or another call of the turn requested one first. */
const askForHandoff = (loop: Loop.Loop, call: Call, slot: CallSlot, entry: HandoffTool): Preparing => {
  const request = Handoff.requestOf(entry.handoff, call)
  if (Result.isFailure(request)) return refuseParams(loop, call, slot, request.failure)
  // Guardrails have judged this handoff already, so a continued run accepts the same one: the first handoff that passed.
  const { status } = loop.state
  if (status._tag === "HandoffRequested") {
    const { target } = status.request
    return refuse(loop, call, slot, `Only one agent can take over, and "${target}" was requested first.`)
  }
  slot.isDone = true
  Loop.emit(loop, { _tag: "HandoffRequested", request: request.success })
  return undefined
}

/** Requests a move between modes. It is carried out once the other calls of the turn are settled. */
const askForMove = (loop: Loop.Loop, call: Call, slot: CallSlot, { mode }: ModeTool): Preparing => {
  const ask = (transition: ModeTransition.ModeTransition): undefined => {
    Loop.emit(loop, { _tag: "ModeTransitionRequested", transition })
    const move = loop.state.transition
    slot.move = move
    return settleAtOnce(loop, call, slot, { settlement: answerOfMove(loop, move, false) })
  }
  if (mode === undefined) return ask(ModeTransition.exit)
  const to = mode.invocation === "push" ? ModeTransition.push : ModeTransition.switch
  const asked = (exit: Exit.Exit<unknown, unknown>): undefined =>
    Exit.isSuccess(exit)
      // `move` succeeds with the move alone.
      ? ask(exit.value as ModeTransition.ModeTransition)
      : refuseParams(loop, call, slot, Cause.squash(exit.cause) as Error)
  // A tool that enters a mode exists only together with the mode.
  const entry = loop.definition.modes.get(mode.name)!
  const move = CheckMove.declared(entry, to(mode.name, call.params)) as Effect.Effect<unknown, unknown>
  return Exit.isExit(move) ? asked(move) : Effect.map(Effect.exit(move), asked)
}

/** Tells the model what happens to a move that a call requested: the last one counts, unless another agent takes over. */
const answerOfMove = (
  { state }: Loop.Loop,
  move: ModeTransition.Pending | undefined,
  areMore: boolean
): Pick<Settlement, "outcome" | "result"> => {
  const { status, transition } = state
  const entered = move?.enter?.name
  const name = entered ?? ModeStack.top(state)?.name ?? ""
  const taker = status._tag === "HandoffRequested" ? status.request.target : undefined
  if (move !== transition || taker !== undefined) {
    const why = taker === undefined ? "the last move that is asked for counts" : `agent "${taker}" takes over`
    const what = entered === undefined ? "left" : "entered"
    return { outcome: "Failed", result: `Mode "${name}" isn't ${what} by this call: ${why}.` }
  }
  const unless = areMore ? ", unless another call of this step asks for another move" : ""
  return { outcome: "Succeeded", result: `${entered === undefined ? "Leaving" : "Entering"} mode "${name}"${unless}.` }
}

/**
 * Corrects what the model is told about the move that a call requested, once more is known. Calls that still run (`areMore`) may request
 * another.
 */
export const concludeMove = (loop: Loop.Loop, slot: CallSlot, areMore: boolean): void => {
  const { move, settlement } = slot
  if (move === undefined || settlement === undefined) return
  slot.settlement = { ...settlement, ...answerOfMove(loop, move, areMore) }
  Loop.keepCall(loop, slot.settlement)
}

/** Requests approval if a call needs it, or a move if the call is one. */
const ready = (
  loop: Loop.Loop,
  call: Call,
  slot: CallSlot,
  entry: RunTool | ModeTool,
  params: unknown
): Preparing => {
  if (entry._tag === "Mode") return askForMove(loop, call, slot, entry)
  const job: Job = { call, entry, params, slot }
  const { needsApproval } = entry.tool
  if (call.state._tag !== "Pending" || needsApproval === undefined || needsApproval === false) return job
  const decide = (isNeeded: boolean): Prepared => {
    return isNeeded ? askForApproval(loop, call, slot) : job
  }
  if (needsApproval === true) return decide(true)
  const see = (isNeeded: boolean): Prepared =>
    decide(Wanted.boolean(`\`needsApproval\` of tool "${call.name}"`, isNeeded))
  const needed: boolean | Effect.Effect<boolean, never, unknown> = needsApproval(params, {
    toolCallId: call.id,
    get messages() {
      const { conversation } = loop.state
      return conversation.turns.filter((turn) => turn !== lastAssistant(conversation)).flatMap(toMessages)
    }
  })
  return Effect.isEffect(needed) ? Effect.map(needed, see) : see(needed)
}
