/**
 * Guardrails on the calls of an answer: asked before the state holds them (`docs/decisions/0008`).
 *
 * A blocked call is kept without its parameters (`RefusedCall`).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { HandoffRequest } from "../../../domain/AgentStatus.ts"
import { callsOf, lastAssistant } from "../../../domain/conversation/Turns.ts"
import * as JsonValue from "../../../domain/JsonValue.ts"
import { refusedCall } from "../../../domain/RefusedCall.ts"
import type { AgentState, AssistantPart, Call } from "../../../domain/StateSchema.ts"
import * as Handoff from "../../../handoff/Handoff.ts"
import type { HandoffTool, ToolEntry } from "../../definition/AgentDefinition.ts"
import type { StagedGuardrail } from "../../definition/guardrail/AgentGuardrails.ts"
import { internalsOf } from "../../definition/guardrail/GuardrailType.ts"
import * as Loop from "../../journal/Loop.ts"
import { refusal, seeHandoff, seeParams } from "./CallGuard.ts"
import { isRefused } from "./Check.ts"

/** The calls that passed before the state held them. They aren't judged again while the loop runs. */
const passed = new Loop.Slot<WeakSet<Call>>()

/** Checks whether guardrails let a call pass before the state held it. */
export const hasPassed = (loop: Loop.Loop, call: Call): boolean => passed.get(loop)?.has(call) === true

/** Notes that guardrails let calls pass. */
const note = (loop: Loop.Loop, calls: ReadonlyArray<Call>): void => {
  const known = passed.get(loop) ?? new WeakSet()
  passed.set(loop, known)
  for (const call of calls) known.add(call)
}

/** Notes that guardrails let a call pass that the state holds now. */
export const notePassed = (loop: Loop.Loop, callId: string): void => {
  const turn = lastAssistant(loop.state.conversation)
  if (turn !== undefined) note(loop, callsOf(turn).filter(({ id }) => id === callId))
}

/** Guardrails that can judge any parameters. Others need parameters that fit the schema. */
const onText = (guardrails: ReadonlyArray<StagedGuardrail>): ReadonlyArray<StagedGuardrail> =>
  guardrails.filter(({ guardrail }) => internalsOf(guardrail).on === "text")

/** Checks whether the parameters of a call fit its tool. Wrong ones are judged too, since they are kept. */
const fits = (entry: Exclude<ToolEntry, HandoffTool> | undefined, { params }: Call): Effect.Effect<boolean> => {
  if (entry === undefined) return Effect.succeed(false)
  const decoded = entry.decode(JsonValue.fromUnknown(params))
  // The codec's services are those of the run around it.
  return Effect.matchCauseEager(decoded, { onFailure: () => false, onSuccess: () => true }) as Effect.Effect<boolean>
}

/** Asks the guardrails about a call's handoff. The call keeps only the parameters that were judged. */
const lookAtHandoff = (loop: Loop.Loop, call: Call, { handoff }: HandoffTool, state: AgentState) => {
  const all = loop.definition.guardrails.handoff
  const read = Handoff.requestOf(handoff, call)
  const asked: HandoffRequest = Result.isSuccess(read)
    ? read.success
    : { target: handoff.target, callId: call.id, tool: handoff.toolName, context: call.params }
  const guardrails = Result.isSuccess(read) ? all : onText(all)
  const keptOf = (seen: HandoffRequest): Schema.Json =>
    Result.isSuccess(read) ? Handoff.paramsOf(handoff, seen) : seen.context ?? {}
  return Effect.map(seeHandoff(loop, asked, state, { call, guardrails, keptOf }), (seen): Call => {
    if (isRefused(seen)) return refusedCall(call, refusal(loop, seen, "handoff"))
    const params = keptOf(seen)
    return Equal.equals(params, call.params) ? call : { ...call, params }
  })
}

/** Asks the guardrails about a call, in a state that has it. Returns the call that is kept. */
export const look = (loop: Loop.Loop, call: Call, state: AgentState): Effect.Effect<Call, never, unknown> => {
  const { guardrails, tools } = loop.definition
  const entry = tools.get(call.name)
  if (entry?._tag === "Output") return Effect.succeed(call)
  if (entry?._tag === "Handoff") {
    return guardrails.handoff.length === 0 ? Effect.succeed(call) : lookAtHandoff(loop, call, entry, state)
  }
  if (guardrails.toolCall.length === 0) return Effect.succeed(call)
  return Effect.flatMap(
    fits(entry, call),
    (isFitting) =>
      Effect.map(
        seeParams(loop, call, state, isFitting ? guardrails.toolCall : onText(guardrails.toolCall)),
        (seen) =>
          isRefused(seen)
            ? refusedCall(call, refusal(loop, seen, "toolCall"))
            : seen === call.params
            ? call
            : { ...call, params: seen }
      )
  )
}

/** Checks whether guardrails judge a call: all but those that a provider has run. Calls that were cut off count, because they are kept. */
const isJudged = ({ providerExecuted, state }: Call): boolean => state._tag === "Pending" || providerExecuted !== true

/**
 * Asks the guardrails about the calls of an answer, in order. Returns the parts that the state holds; `foresee` returns the state with
 * parts.
 */
export const screen = Effect.fnUntraced(function*(
  loop: Loop.Loop,
  parts: ReadonlyArray<AssistantPart>,
  foresee: (parts: ReadonlyArray<AssistantPart>) => AgentState
) {
  let seen = parts
  for (const [at, part] of parts.entries()) {
    if (part._tag !== "Call" || !isJudged(part)) continue
    seen = seen.with(at, yield* look(loop, part, foresee(seen)))
  }
  note(loop, seen.filter((part) => part._tag === "Call"))
  return seen
})
