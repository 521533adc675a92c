/**
 * Checks that every start event of a run has one end event. Runs use the same fold to find what they must close.
 *
 * @since 0.1.0
 */
import type * as AgentEvent from "../../domain/AgentEvent.ts"
import * as Underway from "../../domain/Underway.ts"

type Event = AgentEvent.AgentEvent

/** What an event is about: an agent, given by the calls that lead to it, and for an event of a call or a check, that call or check. */
const subject = (event: Event): string => [...event.calls, ...part(event)].join("/")

const part = (event: Event): ReadonlyArray<string> =>
  event._tag === "GuardrailStarted"
    ? [`check ${event.sequence}`]
    : event._tag === "GuardrailSettled"
    ? [`check ${event.started}`]
    : "callId" in event && event.callId !== undefined && event._tag.startsWith("ToolCall")
    ? [event.callId]
    : []

const nameOf = (start: Underway.Start): string => `${start._tag} ${subject(start)}`

/**
 * Checks whether an event starts what is open. A mode's set-up and clean-up may enter and leave other modes, so those may be open twice.
 */
const isTwice = (place: Underway.Place | undefined, event: Event): boolean =>
  Underway.isStart(event) && event._tag !== "ModeEntering" && event._tag !== "ModeExiting" &&
  Underway.startsIn(place).some((start) => nameOf(start) === nameOf(event))

/**
 * Checks whether an event is a mode's, or happens while one is entered or left. These may come before a run: modes are set up, and moves
 * made, before an input begins it.
 */
const isOfMode = (place: Underway.Place | undefined, { _tag }: Event): boolean =>
  (_tag.startsWith("Mode") && !_tag.startsWith("Model")) || Underway.latest(place, "ModeEntering") !== undefined ||
  Underway.latest(place, "ModeExiting") !== undefined

const openIn = (places: ReadonlyArray<Underway.Place>): ReadonlyArray<Underway.Start> =>
  places.flatMap(Underway.startsIn)

/**
 * Returns everything that is wrong with the events of one whole run, in words; none if they are balanced.
 *
 * It finds starts without an end and ends without a start, and events with a wrong number, path or time, or outside of a run. A call may
 * be settled without a start.
 *
 * @category getters
 * @since 0.1.0
 */
export const imbalances = (events: ReadonlyArray<Event>): ReadonlyArray<string> => {
  const found: Array<string> = []
  const agents = new Map<string, string>()
  const settled = new Set<string>()
  let underway = Underway.nothing
  events.forEach((event, index) => {
    const at = `event ${index}, ${event._tag} of "${subject(event)}"`
    const place = Underway.at(underway, event.calls)
    const agent = event.calls.join("/")
    if (event.sequence !== index) found.push(`${at}, has the number ${event.sequence}`)
    if (event.path.length !== event.calls.length + 1) found.push(`${at}, has a path of another length than its calls`)
    if (event.at < (events[index - 1]?.at ?? 0)) found.push(`${at}, is older than the one before`)
    const isInRun = Underway.latest(place, "RunStarted") !== undefined
    if (event._tag !== "RunStarted" && !isInRun && !isOfMode(place, event)) found.push(`${at}, is outside of a run`)
    if (event._tag === "RunStarted") agents.set(agent, event.path.join("/"))
    else if (isInRun && agents.get(agent) !== event.path.join("/")) found.push(`${at}, has another path than its run`)
    if (event._tag === "HandoffCompleted") {
      agents.set(agent, [...event.path.slice(0, -1), event.request.target].join("/"))
      // The ids of calls that didn't cross are free again.
      if (event.conversation !== undefined) settled.clear()
    }
    if (isTwice(place, event)) found.push(`${at}, starts what is open`)
    if (Underway.isEnd(event)) {
      const isUnstarted = event._tag === "ToolCallSettled" && !settled.has(subject(event))
      if (Underway.startOf(underway, event) === undefined && !isUnstarted) found.push(`${at}, ends what isn't open`)
      if (event._tag === "ToolCallSettled") settled.add(subject(event))
    }
    const begun = Underway.startOf(underway, event)
    underway = Underway.reduce(underway, event)
    if (Underway.endsRun(event)) {
      const left = Underway.places(underway).filter(({ calls }) =>
        event.calls.every((id, depth) => id === calls[depth])
      )
      const since = begun?.sequence ?? 0
      for (const start of openIn(left).filter(({ sequence }) => sequence > since)) {
        found.push(`${at}, leaves ${nameOf(start)} open`)
      }
    }
  })
  const open = openIn(Underway.places(underway))
  if (open.length > 0) found.push(`at the end, ${open.map(nameOf).join(", ")} is open`)
  return found
}
