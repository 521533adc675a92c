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
import { lastAssistant, textIn } from "../../domain/Conversation.ts"
import { withText } from "../../domain/Replacement.ts"
import type { AgentState, AssistantPart, Call } from "../../domain/StateSchema.ts"
import type { Answer, Incoming } from "../Answer.ts"
import type { Halt } from "../Halt.ts"
import * as Limit from "../Limit.ts"
import * as Loop from "../Loop.ts"
import * as Output from "../Output.ts"
import { check, type Subject, toHalt, toMessage } from "./Check.ts"
import * as Texts from "./Texts.ts"

/**
 * What came of an answer: its parts, which pieces of it may be shown, what is shown in the place of the others, and what the model
 * is told where it is to try again.
 */
export interface Seen {
  readonly parts: ReadonlyArray<AssistantPart>
  readonly shows: (piece: Incoming) => boolean
  readonly instead?: Loop.Happening
  readonly feedback?: string
}

const all = (): boolean => true
const allButText = (piece: Incoming): boolean => piece.type !== "text-delta"
const thoughts = (piece: Incoming): boolean => piece.type === "reasoning-delta"

/** An answer: its value, which is a text unless the agent's answers have a schema, and the call that gave it, if one did. */
interface Found {
  readonly value: unknown
  readonly call: Call | undefined
}

const isFinalCall = (part: AssistantPart): part is Call =>
  part._tag === "Call" && part.name === Output.toolName && part.state._tag !== "Settled"

/** Finds the answer in what a model gave. What doesn't decode isn't one: it goes back to the model as it is. */
const find = (
  codec: Output.OutputCodec | undefined,
  parts: ReadonlyArray<AssistantPart>,
  isOver: boolean
): Found | undefined => {
  const call = codec === undefined ? undefined : parts.find(isFinalCall)
  if (call === undefined && !isOver) return undefined
  if (codec === undefined) return { value: textIn(parts), call }
  const decoded = call === undefined ? codec.fromText(textIn(parts)) : codec.fromParams(call.params)
  return Result.isFailure(decoded) ? undefined : { value: decoded.success, call }
}

const encode = (codec: Output.OutputCodec | undefined, value: unknown): Schema.Json =>
  (codec === undefined ? String(value) : Result.getOrThrow(codec.encode(value))) as Schema.Json

/** Gives an answer as a text. */
const toText = (codec: Output.OutputCodec | undefined, value: unknown): string =>
  codec === undefined ? String(value) : JSON.stringify(encode(codec, value))

const subjectOf = (loop: Loop.Loop, state: AgentState, isFinal: boolean): Subject<unknown> => {
  const codec = loop.definition.output
  const context = { stage: "output", agent: loop.definition.name, state } as const
  if (codec === undefined) {
    return {
      context,
      isFinal,
      texts: (value) => [String(value)],
      putTexts: (_, [text]) => Result.succeed(text)
    }
  }
  const fitting = Result.mapError((error: Schema.SchemaError) => error.message)
  return {
    context,
    isFinal,
    put: (_, value) => fitting(Result.map(codec.encode(value), () => value)),
    // The texts of a value are those of its JSON.
    texts: (value) => Texts.textsIn(encode(codec, value)),
    putTexts: (value, texts) => fitting(codec.decode(Texts.withTexts(encode(codec, value), texts)))
  }
}

/** Gives the parts of an answer that goes back: a final answer in it is none. */
const sentBack = (parts: ReadonlyArray<AssistantPart>): ReadonlyArray<AssistantPart> =>
  parts.map((part) =>
    isFinalCall(part)
      ? { ...part, state: { _tag: "Settled", outcome: "Failed", result: "This answer wasn't accepted." } }
      : part
  )

/** Gives an answer with another value, and the piece of it that is shown. */
const withValue = (
  codec: Output.OutputCodec | undefined,
  parts: ReadonlyArray<AssistantPart>,
  { call, value }: Found
): Seen => {
  if (codec === undefined || call === undefined) {
    const text = toText(codec, value)
    return {
      parts: withText(parts, text),
      shows: thoughts,
      ...(text === "" ? undefined : { instead: { _tag: "TextDelta", delta: text } })
    }
  }
  const params = codec.wrap(encode(codec, value))
  const delta = JSON.stringify(params)
  return {
    parts: parts.map((part) => part === call ? { ...call, params } : part),
    shows: thoughts,
    instead: { _tag: "ToolParamsDelta", callId: call.id, name: call.name, delta }
  }
}

/** Checks whether an agent's answers are looked at. */
export const isGuarded = ({ definition }: Loop.Loop): boolean => definition.guardrails.output.length > 0

/** Takes back what was shown before it was seen. */
const withdraw = (loop: Loop.Loop, reason: string): void => {
  if (loop.root.isStreaming && loop.definition.guardrails.isReleasedEarly) {
    Loop.tell(loop, { _tag: "TextWithdrawn", reason })
  }
}

const replacedBy = "A guardrail put something else in its place."

/** Asks the guardrails about an answer that has arrived. Fails where it is blocked; the state doesn't hold it then. */
export const see = (loop: Loop.Loop, answer: Answer): Effect.Effect<Seen, Halt, unknown> => {
  const { guardrails, output: codec, outputRetries } = loop.definition
  const { finishReason, parts, usage } = answer
  const state = Loop.foresee(loop, { _tag: "ModelResponded", parts, usage, finishReason })
  const found = find(codec, parts, next(state)._tag === "Stop")
  if (found === undefined) return Effect.succeed({ parts, shows: thoughts })
  const { call, value } = found
  const isShown = call !== undefined || textIn(parts) !== ""
  const subject = subjectOf(loop, state, loop.state.run.corrections >= outputRetries)
  return Effect.flatMap(check(loop, guardrails.output, value, subject), (checked): Effect.Effect<Seen, Halt> => {
    if (checked._tag === "Passed") {
      if (!checked.isReplaced) return Effect.succeed({ parts, shows: call === undefined ? all : allButText })
      if (isShown) withdraw(loop, replacedBy)
      return Effect.succeed(withValue(codec, parts, { call, value: checked.value }))
    }
    if (isShown) withdraw(loop, toMessage(checked, "the answer"))
    if (checked.verdict._tag === "Retry") {
      return Effect.succeed({ parts: sentBack(parts), shows: thoughts, feedback: checked.verdict.feedback })
    }
    const halt = toHalt(loop, checked, subject.context)
    Loop.endAttempt(loop, { tag: halt.reason._tag, message: halt.reason.message })
    return Effect.fail(halt)
  })
}

/**
 * Asks the guardrails about the text of a run that a condition finished: nobody has, since its model had more to call.
 *
 * Gives nothing where there is no such text.
 */
export const seeLast = (loop: Loop.Loop): Effect.Effect<void, Halt, unknown> | undefined => {
  const { definition: { guardrails, output: codec }, root, state } = loop
  if (guardrails.output.length === 0 || state.status._tag !== "InProgress" || Output.isAccepted(state)) return undefined
  const parts = lastAssistant(state.conversation)?.parts ?? []
  const found = textIn(parts) === "" ? undefined : find(codec, parts, true)
  if (found === undefined || !Limit.isFinished(loop)) return undefined
  const subject: Subject<unknown> = {
    ...subjectOf(loop, state, true),
    replaced: (value) => ({ answer: toText(codec, value) })
  }
  return Effect.flatMap(check(loop, guardrails.output, found.value, subject), (checked) => {
    if (checked._tag === "Refused") {
      withdraw(loop, toMessage(checked, "the answer"))
      return Effect.fail(toHalt(loop, checked, subject.context))
    }
    if (checked.isReplaced) {
      Loop.forgetSent(loop)
      withdraw(loop, replacedBy)
    }
    // Text beside calls was held back, and is an answer after all.
    if (!root.isStreaming || (guardrails.isReleasedEarly && !checked.isReplaced)) return Effect.void
    Loop.tellDelta(loop, "TextDelta", toText(codec, checked.value), Loop.now(loop))
    return root.flush
  })
}
