/**
 * Guardrails on what users say: asked before the first request of the agent in control that reads it, or beside that.
 *
 * 1. What has been let pass isn't recorded in the state: a run that stopped before its model answered asks again when it goes on.
 * 2. What was blocked is marked in its turn. Nobody looks at the mark, and a run that should answer it fails as the one before did.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { GuardrailBlocked } from "../../../domain/AgentError.ts"
import { textOf } from "../../../domain/Conversation.ts"
import * as Part from "../../../domain/Part.ts"
import type { Turn, User } from "../../../domain/StateSchema.ts"
import type { StagedGuardrail } from "../../guardrail/AgentGuardrails.ts"
import { Halt } from "../../journal/Halt.ts"
import * as Loop from "../../journal/Loop.ts"
import { check, type Kind, toHalt } from "./Check.ts"

const isSaid = (turn: Turn | undefined): turn is User => turn?._tag === "User" && turn.mode === undefined

/**
 * Gives the turns of users, by their places, that the agent in control is to read for the first time: those that no model has
 * answered, and where it took over those that the run answers.
 */
const unheard = ({ definition, heard, state }: Loop.Loop): ReadonlyArray<number> => {
  const { conversation: { turns }, run } = state
  const places: Array<number> = []
  let isAnswered = false
  for (let at = turns.length - 1; at >= 0; at--) {
    const turn = turns[at]!
    if (turn._tag === "Assistant") {
      if (turn.agent === definition.name) break
      isAnswered = true
    }
    if (isAnswered && places.length >= (run.inputs ?? 1)) break
    if (isSaid(turn)) places.unshift(at)
  }
  return heard === undefined ? places : places.filter((at) => !heard.has(turns[at]!))
}

/** Gives what was blocked of what the run is to answer. */
const blockedOf = (loop: Loop.Loop, places: ReadonlyArray<number>): Halt | undefined => {
  const { conversation: { turns }, run } = loop.state
  for (const at of places.slice(-(run.inputs ?? 1))) {
    const turn = turns[at]
    if (!isSaid(turn) || turn.blocked === undefined) continue
    return new Halt(new GuardrailBlocked({ agent: loop.definition.name, stage: "input", ...turn.blocked }))
  }
  return undefined
}

/** Puts a text in the place of the text among parts. */
const withText = (parts: User["parts"], text: string): User["parts"] => {
  const at = parts.findIndex(({ _tag }) => _tag === "Text")
  const rest = parts.filter(({ _tag }) => _tag !== "Text")
  return rest.toSpliced(at < 0 ? rest.length : at, 0, Part.text(text))
}

const marker: User["parts"] = [Part.text("(This was blocked and isn't shown.)")]

const kindOf = (loop: Loop.Loop, turn: number): Kind<User["parts"]> => ({
  context: { stage: "input", agent: loop.definition.name, state: loop.state },
  texts: (parts) => [textOf({ _tag: "User", parts })],
  putTexts: (parts, [text]) => Result.succeed(withText(parts, text ?? "")),
  replaced: (input) => ({ turn, input }),
  isFinal: true,
  blocked: (guardrail, reason) => ({ turn, input: marker, blocked: { guardrail, reason } })
})

/** Asks guardrails about what users have said. Gives whether something of it was replaced. */
const ask = (
  loop: Loop.Loop,
  guardrails: ReadonlyArray<StagedGuardrail>,
  places: ReadonlyArray<number>
): Effect.Effect<boolean, Halt, unknown> => {
  const from = (index: number, isReplaced: boolean): Effect.Effect<boolean, Halt, unknown> => {
    const at = places[index]
    const turn = at === undefined ? undefined : loop.state.conversation.turns[at]
    if (at === undefined || !isSaid(turn)) return Effect.succeed(isReplaced)
    if (turn.blocked !== undefined) return from(index + 1, isReplaced)
    const kind = kindOf(loop, at)
    return Effect.flatMap(check(loop, guardrails, turn.parts, kind), (checked) => {
      const isChanged = checked._tag === "Refused" || checked.isReplaced
      // What was sent of it before, by an agent that handed over, isn't what stands there now.
      if (isChanged && at < loop.sent.turns) Loop.forgetSent(loop)
      return checked._tag === "Refused"
        ? Effect.fail(toHalt(loop, checked, kind.context))
        : from(index + 1, isReplaced || isChanged)
    })
  }
  return Effect.suspend(() => from(0, false))
}

/** Notes that what stands at some places has been let pass by all. */
const hear = (loop: Loop.Loop, places: ReadonlyArray<number>): void => {
  loop.heard ??= new WeakSet()
  for (const at of places) loop.heard.add(loop.state.conversation.turns[at]!)
}

/** What guardrails are asked about an input: before the request, and beside it. */
export interface Asking {
  readonly before: Effect.Effect<unknown, Halt, unknown> | undefined
  /** Gives whether something was replaced. */
  readonly beside: Effect.Effect<boolean, Halt, unknown> | undefined
}

/** Gives what guardrails are to be asked before the agent in control reads what users said, if there is anything. */
export const begin = (loop: Loop.Loop): Asking | undefined => {
  const { input, parallel } = loop.definition.guardrails
  if (input.length === 0 && parallel.length === 0) return undefined
  const places = unheard(loop)
  if (places.length === 0) return undefined
  const blocked = blockedOf(loop, places)
  if (blocked !== undefined) return { before: Effect.fail(blocked), beside: undefined }
  const heard = <A>(value: A): A => {
    hear(loop, places)
    return value
  }
  if (parallel.length === 0) return { before: Effect.map(ask(loop, input, places), heard), beside: undefined }
  return {
    before: input.length === 0 ? undefined : ask(loop, input, places),
    beside: Effect.map(ask(loop, parallel, places), heard)
  }
}
