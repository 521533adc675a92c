/**
 * Guardrails on calls: on what a tool is asked, on what it gives back, and on handoffs.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import type { Call } from "../../domain/StateSchema.ts"
import * as Codec from "../Codec.ts"
import type { RunTool } from "../Definition.ts"
import type { Halt } from "../Halt.ts"
import type * as Loop from "../Loop.ts"
import { type Answered, failed } from "../ToolCall.ts"
import { check, isRefused, type Judged, type Refused, toHalt, toMessage } from "./Check.ts"
import type { CheckedCall, Context, Values } from "./GuardrailType.ts"
import { judgeTexts } from "./Texts.ts"
import { replace, type Verdict } from "./Verdict.ts"

type Crossing = Values["handoff"]

const contextOf = (loop: Loop.Loop, stage: Context["stage"], call: CheckedCall | undefined): Context => ({
  stage,
  agent: loop.definition.name,
  state: loop.state,
  ...(call === undefined ? undefined : { call })
})

const checkedCall = ({ id, name, params }: Call): CheckedCall => ({ id, name, params })

/** Asks about a call's parameters. Gives those that pass: the state holds them, too. */
export const seeParams = (
  loop: Loop.Loop,
  call: Call
): Effect.Effect<Schema.Json | Refused, never, unknown> =>
  Effect.map(
    check<Schema.Json>(loop, loop.definition.guardrails.toolCall, call.params, {
      context: contextOf(loop, "toolCall", checkedCall(call)),
      replaced: (params) => ({ params })
    }),
    (checked) => checked._tag === "Refused" ? checked : checked.value
  )

/** Gives what a handler gave, read anew from the result that stands in its place. */
const ownOf = (entry: RunTool, { outcome, result }: Answered["settlement"]): Effect.Effect<Partial<Answered>> => {
  if (outcome !== "Succeeded") return Effect.succeed({})
  const decoded = Codec.run(Schema.decodeUnknownEffect(Schema.toCodecJson(entry.tool.successSchema)), result)
  const read = (exit: Codec.CodecExit): Partial<Answered> => Exit.isSuccess(exit) ? { own: exit } : {}
  return Exit.isExit(decoded)
    ? Effect.succeed(read(decoded))
    : Effect.map(decoded as Effect.Effect<Codec.CodecExit>, read)
}

type ModelOutput = NonNullable<Answered["settlement"]["modelOutput"]>

/**
 * What a model reads instead of a result, while guardrails look at both: the text in it is looked at with that of the result. Once
 * the result is another by any other way, it isn't shown any more.
 */
class Shown {
  #of: Schema.Json
  #output: ModelOutput | undefined
  constructor({ modelOutput, result }: Answered["settlement"]) {
    this.#of = result
    this.#output = modelOutput
  }
  judge(value: Schema.Json, judge: (text: string) => Judged): Judged {
    const output = value === this.#of ? this.#output ?? [] : []
    const texts = output.flatMap((part) => part.type === "text" ? [part.text] : [])
    const take = (verdict: Verdict<unknown>): Verdict<unknown> => {
      if (verdict._tag !== "Replace") return verdict
      const [result, ...replaced] = verdict.value as [Schema.Json, ...Array<string>]
      this.#of = result
      this.#output = this.#output === undefined
        ? undefined
        : output.map((part) => part.type === "text" ? { ...part, text: replaced.shift() ?? "" } : part)
      return replace(result, verdict.reason)
    }
    const judged = judgeTexts([value, ...texts], judge)
    return Effect.isEffect(judged) ? Effect.map(judged, take) : take(judged)
  }
  /** Gives what is read instead of a result, where it belongs to that. */
  beside(result: Schema.Json): { readonly modelOutput?: ModelOutput } {
    return this.#output === undefined || result !== this.#of ? {} : { modelOutput: this.#output }
  }
}

/** Asks about what a tool gave back. Gives the result that passes, or says to the model that none does. */
export const seeResult = (
  loop: Loop.Loop,
  call: Call,
  entry: RunTool,
  answered: Answered
): Effect.Effect<Answered, never, unknown> => {
  if (entry._tag === "Output") return Effect.succeed(answered)
  const { outcome, result } = answered.settlement
  const shown = new Shown(answered.settlement)
  const context = contextOf(loop, "toolResult", { ...checkedCall(call), outcome })
  return Effect.flatMap(
    check<Schema.Json>(loop, loop.definition.guardrails.toolResult, result, {
      context,
      judgeText: (value, judge) => shown.judge(value, judge)
    }),
    (checked): Effect.Effect<Answered, never, unknown> => {
      const ending = answered.fatal === undefined ? undefined : { fatal: answered.fatal }
      if (checked._tag === "Refused") {
        return Effect.succeed({ ...failed(toMessage(checked, `the result of "${call.name}"`)), ...ending })
      }
      if (!checked.isReplaced) return Effect.succeed(answered)
      const settlement = { outcome, result: checked.value, ...shown.beside(checked.value) }
      return Effect.map(ownOf(entry, settlement), (own) => ({ settlement, ...own, ...ending }))
    }
  )
}

/** Asks about a handoff. Gives the one that passes. */
export const seeHandoff = (
  loop: Loop.Loop,
  request: HandoffRequest,
  call: Call | undefined
): Effect.Effect<HandoffRequest | Refused, never, unknown> => {
  const { context, reason, ...asked } = request
  const value: Crossing = {
    target: request.target,
    ...(reason === undefined ? undefined : { reason }),
    ...(context === undefined ? undefined : { context })
  }
  return Effect.map(
    check(loop, loop.definition.guardrails.handoff, value, {
      context: contextOf(loop, "handoff", call === undefined ? undefined : checkedCall(call)),
      judgeText: ({ target, ...said }, judge) => {
        const judged = judgeTexts(said, judge)
        const whole = (verdict: Verdict<unknown>): Verdict<unknown> =>
          verdict._tag === "Replace"
            ? replace({ ...verdict.value as Omit<Crossing, "target">, target }, verdict.reason)
            : verdict
        return Effect.isEffect(judged) ? Effect.map(judged, whole) : whole(judged)
      },
      findIssue: ({ target }) => target === request.target ? undefined : "the target can't be another"
    }),
    (checked) => checked._tag === "Refused" ? checked : { ...asked, ...checked.value }
  )
}

/** Asks about a handoff that no call asks for, but the policy. A block stops the run: there is nobody to tell. */
export const seeDecision = (loop: Loop.Loop, request: HandoffRequest): Effect.Effect<HandoffRequest, Halt, unknown> =>
  Effect.flatMap(seeHandoff(loop, request, undefined), (seen) =>
    isRefused(seen)
      ? Effect.fail(toHalt(loop, seen, contextOf(loop, "handoff", undefined)))
      : Effect.succeed(seen))
