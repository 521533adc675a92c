/**
 * What went wrong and what to do about it, until it is done, or somebody has read it.
 */
import { explain, type Problem } from "./client.ts"
import { find, make } from "./dom.ts"

export interface Notice {
  readonly show: (problem: Problem) => void
  readonly hide: () => void
}

export const makeNotice = (): Notice => {
  const element = find("notice")
  let clock: ReturnType<typeof setInterval> | undefined

  const hide = (): void => {
    clearInterval(clock)
    element.hidden = true
    element.replaceChildren()
  }

  const show = (problem: Problem): void => {
    hide()
    const { advice, title } = explain(problem)
    // Not read out each second: what was said at first holds.
    const wait = make("span", { class: "wait", "aria-hidden": "true" })
    element.replaceChildren(
      make("div", {}, make("p", { class: "notice-title" }, title), make("p", {}, `${advice} `, wait)),
      make("button", { type: "button", class: "quiet", "aria-label": "Dismiss", click: hide }, "✕")
    )
    element.hidden = false
    if (problem.retryAfter === undefined) return
    const until = Date.now() + problem.retryAfter * 1000
    const tick = (): void => {
      const seconds = Math.ceil((until - Date.now()) / 1000)
      wait.textContent = seconds > 0 ? `You can go on in ${seconds} s.` : "You can go on now."
      if (seconds <= 0) clearInterval(clock)
    }
    clock = setInterval(tick, 1000)
    tick()
  }

  return { show, hide }
}
