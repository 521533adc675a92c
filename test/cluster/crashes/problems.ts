/** What is wrong at the end of a conversation whose processes died: read off its log, what handlers did, and what was answered. */
import { Effect, Result } from "effect"
import { AgentState } from "troupe"
import type { Answer } from "../../../src/cluster/Answer.ts"
import * as Kept from "../../../src/cluster/Kept.ts"
import { arrived, type Executed, messages, startsOnce } from "../desk.ts"
import type { Store } from "./stores.ts"

/** What came of a conversation. A message of a run that was cancelled may be refused. */
export interface Outcome {
  readonly executed: ReadonlyArray<Executed>
  readonly answers: ReadonlyMap<string, Answer | "refused">
  /** The message that somebody wanted to cancel, and whether that was in time. */
  readonly cancel: { readonly key: string; readonly isInTime: boolean } | undefined
}

const inputs = messages.filter((message) => "says" in message).length

/** Reads the whole log from its beginning. */
export const logOf = (store: Store, id: string): Effect.Effect<ReadonlyArray<Kept.Entry>> =>
  Effect.orDie(Effect.map(
    store.read(id, 0, 100_000),
    (entries) => entries.map(({ text }) => Result.getOrThrow(Kept.entryFromText(text)))
  ))

/** Gives what a log leads to. */
export const fold = (log: ReadonlyArray<Kept.Entry>): Kept.Kept =>
  log.reduce((kept, entry) => Kept.take(kept, entry), Kept.begin(AgentState.make("triage")))

const allCalls = (state: AgentState.AgentState) =>
  state.conversation.turns.flatMap((turn) =>
    turn._tag === "Assistant" ? turn.parts.flatMap((part) => part._tag === "Call" ? [part] : []) : []
  )

/** Gives the calls of a log that ended in a way. */
const settledIn = (log: ReadonlyArray<Kept.Entry>) =>
  log.flatMap(({ events }) => events.filter((event) => event._tag === "ToolCallSettled"))

const ofAnswers = (log: ReadonlyArray<Kept.Entry>, { answers, cancel }: Outcome): ReadonlyArray<string> =>
  messages.flatMap((message) => {
    const { key } = message
    const answer = answers.get(key)
    const given = "gives" in message ? settledIn(log).find(({ callId }) => callId === message.gives) : undefined
    if (answer === undefined) return [`${key} isn't answered`]
    if (answer === "refused") {
      // Of a handler whose end is unknown nobody awaits a result.
      return cancel === undefined && given?.outcome !== "Interrupted" ? [`${key} is refused`] : []
    }
    if (given !== undefined && cancel === undefined && given.result !== arrived) return [`${key} isn't what was given`]
    const isCancelled = cancel?.key === key && cancel.isInTime
    return isCancelled && answer.status !== "Cancelled" ? [`${key} isn't cancelled`] : []
  })

const ofStarts = ({ executed }: Outcome): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const starts = executed.filter(({ phase, tool }) => phase === "start" && startsOnce.includes(tool))
  for (const { n, tool } of starts) {
    const times = starts.filter((one) => one.tool === tool && one.n === n).length
    if (times > 1) problems.push(`${tool} ${n} was started ${times} times`)
  }
  return problems
}

const ofCalls = (log: ReadonlyArray<Kept.Entry>, { answers, cancel, executed }: Outcome): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const settled = settledIn(log)
  const unknown = [...answers.values()].flatMap((answer) => answer === "refused" ? [] : answer.unknown)
  for (const { callId, name, outcome } of settled) {
    const times = settled.filter((other) => other.callId === callId).length
    if (times > 1) problems.push(`${callId} is settled ${times} times`)
    const isMarked = startsOnce.includes(name)
    const n = Number(/\d+$/.exec(callId)?.[0])
    const did = executed.filter((one) => one.tool === name && one.n === n)
    const ends = did.filter(({ phase }) => phase === "end").length
    if (isMarked && outcome === "Succeeded" && ends !== 1) problems.push(`${callId} succeeded and ended ${ends} times`)
    if (isMarked && outcome === "Denied" && did.length > 0) problems.push(`${callId} was denied and started`)
    const isUnknown = unknown.some((one) => one.callId === callId)
    if (isMarked && outcome === "Interrupted" && did.length > 0 && !isUnknown) {
      problems.push(`${callId} was interrupted, and no answer says that it is unknown`)
    }
    if (!isMarked && cancel === undefined && outcome !== "Succeeded" && outcome !== "HandedOff") {
      problems.push(`${callId} is ${outcome}`)
    }
  }
  return problems
}

const ofLog = (log: ReadonlyArray<Kept.Entry>, state: AgentState.AgentState, outcome: Outcome) => {
  const problems: Array<string> = []
  const isEnd = ({ _tag, calls }: { readonly _tag: string; readonly calls: ReadonlyArray<string> }) =>
    calls.length === 0 && (_tag === "RunCompleted" || _tag === "RunFailed")
  if (log.some(({ answered, events }) => answered === undefined && events.some(isEnd))) {
    problems.push("a run ended without an answer to its message")
  }
  const kept = fold(log)
  if (JSON.stringify(AgentState.toJson(kept.state)) !== JSON.stringify(AgentState.toJson(state))) {
    problems.push("the state isn't the fold of its log")
  }
  if (kept.underway !== undefined) problems.push("something is under way at the end")
  const said = state.conversation.turns.filter((turn) => turn._tag === "User").length
  if (outcome.cancel === undefined ? said !== inputs : said > inputs) problems.push(`${said} inputs`)
  if (outcome.cancel !== undefined) return problems
  if (state.status._tag !== "Complete") problems.push(`ends as ${state.status._tag}`)
  if (allCalls(state).some(({ state }) => state._tag !== "Settled")) problems.push("a call is open")
  return problems
}

/** Says what is wrong with a log, the state that was told, and what came of the conversation. */
export const problemsOf = (
  log: ReadonlyArray<Kept.Entry>,
  state: AgentState.AgentState,
  outcome: Outcome
): ReadonlyArray<string> => [
  ...new Set([
    ...ofAnswers(log, outcome),
    ...ofStarts(outcome),
    ...ofCalls(log, outcome),
    ...ofLog(log, state, outcome)
  ])
]
