/**
 * The conversation that is open: what is known of it, what is shown, and what the user does in it.
 */
import { asProblem, type Client, type Link, type Problem, type ReadView, type Role, type ToldEvent } from "./client.ts"
import { find, say } from "./dom.ts"
import { makeLog } from "./log.ts"
import type { Notice } from "./notice.ts"
import { countOf, type Sent } from "./sent.ts"
import { drawControl, drawStanding, drawStatus } from "./status.ts"
import { catchUp, decided, fromView, type Shown, take, withoutOpen } from "./view.ts"

/** What a conversation tells the rest of the page. */
export interface Around {
  /** Who looks at it: a customer talks, a colleague decides. */
  readonly role: Role
  readonly notice: Notice
  /** Something happened that a list of conversations shows. */
  readonly onChange: () => void
  /** The conversation isn't there any more, or nobody may see it. */
  readonly onGone: (problem: Problem) => void
}

/** How many events before the cursor are read again while a run is under way, to show what it does. */
const lookBack = 2000

const nothing: Shown = {
  items: [],
  agent: "triage",
  modes: [],
  standing: { _tag: "Idle" },
  activity: { _tag: "None" },
  made: 0
}

const titleLength = 80

/** What a conversation is called: the first words of the customer. */
const titleOf = ({ items }: Shown): string => {
  const text = items.find((item) => item.kind === "said")?.text ?? "Conversation"
  return text.length <= titleLength ? text : `${text.slice(0, titleLength - 1)}…`
}

/** A key for a message, so that it is said once however often it is sent. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("")

export type Talk = ReturnType<typeof openTalk>

/** Opens a conversation and follows it until it is closed. */
export const openTalk = (client: Client, id: string, { notice, onChange, onGone, role }: Around) => {
  const closing = new AbortController()
  let following = new AbortController()
  let shown = nothing
  let link: Link = { _tag: "Connecting" }
  let isRead = false
  let isStopping = false
  let unsaid: ReadonlyArray<Sent & { readonly cursor?: number }> = []
  let frame = 0

  const log = makeLog(find("log"), {
    decide: role === "colleague" ? (callId, decision, reason) => void decide(callId, decision, reason) : undefined,
    sayAgain: (key) => {
      const again = unsaid.find((sent) => sent.key === key)
      if (again !== undefined) void send(again.text, key)
    },
    dismiss: (key) => {
      unsaid = unsaid.filter((sent) => sent.key !== key)
      notice.hide()
      find("words").focus()
      redraw()
    }
  })

  const isRunning = () => shown.standing._tag === "Running"

  /** Whether something is on its way that the desk answers. */
  const isBusy = () => isRunning() || unsaid.some(({ isFailed }) => !isFailed)

  const draw = (): void => {
    frame = 0
    if (closing.signal.aborted) return
    const isFresh = role === "customer" && isRead && shown.items.length === 0 && unsaid.length === 0
    find("welcome").hidden = !isFresh
    find("log").hidden = isFresh
    find("head").hidden = false
    // The welcome has a heading of its own.
    find("title").hidden = isFresh
    say(find("title"), titleOf(shown))
    drawControl(shown)
    drawStanding(shown, isBusy(), role === "customer" ? () => void resume() : undefined)
    log.draw(shown, unsaid)
    drawStatus(shown, link, !isRead ? "Opening" : isStopping ? "Stopping" : isBusy() ? "Busy" : "Free", role)
    const stop = find<HTMLButtonElement>("stop")
    const send = find<HTMLButtonElement>("send")
    const hadFocus = document.activeElement === stop || document.activeElement === send
    stop.hidden = !isBusy()
    stop.disabled = isStopping
    send.hidden = isBusy()
    send.disabled = !isRead
    if (hadFocus && document.activeElement === document.body) find("words").focus()
  }

  /** Draws soon: however many events arrive at a time, once. */
  const redraw = (): void => {
    if (frame === 0) frame = requestAnimationFrame(draw)
  }

  const onEvent = (cursor: number) => (number: number, event: ToldEvent): void => {
    if (number <= cursor) {
      shown = catchUp(shown, event)
      return redraw()
    }
    const before = shown.standing._tag
    shown = take(shown, event)
    if (event._tag === "RunStarted" && event.calls.length === 0 && event.input !== undefined) {
      const told = unsaid.findIndex(({ isFailed }) => !isFailed)
      // What had no answer may have arrived.
      const text = event.input.map((part) => part._tag === "Text" ? part.text : "").join("\n")
      const index = told < 0 ? unsaid.findIndex((sent) => sent.text === text) : told
      if (index >= 0) unsaid = unsaid.toSpliced(index, 1)
    }
    if (shown.standing._tag !== before) {
      isStopping = false
      onChange()
    }
    redraw()
  }

  /** Reads the conversation, and follows it from there. */
  const read = async (): Promise<void> => {
    following.abort()
    const current = following = new AbortController()
    closing.signal.addEventListener("abort", () => current.abort())
    let view: ReadView
    let isNoticed = false
    for (let failures = 0;; failures++) {
      try {
        view = await client.read(id)
        break
      } catch (error) {
        const problem = asProblem(error)
        if (current.signal.aborted) return
        if (problem.status === 401 || problem.status === 404) return onGone(problem)
        const millis = problem.retryAfter === undefined
          ? Math.min(8000, 500 * 2 ** failures)
          : problem.retryAfter * 1000
        link = { _tag: "Waiting", until: Date.now() + millis, problem }
        if (isRead) redraw()
        else notice.show(problem)
        isNoticed ||= !isRead
        await new Promise((resolve) => setTimeout(resolve, millis))
        if (current.signal.aborted) return
      }
    }
    if (current.signal.aborted) return
    if (isNoticed) notice.hide()
    shown = fromView(view)
    isRead = true
    unsaid = unsaid.filter(({ cursor }) => cursor === undefined || view.cursor <= cursor)
    redraw()
    const after = view.isRunning ? Math.max(0, view.cursor - lookBack) : view.cursor
    const follow = (after: number): Promise<void> =>
      client.follow(id, after, {
        onEvent: onEvent(view.cursor),
        onLink: (to) => {
          link = to
          // A stream begins with what is written so far.
          if (to._tag === "Open") shown = withoutOpen(shown)
          redraw()
        },
        onLost: (problem) => {
          // 410: events after the cursor are no longer kept. 400: the cursor is beyond the last event, as after a restore.
          if (problem.status !== 400 && problem.status !== 410) onGone(problem)
          else if (problem.status === 410 && after < view.cursor) void follow(view.cursor)
          else void read()
        }
      }, current.signal)
    await follow(after)
  }

  /** Does something that the desk is asked for, and says what is wrong where it can't be done. */
  const ask = async (deed: () => Promise<unknown>): Promise<boolean> => {
    notice.hide()
    try {
      await deed()
      return true
    } catch (error) {
      const problem = asProblem(error)
      if (problem.status === 401) onGone(problem)
      else notice.show(problem)
      return false
    } finally {
      redraw()
    }
  }

  const send = async (text: string, key = newKey()): Promise<void> => {
    const sending: Sent = { kind: "sent", key, text, isFailed: false, after: countOf(shown.items) }
    unsaid = [...unsaid.filter((sent) => sent.key !== key), sending]
    redraw()
    const change = (to: Sent & { readonly cursor?: number }) => {
      unsaid = unsaid.map((sent) => sent.key === key ? to : sent)
    }
    const isSent = await ask(async () => {
      const { cursor } = await client.say(id, text, key)
      change({ ...sending, cursor })
    })
    if (!isSent) change({ ...sending, isFailed: true })
    redraw()
    onChange()
  }

  const decide = async (callId: string, decision: "approve" | "deny", reason: string): Promise<void> => {
    const before = shown
    shown = decided(shown, callId, decision)
    find("log").focus()
    redraw()
    const isDone = await ask(() =>
      client.resolve(
        id,
        callId,
        decision === "approve" ? { decision } : { decision, ...(reason === "" ? undefined : { reason }) }
      )
    )
    if (isDone || closing.signal.aborted) return
    // Somebody else may have decided meanwhile.
    shown = before
    void read()
  }

  const resume = async (): Promise<void> => {
    find("words").focus()
    await ask(() => client.resume(id))
  }

  const stop = async (): Promise<void> => {
    if (role !== "customer" || !isBusy() || isStopping) return
    isStopping = true
    redraw()
    await ask(() => client.cancel(id))
    isStopping = false
    redraw()
  }

  // Seconds pass while it waits to reconnect.
  const clock = setInterval(() => link._tag === "Waiting" && redraw(), 1000)
  void read()
  draw()

  return {
    id,
    isBusy,
    send,
    stop,
    remove: async (): Promise<boolean> => {
      following.abort()
      const isRemoved = await ask(() => client.remove(id))
      if (!isRemoved) void read()
      return isRemoved
    },
    close: (): void => {
      closing.abort()
      following.abort()
      clearInterval(clock)
      cancelAnimationFrame(frame)
      log.clear()
      for (const element of ["head", "log", "standing"]) find(element).hidden = true
      delete find("standing").dataset["text"]
      say(find("status"), "")
      find("stop").hidden = true
      find("send").hidden = false
      find<HTMLButtonElement>("send").disabled = false
    }
  }
}
