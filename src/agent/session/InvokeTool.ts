/**
 * A call that a program makes in the place of a model: how it is recorded, and its result.
 *
 * The call is in an assistant turn of the agent in control, like a call of the model. Three things mark it as invoked: the turn has no
 * usage, it counts as no step, and the call has `{ troupe: { invoked: true } }` in its metadata.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { withUniqueIds } from "../../domain/CallIds.ts"
import { callsOf, lastAssistant, openCalls } from "../../domain/Conversation.ts"
import { remediedKindOf } from "../../domain/Described.ts"
import * as JsonValue from "../../domain/JsonValue.ts"
import { refusedBecause } from "../../domain/RefusedCall.ts"
import type { AgentState, Call } from "../../domain/StateSchema.ts"
import { type Codec, isAlike } from "../definition/Codec.ts"
import * as Loop from "../journal/Loop.ts"
import type { CallResult } from "../perform/call/ToolCall.ts"
import { guardOf } from "../perform/guard/Guard.ts"
import { waiting } from "../perform/HandOver.ts"
import { Fail } from "../rules/Decision.ts"
import { isInvokable } from "../rules/OfferedTools.ts"
import { runCall } from "../run/OutsideRun.ts"
import {
  because,
  CallsOpen,
  CallUnanswered,
  ParametersRejected,
  ResultPending,
  type SessionError,
  ToolNotFound
} from "./SessionError.ts"

/** Returns why a tool can't be invoked in a state: the agent doesn't have the tool there, or calls are open. */
const findRefusal = ({ definition, state }: Loop.Loop, tool: Tool.Any): SessionError | undefined => {
  const invokable = [...definition.tools.values()].filter((entry) => isInvokable(entry, state, definition.modes))
  const entry = invokable.find((entry) => entry.tool.name === tool.name)
  if (entry === undefined || !isAlike(entry.tool, tool)) {
    const available = invokable.map((entry) => entry.tool.name)
    return because(new ToolNotFound({ agent: state.agent, tool: tool.name, available }))
  }
  const open = openCalls(state.conversation)
  return open.length === 0
    ? undefined
    : because(new CallsOpen({ tool: tool.name, callIds: open.map((call) => call.id) }))
}

/** Returns parameters as the JSON that a model would have written. */
const encode = (tool: Tool.Any, params: unknown): Effect.Effect<Schema.Json, SessionError, unknown> =>
  Tool.isDynamic(tool) && tool.jsonSchema !== undefined
    ? Effect.sync(() => JsonValue.fromUnknown(params))
    : Effect.matchEffect((Schema.encodeUnknownEffect(Schema.toCodecJson(tool.parametersSchema)) as Codec)(params), {
      onSuccess: (json) => Effect.succeed(JsonValue.fromUnknown(json)),
      onFailure: (error) => Effect.fail(because(new ParametersRejected({ tool: tool.name, issue: error.message })))
    })

/** Checks whether guardrails refused the error of a fatal tool. Their words are the call's result then. */
const isGuardrails = (fatal: Cause.Cause<unknown>): boolean => {
  const error = Cause.findError(fatal)
  return Result.isSuccess(error) && error.success instanceof Fail
}

/** Returns what a handler returned, or fails if the call was settled without it. */
const resultOf = (
  state: AgentState,
  tool: Tool.Any,
  callId: string,
  answered: CallResult | undefined
): Effect.Effect<unknown, unknown> => {
  if (answered?.fatal !== undefined && !isGuardrails(answered.fatal)) return Effect.failCause(answered.fatal)
  if (answered?.own !== undefined) return answered.own
  const turn = lastAssistant(state.conversation)
  const call = turn === undefined ? undefined : callsOf(turn).find((call) => call.id === callId)
  if (call?.state._tag === "AwaitingResult") return Effect.fail(because(new ResultPending({ tool: tool.name, callId })))
  const settled = call?.state._tag === "Settled" ? call.state : undefined
  const result = settled?.result ?? "it wasn't settled"
  return Effect.fail(because(
    new CallUnanswered({
      tool: tool.name,
      callId,
      outcome: settled?.outcome ?? "Interrupted",
      issue: typeof result === "string" ? result : JSON.stringify(result)
    })
  ))
}

const named = (name: string, params: Schema.Json): Call => ({
  _tag: "Call",
  id: "invoked",
  name,
  params,
  state: { _tag: "Pending" }
})

/** Untyped callers may pass the name of a tool. */
const check = (tool: Tool.Any): void => {
  if (!Predicate.hasProperty(tool, "name")) {
    throw new TypeError(`\`invoke\` takes a tool, and was given ${remediedKindOf(tool)}`)
  }
}

/** Runs a tool as if the model of a loop had called it, and returns what its handler returned. */
export const run = (loop: Loop.Loop, tool: Tool.Any, params: unknown): Effect.Effect<unknown, unknown, unknown> =>
  waiting(loop, () => {
    check(tool)
    const refusal = findRefusal(loop, tool)
    if (refusal !== undefined) return Effect.fail(refusal)
    return Effect.flatMap(encode(tool, params), (json) => {
      const [call] = withUniqueIds([named(tool.name, json)], loop.journal.takenIds) as [Call]
      let answered: CallResult | undefined
      Loop.emitStep(loop, "StepStarted", loop.step)
      const invoked = (params: Schema.Json) =>
        ({ _tag: "ToolInvoked", callId: call.id, name: tool.name, params }) as const
      // Content that guardrails block isn't in the state, as with a call of the model.
      const guard = guardOf(loop.definition)
      const looking = guard?.look(loop, call, Loop.foresee(loop, invoked(json))) ?? Effect.succeed(call)
      return Effect.flatMap(looking, (seen) => {
        const refused = refusedBecause(seen)
        Loop.emit(loop, { ...invoked(seen.params), ...(refused === undefined ? undefined : { refused }) })
        guard?.notePassed(loop, call.id)
        return Effect.flatMap(
          runCall(loop, call.id, (own) => {
            answered = own
          }),
          () => resultOf(loop.state, tool, call.id, answered)
        )
      })
    })
  })
