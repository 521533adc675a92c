/**
 * Guardrails on answers: asked about what a model says before the state holds it.
 *
 * An answer is what a model says when it has nothing more to call, or what it gives by `final_answer`. Text that it says beside calls
 * is a remark: guardrails on text look at it too, and where one refuses it, it isn't said.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { next } from "../../../domain/Command.ts"
import { textIn } from "../../../domain/Conversation.ts"
import type { Happening } from "../../../domain/Happening.ts"
import type { Answer, Incoming } from "../../../domain/ModelAnswer.ts"
import { withText } from "../../../domain/Replacement.ts"
import type { AgentState, AssistantPart, Call } from "../../../domain/StateSchema.ts"
import * as Output from "../../definition/OutputCodec.ts"
import * as Texts from "../../guardrail/Texts.ts"
import * as Loop from "../../journal/Loop.ts"
import type { Fail } from "../../rules/Decision.ts"
import { check, type Kind, toFail, toMessage } from "./Check.ts"

/**
 * What came of an answer: its parts, which pieces of it may be shown, what is shown in the place of the others, and what the model
 * is told where it is to try again.
 */
export interface Seen {
  readonly parts: ReadonlyArray<AssistantPart>
  readonly shows: (piece: Incoming) => boolean
  readonly instead: ReadonlyArray<Happening>
  readonly feedback?: string
}

const all = (): boolean => true
const allButText = (piece: Incoming): boolean => piece.type !== "text-delta"
const thoughts = (piece: Incoming): boolean => piece.type === "reasoning-delta"
const thoughtsAndText = (piece: Incoming): boolean => thoughts(piece) || piece.type === "text-delta"

/** A text in the place of one that isn't shown, where there is any. */
const textInstead = (text: string): ReadonlyArray<Happening> => text === "" ? [] : [{ _tag: "TextDelta", delta: text }]

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

const kindOf = (loop: Loop.Loop, state: AgentState, isFinal: boolean): Kind<unknown> => {
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

/** Gives a text that is an answer with another value. */
const withAnswer = (
  codec: Output.OutputCodec | undefined,
  parts: ReadonlyArray<AssistantPart>,
  value: unknown
): Seen => {
  const text = toText(codec, value)
  return { parts: withText(parts, text), shows: thoughts, instead: textInstead(text) }
}

/** Gives a final answer with another value. */
const withParams = (codec: Output.OutputCodec, { parts, shows, instead }: Seen, call: Call, value: unknown): Seen => {
  const params = codec.wrap(encode(codec, value))
  const delta = JSON.stringify(params)
  return {
    parts: parts.map((part) => part._tag === "Call" && part.id === call.id ? { ...part, params } : part),
    shows,
    instead: [...instead, { _tag: "ToolParamsDelta", callId: call.id, name: call.name, delta }]
  }
}

/** Checks whether an agent's answers are looked at. */
export const isGuarded = ({ definition }: Loop.Loop): boolean => definition.guardrails.output.length > 0

/** Takes back what was shown before it was seen. */
const withdraw = (loop: Loop.Loop, reason: string): void => {
  if (loop.journal.isStreaming && loop.definition.guardrails.isReleasedEarly) {
    Loop.tell(loop, { _tag: "TextWithdrawn", reason })
  }
}

const replacedBy = "A guardrail put something else in its place."

/** Asks the guardrails about the text beside calls. One that refuses it takes it out. */
const seeRemark = (
  loop: Loop.Loop,
  state: AgentState,
  parts: ReadonlyArray<AssistantPart>
): Effect.Effect<Seen, never, unknown> => {
  const text = textIn(parts)
  if (text === "") return Effect.succeed({ parts, shows: thoughts, instead: [] })
  const kind: Kind<string> = {
    context: { stage: "output", agent: loop.definition.name, state },
    texts: (value) => [value],
    putTexts: (_, [value]) => Result.succeed(value ?? ""),
    isFinal: true
  }
  return Effect.map(check(loop, loop.definition.guardrails.remark, text, kind), (checked): Seen => {
    if (checked._tag === "Passed" && !checked.isReplaced) return { parts, shows: thoughtsAndText, instead: [] }
    const said = checked._tag === "Passed" ? checked.value : ""
    withdraw(loop, checked._tag === "Passed" ? replacedBy : toMessage(checked, "what was said"))
    return { parts: withText(parts, said), shows: thoughts, instead: textInstead(said) }
  })
}

/** Asks the guardrails about an answer that has arrived. Fails where it is blocked; the state doesn't hold it then. */
export const see = (loop: Loop.Loop, answer: Answer): Effect.Effect<Seen, Fail, unknown> => {
  const { output: codec } = loop.definition
  const { finishReason, parts, usage } = answer
  const state = Loop.foresee(loop, { _tag: "ModelResponded", parts, usage, finishReason })
  const isOver = next(state)._tag === "Stop"
  const found = find(codec, parts, isOver)
  if (found === undefined) {
    return isOver ? Effect.succeed({ parts, shows: thoughts, instead: [] }) : seeRemark(loop, state, parts)
  }
  const { call, value } = found
  if (codec === undefined || call === undefined) {
    const passed: Seen = { parts, shows: all, instead: [] }
    return seeAnswer(loop, state, value, passed, textIn(parts) !== "", (value) => withAnswer(codec, parts, value))
  }
  return Effect.flatMap(seeRemark(loop, state, parts), (seen) => {
    const passed: Seen = { ...seen, shows: seen.shows === thoughtsAndText ? all : allButText }
    // What is taken back takes the remark along, so that is shown again.
    const instead = loop.definition.guardrails.isReleasedEarly ? textInstead(textIn(seen.parts)) : seen.instead
    return seeAnswer(loop, state, value, passed, true, (value) => withParams(codec, { ...seen, instead }, call, value))
  })
}

/** Asks the guardrails about an answer: gives it as it `passed`, or with what one of them `put` in its place. */
const seeAnswer = (
  loop: Loop.Loop,
  state: AgentState,
  value: unknown,
  passed: Seen,
  isShown: boolean,
  put: (value: unknown) => Seen
): Effect.Effect<Seen, Fail, unknown> => {
  const { guardrails, outputRetries } = loop.definition
  const kind = kindOf(loop, state, loop.state.run.corrections >= outputRetries)
  return Effect.flatMap(check(loop, guardrails.output, value, kind), (checked): Effect.Effect<Seen, Fail> => {
    if (checked._tag === "Passed") {
      if (!checked.isReplaced) return Effect.succeed(passed)
      if (isShown) withdraw(loop, replacedBy)
      return Effect.succeed(put(checked.value))
    }
    if (isShown) withdraw(loop, toMessage(checked, "the answer"))
    if (checked.verdict._tag === "Retry") {
      return Effect.succeed({
        parts: sentBack(passed.parts),
        shows: thoughts,
        instead: [],
        feedback: checked.verdict.feedback
      })
    }
    const failure = toFail(loop, checked, kind.context)
    Loop.endRequest(loop, { tag: failure.reason._tag, message: failure.reason.message })
    return Effect.fail(failure)
  })
}
