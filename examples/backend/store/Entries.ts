/**
 * What an entry of a conversation's log changes in the list of conversations. All functions are pure.
 */
import { Option, Schema } from "effect"
import type { ConversationStore } from "troupe/cluster"
import { Approval, type Change as Changed } from "../api/Conversations.ts"
import { withChange } from "../service/changes.ts"
import { lineOf } from "../service/title.ts"

/** What the list holds of a conversation that entries change. `running` is the key of the message that is being answered. */
export interface Row {
  readonly title: string
  /** Whether the title is made of the words that were said last. */
  readonly isFresh: boolean
  readonly running: string | undefined
  readonly approvals: ReadonlyArray<typeof Approval.Type>
  readonly changes: ReadonlyArray<Changed>
}

/** How an entry changes a row. */
export type Change = (row: Row) => Row

const Said = Schema.Array(Schema.Struct({ text: Schema.optionalKey(Schema.String) }))

/** What matters here of the events that matter. */
const Event = Schema.Struct({
  _tag: Schema.String,
  calls: Schema.Array(Schema.String),
  callId: Schema.optionalKey(Schema.String),
  input: Schema.optionalKey(Said),
  mode: Schema.optionalKey(Schema.String),
  blocked: Schema.optionalKey(Schema.Unknown),
  guardrail: Schema.optionalKey(Schema.String),
  reason: Schema.optionalKey(Schema.String),
  replaced: Schema.optionalKey(Schema.Struct({
    turn: Schema.optionalKey(Schema.Int),
    input: Schema.optionalKey(Said),
    blocked: Schema.optionalKey(Schema.Unknown)
  }))
})
type Event = typeof Event.Type

const decode = Schema.decodeUnknownOption(Event)
const decodeAnswer = Schema.decodeSync(Schema.fromJsonString(Schema.Struct({ pending: Schema.Array(Approval) })))

const tags: ReadonlySet<string> = new Set(["RunStarted", "GuardrailSettled", "CallApproved", "CallDenied"])

/** The texts that an entry has in it if any of its events matters. */
const isTelling = (text: string): boolean => [...tags].some((tag) => text.includes(`"_tag":"${tag}"`))

const eventsIn = (text: string): ReadonlyArray<Event> => {
  if (!isTelling(text)) return []
  const { events } = JSON.parse(text) as { readonly events: ReadonlyArray<{ readonly _tag: string }> }
  return events.flatMap((event) => tags.has(event._tag) ? Option.toArray(decode(event)) : [])
}

const takeEvent = (row: Row, event: Event): Row => {
  const { blocked, callId, calls, input, mode, replaced } = event
  switch (event._tag) {
    // Decisions on calls of called agents count too.
    case "CallApproved":
    case "CallDenied":
      return { ...row, approvals: row.approvals.filter((approval) => approval.callId !== callId) }
    case "RunStarted":
      if (calls.length > 0 || input === undefined || mode !== undefined) return row
      return row.title === "" && blocked === undefined
        ? { ...row, title: lineOf(input), isFresh: true }
        : { ...row, isFresh: false }
    default: {
      if (calls.length > 0 || replaced?.input === undefined) return row
      const title = !row.isFresh ? row.title : replaced.blocked === undefined ? lineOf(replaced.input) : ""
      return { ...row, title, changes: withChange(row.changes, event) }
    }
  }
}

/** Says what an entry changes, if that is anything. */
export const changeOf = (
  { answer, answered, taken, text }: Pick<ConversationStore.Append, "answer" | "answered" | "taken" | "text">
): Change | undefined => {
  const events = eventsIn(text)
  if (events.length === 0 && answered === undefined && taken === undefined) return undefined
  return (row) => {
    const told = events.reduce(takeEvent, taken === undefined ? row : { ...row, running: taken })
    if (answered === undefined) return told
    return {
      ...told,
      running: undefined,
      approvals: answer === undefined ? told.approvals : decodeAnswer(answer).pending
    }
  }
}
