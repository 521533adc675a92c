/**
 * Guardrails on what users say, and modes in their place: asked before the first request of the agent in control that reads it, or beside
 * that. Until then nobody is told what was said to the outermost agent, no store and no observer (`withhold`). What a mode says to a
 * called one is told only then (`tell`).
 *
 * 1. What has been let pass isn't recorded in the state: a run that stopped before its model answered asks again when it goes on.
 * 2. What was blocked is marked in its turn. Nobody looks at the mark, and a run that should answer it fails as the one before did.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { GuardrailBlocked } from "../../../domain/AgentError.ts"
import * as Part from "../../../domain/Part.ts"
import { fromInput } from "../../../domain/PartCopy.ts"
import type { Turn, User } from "../../../domain/StateSchema.ts"
import type { Definition } from "../../definition/AgentDefinition.ts"
import type { StagedGuardrail } from "../../guardrail/AgentGuardrails.ts"
import * as InPlace from "../../guardrail/InPlace.ts"
import * as Loop from "../../journal/Loop.ts"
import { Fail } from "../../rules/Decision.ts"
import { blockedInput, consequenceOf, saidIn } from "../../rules/VerdictConsequences.ts"
import { check, type Kind } from "./Check.ts"

const isSaid = (turn: Turn | undefined): turn is User => turn?._tag === "User"

/** The turns of users that the guardrails of an agent have let pass: what stands in a turn isn't looked at twice in a run. */
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

/**
 * Finds the turns of users, by their places, that the agent in control is to read for the first time: those that no model has
 * answered, and if it took over those that the run answers.
 */
const unread = (loop: Loop.Loop): ReadonlyArray<number> => {
  const { definition, state: { conversation: { turns }, run } } = loop
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
  const known = passedBy(loop)
  return places.filter((at) => !known.turns.has(turns[at]!))
}

/** Gives what was blocked of what the run is to answer. */
const blockedOf = (loop: Loop.Loop, places: ReadonlyArray<number>): Fail | undefined => {
  const { conversation: { turns }, run } = loop.state
  const said = places.map((at) => turns[at]).filter(isSaid)
  const inputs = said.filter(({ mode }) => mode === undefined).slice(-(run.inputs ?? 1))
  // What a mode said matters while that is on its way in or out.
  const last = loop.isChangingModes ? said.slice(-1) : []
  const blocked = [...inputs, ...last].find(({ blocked }) => blocked !== undefined)?.blocked
  return blocked === undefined
    ? undefined
    : new Fail(new GuardrailBlocked({ agent: loop.definition.name, stage: "input", ...blocked }))
}

const hasText = (part: Part.UserPart): part is Part.Text => part._tag === "Text" && part.text !== ""

const textsOf = (parts: User["parts"]): ReadonlyArray<string> => parts.filter(hasText).map(({ text }) => text)

/** Puts texts in the places of those among parts, and one behind parts that have none. A text that was emptied is left out. */
const withTexts = (parts: User["parts"], texts: ReadonlyArray<string>): User["parts"] => {
  if (!parts.some(hasText)) return [...parts.filter(({ _tag }) => _tag === "File"), Part.text(texts.join(""))]
  let at = 0
  const placed = parts.map((part) => hasText(part) ? { ...part, text: texts[at++] ?? "" } : part)
  const left = placed.filter((part, index) => part._tag === "File" || part.text !== "" || !hasText(parts[index]!))
  return left.length > 0 ? left : [Part.text("")]
}

const isParts = Schema.is(Schema.Array(Part.UserPart))

const kindOf = (loop: Loop.Loop, turn: number, state = loop.state): Kind<User["parts"]> => ({
  at: "input",
  context: { stage: "input", agent: loop.definition.name, state },
  put: (_, given) =>
    isParts(given) ? Result.succeed(fromInput(given)) : Result.fail("it isn't a list of texts and files"),
  texts: textsOf,
  judgeTexts: InPlace.judge,
  putTexts: (parts, texts) => Result.succeed(withTexts(parts, texts)),
  replaced: (input) => ({ turn, input }),
  blocked: (guardrail, reason) => ({ turn, input: blockedInput, blocked: { guardrail, reason } })
})

/** Asks guardrails about what users have said. Gives whether something of it was replaced. */
const ask = (
  loop: Loop.Loop,
  guardrails: ReadonlyArray<StagedGuardrail>,
  places: ReadonlyArray<number>
): Effect.Effect<boolean, Fail, unknown> => {
  const from = (index: number, isReplaced: boolean): Effect.Effect<boolean, Fail, unknown> => {
    const at = places[index]
    const turn = at === undefined ? undefined : loop.state.conversation.turns[at]
    if (at === undefined || !isSaid(turn)) return Effect.succeed(isReplaced)
    if (turn.blocked !== undefined) return from(index + 1, isReplaced)
    return Effect.flatMap(check(loop, guardrails, turn.parts, kindOf(loop, at)), (checked) =>
      checked._tag === "Refused"
        ? Effect.fail(consequenceOf(checked, "input", loop.definition.name))
        : from(index + 1, isReplaced || checked.isReplaced))
  }
  return Effect.suspend(() => from(0, false))
}

/** Notes that what stands at some places has been let pass by all. */
const pass = (loop: Loop.Loop, places: ReadonlyArray<number>): void => {
  const known = passedBy(loop)
  for (const at of places) known.turns.add(loop.state.conversation.turns[at]!)
}

/** What guardrails are asked about an input: before the request, and beside it. */
export interface Asking {
  readonly before: Effect.Effect<unknown, Fail, unknown> | undefined
  /** Gives whether something was replaced. */
  readonly beside: Effect.Effect<boolean, Fail, unknown> | undefined
}

/** Gives what guardrails are to be asked before the agent in control reads what users said, if there is anything. */
export const begin = (loop: Loop.Loop, isLastOnly = false): Asking | undefined => {
  const { input, parallel } = loop.definition.guardrails
  if (input.length === 0 && parallel.length === 0) return undefined
  const places = isLastOnly ? unread(loop).slice(-1) : unread(loop)
  if (places.length === 0) return undefined
  const blocked = blockedOf(loop, places)
  if (blocked !== undefined) return { before: Effect.fail(blocked), beside: undefined }
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

/** Checks whether guardrails look at what is said to an agent. */
export const isGuarded = ({ guardrails: { input, parallel } }: Definition): boolean =>
  input.length > 0 || parallel.length > 0

/** Keeps what is said to the outermost agent from everybody until its guardrails have looked at it. */
export const withhold = (loop: Loop.Loop, definition: Definition): void => {
  if (loop.parent === undefined && isGuarded(definition)) loop.journal.withhold()
}

/**
 * Tells what a mode says in a run under way. What it says to the outermost agent is withheld. That can't be done to a called one, beside
 * which others tell and save what they do: its guardrails are asked first, and what passes is told.
 */
export const tell = (loop: Loop.Loop, input: User["parts"], mode: string): Effect.Effect<void, never, unknown> =>
  Effect.suspend(() => {
    const { definition, parent, state: { conversation: { turns } } } = loop
    const said = { _tag: "InputGiven", input, mode } as const
    if (parent === undefined || !isGuarded(definition)) {
      withhold(loop, definition)
      Loop.emit(loop, said)
      return Effect.void
    }
    const { replaced: _, blocked: __, ...kind } = kindOf(loop, turns.length, Loop.foresee(loop, said))
    const { input: before, parallel } = definition.guardrails
    return Effect.map(check(loop, [...before, ...parallel], input, kind), (checked) => {
      if (checked._tag === "Refused") {
        const { guardrail } = checked
        Loop.emit(loop, { ...said, input: blockedInput, blocked: { guardrail, reason: saidIn(checked) } })
      } else {
        Loop.emit(loop, { ...said, input: checked.value })
        pass(loop, [turns.length])
      }
    })
  })

/** Asks about what was said last without waiting for a request, if something else comes first. */
export const askNow = (loop: Loop.Loop): Effect.Effect<void, Fail, unknown> =>
  Effect.suspend(() => {
    const asking = begin(loop, true)
    const asked = Effect.andThen(asking?.before ?? Effect.void, asking?.beside ?? Effect.void)
    return Effect.map(asked, () => loop.journal.release())
  })
