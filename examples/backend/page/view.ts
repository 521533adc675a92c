/**
 * What is shown of a conversation, as a value: made from the conversation as it was read, and changed by each event after that.
 *
 * 1. It imports nothing of the service but types, so that it runs in a browser and in Node.
 * 2. What the events of a run make of it is what a reload shows, but for remarks that are only told while they happen.
 * 3. Nothing here is HTML: texts are what was said, and whoever shows them shows them as text.
 */
import type { Event, View } from "../api/Conversations.ts"
import {
  below,
  type Handoff,
  handoffItem,
  type Item,
  keyOf,
  partItems,
  type Said,
  saidItem,
  type ToolCall,
  turnItems
} from "./items.ts"

type ReadView = typeof View.Encoded
type ToldEvent = typeof Event.Encoded

/** Where the conversation stands: whose turn it is. */
export type Standing =
  | { readonly _tag: "Idle" }
  | { readonly _tag: "Running" }
  | { readonly _tag: "Awaiting" }
  | { readonly _tag: "Stopped" }
  | { readonly _tag: "Failed"; readonly error: string; readonly message: string }

/** What goes on at this moment of a run. */
export type Activity =
  | { readonly _tag: "None" }
  | { readonly _tag: "Starting" }
  | { readonly _tag: "Thinking" }
  | { readonly _tag: "Writing" }
  | { readonly _tag: "Working"; readonly tool: string; readonly params: unknown }

export interface Shown {
  readonly items: ReadonlyArray<Item>
  /** Who is in control. */
  readonly agent: string
  /** The modes that are on, the innermost last. */
  readonly modes: ReadonlyArray<string>
  readonly standing: Standing
  readonly activity: Activity
  /** How many items were made, for their keys. */
  readonly made: number
}

const none: Activity = { _tag: "None" }
const running: Standing = { _tag: "Running" }

const standingOfView = ({ approvals, isRunning, state: { conversation, status } }: ReadView): Standing => {
  if (isRunning) return running
  if (status._tag === "Failed") return { _tag: "Failed", error: status.error.tag, message: status.error.message }
  if (approvals.length > 0) return { _tag: "Awaiting" }
  return status._tag === "Complete" || conversation.turns.length === 0 ? { _tag: "Idle" } : { _tag: "Stopped" }
}

/** Shows a conversation as it was read. */
export const fromView = (view: ReadView): Shown => {
  const { conversation, status } = view.state
  const request = status._tag === "HandoffRequested" ? status.request : undefined
  const items = conversation.turns.flatMap((turn, index) => turnItems(turn, index, view.changes)).map((item): Item =>
    item.kind === "call" && item.callId === request?.callId ? handoffItem(item.key, item.agent, request, false) : item
  )
  const shown = new Set(items.map(({ key }) => key))
  return {
    items: [...items, ...view.approvals.filter(({ callId }) => !shown.has(keyOf(callId))).map(below)],
    agent: view.state.agent,
    modes: view.state.modes.map(({ name }) => name),
    standing: standingOfView(view),
    activity: view.isRunning ? { _tag: "Starting" } : none,
    made: 0
  }
}

const add = (self: Shown, ...items: ReadonlyArray<Item>): Shown => ({
  ...self,
  items: [...self.items, ...items],
  made: self.made + 1
})

const remark = (self: Shown, text: string): Shown => add(self, { kind: "remark", key: `told ${self.made}`, text })

/** Puts an item in the place of the one at an index, or behind all where there is none. */
const put = (self: Shown, index: number, item: Item): Shown =>
  index < 0 ? add(self, item) : { ...self, items: self.items.with(index, item) }

const without = (self: Shown, isGone: (item: Item) => boolean): Shown =>
  self.items.some(isGone) ? { ...self, items: self.items.filter((item) => !isGone(item)) } : self

/** Takes back what has arrived of an answer that isn't one, or that is told from its beginning again. */
export const withoutOpen = (self: Shown): Shown => without(self, (item) => item.kind === "answer" && item.isOpen)

const write = (self: Shown, agent: string, delta: string): Shown => {
  const last = self.items.at(-1)
  const written = last?.kind === "answer" && last.isOpen && last.agent === agent
    ? put(self, self.items.length - 1, { ...last, text: last.text + delta })
    : add(self, { kind: "answer", key: `told ${self.made}`, agent, text: delta, isOpen: true })
  return written.activity._tag === "Writing" ? written : { ...written, activity: { _tag: "Writing" } }
}

const changeCall = (
  self: Shown,
  { callId, name, path }: { readonly callId: string; readonly name: string; readonly path: ReadonlyArray<string> },
  change: Partial<Pick<ToolCall, "params" | "standing" | "result">>
): Shown => {
  const index = self.items.findIndex((item) => item.kind === "call" && item.callId === callId)
  const before = self.items[index]
  const call: ToolCall = before?.kind === "call"
    ? before
    : { kind: "call", key: keyOf(callId), callId, agent: path.at(-1) ?? "", name, params: {}, standing: "Pending" }
  return put(self, index, { ...call, ...change })
}

const putHandoff = (self: Shown, handoff: Handoff): Shown =>
  put(self, self.items.findIndex(({ key }) => key === handoff.key), handoff)

/** What the user said, as a guardrail let it stand. */
const changeSaid = (self: Shown, change: (said: Said) => Said): Shown => {
  const index = self.items.findLastIndex(({ kind }) => kind === "said")
  const said = self.items[index]
  return said?.kind === "said" ? put(self, index, change(said)) : self
}

const ended = (self: Shown, standing: Standing): Shown => ({ ...withoutOpen(self), standing, activity: none })

/** Changes what is shown by an event of the agent in control. */
const takeOwn = (self: Shown, event: ToldEvent): Shown => {
  const agent = event.path.at(-1) ?? self.agent
  switch (event._tag) {
    case "RunStarted": {
      const begun: Shown = { ...self, agent, standing: running, activity: { _tag: "Starting" } }
      return event.input === undefined ? begun : add(begun, saidItem(`told ${self.made}`, event.input, undefined))
    }
    case "ModelCallStarted":
      return { ...self, activity: { _tag: "Thinking" } }
    case "TextDelta":
      return write(self, agent, event.delta)
    case "ModelResponded": {
      const parts = event.feedback === undefined ? event.parts : event.parts.filter(({ _tag }) => _tag === "Call")
      const open = self.items.find((item) => item.kind === "answer" && item.isOpen)
      const items = partItems(agent, parts, `told ${self.made}`)
      const first = items.findIndex(({ kind }) => kind === "answer")
      return {
        // What was written so far stays where it is.
        ...add(
          withoutOpen(self),
          ...items.map((item, index) => index === first && open !== undefined ? { ...item, key: open.key } : item)
        ),
        activity: { _tag: "Thinking" }
      }
    }
    case "ModelCallFailed": {
      const failed = withoutOpen(self)
      return event.tag === "Interrupted" || event.tag === "GuardrailBlocked"
        ? failed
        : remark(failed, `The model gave no answer: ${event.message}`)
    }
    case "TextWithdrawn":
      return remark(withoutOpen(self), `What was said is taken back: ${event.reason}`)
    case "ToolCallStarted":
      return {
        ...changeCall(self, event, { params: event.params, standing: "Running" }),
        activity: { _tag: "Working", tool: event.name, params: event.params }
      }
    case "ToolInvoked":
      return changeCall(self, event, { params: event.params })
    case "ToolCallSettled":
      return {
        ...changeCall(self, event, {
          standing: event.outcome === "HandedOff" ? "Succeeded" : event.outcome,
          result: event.result
        }),
        activity: { _tag: "Thinking" }
      }
    case "GuardrailSettled": {
      const replaced = event.replaced
      if (replaced === undefined || !("input" in replaced)) return self
      return changeSaid(self, ({ key }) => saidItem(key, replaced.input, replaced.blocked?.reason, event))
    }
    case "LimitReached":
      return remark(self, `A limit was met (${event.limit}): one more answer.`)
    case "HandoffRequested":
      return event.request.callId === undefined
        ? self
        : putHandoff(self, handoffItem(keyOf(event.request.callId), agent, event.request, false))
    case "HandoffCompleted": {
      const key = event.request.callId === undefined ? `told ${self.made}` : keyOf(event.request.callId)
      return { ...putHandoff(self, handoffItem(key, agent, event.request, true)), agent: event.request.target }
    }
    case "ModeEntered":
    case "ModeExited":
      return { ...self, modes: event.stack }
    case "ModeFailed": {
      const left = event.phase === "SetUp" && event.isResumed !== true
        ? { ...self, modes: event.stack.slice(0, -1) }
        : self
      return remark(left, `Something that this needs has failed: ${event.message}`)
    }
    case "RunCompleted":
      return ended(
        self,
        self.items.some((item) => item.kind === "call" && item.standing === "Awaiting")
          ? { _tag: "Awaiting" }
          : { _tag: "Idle" }
      )
    case "RunInterrupted":
      return ended(self, { _tag: "Stopped" })
    case "RunFailed":
      return ended(self, { _tag: "Failed", error: event.error.tag, message: event.error.message })
    default:
      return self
  }
}

/** Changes what is shown by an event. */
export const take = (self: Shown, event: ToldEvent): Shown => {
  const isBelow = event.calls.length > 0
  switch (event._tag) {
    case "ApprovalRequested":
      return changeCall(self, event, { params: event.params, standing: "Awaiting" })
    case "CallApproved":
    case "CallDenied": {
      const shown = decided(self, event.callId, event._tag === "CallApproved" ? "approve" : "deny")
      return isBelow ? settleBelow(shown, event) : shown
    }
    // What an agent below does is in the result of the call that it answers.
    case "ToolCallStarted":
    case "ToolCallSettled":
      return isBelow ? settleBelow(self, event) : takeOwn(self, event)
    default:
      return isBelow ? self : takeOwn(self, event)
  }
}

/**
 * Finds what had been written when a conversation was read in the middle of an answer. The events have it, and the state doesn't: a state
 * holds only whole answers.
 */
export const catchUp = (self: Shown, event: ToldEvent): Shown => {
  if (event.calls.length > 0) return self
  switch (event._tag) {
    case "TextDelta":
      return write(self, event.path.at(-1) ?? self.agent, event.delta)
    case "ModelCallStarted":
      return { ...withoutOpen(self), activity: { _tag: "Thinking" } }
    case "ToolCallStarted":
      return {
        ...self,
        // One that is settled by now is settled in the state.
        items: self.items.map((item) =>
          item.kind === "call" && item.callId === event.callId && item.standing === "Pending"
            ? { ...item, standing: "Running" }
            : item
        ),
        activity: { _tag: "Working", tool: event.name, params: event.params }
      }
    case "ToolCallSettled":
      return { ...self, activity: { _tag: "Thinking" } }
    case "RunStarted":
    case "ModelResponded":
    case "ModelCallFailed":
    case "TextWithdrawn":
      return withoutOpen(self)
    // What is under way then is another run, which hasn't told anything yet.
    case "RunCompleted":
    case "RunFailed":
    case "RunInterrupted":
      return { ...withoutOpen(self), activity: { _tag: "Starting" } }
    default:
      return self
  }
}

/** A call below is shown while it waits, and no longer. */
const settleBelow = (self: Shown, { callId }: { readonly callId: string }): Shown =>
  without(self, ({ key }) => key === keyOf(callId))

/** The calls that wait for a decision. */
export const awaiting = ({ items }: Shown): ReadonlyArray<ToolCall> =>
  items.filter((item): item is ToolCall => item.kind === "call" && item.standing === "Awaiting")

/** Shows that somebody approved or denied a call. The page shows its own decisions so before their events arrive. */
export const decided = (self: Shown, callId: string, decision: "approve" | "deny"): Shown => {
  const items = self.items.map((item): Item =>
    item.kind === "call" && item.callId === callId
      ? { ...item, standing: decision === "approve" ? "Pending" : "Denied" }
      : item
  )
  const left = { ...self, items }
  return awaiting(left).length > 0 ? left : { ...left, standing: running, activity: { _tag: "Starting" } }
}
