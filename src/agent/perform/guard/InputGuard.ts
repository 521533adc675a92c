/**
 * Guardrails on what users say, and modes or callers in their place: asked before the first request of the agent in control that reads
 * it, or beside that. Until then nobody is told what was said to the outermost agent, no store and no observer. What is said to a called
 * one is told only then, since others tell and save beside it what they do (`tell`).
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
import type { AgentState, Blocked, Turn, User } from "../../../domain/StateSchema.ts"
import type { Definition } from "../../definition/AgentDefinition.ts"
import type { StagedGuardrail } from "../../guardrail/AgentGuardrails.ts"
import * as InPlace from "../../guardrail/InPlace.ts"
import * as Loop from "../../journal/Loop.ts"
import { Fail } from "../../rules/Decision.ts"
import { blockedInput, consequenceOf, saidIn } from "../../rules/VerdictConsequences.ts"
import { check, type Kind } from "./Check.ts"
import { tellWaiting, type WaitingEvents } from "./GuardrailEvents.ts"

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

/** Checks whether what was said last was blocked. Guardrails of another agent may have done so where nobody could be picked. */
const hasMark = ({ state: { conversation: { turns } } }: Loop.Loop): boolean => {
  for (let at = turns.length - 1; at >= 0 && turns[at]!._tag !== "Assistant"; at--) {
    const turn = turns[at]
    if (isSaid(turn) && turn.blocked !== undefined) return true
  }
  return false
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

/** Gives what stands in the place of words that a guardrail of an agent blocked, while another may be in control. */
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
    isParts(given) ? Result.succeed(fromInput(given)) : Result.fail("it isn't a list of texts and files"),
  texts: textsOf,
  judgeTexts: InPlace.judge,
  putTexts: (parts, texts) => Result.succeed(withTexts(parts, texts)),
  replaced: (input) => ({ turn, input }),
  blocked: (guardrail, reason) => ({ turn, ...inPlaceOf(state.agent, agent, guardrail, reason) })
})

/** Asks guardrails of an agent about what users have said. Gives whether something of it was replaced. */
const ask = (
  loop: Loop.Loop,
  guardrails: ReadonlyArray<StagedGuardrail>,
  places: ReadonlyArray<number>,
  definition?: Definition
): Effect.Effect<boolean, Fail, unknown> => {
  const from = (index: number, isReplaced: boolean): Effect.Effect<boolean, Fail, unknown> => {
    const at = places[index]
    const turn = at === undefined ? undefined : loop.state.conversation.turns[at]
    if (at === undefined || !isSaid(turn)) return Effect.succeed(isReplaced)
    if (turn.blocked !== undefined) return from(index + 1, isReplaced)
    const kind = kindOf(loop, at, definition)
    return Effect.flatMap(check(loop, guardrails, turn.parts, kind), (checked) =>
      checked._tag === "Refused"
        ? Effect.fail(consequenceOf(checked, "input", kind.context.agent))
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
  if (input.length === 0 && parallel.length === 0 && !hasMark(loop)) return undefined
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

/** What is said to an agent, as it is told: a marker stands for what was blocked. */
export interface Said {
  readonly input: User["parts"]
  readonly blocked?: Blocked
}

const guardrailsOf = ({ guardrails: { input, parallel } }: Definition): ReadonlyArray<StagedGuardrail> => [
  ...input,
  ...parallel
]

/** Asks about words that nobody has been told, and holds what guardrails say. `state` has the words. */
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

/**
 * Tells what is said to an agent, which the guardrails of `judges` look at: who is to read it first. What is said to the outermost agent
 * is withheld until they have. That can't be done to a called one, beside which others tell and save what they do: they are asked first,
 * and what passes is told. `foresee` gives the state with the words. Gives an effect if anybody has to be asked.
 */
export const tell = (
  loop: Loop.Loop,
  judges: ReadonlyArray<Definition>,
  input: User["parts"],
  foresee: () => AgentState,
  told: (said: Said) => void
): Effect.Effect<void, never, unknown> | undefined => {
  const isJudged = judges.some(isGuarded)
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
      tellWaiting(loop, held)
      if (said.blocked === undefined) pass(loop, [state.conversation.turns.length - 1])
    })
  })
}

/** Asks about what was said last without waiting for a request, if something else comes first. */
export const askNow = (loop: Loop.Loop): Effect.Effect<void, Fail, unknown> =>
  Effect.suspend(() => {
    const asking = begin(loop, true)
    const asked = Effect.andThen(asking?.before ?? Effect.void, asking?.beside ?? Effect.void)
    return Effect.map(asked, () => loop.journal.release())
  })

/**
 * Asks guardrails about what was said last to the outermost agent, though no request will read it now: it is kept all the same. `judges`
 * are those who might have read it.
 */
export const askAnyway = (loop: Loop.Loop, judges: ReadonlyArray<Definition>): Effect.Effect<void, never, unknown> => {
  const places = [loop.state.conversation.turns.length - 1]
  const asked = Effect.forEach(judges, (judge) => ask(loop, guardrailsOf(judge), places, judge), { discard: true })
  return Effect.map(Effect.ignore(asked), () => loop.journal.release())
}
