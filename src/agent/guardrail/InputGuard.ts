/**
 * Guardrails on what users say: asked before the first request of the agent in control that reads it, or beside that.
 *
 * What has been let pass isn't recorded: a run that stopped before its model answered asks again when it goes on.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { textOf } from "../../domain/Conversation.ts"
import * as Part from "../../domain/Part.ts"
import type { User } from "../../domain/StateSchema.ts"
import type { Halt } from "../Halt.ts"
import * as Loop from "../Loop.ts"
import { check, type Subject, toHalt } from "./Check.ts"
import type { Any } from "./GuardrailType.ts"
import { replace, type Verdict } from "./Verdict.ts"

/** Gives the turns of users, by their places, that the agent in control hasn't read: the last one at least. */
const unread = ({ state: { conversation: { turns } } }: Loop.Loop): ReadonlyArray<number> => {
  const from = turns.findLastIndex(({ _tag }) => _tag === "Assistant")
  const said = turns.flatMap((turn, index) => turn._tag === "User" && turn.mode === undefined ? [index] : [])
  const after = said.filter((index) => index > from)
  return after.length > 0 ? after : said.slice(-1)
}

/** Puts a text in the place of the text among parts. */
const withText = (parts: User["parts"], text: string): User["parts"] => {
  const at = parts.findIndex(({ _tag }) => _tag === "Text")
  const rest = parts.filter(({ _tag }) => _tag !== "Text")
  return rest.toSpliced(at < 0 ? rest.length : at, 0, Part.text(text))
}

/** Gives what a user said with the text that stands in the place of theirs. */
const ofWhole = (parts: User["parts"], verdict: Verdict<unknown>): Verdict<unknown> =>
  verdict._tag === "Replace" ? replace(withText(parts, String(verdict.value)), verdict.reason) : verdict

const subjectOf = (loop: Loop.Loop, turn: number): Subject<User["parts"]> => ({
  context: { stage: "input", agent: loop.definition.name, state: loop.state },
  judgeText: (parts, judge) => {
    const judged = judge(textOf({ _tag: "User", parts }))
    return Effect.isEffect(judged)
      ? Effect.map(judged, (verdict) => ofWhole(parts, verdict))
      : ofWhole(parts, judged)
  },
  replaced: (input) => ({ turn, input }),
  isFinal: true,
  removed: { turn, input: [Part.text("(This was blocked and isn't shown.)")] }
})

/** Asks guardrails about what users have said. Gives whether something of it was replaced. */
const ask = (loop: Loop.Loop, guardrails: ReadonlyArray<Any>): Effect.Effect<boolean, Halt, unknown> => {
  const from = (turns: ReadonlyArray<number>, isReplaced: boolean): Effect.Effect<boolean, Halt, unknown> => {
    const [index, ...rest] = turns
    const turn = index === undefined ? undefined : loop.state.conversation.turns[index]
    if (index === undefined || turn?._tag !== "User") return Effect.succeed(isReplaced)
    const subject = subjectOf(loop, index)
    return Effect.flatMap(check(loop, guardrails, turn.parts, subject), (checked) => {
      // What was sent of it before, by an agent that handed over, isn't what stands there now.
      if (index < loop.sent.turns) Loop.forgetSent(loop)
      return checked._tag === "Refused"
        ? Effect.fail(toHalt(loop, checked, subject.context))
        : from(rest, isReplaced || checked.isReplaced)
    })
  }
  return from(unread(loop), false)
}

/** Asks guardrails, where the agent in control is about to read what users said for the first time. */
const askFirst = (loop: Loop.Loop, guardrails: ReadonlyArray<Any>): Effect.Effect<boolean, Halt, unknown> | undefined =>
  guardrails.length > 0 && loop.state.run.iteration === 0 ? ask(loop, guardrails) : undefined

/** Asks the guardrails that come before the request. Gives whether something was replaced, where there are any. */
export const before = (loop: Loop.Loop) => askFirst(loop, loop.definition.guardrails.input)

/** Asks the guardrails that are asked beside the request. Gives whether something was replaced, where there are any. */
export const beside = (loop: Loop.Loop) => askFirst(loop, loop.definition.guardrails.parallel)
