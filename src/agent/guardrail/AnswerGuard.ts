/**
 * Guardrails on answers: asked about an answer before the state holds it.
 *
 * An answer is what a model says when it has nothing more to call, or what it gives by `final_answer`. Text beside other calls is
 * none, unless the run is finished by a condition: then it is what the run ends with, and is asked about then.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { next } from "../../domain/Command.ts"
import { lastAssistant, textIn, textOf } from "../../domain/Conversation.ts"
import { withText } from "../../domain/Replacement.ts"
import type { AgentState, AssistantPart, Call } from "../../domain/StateSchema.ts"
import type { Answer } from "../Answer.ts"
import type { Halt } from "../Halt.ts"
import * as Limit from "../Limit.ts"
import * as Loop from "../Loop.ts"
import * as Output from "../Output.ts"
import { check, type Subject, toHalt, toMessage } from "./Check.ts"
import { judgeTexts } from "./Texts.ts"
import { block, replace, type Verdict } from "./Verdict.ts"

/**
 * What came of an answer: its parts, whether they may be shown, are others now, or weren't looked at because they are no answer, and
 * what the model is told where it is to try again.
 */
export interface Seen {
  readonly parts: ReadonlyArray<AssistantPart>
  readonly shown: "All" | "Replaced" | "Unseen"
  readonly feedback?: string
}

/** Where an answer stands: its value, which is a text unless the agent's answers have a schema, and how another is put there. */
interface Found {
  readonly value: unknown
  readonly put: (json: Schema.Json) => ReadonlyArray<AssistantPart>
}

const isFinalCall = (part: AssistantPart): part is Call =>
  part._tag === "Call" && part.name === Output.toolName && part.state._tag !== "Settled"

/** Finds the answer in what a model gave. What doesn't decode isn't one: it goes back to the model as it is. */
const find = (
  codec: Output.OutputCodec | undefined,
  parts: ReadonlyArray<AssistantPart>,
  state: AgentState
): Found | undefined => {
  const isOver = next(state)._tag === "Stop"
  const text = textIn(parts)
  if (codec === undefined) return isOver ? { value: text, put: (json) => withText(parts, String(json)) } : undefined
  const call = parts.find(isFinalCall)
  const decoded = call !== undefined ? codec.fromParams(call.params) : isOver ? codec.fromText(text) : undefined
  return decoded === undefined || Result.isFailure(decoded) ? undefined : {
    value: decoded.success,
    put: (json) =>
      call === undefined
        ? withText(parts, JSON.stringify(json))
        : parts.map((part) => part === call ? { ...call, params: codec.wrap(json) } : part)
  }
}

/** Says what is wrong with a value that should be the answer. */
const issueOf = <A>(result: Result.Result<A, Schema.SchemaError>): string | undefined =>
  Result.isFailure(result) ? result.failure.message : undefined

const subjectOf = (
  loop: Loop.Loop,
  codec: Output.OutputCodec | undefined,
  state: AgentState,
  isFinal: boolean
): Subject<unknown> => {
  const context = { stage: "output", agent: loop.definition.name, state } as const
  if (codec === undefined) return { context, isFinal, judgeText: (value, judge) => judge(String(value)) }
  /** The texts of a value are those of its JSON. */
  const decoded = (verdict: Verdict<unknown>): Verdict<unknown> => {
    if (verdict._tag !== "Replace") return verdict
    const again = codec.decode(verdict.value)
    return Result.isFailure(again)
      ? block(`its replacement doesn't fit: ${again.failure.message}`)
      : replace(again.success, verdict.reason)
  }
  return {
    context,
    isFinal,
    judgeText: (value, judge) => {
      const judged = judgeTexts(Result.getOrElse(codec.encode(value), () => value), judge)
      return Effect.isEffect(judged) ? Effect.map(judged, decoded) : decoded(judged)
    },
    findIssue: (value) => issueOf(codec.encode(value))
  }
}

/** Gives the parts of an answer that goes back: a final answer in it is none. */
const sentBack = (parts: ReadonlyArray<AssistantPart>): ReadonlyArray<AssistantPart> =>
  parts.map((part) =>
    isFinalCall(part)
      ? { ...part, state: { _tag: "Settled", outcome: "Failed", result: "This answer wasn't accepted." } }
      : part
  )

/** Checks whether an agent's answers are looked at. */
export const isGuarded = ({ definition }: Loop.Loop): boolean => definition.guardrails.output.length > 0

/** Takes text back that was shown before it was seen. */
const withdraw = (loop: Loop.Loop, parts: ReadonlyArray<AssistantPart>, reason: string): void => {
  const isShown = loop.root.isStreaming && loop.definition.guardrails.isReleasedEarly && textIn(parts) !== ""
  if (isShown) Loop.tell(loop, { _tag: "TextWithdrawn", reason })
}

/** Asks the guardrails about an answer that has arrived. Fails where it is blocked; the state doesn't hold it then. */
export const see = (loop: Loop.Loop, answer: Answer): Effect.Effect<Seen, Halt, unknown> => {
  const { guardrails, output: codec, outputRetries } = loop.definition
  const { finishReason, model, parts, usage } = answer
  const state = Loop.foresee(loop, { _tag: "ModelResponded", parts, usage, finishReason })
  const found = find(codec, parts, state)
  if (found === undefined) return Effect.succeed({ parts, shown: "Unseen" })
  const isFinal = loop.state.run.corrections >= outputRetries
  const subject = subjectOf(loop, codec, state, isFinal)
  loop.open.arrived = { usage, ...(model === undefined ? undefined : { model }) }
  return Effect.flatMap(check(loop, guardrails.output, found.value, subject), (checked): Effect.Effect<Seen, Halt> => {
    if (checked._tag === "Passed") {
      if (!checked.isReplaced) return Effect.succeed({ parts, shown: "All" })
      withdraw(loop, parts, "A guardrail put something else in its place.")
      const json = codec === undefined ? checked.value : Result.getOrThrow(codec.encode(checked.value))
      return Effect.succeed({ parts: found.put(json as Schema.Json), shown: "Replaced" })
    }
    withdraw(loop, parts, toMessage(checked, "the answer"))
    if (checked.verdict._tag === "Retry") {
      return Effect.succeed({ parts: sentBack(parts), shown: "Unseen", feedback: checked.verdict.feedback })
    }
    Loop.endAttempt(loop, { tag: "GuardrailBlocked", message: toMessage(checked, "the answer") })
    return Effect.fail(toHalt(loop, checked, subject.context))
  })
}

/**
 * Asks the guardrails about the text of a run that a condition finished: nobody has, since its model had more to call.
 *
 * Gives nothing where there is no such text.
 */
export const seeLast = (loop: Loop.Loop): Effect.Effect<void, Halt, unknown> | undefined => {
  const { definition: { guardrails, output }, state } = loop
  if (guardrails.output.length === 0 || output !== undefined || state.status._tag !== "InProgress") return undefined
  const turn = lastAssistant(state.conversation)
  const text = turn === undefined ? "" : textOf(turn)
  if (text === "" || !Limit.isFinished(loop)) return undefined
  const subject: Subject<unknown> = {
    ...subjectOf(loop, undefined, state, true),
    replaced: (value) => ({ answer: String(value) }),
    removed: { answer: "" }
  }
  return Effect.flatMap(check(loop, guardrails.output, text, subject), (checked) => {
    Loop.forgetSent(loop)
    return checked._tag === "Refused" ? Effect.fail(toHalt(loop, checked, subject.context)) : Effect.void
  })
}
