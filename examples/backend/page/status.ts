/**
 * What is in sight at all times: who is in control, which modes are on, what goes on, and what can be done where nothing does.
 */
import { explain, type Link } from "./client.ts"
import { find, make, say } from "./dom.ts"
import { mark } from "./log.ts"
import { awaiting, type Shown } from "./view.ts"
import { activityText, agentOf } from "./words.ts"

/** Shows who is in control, and the modes that are on. */
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
  const names = modes.join("\n")
  if (element.dataset["modes"] === names) return
  element.dataset["modes"] = names
  element.replaceChildren(
    ...(modes.length === 0
      ? [make("span", { class: "mode is-none" }, "No mode")]
      : modes.map((mode) => make("span", { class: "mode" }, mode)))
  )
}

/** Shows why the desk has stopped before an answer, with what lets it go on. */
export const drawStanding = ({ standing }: Shown, isBusy: boolean, onResume: () => void): void => {
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
    make("button", { type: "button", click: onResume }, standing._tag === "Failed" ? "Try again" : "Go on")
  )
}

const linkText = (link: Link): string => {
  if (link._tag !== "Waiting") return link._tag === "Connecting" ? "Connecting…" : ""
  const seconds = Math.max(1, Math.ceil((link.until - Date.now()) / 1000))
  const why = link.problem === undefined ? "The connection was lost" : explain(link.problem).title
  return `${why}. Reconnecting in ${seconds} s…`
}

const statusText = (shown: Shown, link: Link, phase: "Opening" | "Stopping" | "Busy" | "Free"): string => {
  if (phase === "Opening") return "Opening the conversation…"
  if (link._tag === "Waiting") return linkText(link)
  if (phase === "Stopping") return "Stopping…"
  if (phase === "Busy") return activityText(shown.agent, shown.activity) || "Sending…"
  const waiting = awaiting(shown).length
  return linkText(link) ||
    (waiting === 0 ? "" : waiting === 1 ? "Waits for your approval" : `Waits for ${waiting} approvals of yours`)
}

/** Says what goes on. */
export const drawStatus = (...[shown, link, phase]: Parameters<typeof statusText>): void => {
  const status = find("status")
  say(status, statusText(shown, link, phase))
  status.dataset["link"] = link._tag
  status.dataset["standing"] = shown.standing._tag
  status.classList.toggle("is-active", phase === "Busy" && link._tag !== "Waiting")
}
