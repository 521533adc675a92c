/**
 * Runs as a Mermaid sequence diagram: calls, requests and their results between users, agents, tools and the model.
 *
 * 1. The diagram parses, for any names and content and even if the list of events is cut short.
 * 2. A call of a tool is an arrow and an arrow back: `-->>` if it succeeded and `-x` if not. A call that never started is one
 *    arrow: `->>` if it succeeded, such as a call that enters a mode, and `-x` if not. If a result comes later, the arrow back is `-->>`
 *    and says so, and the given result or failure is an arrow from `User`.
 * 3. An agent has a bar while it runs. If an agent answers a call, its run replaces the call.
 * 4. All agents share one `Model`, since events don't say which model was asked. Deltas, progress and steps aren't drawn.
 *
 * @since 0.1.0
 */
import { identity } from "effect/Function"
import type * as Schema from "effect/Schema"
import type { AgentEvent, ModelCallStarted, RunCompleted, RunStarted } from "../../domain/AgentEvent.ts"
import { pendingApprovals } from "../../domain/Approval.ts"
import { lastAssistantText, textIn } from "../../domain/Conversation.ts"
import { pendingResults } from "../../domain/DeferredResult.ts"
import { countOf } from "../../domain/InvalidLimit.ts"
import { pattern } from "../../domain/Lazy.ts"
import type { AssistantPart, Outcome } from "../../domain/StateSchema.ts"
import { weightOf } from "../../domain/Summarized.ts"
import * as Excerpt from "./Excerpt.ts"
import { guardrailLine } from "./GuardrailLine.ts"
import { modeLine } from "./ModeLine.ts"

/**
 * How much a diagram shows.
 *
 * `maxLength` is the greatest number of characters of each name and message; 80 by default. A longer one is cut and ends with `…`.
 *
 * @category models
 * @since 0.1.0
 */
export interface MermaidOptions {
  readonly maxLength?: number | undefined
}

/**
 * Characters that mean something to Mermaid, to the Markdown or HTML around it, or to its own escaping (`ﬂ` and `¶`). A colon is one of
 * them, because Mermaid drops the end of an escape if a colon follows the word `style`.
 */
const special = /[#;:%<>&$@`\\ﬂ¶]/g

const blank = pattern("[\\s\\p{Cc}]+", "gu")

/** Escapes a text so that a diagram shows it as it is, on one line. The word `end` would end a block. */
const escape = (text: string, maxLength: number): string => {
  const line = text.replace(blank(), " ").trim()
  const escaped = Excerpt.ofText(line, maxLength, () => "…")
    .replace(special, (char) => `#${char.charCodeAt(0)};`)
    .replace(/\bend\b/gi, (word) => `#${word.charCodeAt(0)};${word.slice(1)}`)
  return escaped === "" ? "(empty)" : escaped
}

const isArrived = (outcome: Outcome): boolean => outcome === "Succeeded" || outcome === "HandedOff"

type CallEvent = Extract<AgentEvent, { readonly callId: string }>

const callKey = (event: CallEvent): string => JSON.stringify([event.path, [...event.calls, event.callId]])
const callerKey = (event: AgentEvent): string => JSON.stringify([event.path.slice(0, -1), event.calls])

type Drawing = "Delegated" | "Unstarted"

/** How an event of a call is drawn, by its index: through the run that answers the call, or as a call that never started. */
const drawings = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<Drawing | undefined> => {
  const found = events.map((): Drawing | undefined => undefined)
  const started = new Map<string, number>()
  const later = new Set<string>()
  for (const [index, event] of events.entries()) {
    if (event._tag === "ToolCallStarted") started.set(callKey(event), index)
    if (event._tag === "RunStarted") {
      const start = started.get(callerKey(event))
      if (start !== undefined) found[start] = "Delegated"
    }
    if (event._tag === "ResultAwaited") {
      started.delete(callKey(event))
      later.add(callKey(event))
    }
    if (event._tag === "ToolCallSuspended" || event._tag === "ToolCallSettled") {
      const start = started.get(callKey(event))
      found[index] = start === undefined ? later.has(callKey(event)) ? undefined : "Unstarted" : found[start]
      started.delete(callKey(event))
    }
  }
  return found
}

const oneLine = (value: Schema.Json): string => Excerpt.jsonText(value, 0)

const because = (reason: string | undefined): string => reason === undefined ? "" : `: ${reason}`

const answered = (parts: ReadonlyArray<AssistantPart>): string => {
  const names = parts.flatMap((part) => part._tag === "Call" ? [part.name] : [])
  return [textIn(parts), names.length === 0 ? "" : `calls ${names.join(", ")}`].filter((line) => line !== "").join(
    " / "
  )
}

const ended = ({ state }: RunCompleted): string => {
  const pending = pendingApprovals(state)
  if (pending.length > 0) return `awaits approval of ${pending.map((call) => call.name).join(", ")}`
  const results = pendingResults(state)
  if (results.length > 0) return `awaits the result of ${results.map((call) => call.name).join(", ")}`
  return state.status._tag === "Complete" ? lastAssistantText(state.conversation) ?? "" : state.status._tag
}

const input = (event: Pick<RunStarted, "input">): string =>
  event.input === undefined
    ? "goes on"
    : event.input.map((part) => part._tag === "Text" ? part.text : part.fileName ?? part.mediaType).join(" / ")

/** Collects the lines of a diagram: its participants, and how many bars each agent has. */
const canvas = (maxLength: number) => {
  const participants = new Set(["actor User"])
  const lines: Array<string> = []
  const ids = new Map<string, string>()
  const active = new Map<string, number>()

  const participant = (kind: "Agent" | "Tool", key: string, name: string): string => {
    const known = ids.get(`${kind} ${key}`)
    if (known !== undefined) return known
    const id = `${kind}${ids.size + 1}`
    ids.set(`${kind} ${key}`, id)
    participants.add(`participant ${id} as ${escape(name, maxLength)}`)
    return id
  }

  return {
    agent: (path: ReadonlyArray<string>): string =>
      path.length === 0 ? "User" : participant("Agent", JSON.stringify(path), path.join(" / ")),
    model: (): string => {
      participants.add("participant Model")
      return "Model"
    },
    tool: (name: string): string => participant("Tool", name, name),
    arrow: (from: string, arrow: "->>" | "-->>" | "-x", to: string, text: string): void => {
      lines.push(`${from}${arrow}${to}: ${escape(text, maxLength)}`)
    },
    note: (over: string, text: string): void => {
      lines.push(`Note over ${over}: ${escape(text, maxLength)}`)
    },
    activate: (id: string): void => {
      lines.push(`activate ${id}`)
      active.set(id, (active.get(id) ?? 0) + 1)
    },
    deactivate: (id: string): void => {
      const count = active.get(id) ?? 0
      if (count === 0) return
      lines.push(`deactivate ${id}`)
      active.set(id, count - 1)
    },
    toString: (): string => {
      const open = Array.from(active).flatMap(([id, count]) => Array.from({ length: count }, () => `deactivate ${id}`))
      return ["sequenceDiagram", ...[...participants, ...lines, ...open].map((line) => `  ${line}`), ""].join("\n")
    }
  }
}

type Canvas = ReturnType<typeof canvas>

const asked = ({ attempt, step, window: { left, turns } = { left: 0, turns: 0 } }: ModelCallStarted): string => {
  const window = left === 0 ? "" : `, ${turns} of ${turns + left} turns`
  return `step ${step + 1}${attempt === 0 ? "" : `, attempt ${attempt + 1}`}${window}`
}

const draw = (on: Canvas, event: AgentEvent, drawing: Drawing | undefined): void => {
  const agent = on.agent(event.path)
  const caller = on.agent(event.path.slice(0, -1))
  switch (event._tag) {
    case "RunStarted":
      on.arrow(caller, "->>", agent, input(event))
      return on.activate(agent)
    case "ModelCallStarted":
      return on.arrow(agent, "->>", on.model(), asked(event))
    case "ConversationSummarized":
      return on.note(agent, `summarized ${weightOf(event)} turns: ${event.text}`)
    case "ModelResponded":
      return on.arrow(on.model(), "-->>", agent, answered(event.parts))
    case "ModelCallFailed":
      return on.arrow(on.model(), "-x", agent, `${event.tag}: ${event.message}`)
    case "ApprovalRequested":
      return on.arrow(agent, "->>", "User", `may ${event.name} run with ${oneLine(event.params)}?`)
    case "CallApproved": {
      const given = event.params === undefined ? "" : ` with ${oneLine(event.params)}`
      return on.arrow("User", "-->>", agent, `approves ${event.name}${given}`)
    }
    case "CallDenied":
      return on.arrow("User", "-x", agent, `denies ${event.name}: ${event.reason}`)
    case "ToolCallStarted":
      if (drawing === undefined) {
        const asked = event.asked === undefined ? "" : ` in the place of ${oneLine(event.asked)}`
        on.arrow(agent, "->>", on.tool(event.name), `${oneLine(event.params)}${asked}`)
      }
      return
    case "ResultAwaited":
      return on.arrow(on.tool(event.name), "-->>", agent, "the result comes later")
    case "ResultGiven": {
      const failed = event.outcome === "Failed" ? "failure" : "result"
      return on.arrow("User", "-->>", agent, `gives the ${failed} of ${event.name}: ${oneLine(event.result)}`)
    }
    case "ToolCallSuspended":
      if (drawing === undefined) on.arrow(on.tool(event.name), "-x", agent, "stays open")
      return
    case "ToolCallSettled": {
      const result = oneLine(event.result)
      const arrived = isArrived(event.outcome)
      const text = arrived ? result : `${event.outcome}: ${result}`
      if (drawing === undefined) on.arrow(on.tool(event.name), arrived ? "-->>" : "-x", agent, text)
      else if (drawing === "Unstarted") on.arrow(agent, arrived ? "->>" : "-x", on.tool(event.name), text)
      return
    }
    case "FeedbackGiven":
      return on.note(agent, event.text)
    case "GuardrailSettled":
      if (event.verdict !== "Pass") on.note(agent, `${guardrailLine(event, identity)}${because(event.reason)}`)
      return
    case "LimitReached":
      return on.note(agent, `last answer: ${event.limit}`)
    case "TextWithdrawn":
      return on.note(agent, `took back what it had said: ${event.reason}`)
    case "HandoffCompleted": {
      const target = on.agent([...event.path.slice(0, -1), event.request.target])
      on.arrow(agent, "->>", target, `takes over${because(event.request.reason)}`)
      on.deactivate(agent)
      return on.activate(target)
    }
    case "InputGiven":
      return on.note(agent, `mode ${event.mode} says: ${input(event)}`)
    case "ModeEntered":
    case "ModeExited":
    case "ModeFailed":
      return on.note(agent, modeLine(event, identity))
    case "TransformFailed":
      return on.note(agent, `${event.tag}: ${event.message}`)
    case "RunCompleted":
      on.arrow(agent, "-->>", caller, ended(event))
      return on.deactivate(agent)
    case "RunInterrupted":
      on.arrow(agent, "-x", caller, "interrupted")
      return on.deactivate(agent)
    case "RunFailed":
      on.arrow(agent, "-x", caller, `${event.error.tag}: ${event.error.message}`)
      return on.deactivate(agent)
    case "StepStarted":
    case "TextDelta":
    case "ReasoningDelta":
    case "ToolParamsDelta":
    case "ToolCallProgressed":
    case "HandoffRequested":
    case "HandoffSuspended":
    case "GuardrailStarted":
    case "ToolInvoked":
    case "ModeEntering":
    case "ModeExiting":
    case "ModeTransitionRequested":
    case "StateAdjusted":
    case "StepCompleted":
      return
  }
}

/**
 * Returns events as a Mermaid sequence diagram, for ```` ```mermaid ```` blocks and editors that draw them.
 *
 * The events may be those of several runs or of a run that isn't over, and may come from a store. Throws `InvalidLimit` unless `maxLength`
 * is a whole number from 0 on or `Infinity`.
 *
 * **Gotchas**
 *
 * Mermaid draws no diagram of more than 50,000 characters unless its `maxTextSize` says so.
 *
 * **Example** (Drawing a run)
 *
 * ```ts
 * import { AgentEvent, Trace } from "troupe"
 *
 * const { ToolCallSettled, ToolCallStarted } = AgentEvent.AgentEvent.cases
 * const common = { path: ["clerk"], calls: [], step: 0, at: 0, callId: "call_1", name: "find" } as const
 * const events = [
 *   ToolCallStarted.make({ ...common, sequence: 0, params: { order: 7 } }),
 *   ToolCallSettled.make({ ...common, sequence: 1, outcome: "Succeeded", result: "shipped", duration: 3 })
 * ]
 *
 * Trace.toMermaid(events).split("\n")
 * // => [
 * //   "sequenceDiagram",
 * //   "  actor User",
 * //   "  participant Agent1 as clerk",
 * //   "  participant Tool2 as find",
 * //   "  Agent1->>Tool2: {\"order\"#58;7}",
 * //   "  Tool2-->>Agent1: \"shipped\"",
 * //   ""
 * // ]
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const toMermaid = (events: Iterable<AgentEvent>, options?: MermaidOptions): string => {
  const all = Array.from(events)
  const drawn = drawings(all)
  const on = canvas(countOf("maxLength", options?.maxLength ?? 80, 0))
  for (const [index, event] of all.entries()) draw(on, event, drawn[index])
  return on.toString()
}
