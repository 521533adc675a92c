/**
 * Guardrails on the calls of an answer: asked before the state holds them (`docs/decisions/0008`).
 *
 * A call that doesn't pass is kept without its parameters, with the words that it is settled with.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Result from "effect/Result"
import type { HandoffRequest } from "../../../domain/AgentStatus.ts"
import { callsOf, lastAssistant } from "../../../domain/conversation/Turns.ts"
import * as JsonValue from "../../../domain/JsonValue.ts"
import type { AgentState, AssistantPart, Call } from "../../../domain/StateSchema.ts"
import * as Handoff from "../../../handoff/Handoff.ts"
import type { HandoffTool, ToolEntry } from "../../definition/AgentDefinition.ts"
import type { StagedGuardrail } from "../../guardrail/AgentGuardrails.ts"
import { internalsOf } from "../../guardrail/GuardrailType.ts"
import * as Loop from "../../journal/Loop.ts"
import { consequenceOf } from "../../rules/VerdictConsequences.ts"
import { seeHandoff, seeParams } from "./CallGuard.ts"
import { isRefused, type Refused } from "./Check.ts"

/** The calls that passed before the state held them: nobody asks about them again while the loop runs. */
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

/** Says to the model that a call didn't pass the guardrails. */
export const refusal = ({ definition }: Loop.Loop, refused: Refused, at: "toolCall" | "handoff"): string =>
  consequenceOf(refused, at, definition.name).result

/** Gives the words that a call is settled with, if guardrails refused it. */
export const refusedBecause = ({ metadata }: Call): string | undefined => {
  // Metadata is JSON; the field is checked below.
  const refused = (metadata?.["troupe"] as { readonly refused?: unknown } | undefined)?.refused
  return typeof refused === "string" ? refused : undefined
}

const refusedCall = (call: Call, refused: string): Call => ({
  ...call,
  params: {},
  metadata: { ...call.metadata, troupe: { refused } }
})

/** Those that can look at anything: others are made for parameters that fit. */
const onText = (guardrails: ReadonlyArray<StagedGuardrail>): ReadonlyArray<StagedGuardrail> =>
  guardrails.filter(({ guardrail }) => internalsOf(guardrail).on === "text")

/** Checks whether the parameters of a call are those of its tool. Wrong ones are looked at as well, since they are kept. */
const fits = (entry: Exclude<ToolEntry, HandoffTool> | undefined, { params }: Call): Effect.Effect<boolean> => {
  if (entry === undefined) return Effect.succeed(false)
  const decoded = entry.decode(JsonValue.fromUnknown(params))
  // The codec's services are those of the run around it.
  return Effect.matchCauseEager(decoded, { onFailure: () => false, onSuccess: () => true }) as Effect.Effect<boolean>
}

/** Asks about a handoff that a call asks for. The call is kept with what was looked at alone. */
const lookAtHandoff = (loop: Loop.Loop, call: Call, { handoff }: HandoffTool, state: AgentState) => {
  const all = loop.definition.guardrails.handoff
  const read = Handoff.requestOf(handoff, call)
  const asked: HandoffRequest = Result.isSuccess(read)
    ? read.success
    : { target: handoff.target, callId: call.id, tool: handoff.toolName, context: call.params }
  return Effect.map(seeHandoff(loop, asked, call, state, Result.isSuccess(read) ? all : onText(all)), (seen): Call => {
    if (isRefused(seen)) return refusedCall(call, refusal(loop, seen, "handoff"))
    const params = Result.isSuccess(read) ? Handoff.paramsOf(handoff, seen) : seen.context ?? {}
    return Equal.equals(params, call.params) ? call : { ...call, params }
  })
}

/** Asks about a call in a state that has it. Gives the call that is kept. */
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

/** Checks whether guardrails look at calls of an agent. */
export const isGuarded = ({ definition: { guardrails } }: Loop.Loop): boolean =>
  guardrails.toolCall.length > 0 || guardrails.handoff.length > 0

/** Checks whether guardrails look at the parameters of a tool's calls, so that no piece of them is shown before. */
export const isHidden = (loop: Loop.Loop, tool: string): boolean => {
  const { guardrails, tools } = loop.definition
  switch (tools.get(tool)?._tag) {
    case "Output":
      return false
    case "Handoff":
      return guardrails.handoff.length > 0
    default:
      return guardrails.toolCall.length > 0
  }
}

/** Asks about the calls of an answer, one after the other. Gives the parts that the state holds; `foresee` gives the state with parts. */
export const screen = Effect.fnUntraced(function*(
  loop: Loop.Loop,
  parts: ReadonlyArray<AssistantPart>,
  foresee: (parts: ReadonlyArray<AssistantPart>) => AgentState
) {
  let seen = parts
  for (const [at, part] of parts.entries()) {
    if (part._tag !== "Call" || part.state._tag !== "Pending") continue
    seen = seen.with(at, yield* look(loop, part, foresee(seen)))
  }
  note(loop, seen.filter((part) => part._tag === "Call"))
  return seen
})
