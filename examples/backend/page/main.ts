/**
 * The page: the door where a token is asked for, the list of conversations, and the one that is open. A colleague sees what
 * awaits approval in place of a welcome, and reads and decides in conversations, but writes nothing there.
 *
 * The address says which one is open, `#/<id>`, so that a reload and the browser's history come back to it. A token may
 * come in the address, `#token=…`: it is kept for this tab, and taken out of the address.
 */
import { asProblem, type Client, explain, type Listed, makeClient, type Problem, type Role } from "./client.ts"
import { find, make, say } from "./dom.ts"
import { makeNotice } from "./notice.ts"
import { openQueue, type Queue } from "./queue.ts"
import { openTalk, type Talk } from "./talk.ts"

const suggestions = [
  "My lamp arrived broken, order 1042",
  "I want my money back for the cracked floor lamp, order 1047",
  "Where is order 1043?",
  "I'm looking for a lamp under 100 euros"
]

const storage = "token"

const notice = makeNotice()
let client: Client | undefined
let role: Role = "customer"
let queue: Queue | undefined
let talk: Talk | undefined
let listed: ReadonlyArray<Listed> = []
let soon: ReturnType<typeof setTimeout> | undefined

const words = find<HTMLTextAreaElement>("words")
const room = find("room")

const idInAddress = (): string | undefined => /^#\/([0-9a-f-]{36})$/.exec(location.hash)?.[1]

const today = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" })
const earlier = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" })

const timeOf = (iso: string): string => {
  const time = new Date(iso)
  return (time.toDateString() === new Date().toDateString() ? today : earlier).format(time)
}

const drawList = (): void => {
  const list = find("list")
  const focused = document.activeElement instanceof HTMLAnchorElement ? document.activeElement.hash : undefined
  list.replaceChildren(...listed.map(({ id, isRunning, title, updatedAt }) =>
    make(
      "li",
      {},
      make(
        "a",
        { href: `#/${id}`, "aria-current": id === talk?.id ? "page" : undefined },
        make("span", { class: "title" }, title === "" ? "New conversation" : title),
        isRunning
          ? make("span", { class: "running" }, "answering")
          : make("time", { datetime: updatedAt, class: "muted" }, timeOf(updatedAt))
      )
    )
  ))
  if (focused !== undefined) list.querySelector<HTMLAnchorElement>(`a[href="${focused}"]`)?.focus()
  const begins = role === "customer" ? " Say something, and one begins." : ""
  say(find("side-status"), listed.length === 0 ? `No conversations yet.${begins}` : "")
}

/** How soon to look again at conversations that aren't open while something goes on in them, in milliseconds. */
const interval = 1000

/** Reads the list anew; one that can't be read stays as it was. */
const refresh = async (): Promise<void> => {
  const from = client
  if (from === undefined) return
  clearTimeout(soon)
  try {
    const now = await from.list()
    if (from !== client) return
    listed = now
    drawList()
    if (listed.some(({ id, isRunning }) => isRunning && id !== talk?.id)) {
      clearTimeout(soon)
      soon = setTimeout(() => void refresh(), interval)
    }
  } catch (error) {
    const problem = asProblem(error)
    if (problem.status === 401) leave(problem)
    else if (listed.length === 0) say(find("side-status"), `${explain(problem).title}. ${explain(problem).advice}`)
  }
}

const showDoor = (problem?: Problem): void => {
  room.hidden = true
  find("door").hidden = false
  const { advice, title } = problem === undefined ? { title: "", advice: "" } : explain(problem)
  say(find("door-error"), problem === undefined ? "" : `${title}. ${advice}`)
  find("token").setAttribute("aria-invalid", String(problem?.status === 401))
  find("token").focus()
}

/** Forgets the token, and all that was shown by it. */
const forget = (): void => {
  sessionStorage.removeItem(storage)
  client = undefined
  queue?.close()
  queue = undefined
  closeTalk()
  clearTimeout(soon)
  delete room.dataset["view"]
  listed = []
  find("list").replaceChildren()
}

/** Forgets the token, and asks for another. */
const leave = (problem?: Problem): void => {
  forget()
  showDoor(problem)
}

const closeTalk = (): void => {
  talk?.close()
  talk = undefined
}

/** Shows what the address says, unless that is what is shown. */
const route = (): void => {
  if (client === undefined) return
  const id = idInAddress()
  const view = id === undefined ? "list" : "talk"
  if (room.dataset["view"] === view && id === talk?.id) return
  room.dataset["view"] = view
  notice.hide()
  closeTalk()
  find("welcome").hidden = id !== undefined || role !== "customer"
  find("queue").hidden = id !== undefined || role !== "colleague"
  if (id === undefined) find("queue-link").setAttribute("aria-current", "page")
  else find("queue-link").removeAttribute("aria-current")
  if (id === undefined) find("queue-title").focus()
  else {
    talk = openTalk(client, id, {
      role,
      notice,
      onChange: () => void refresh(),
      onGone: (problem) => {
        if (problem.status === 401) return leave(problem)
        location.hash = "#/"
        route()
        notice.show(problem)
      }
    })
    ;(role === "customer" ? words : find("title")).focus()
  }
  drawList()
  void refresh()
}

/** Comes in with a token, if it is one. */
const enter = async (token: string): Promise<void> => {
  const candidate = makeClient(token)
  const button = find("door-form").querySelector("button")!
  button.disabled = true
  try {
    const [me, conversations] = await Promise.all([candidate.me(), candidate.list()])
    role = me.role
    listed = conversations
  } catch (error) {
    const problem = asProblem(error)
    if (problem.status === 401) sessionStorage.removeItem(storage)
    return showDoor(problem)
  } finally {
    button.disabled = false
  }
  client = candidate
  sessionStorage.setItem(storage, token)
  find("door").hidden = true
  room.hidden = false
  for (const element of document.querySelectorAll<HTMLElement>("[data-for]")) {
    element.hidden = element.dataset["for"] !== role
  }
  if (role === "colleague") {
    queue = openQueue(candidate, { notice, onChange: () => void refresh(), onGone: leave })
  }
  route()
}

/** Opens a new conversation, and gives it once it is open. */
const begin = async (): Promise<Talk | undefined> => {
  notice.hide()
  const button = find<HTMLButtonElement>("new")
  if (client === undefined || button.disabled) return undefined
  button.disabled = true
  try {
    const { id } = await client.open()
    location.hash = `#/${id}`
    route()
    return talk
  } catch (error) {
    const problem = asProblem(error)
    if (problem.status === 401) leave(problem)
    else notice.show(problem)
    return undefined
  } finally {
    button.disabled = false
  }
}

/** Says something in the conversation that is open, or in a new one. */
const speak = async (text: string): Promise<boolean> => {
  if (text.trim() === "") return false
  const in_ = talk ?? await begin()
  if (in_ === undefined || in_.isBusy()) return false
  void in_.send(text)
  return true
}

const fit = (): void => {
  words.style.height = "auto"
  words.style.height = `${Math.min(words.scrollHeight + 2, 200)}px`
}

find("door-form").addEventListener("submit", (event) => {
  event.preventDefault()
  const token = find<HTMLInputElement>("token").value.trim()
  if (token === "") {
    say(find("door-error"), "A token is needed.")
    find("token").focus()
  } else void enter(token)
})
find("composer").addEventListener("submit", (event) => {
  event.preventDefault()
  const text = words.value
  void speak(text).then((isSaid) => {
    if (!isSaid || words.value !== text) return
    words.value = ""
    fit()
  })
})
words.addEventListener("input", fit)
words.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return
  event.preventDefault()
  find<HTMLFormElement>("composer").requestSubmit()
})
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !find<HTMLDialogElement>("confirm").open) void talk?.stop()
})
find("stop").addEventListener("click", () => void talk?.stop())
find("new").addEventListener("click", () => void begin())
find("leave").addEventListener("click", () => leave())
find("remove").addEventListener("click", () => {
  const dialog = find<HTMLDialogElement>("confirm")
  dialog.returnValue = "keep"
  dialog.showModal()
})
find("confirm").addEventListener("close", () => {
  const removing = talk
  if (find<HTMLDialogElement>("confirm").returnValue !== "delete" || removing === undefined) return
  void removing.remove().then((isRemoved) => {
    if (!isRemoved) return
    location.hash = "#/"
    route()
    find("new").focus()
  })
})
find("suggestions").replaceChildren(
  ...suggestions.map((text) => make("li", {}, make("button", { type: "button", click: () => void speak(text) }, text)))
)

/** Comes in with the token in the address, or with the one that is kept. */
const comeIn = (): void => {
  const given = /^#token=(.+)$/.exec(location.hash)?.[1]
  if (given !== undefined) {
    forget()
    sessionStorage.setItem(storage, decodeURIComponent(given))
    history.replaceState(null, "", "#/")
  }
  const kept = sessionStorage.getItem(storage)
  if (kept === null) showDoor()
  else void enter(kept)
}

addEventListener("hashchange", () => location.hash.startsWith("#token=") ? comeIn() : route())
comeIn()
