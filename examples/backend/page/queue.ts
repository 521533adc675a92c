/**
 * What awaits a colleague's decision in all conversations, live: what is new appears, what was decided goes.
 */
import { deciding } from "./approval.ts"
import { asProblem, type Awaiting, type Client, type Link, type Problem } from "./client.ts"
import { find, make, say } from "./dom.ts"
import type { Notice } from "./notice.ts"
import { linkText } from "./status.ts"
import { request } from "./words.ts"

/** What the list tells the rest of the page. */
export interface Around {
  readonly notice: Notice
  /** Something waits that didn't, or the other way round. */
  readonly onChange: () => void
  /** The token isn't a colleague's any more. */
  readonly onGone: (problem: Problem) => void
}

const keyOf = ({ callId, conversation }: Awaiting): string => `${conversation} ${callId}`

const countText = (count: number): string =>
  count === 0
    ? "Nothing awaits approval. What does will appear here."
    : count === 1
    ? "1 request awaits your approval."
    : `${count} requests await your approval.`

const title = document.title

export type Queue = ReturnType<typeof openQueue>

/** Follows what awaits a decision until it is closed. */
export const openQueue = (client: Client, { notice, onChange, onGone }: Around) => {
  const closing = new AbortController()
  let told: ReadonlyArray<Awaiting> | undefined
  let link: Link = { _tag: "Connecting" }
  /** What was decided here, until a list without it arrives. */
  const decided = new Set<string>()
  /** What is being decided: who presses twice decides once. */
  const underWay = new Set<string>()
  let drawn = new Map<string, HTMLElement>()
  /** What became of the last one that went. */
  let news = ""

  const list = find("queue-list")

  const draw = (): void => {
    const waiting = (told ?? []).filter((each) => !decided.has(keyOf(each)))
    const next = new Map(waiting.map((each) => [keyOf(each), drawn.get(keyOf(each)) ?? cardOf(each)]))
    let hadFocus = false
    for (const [key, element] of drawn) {
      if (next.has(key)) continue
      if (element.contains(document.activeElement)) {
        hadFocus = true
        if (!decided.has(key) && !underWay.has(key)) news = "What you looked at was decided by somebody else."
      }
      element.remove()
    }
    let position: Element | null = list.firstElementChild
    for (const element of next.values()) {
      if (element === position) position = position.nextElementSibling
      else list.insertBefore(element, position)
    }
    drawn = next
    // The next card and not its button: who presses a key twice doesn't decide twice.
    if (hadFocus) (list.querySelector<HTMLElement>(".approval") ?? find("queue-title")).focus()
    const count = told === undefined ? "" : countText(waiting.length)
    say(find("queue-status"), [linkText(link), news, count].filter((text) => text !== "").join(" "))
    say(find("queue-count"), waiting.length === 0 ? "" : String(waiting.length))
    document.title = waiting.length === 0 ? title : `(${waiting.length}) ${title}`
  }

  const cardOf = (waiting: Awaiting): HTMLElement =>
    make(
      "li",
      {},
      deciding(
        { agent: waiting.path.at(-1) ?? "", name: waiting.name, params: waiting.params },
        (decision, reason) => void decide(waiting, decision, reason),
        make(
          "p",
          {},
          "In ",
          make(
            "a",
            { href: `#/${waiting.conversation}` },
            waiting.title === "" ? "a conversation without a title" : waiting.title
          )
        )
      )
    )

  const decide = async (waiting: Awaiting, decision: "approve" | "deny", reason: string): Promise<void> => {
    const key = keyOf(waiting)
    if (underWay.has(key)) return
    underWay.add(key)
    notice.hide()
    // A button that is disabled would lose the focus.
    const buttons = drawn.get(key)?.querySelectorAll("button") ?? []
    for (const button of buttons) button.setAttribute("aria-disabled", "true")
    try {
      await client.resolve(
        waiting.conversation,
        waiting.callId,
        decision === "approve" ? { decision } : { decision, ...(reason === "" ? undefined : { reason }) }
      )
      decided.add(key)
      news = `${decision === "approve" ? "Approved" : "Denied"}: ${request(waiting.name, waiting.params)}.`
    } catch (error) {
      const problem = asProblem(error)
      if (closing.signal.aborted) return
      if (problem.status === 401) return onGone(problem)
      notice.show(problem)
      // What doesn't wait any more goes.
      if (problem.status === 404) decided.add(key)
      for (const button of buttons) button.removeAttribute("aria-disabled")
    } finally {
      underWay.delete(key)
    }
    if (closing.signal.aborted) return
    onChange()
    draw()
  }

  const clock = setInterval(() => link._tag === "Waiting" && draw(), 1000)
  void client.followWaiting({
    onList: (now) => {
      told = now
      const keys = new Set(now.map(keyOf))
      for (const key of decided) if (!keys.has(key)) decided.delete(key)
      draw()
      news = ""
      onChange()
    },
    onLink: (to) => {
      link = to
      draw()
    },
    onLost: onGone
  }, closing.signal)
  draw()

  return {
    close: (): void => {
      closing.abort()
      clearInterval(clock)
      list.replaceChildren()
      say(find("queue-status"), "")
      say(find("queue-count"), "")
      document.title = title
    }
  }
}
