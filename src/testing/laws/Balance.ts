/**
 * What the events of a run must keep, said without the code that keeps it so.
 *
 * @since 0.1.0
 */
import * as AgentEvent from "../../domain/AgentEvent.ts"

type Event = AgentEvent.AgentEvent

/** What an event is about: the agent, by the calls that lead to it, and the call or the check, where it is one's. */
const subject = (event: Event): string => [...event.calls, ...part(event)].join("/")

const part = (event: Event): ReadonlyArray<string> =>
  event._tag === "GuardrailStarted"
    ? [`check ${event.sequence}`]
    : event._tag === "GuardrailSettled"
    ? [`check ${event.started}`]
    : "callId" in event && event.callId !== undefined && event._tag.startsWith("ToolCall")
    ? [event.callId]
    : []

const startTags = Object.keys(AgentEvent.starts) as ReadonlyArray<keyof typeof AgentEvent.starts>

/** Which start an event ends. A call may be settled that was never started. */
const endedBy = (event: Event) =>
  event._tag === "ModeFailed" && event.phase !== "SetUp"
    ? undefined
    : startTags.find((tag) => AgentEvent.starts[tag].includes(event._tag))

/**
 * Gives everything that is wrong with the events of one whole run: what has no end, or no start, or the wrong number.
 *
 * @category getters
 * @since 0.1.0
 */
export const imbalances = (events: ReadonlyArray<Event>): ReadonlyArray<string> => {
  const found: Array<string> = []
  const open = new Map<string, string>()
  const agents = new Map<string, string>()
  const settled = new Set<string>()
  events.forEach((event, index) => {
    const at = `event ${index}, ${event._tag} of "${subject(event)}"`
    if (event.sequence !== index) found.push(`${at}, has the number ${event.sequence}`)
    if (event.path.length !== event.calls.length + 1) found.push(`${at}, has a path of another length than its calls`)
    if (event.at < (events[index - 1]?.at ?? 0)) found.push(`${at}, is older than the one before`)
    const start = startTags.find((tag) => tag === event._tag)
    const key = `${start ?? endedBy(event)} ${subject(event)}`
    const agent = event.calls.join("/")
    if (event._tag !== "RunStarted" && !open.has(`RunStarted ${agent}`)) found.push(`${at}, is outside of a run`)
    if (event._tag === "RunStarted") agents.set(agent, event.path.join("/"))
    else if (agents.get(agent) !== event.path.join("/")) found.push(`${at}, has another path than its run`)
    if (event._tag === "HandoffCompleted") {
      agents.set(agent, [...event.path.slice(0, -1), event.request.target].join("/"))
      // The ids of calls that didn't cross are free again.
      if (event.conversation !== undefined) settled.clear()
    }
    if (start !== undefined) {
      if (open.has(key)) found.push(`${at}, starts what is open`)
      open.set(key, agent)
    } else if (endedBy(event) !== undefined) {
      const isUnstarted = event._tag === "ToolCallSettled" && !settled.has(key)
      if (!open.delete(key) && !isUnstarted) found.push(`${at}, ends what isn't open`)
      if (event._tag === "ToolCallSettled") settled.add(key)
    }
    if (endedBy(event) === "RunStarted") {
      for (const [key, of] of open) {
        if (of === agent || agent === "" || of.startsWith(`${agent}/`)) found.push(`${at}, leaves ${key} open`)
      }
    }
  })
  if (open.size > 0) found.push(`at the end, ${[...open.keys()].join(", ")} is open`)
  return found
}
