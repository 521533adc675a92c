/**
 * The log of a conversation: an element for each item, which stays the same element while the item changes.
 */
import { deciding, waiting } from "./approval.ts"
import { make } from "./dom.ts"
import type { Answer, Handoff, Said, ToolCall } from "./items.ts"
import { type Entry, place, type Sent } from "./sent.ts"
import type { Shown } from "./view.ts"
import { agentOf, isMove, phrase } from "./words.ts"

/** What can be done in the log: only a colleague decides. */
export interface Deeds {
  readonly decide: ((callId: string, decision: "approve" | "deny", reason: string) => void) | undefined
  readonly sayAgain: (key: string) => void
  readonly dismiss: (key: string) => void
}

/** The mark of an agent. */
export const mark = (agent: string): HTMLElement =>
  make("span", { class: "mark", "data-agent": agent, "aria-hidden": "true" }, agentOf(agent).name.slice(0, 1))

const who = (agent: string): HTMLElement =>
  make("p", { class: "who" }, mark(agent), make("span", {}, agentOf(agent).name))

const answer = (item: Answer): HTMLElement =>
  make(
    "article",
    { class: "answer", "data-agent": item.agent, "aria-busy": item.isOpen ? "true" : undefined },
    who(item.agent),
    make("p", { class: "text" }, document.createTextNode(item.text))
  )

const said = (item: Said): HTMLElement =>
  make(
    "article",
    { class: "said" },
    make("p", { class: "unseen" }, "You"),
    make("p", { class: "text" }, item.text),
    item.remark === undefined ? undefined : make("p", { class: "aside" }, `Changed by a guardrail (${item.remark})`)
  )

const sent = (item: Sent, deeds: Deeds): HTMLElement =>
  make(
    "article",
    { class: item.isFailed ? "said unsent" : "said sending" },
    make("p", { class: "unseen" }, "You"),
    make("p", { class: "text" }, item.text),
    item.isFailed
      ? make(
        "p",
        { class: "aside" },
        "Not sent. ",
        make("button", { type: "button", class: "link", click: () => deeds.sayAgain(item.key) }, "Send again"),
        " ",
        make("button", { type: "button", class: "link", click: () => deeds.dismiss(item.key) }, "Dismiss")
      )
      : make("p", { class: "aside" }, "Sending…")
  )

const handoff = ({ from, isDone, reason, to }: Handoff): HTMLElement =>
  make(
    "div",
    { class: isDone ? "turn" : "turn is-open" },
    make(
      "p",
      {},
      mark(from),
      make("span", { class: "arrow", "aria-hidden": "true" }, "→"),
      mark(to),
      make(
        "span",
        { class: "turn-text" },
        make("strong", {}, `${agentOf(to).name} ${isDone ? "takes" : "is to take"} over from ${agentOf(from).name}`),
        reason === undefined || reason === "" ? undefined : `: ${reason}`
      )
    )
  )

const signs = {
  Pending: "·",
  Awaiting: "?",
  Running: "",
  Succeeded: "✓",
  Failed: "✗",
  Denied: "✗",
  Interrupted: "✗"
} as const

const json = (u: unknown): string => typeof u === "string" ? u : JSON.stringify(u, null, 2) ?? ""

const details = (item: ToolCall): HTMLElement =>
  make(
    "details",
    {},
    make("summary", {}, make("span", { class: "sign", "aria-hidden": "true" }, signs[item.standing]), callText(item)),
    make("p", { class: "muted" }, make("code", {}, item.name)),
    make("pre", { tabindex: "0", "aria-label": "Parameters" }, json(item.params)),
    item.result === undefined
      ? undefined
      : make("pre", { tabindex: "0", "aria-label": "Result" }, json(item.result))
  )

const callText = (item: ToolCall): HTMLElement => make("span", {}, phrase(item.name, item.params, item.standing))

const approval = (item: ToolCall, { decide }: Deeds): HTMLElement =>
  decide === undefined
    ? waiting(item)
    : deciding(item, (decision, reason) => decide(item.callId, decision, reason))

const call = (item: ToolCall, deeds: Deeds): HTMLElement =>
  item.standing === "Awaiting"
    ? approval(item, deeds)
    : make(
      "div",
      { class: isMove(item.name) ? "call move" : "call", "data-standing": item.standing },
      details(item)
    )

const render = (item: Entry, deeds: Deeds): HTMLElement => {
  switch (item.kind) {
    case "answer":
      return answer(item)
    case "said":
      return said(item)
    case "sent":
      return sent(item, deeds)
    case "handoff":
      return handoff(item)
    case "call":
      return call(item, deeds)
    case "remark":
      return make("p", { class: "remark" }, item.text)
  }
}

/** Changes an element in place where only more was written; gives whether that was all. */
const grow = (element: HTMLElement, before: Entry, item: Entry): boolean => {
  if (before.kind !== "answer" || item.kind !== "answer" || before.agent !== item.agent) return false
  const text = element.querySelector(".text")?.firstChild
  if (!(text instanceof Text)) return false
  if (item.text.startsWith(before.text)) text.appendData(item.text.slice(before.text.length))
  else text.data = item.text
  if (!item.isOpen) element.removeAttribute("aria-busy")
  return true
}

interface Drawn {
  readonly item: Entry
  readonly element: HTMLElement
}

/** Makes a log that is drawn again and again, and stays at its end unless somebody has scrolled up. */
export const makeLog = (root: HTMLElement, deeds: Deeds) => {
  let drawn = new Map<string, Drawn>()

  const draw = (item: Entry): Drawn => {
    const before = drawn.get(item.key)
    if (before?.item === item) return before
    if (before !== undefined && grow(before.element, before.item, item)) return { item, element: before.element }
    const element = render(item, deeds)
    if (before !== undefined) {
      const hadFocus = before.element.contains(document.activeElement)
      const wasOpen = before.element.querySelector("details")?.open === true
      if (wasOpen) element.querySelector("details")?.setAttribute("open", "")
      before.element.replaceWith(element)
      if (hadFocus) element.querySelector<HTMLElement>("summary")?.focus()
    }
    return { item, element }
  }

  return {
    draw: ({ items }: Shown, unsaid: ReadonlyArray<Sent>): void => {
      const isAtEnd = root.scrollHeight - root.scrollTop - root.clientHeight < 64
      const next = new Map(place(items, unsaid).map((item) => [item.key, draw(item)]))
      for (const [key, { element }] of drawn) if (next.get(key)?.element !== element) element.remove()
      let agent: string | undefined
      let position: Element | null = root.firstElementChild
      for (const { element, item } of next.values()) {
        if (item.kind === "answer") element.classList.toggle("goes-on", agent === item.agent)
        agent = item.kind === "answer" || item.kind === "call" ? item.agent : undefined
        if (element === position) position = position.nextElementSibling
        else root.insertBefore(element, position)
      }
      drawn = next
      if (isAtEnd) root.scrollTop = root.scrollHeight
    },
    clear: (): void => {
      drawn = new Map()
      root.replaceChildren()
    }
  }
}
