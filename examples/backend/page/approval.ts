/**
 * A call that awaits a decision: as the colleague sees it who decides, and as the customer does who waits.
 */
import { make } from "./dom.ts"
import type { ToolCall } from "./items.ts"
import { agentOf, facts, phrase } from "./words.ts"

/** What is decided about. */
export type Decidable = Pick<ToolCall, "agent" | "name" | "params">

export type Decide = (decision: "approve" | "deny", reason: string) => void

/** How many cards were made, for the ids of their fields: calls of different conversations may have one id. */
let made = 0

const card = (call: Decidable, title: string, ...rest: ReadonlyArray<Node | undefined>): HTMLElement => {
  const asks = phrase(call.name, call.params, "Awaiting")
  return make(
    "div",
    { class: "approval", role: "group", tabindex: "-1", "aria-label": `Approval: ${asks}` },
    make("h2", { class: "approval-title" }, title),
    make("p", { class: "muted" }, asks),
    make(
      "dl",
      {},
      ...facts(call.params).map(([label, value]) => make("div", {}, make("dt", {}, label), make("dd", {}, value)))
    ),
    ...rest
  )
}

/** The card of a colleague, who decides. `where` says in which conversation that is, if it isn't the one around it. */
export const deciding = (call: Decidable, decide: Decide, where?: Node): HTMLElement => {
  const id = `reason-${++made}`
  const reason = make("input", {
    id,
    type: "text",
    maxlength: "1000",
    placeholder: "Optional; the customer may be told",
    autocomplete: "off"
  })
  const on = (decision: "approve" | "deny") => () => decide(decision, reason.value.trim())
  return card(
    call,
    `${agentOf(call.agent).name} asks for your approval`,
    where,
    make("label", { for: id }, "Reason, if you deny it"),
    reason,
    make(
      "div",
      { class: "actions" },
      make("button", { type: "button", class: "primary", click: on("approve") }, "Approve"),
      make("button", { type: "button", class: "danger", click: on("deny") }, "Deny")
    )
  )
}

/** The card of a customer, who waits. */
export const waiting = (call: Decidable): HTMLElement =>
  card(
    call,
    "Waits for a colleague's approval",
    make("p", {}, "There is nothing for you to do: it goes on here when a colleague has decided.")
  )
