/**
 * What is in sight at all times: who is in control, which modes are on, what goes on, and what can be done where nothing does.
 */
import { explain, type Link, type Role } from "./client.ts"
import { find, make, say } from "./dom.ts"
import { mark } from "./log.ts"
import { awaiting, type Shown } from "./view.ts"
import { activityText, agentOf, modeOf } from "./words.ts"

/** Shows who is in control, and what the modes that are on mean to a customer. */
export const drawControl = ({ agent, modes }: Shown): void => {
  const { about, name } = agentOf(agent)
  const control = find("control")
  if (control.dataset["agent"] !== agent) {
    control.dataset["agent"] = agent
    control.replaceChildren(
      mark(agent),
      make("div", {}, make("p", { class: "name" }, name), make("p", { class: "muted about" }, about))
    )
  }
  const element = find("modes")
  const texts = modes.flatMap((name) => modeOf(name) ?? [])
  const key = texts.join("\n")
  element.hidden = texts.length === 0
  if (element.dataset["modes"] === key) return
  element.dataset["modes"] = key
  element.replaceChildren(...texts.map((text) => make("span", { class: "mode" }, text)))
}

/** Shows why the desk has stopped before an answer, with what lets it go on where somebody may. */
export const drawStanding = ({ standing }: Shown, isBusy: boolean, onResume: (() => void) | undefined): void => {
  const element = find("standing")
  const text = standing._tag === "Stopped"
    ? "The desk was stopped before its answer."
    : standing._tag === "Failed"
    ? `The desk couldn't answer: ${standing.message}`
    : ""
  element.hidden = text === "" || isBusy
  if (element.hidden) {
    delete element.dataset["text"]
    element.replaceChildren()
  }
  if (element.hidden || element.dataset["text"] === text) return
  element.dataset["text"] = text
  element.dataset["standing"] = standing._tag
  element.replaceChildren(
    make("p", {}, text),
    onResume === undefined
      ? ""
      : make("button", { type: "button", click: onResume }, standing._tag === "Failed" ? "Try again" : "Go on")
  )
}

/** Says that a stream isn't open, and when it will be tried again. */
export const linkText = (link: Link): string => {
  if (link._tag !== "Waiting") return link._tag === "Connecting" ? "Connecting…" : ""
  const seconds = Math.max(1, Math.ceil((link.until - Date.now()) / 1000))
  const why = link.problem === undefined ? "The connection was lost" : explain(link.problem).title
  return `${why}. Reconnecting in ${seconds} s…`
}

const awaitingText = (count: number, role: Role): string => {
  if (count === 0) return ""
  const whose = role === "colleague" ? "your" : "a colleague's"
  return count === 1 ? `Waits for ${whose} approval` : `Waits for ${whose} approval of ${count} requests`
}

const statusText = (
  shown: Shown,
  link: Link,
  phase: "Opening" | "Stopping" | "Busy" | "Free",
  role: Role
): string => {
  if (phase === "Opening") return "Opening the conversation…"
  if (link._tag === "Waiting") return linkText(link)
  if (phase === "Stopping") return "Stopping…"
  if (phase === "Busy") return activityText(shown.agent, shown.activity) || "Sending…"
  return linkText(link) || awaitingText(awaiting(shown).length, role)
}

/** Says what goes on. */
export const drawStatus = (...[shown, link, phase, role]: Parameters<typeof statusText>): void => {
  const status = find("status")
  say(status, statusText(shown, link, phase, role))
  status.dataset["link"] = link._tag
  status.dataset["standing"] = shown.standing._tag
  status.classList.toggle("is-active", phase === "Busy" && link._tag !== "Waiting")
}
