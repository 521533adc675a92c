/**
 * Guardrails on answers: they judge what a model says before the state has it.
 *
 * An answer is what a model says when it has nothing more to call, or what it gives by `final_answer`. Text beside calls is a remark:
 * guardrails on text judge it too, and a refused remark is dropped. If it is JSON that the agent's schema decodes, guardrails on answers
 * judge it as well. Reasoning is judged like a remark.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { isTerminal } from "../../../domain/AgentStatus.ts"
import { textIn } from "../../../domain/conversation/Turns.ts"
import type { Answer } from "../../../domain/ModelAnswer.ts"
import { withText } from "../../../domain/Replacement.ts"
import type { AgentState, AssistantPart } from "../../../domain/StateSchema.ts"
import { hidesThoughts } from "../../definition/guardrail/AgentGuardrails.ts"
import type { OutputCodec } from "../../definition/OutputCodec.ts"
import * as Loop from "../../journal/Loop.ts"
import type { Fail } from "../../rules/Decision.ts"
import * as GuardedAnswer from "../../rules/GuardedAnswer.ts"
import { consequenceOf, toMessage } from "../../rules/VerdictConsequences.ts"
import { check, type Kind } from "./Check.ts"
import * as DeclaredKeys from "./DeclaredKeys.ts"
import { seeThoughts, withoutThoughts } from "./ReasoningGuard.ts"
import {
  paramsInstead,
  type Seen,
  showsAll,
  showsAllButText,
  showsThoughts,
  showsThoughtsAndText,
  textInstead,
  withValue
} from "./SeenAnswer.ts"
import * as Texts from "./Texts.ts"

/** Returns how guardrails judge an answer: as the value that the codec reads, or as a text if there is no codec. */
const kindOf = (loop: Loop.Loop, state: AgentState, codec: OutputCodec | undefined): Kind<GuardedAnswer.Said> => {
  const context = { stage: "output", agent: loop.definition.name, state } as const
  const given = ({ value }: GuardedAnswer.Said): unknown => value
  if (codec === undefined) {
    return {
      at: "output",
      context,
      given,
      put: (_, value) => Result.succeed({ value }),
      texts: ({ value }) => [String(value)],
      putTexts: (_, [text]) => Result.succeed({ value: text })
    }
  }
  const declared = DeclaredKeys.ofParams(codec.tool.tool)
  const fitting = Result.mapError((error: Schema.SchemaError) => error.message)
  return {
    at: "output",
    context,
    given,
    put: (_, value) => fitting(Result.map(codec.encode(value), () => ({ value }))),
    // The texts of a value are those of its JSON.
    texts: (said) => Texts.textsIn(GuardedAnswer.encode(codec, said), declared),
    putTexts: (said, texts) => {
      const json = Texts.withTexts(GuardedAnswer.encode(codec, said), texts, declared)
      return fitting(Result.map(codec.decode(json), (value) => ({ value, raw: () => json })))
    }
  }
}

/** Withdraws text that was shown before it was judged. */
const withdraw = (loop: Loop.Loop, reason: string): void => {
  if (loop.journal.isStreaming && loop.definition.guardrails.isReleasedEarly) {
    Loop.emit(loop, { _tag: "TextWithdrawn", reason })
  }
}

const replacedBy = "A guardrail put something else in its place."

/** Asks the guardrails about the text beside calls. Refused text is dropped. */
const seeRemark = (
  loop: Loop.Loop,
  state: AgentState,
  parts: ReadonlyArray<AssistantPart>
): Effect.Effect<Seen, never, unknown> => {
  const text = textIn(parts)
  if (text === "") return Effect.succeed({ parts, shows: showsThoughts, instead: [] })
  const { guardrails, output: codec } = loop.definition
  const read = codec === undefined ? undefined : GuardedAnswer.readText(codec, text)
  const isText = read?.value === undefined
  const reader = isText ? undefined : codec
  const found: GuardedAnswer.GivenAnswer = read === undefined || isText ? { value: text, call: undefined } : read
  const isWhole = GuardedAnswer.isAllOf(reader, parts, found)
  const kind: Kind<GuardedAnswer.Said> = { ...kindOf(loop, state, reader), at: "remark" }
  const checking = check(loop, isText ? guardrails.remark : guardrails.output, found, kind)
  return Effect.map(checking, (checked): Seen => {
    if (checked._tag === "Passed" && !checked.isReplaced && isWhole) {
      return { parts, shows: showsThoughtsAndText, instead: [] }
    }
    const said = checked._tag === "Passed" ? GuardedAnswer.toText(reader, checked.value) : ""
    withdraw(
      loop,
      checked._tag === "Passed" ? replacedBy : consequenceOf(checked, "remark", loop.definition.name).reason
    )
    return { parts: withText(parts, said), shows: showsThoughts, instead: textInstead(said) }
  })
}

/** Asks the guardrails about an answer that has arrived. Fails if it is blocked; the state doesn't hold it then. */
export const see = (loop: Loop.Loop, answer: Answer): Effect.Effect<Seen, Fail, unknown> => {
  const { finishReason, parts, usage } = answer
  const state = Loop.foresee(loop, { _tag: "ModelResponded", parts, usage, finishReason })
  return Effect.flatMap(seeThoughts(loop, state, parts), (kept) => {
    const seen = seeSaid(loop, state, kept)
    return kept === parts && !hidesThoughts(loop.definition.guardrails) ? seen : Effect.map(seen, withoutThoughts)
  })
}

/**
 * Asks the guardrails on text about calls of `final_answer` that don't fit the schema or were cut off, because the state keeps them and the
 * model reads them. `gone` says why their parameters were dropped or replaced.
 */
const seeMisfits = (
  loop: Loop.Loop,
  state: AgentState,
  parts: ReadonlyArray<AssistantPart>
): Effect.Effect<{ readonly kept: ReadonlyArray<AssistantPart>; readonly gone?: string }, never, unknown> => {
  const { guardrails: { remark }, name, output: codec } = loop.definition
  const calls = codec === undefined || remark.length === 0 ? [] : parts.filter(GuardedAnswer.isAnswerCall)
  if (codec === undefined || calls.length === 0) return Effect.succeed({ kept: parts })
  const declared = DeclaredKeys.ofParams(codec.tool.tool)
  const kind: Kind<ReadonlyArray<Schema.Json>> = {
    at: "remark",
    context: { stage: "output", agent: name, state },
    texts: (params) => Texts.textsIn(params, declared),
    putTexts: (params, texts) => Result.succeed(Texts.withTexts(params, texts, declared))
  }
  return Effect.map(check(loop, remark, calls.map(({ params }) => params), kind), (checked) => {
    if (checked._tag === "Refused") {
      return { kept: GuardedAnswer.withoutCalls(parts), gone: consequenceOf(checked, "remark", name).reason }
    }
    if (!checked.isReplaced) return { kept: parts }
    let at = 0
    const kept = parts.map((part) =>
      GuardedAnswer.isAnswerCall(part) ? { ...part, params: checked.value[at++]! } : part
    )
    return { kept, gone: replacedBy }
  })
}

/** Asks the guardrails about what is said in an answer. */
const seeSaid = (
  loop: Loop.Loop,
  state: AgentState,
  parts: ReadonlyArray<AssistantPart>
): Effect.Effect<Seen, Fail, unknown> => {
  const { output: codec } = loop.definition
  const isOver = isTerminal(state.status)
  const found = GuardedAnswer.find(codec, parts, isOver)
  if (found !== undefined) return seeFound(loop, state, parts, found, false)
  // An answer may fit the schema once guardrails have replaced words in it, so this looks for an answer again.
  const seeAgain = (seen: Seen): Effect.Effect<Seen, Fail, unknown> | undefined => {
    const fitting = seen.parts === parts ? undefined : GuardedAnswer.find(codec, seen.parts, isOver)
    return fitting === undefined ? undefined : seeFound(loop, state, seen.parts, fitting, true)
  }
  return Effect.flatMap(seeMisfits(loop, state, parts), ({ gone, kept }) => {
    const fitting = seeAgain({ parts: kept, shows: showsThoughts, instead: [] })
    if (fitting !== undefined) return fitting
    if (gone !== undefined) withdraw(loop, gone)
    const isWithdrawn = gone !== undefined && loop.definition.guardrails.isReleasedEarly
    const seeing = Effect.map(seeRemark(loop, state, kept), (seen): Seen =>
      // Withdrawing parameters withdraws the text beside them too, so that is shown again.
      isWithdrawn ? { ...seen, instead: textInstead(textIn(seen.parts)) } : seen)
    return isOver
      ? Effect.flatMap(seeing, ({ parts }) => {
        const seen: Seen = { parts, shows: showsThoughts, instead: [] }
        return seeAgain(seen) ?? Effect.succeed(seen)
      })
      : seeing
  })
}

/** Asks the guardrails about an answer that was found. With `isChanged`, guardrails have already replaced words in it. */
const seeFound = (
  loop: Loop.Loop,
  state: AgentState,
  parts: ReadonlyArray<AssistantPart>,
  found: GuardedAnswer.GivenAnswer,
  isChanged: boolean
): Effect.Effect<Seen, Fail, unknown> => {
  const { guardrails: { isReleasedEarly }, output: codec } = loop.definition
  const { call } = found
  const isWhole = !isChanged && GuardedAnswer.isAllOf(codec, parts, found)
  if (call === undefined) {
    const passed: Seen = { parts, shows: showsAll, instead: [] }
    // What guardrails replaced was withdrawn already.
    return seeAnswer(loop, state, found, isWhole, passed, !isChanged && textIn(parts) !== "", passed)
  }
  // A run accepts one answer, so no other one is judged, kept or shown.
  const calls = parts.filter(GuardedAnswer.isUnsettledAnswerCall)
  const ids = new Set(calls.map(({ id }) => id))
  return Effect.flatMap(seeRemark(loop, state, GuardedAnswer.withoutCalls(parts, call)), (seen) => {
    const shows = seen.shows === showsThoughtsAndText ? showsAll : showsAllButText
    const passed: Seen = isReleasedEarly ? { ...seen, shows } : {
      ...seen,
      // The pieces of a call may hold more than what was read of them.
      shows: (piece) => shows(piece) && !(piece.type === "tool-params-delta" && ids.has(piece.id)),
      instead: [...seen.instead, paramsInstead(call, call.params)]
    }
    // Withdrawing text withdraws the remark too, so the remark is shown again.
    const instead = isReleasedEarly ? textInstead(textIn(seen.parts)) : seen.instead
    return seeAnswer(loop, state, found, isWhole && calls.length === 1, passed, true, { ...seen, instead })
  })
}

/** Asks the guardrails about an answer. Returns `passed` if it passes unchanged, and puts a replaced value into `within`. */
const seeAnswer = (
  loop: Loop.Loop,
  state: AgentState,
  found: GuardedAnswer.GivenAnswer,
  isWhole: boolean,
  passed: Seen,
  isShown: boolean,
  within: Seen
): Effect.Effect<Seen, Fail, unknown> => {
  const { guardrails, name, output } = loop.definition
  const kind = kindOf(loop, state, output)
  return Effect.flatMap(
    check<GuardedAnswer.Said>(loop, guardrails.output, found, kind),
    (checked): Effect.Effect<Seen, Fail> => {
      if (checked._tag === "Passed") {
        if (!checked.isReplaced && isWhole) return Effect.succeed(passed)
        if (isShown) withdraw(loop, replacedBy)
        return Effect.succeed(withValue(output, within, { call: found.call, ...checked.value }))
      }
      if (isShown) withdraw(loop, toMessage(checked, "output"))
      const consequence = consequenceOf(checked, "output", name)
      if (consequence._tag === "SendBack") {
        const parts = GuardedAnswer.sentBack(passed.parts, found)
        return Effect.succeed({ parts, shows: showsThoughts, instead: [], feedback: consequence.feedback })
      }
      const { message, _tag: tag } = consequence.reason
      Loop.endRequest(loop, { tag, message })
      return Effect.fail(consequence)
    }
  )
}
