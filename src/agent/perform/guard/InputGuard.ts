/**
 * Guardrails on inputs: of users, and of modes and callers in their place. They judge an input before the first request that would send
 * it, or beside that request.
 *
 * 1. Until they have judged it, no observer, stream or store sees the input of the outermost agent: its events are withheld. The events of a
 *    called agent can't be withheld, because other agents run beside it. So guardrails judge its input before any event has it (`emitInput`).
 * 2. The state doesn't record that an input passed. If a run stops before its model answers, the run that continues it asks again.
 * 3. A blocked input is replaced by a marker in its turn. Guardrails don't judge the marker, and a run that should answer it fails again
 *    (`UnreadInputs.blockedIn`).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Part from "../../../domain/Part.ts"
import { fromInput } from "../../../domain/PartCopy.ts"
import type { AgentState, Turn, User } from "../../../domain/StateSchema.ts"
import * as Wanted from "../../../domain/Wanted.ts"
import type { Definition } from "../../definition/AgentDefinition.ts"
import { judgesInput, type StagedGuardrail } from "../../definition/guardrail/AgentGuardrails.ts"
import * as Loop from "../../journal/Loop.ts"
import type { Fail } from "../../rules/Decision.ts"
import * as UnreadInputs from "../../rules/UnreadInputs.ts"
import { blockedInput, consequenceOf, saidIn } from "../../rules/VerdictConsequences.ts"
import { check, type Kind } from "./Check.ts"
import type { Guard, Said } from "./Guard.ts"
import { emitWaiting, type WaitingEvents } from "./GuardrailEvents.ts"
import * as InPlace from "./InPlace.ts"

/** The user turns that the guardrails of an agent have let pass, so that no turn is judged twice in a run. */
interface Passed {
  readonly agent: string
  readonly turns: WeakSet<Turn>
}

const passed = new Loop.Slot<Passed>()

const passedBy = (loop: Loop.Loop): Passed => {
  const { definition: { name: agent } } = loop
  const known = passed.get(loop)
  if (known?.agent === agent) return known
  const made: Passed = { agent, turns: new WeakSet() }
  passed.set(loop, made)
  return made
}

/** Returns the indices of the user turns that the agent in control reads for the first time, and that weren't judged in this run. */
const unread = (loop: Loop.Loop): ReadonlyArray<number> => {
  const { definition, state } = loop
  const known = passedBy(loop)
  return UnreadInputs.find(definition, state).filter((at) => !known.turns.has(state.conversation.turns[at]!))
}

const hasText = (part: Part.UserPart): part is Part.Text => part._tag === "Text" && part.text !== ""

const textsOf = (parts: User["parts"]): ReadonlyArray<string> => parts.filter(hasText).map(({ text }) => text)

/** Replaces the texts of parts. If no part has text, the new text comes last. A text that is empty now is left out. */
const withTexts = (parts: User["parts"], texts: ReadonlyArray<string>): User["parts"] => {
  if (!parts.some(hasText)) return [...parts.filter(({ _tag }) => _tag === "File"), Part.text(texts.join(""))]
  let at = 0
  const placed = parts.map((part) => hasText(part) ? { ...part, text: texts[at++] ?? "" } : part)
  const left = placed.filter((part, index) => part._tag === "File" || part.text !== "" || !hasText(parts[index]!))
  return left.length > 0 ? left : [Part.text("")]
}

/** Returns the marker for an input that a guardrail blocked. It names the guardrail's agent if another one is in control. */
const inPlaceOf = (inControl: string, agent: string, guardrail: string, reason: string) => ({
  input: blockedInput,
  blocked: { ...(agent === inControl ? undefined : { agent }), guardrail, reason }
})

const kindOf = (
  loop: Loop.Loop,
  turn: number,
  { name: agent }: Definition = loop.definition,
  state = loop.state
): Kind<User["parts"]> => ({
  at: "input",
  context: { stage: "input", agent, state },
  put: (_, given) =>
    Result.try({
      try: () => fromInput(Wanted.parts("A guardrail on inputs", given as User["parts"])),
      catch: () => "it isn't a list of texts and files"
    }),
  texts: textsOf,
  judgeTexts: InPlace.judge,
  putTexts: (parts, texts) => Result.succeed(withTexts(parts, texts)),
  replaced: (input) => ({ turn, input }),
  blocked: (refused) => ({ turn, ...inPlaceOf(state.agent, agent, refused.guardrail, saidIn(refused)) })
})

/** Lets guardrails of an agent judge user turns, and returns whether they replaced any. */
const ask = (
  loop: Loop.Loop,
  guardrails: ReadonlyArray<StagedGuardrail>,
  places: ReadonlyArray<number>,
  definition?: Definition
): Effect.Effect<boolean, Fail, unknown> => {
  const from = (index: number, isReplaced: boolean): Effect.Effect<boolean, Fail, unknown> => {
    const at = places[index]
    const turn = at === undefined ? undefined : loop.state.conversation.turns[at]
    if (at === undefined || !UnreadInputs.isSaid(turn)) return Effect.succeed(isReplaced)
    if (turn.blocked !== undefined) return from(index + 1, isReplaced)
    const kind = kindOf(loop, at, definition)
    return Effect.flatMap(check(loop, guardrails, turn.parts, kind), (checked) =>
      checked._tag === "Refused"
        ? Effect.fail(consequenceOf(checked, "input", kind.context.agent))
        : from(index + 1, isReplaced || checked.isReplaced))
  }
  return Effect.suspend(() => from(0, false))
}

/** Notes that all guardrails have let some turns pass. */
const pass = (loop: Loop.Loop, places: ReadonlyArray<number>): void => {
  const known = passedBy(loop)
  for (const at of places) known.turns.add(loop.state.conversation.turns[at]!)
}

/** The checks of an input: those before the request, and those beside it. */
export interface InputChecks {
  readonly before: Effect.Effect<unknown, Fail, unknown> | undefined
  /** Returns whether the input was replaced. */
  readonly beside: Effect.Effect<boolean, Fail, unknown> | undefined
}

/** Returns the checks that are due before the agent in control reads an input, if there are any. */
export const begin = (loop: Loop.Loop, isLastOnly = false): InputChecks | undefined => {
  const { input, parallel } = loop.definition.guardrails
  if (input.length === 0 && parallel.length === 0) return undefined
  const places = isLastOnly ? unread(loop).slice(-1) : unread(loop)
  if (places.length === 0) return undefined
  const noted = <A>(value: A): A => {
    pass(loop, places)
    loop.journal.release()
    return value
  }
  if (parallel.length === 0) return { before: Effect.map(ask(loop, input, places), noted), beside: undefined }
  return {
    before: input.length === 0 ? undefined : ask(loop, input, places),
    beside: Effect.map(ask(loop, parallel, places), noted)
  }
}

const guardrailsOf = ({ guardrails: { input, parallel } }: Definition): ReadonlyArray<StagedGuardrail> => [
  ...input,
  ...parallel
]

/** Judges an input that no event has yet, and keeps the events of its guardrails in `held`. `state` has the input. */
const admit = Effect.fnUntraced(function*(
  loop: Loop.Loop,
  judges: ReadonlyArray<Definition>,
  input: User["parts"],
  state: AgentState,
  held: WaitingEvents
): Effect.fn.Return<Said, never, unknown> {
  const turn = state.conversation.turns.length - 1
  let parts = input
  for (const judge of judges) {
    const checked = yield* check(loop, guardrailsOf(judge), parts, kindOf(loop, turn, judge, state), held)
    if (checked._tag === "Refused") return inPlaceOf(state.agent, judge.name, checked.guardrail, saidIn(checked))
    parts = checked.value
  }
  return { input: parts }
})

/** Emits an input, and judges it (`Guard`). */
export const emitInput: Guard["emitInput"] = (loop, judges, input, foresee, told) => {
  const isJudged = judges.some(({ guardrails }) => judgesInput(guardrails))
  if (loop.parent === undefined || !isJudged) {
    if (isJudged) loop.journal.withhold()
    told({ input })
    return undefined
  }
  return Effect.suspend(() => {
    const held: WaitingEvents = []
    const state = foresee()
    return Effect.map(admit(loop, judges, input, state, held), (said) => {
      told(said)
      emitWaiting(loop, held)
      if (said.blocked === undefined) pass(loop, [state.conversation.turns.length - 1])
    })
  })
}

/** Judges the last input at once (`Guard`). */
export const askNow: Guard["askNow"] = (loop) =>
  Effect.suspend(() => {
    const checks = begin(loop, true)
    const asked = Effect.andThen(checks?.before ?? Effect.void, checks?.beside ?? Effect.void)
    return Effect.map(asked, () => loop.journal.release())
  })

/** Judges the last input of the outermost agent although no request will read it (`Guard`). */
export const askAnyway: Guard["askAnyway"] = (loop, judges) => {
  const places = [loop.state.conversation.turns.length - 1]
  const asked = Effect.forEach(judges, (judge) => ask(loop, guardrailsOf(judge), places, judge), { discard: true })
  return Effect.map(Effect.ignore(asked), () => loop.journal.release())
}
