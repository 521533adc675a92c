/**
 * Guardrails on calls: on parameters, on results, and on handoffs.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { GuardrailBlocked } from "../../../domain/AgentError.ts"
import { HandoffRequest } from "../../../domain/AgentStatus.ts"
import * as JsonValue from "../../../domain/JsonValue.ts"
import type { AgentState, Call } from "../../../domain/StateSchema.ts"
import type { StagedGuardrail } from "../../definition/guardrail/AgentGuardrails.ts"
import type { CheckedCall, Context, Values } from "../../definition/guardrail/GuardrailType.ts"
import type * as Loop from "../../journal/Loop.ts"
import { Fail } from "../../rules/Decision.ts"
import { isApprovedAsShown } from "../../rules/JudgedCall.ts"
import type * as Consequences from "../../rules/VerdictConsequences.ts"
import { consequenceOf, saidIn } from "../../rules/VerdictConsequences.ts"
import { ownOf } from "../call/OwnResult.ts"
import { type CallResult, failed } from "../call/ToolCall.ts"
import { check, isRefused, type Kind, type Refused } from "./Check.ts"
import * as DeclaredKeys from "./DeclaredKeys.ts"
import type { Guard } from "./Guard.ts"
import { textsIn, withTexts } from "./Texts.ts"

type Crossing = Values["handoff"]

/** Returns the words that tell the model that a call was blocked. */
export const refusal = ({ definition }: Loop.Loop, refused: Consequences.Refused, at: "toolCall" | "handoff"): string =>
  consequenceOf(refused, at, definition.name).result

const contextOf = (
  loop: Loop.Loop,
  stage: Context["stage"],
  call: CheckedCall | undefined,
  state = loop.state
): Context => ({
  stage,
  agent: loop.definition.name,
  state,
  ...(call === undefined ? undefined : { call })
})

const checkedCall = ({ id, name, params }: Call): CheckedCall => ({ id, name, params })

const isJson = Schema.is(Schema.Json)
const isHandoff = Schema.is(HandoffRequest)

/** Returns a copy of a guardrail's replacement, if that is JSON. */
const asJson = (given: unknown): Result.Result<Schema.Json, string> =>
  isJson(given) ? Result.succeed(JsonValue.fromUnknown(given)) : Result.fail("it isn't JSON")

/** Returns the keys that the tool of a call declares. */
const paramKeys = ({ definition }: Loop.Loop, call: Call | undefined): DeclaredKeys.DeclaredKeys => {
  const entry = call === undefined ? undefined : definition.tools.get(call.name)
  return entry === undefined ? DeclaredKeys.none : DeclaredKeys.ofParams(entry.tool)
}

/** Asks the guardrails about a call's parameters. Returns those that pass, which the state holds too. */
export const seeParams = (
  loop: Loop.Loop,
  call: Call,
  state: AgentState,
  guardrails = loop.definition.guardrails.toolCall
): Effect.Effect<Schema.Json | Refused, never, unknown> => {
  const declared = paramKeys(loop, call)
  return Effect.map(
    check<Schema.Json>(loop, guardrails, call.params, {
      at: isApprovedAsShown(call) ? "approvedCall" : "toolCall",
      context: contextOf(loop, "toolCall", checkedCall(call), state),
      put: (_, params) => asJson(params),
      texts: (params) => textsIn(params, declared),
      putTexts: (params, texts) => Result.succeed(withTexts(params, texts, declared)),
      // A call that isn't in the state yet is added with the parameters that passed.
      ...(state === loop.state
        ? {
          replaced: (params: Schema.Json) => ({ params }),
          blocked: (refused) => ({ params: {}, refused: refusal(loop, refused, "toolCall") })
        }
        : undefined)
    }),
    (checked) => checked._tag === "Refused" ? checked : checked.value
  )
}

/** Asks the guardrails about a call's parameters (`Guard`). */
export const judgeParams: Guard["judgeParams"] = (loop, call, state) =>
  Effect.map(
    seeParams(loop, call, state),
    (seen) => isRefused(seen) ? Result.fail(refusal(loop, seen, "toolCall")) : Result.succeed(seen)
  )

/** The result of a tool, and what its model reads instead, if that is something else. */
type ToolResult = CallResult["settlement"]

const spokenIn = ({ modelOutput = [] }: ToolResult): ReadonlyArray<string> =>
  modelOutput.flatMap((part) => part.type === "text" ? [part.text] : [])

type ModelOutput = NonNullable<ToolResult["modelOutput"]>

const withSpoken = (output: ModelOutput, texts: ReadonlyArray<string>): ModelOutput => {
  let at = 0
  return output.map((part) => part.type === "text" ? { ...part, text: texts[at++] ?? "" } : part)
}

const kindOf = (context: Context, declared: DeclaredKeys.DeclaredKeys): Kind<ToolResult> => ({
  at: "toolResult",
  context,
  given: ({ result }) => result,
  // The text that is read instead belongs to the original result, so a replaced result has none.
  put: ({ outcome }, result) => Result.map(asJson(result), (result) => ({ outcome, result })),
  texts: (found) => [...textsIn(found.result, declared), ...spokenIn(found)],
  putTexts: ({ modelOutput, outcome, result }, texts) => {
    const count = texts.length - (modelOutput === undefined ? 0 : spokenIn({ outcome, result, modelOutput }).length)
    return Result.succeed({
      outcome,
      result: withTexts(result, texts, declared),
      ...(modelOutput === undefined ? undefined : { modelOutput: withSpoken(modelOutput, texts.slice(count)) })
    })
  }
})

const namesOf = ({ definition: { guardrails } }: Loop.Loop): string =>
  guardrails.toolResult.map(({ guardrail: { name } }) => name).join(", ")

/** Returns the `GuardrailBlocked` that ends the run if a fatal tool's error doesn't pass: that error would be kept and shown. */
const endedBy = (loop: Loop.Loop, guardrail: string, reason: string): Pick<CallResult, "fatal"> => ({
  fatal: Cause.fail(
    new Fail(new GuardrailBlocked({ agent: loop.definition.name, guardrail, stage: "toolResult", reason }))
  )
})

/** Asks the guardrails about a tool's result (`Guard`). */
export const judgeResult: Guard["judgeResult"] = (loop, call, entry, answered) => {
  if (entry._tag === "Output") return Effect.succeed(answered)
  const { own, settlement } = answered
  const context = contextOf(loop, "toolResult", { ...checkedCall(call), outcome: settlement.outcome })
  return Effect.flatMap(
    check(loop, loop.definition.guardrails.toolResult, settlement, kindOf(context, DeclaredKeys.ofResult(entry.tool))),
    (checked): Effect.Effect<CallResult, never, unknown> => {
      const isFatal = answered.fatal !== undefined
      if (checked._tag === "Refused") {
        const { result } = consequenceOf(checked, "toolResult", loop.definition.name, call.name)
        const { guardrail } = checked
        return Effect.succeed({
          ...failed(result),
          ...(isFatal ? endedBy(loop, guardrail, saidIn(checked)) : undefined)
        })
      }
      if (!checked.isReplaced) return Effect.succeed(answered)
      const reading = own === undefined ? Effect.succeed<Pick<CallResult, "own">>({}) : ownOf(entry, checked.value)
      return Effect.map(reading, (read): CallResult => ({
        settlement: checked.value,
        ...read,
        ...(!isFatal
          ? undefined
          : read.own !== undefined && Exit.isFailure(read.own)
          ? { fatal: read.own.cause }
          : endedBy(loop, namesOf(loop), "it doesn't fit the tool's failure schema"))
      }))
    }
  )
}

/** How the handoff of a call is judged: by which guardrails, and which parameters the call keeps of the handoff that passes. */
export interface HandoffCall {
  readonly call: Call
  readonly guardrails: ReadonlyArray<StagedGuardrail>
  readonly keptOf: (request: HandoffRequest) => Schema.Json
}

/** Asks the guardrails about a handoff, which a call or a policy requests. Returns the handoff that passes. */
export const seeHandoff = (
  loop: Loop.Loop,
  request: HandoffRequest,
  state: AgentState,
  by?: HandoffCall
): Effect.Effect<HandoffRequest | Refused, never, unknown> => {
  const { call, guardrails = loop.definition.guardrails.handoff, keptOf }: Partial<HandoffCall> = by ?? {}
  const asked = Struct.omit(request, ["reason", "context"])
  const declared = new Set([...paramKeys(loop, call), "reason", "context"])
  const value: Crossing = Struct.pick(request, ["target", "reason", "context"])
  return Effect.map(
    check(loop, guardrails, value, {
      at: call === undefined ? "decision" : "handoff",
      context: contextOf(loop, "handoff", call === undefined ? undefined : checkedCall(call), state),
      put: (_, given) => {
        if (!isHandoff(given)) return Result.fail("it isn't a handoff")
        return given.target === request.target
          // `isHandoff` has checked the fields, and a copy has the same.
          ? Result.succeed(JsonValue.detached(given) as Crossing)
          : Result.fail("it changes the target")
      },
      texts: (crossing) => textsIn(Struct.omit(crossing, ["target"]), declared),
      putTexts: ({ target, ...said }, texts) => Result.succeed({ target, ...withTexts(said, texts, declared) }),
      ...(call !== undefined && keptOf !== undefined && state === loop.state
        ? {
          holdsMore: !Equal.equals(keptOf(request), call.params),
          replaced: (crossing: Crossing) => ({ params: keptOf({ ...asked, ...crossing }) }),
          blocked: (refused) => ({ params: {}, refused: refusal(loop, refused, "handoff") })
        }
        : undefined)
    }),
    (checked) => checked._tag === "Refused" ? checked : { ...asked, ...checked.value }
  )
}

/** Asks the guardrails about a policy's handoff (`Guard`). */
export const judgeDecision: Guard["judgeDecision"] = (loop, request) =>
  Effect.flatMap(seeHandoff(loop, request, loop.state), (seen) =>
    isRefused(seen)
      ? Effect.fail(consequenceOf(seen, "decision", loop.definition.name))
      : Effect.succeed(seen))
