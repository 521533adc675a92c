/**
 * What people see of a run: lines and text for each event, as pure functions.
 */
import { type AgentEvent, AgentState, AgentStatus, Usage } from "troupe"

/** How text is coloured: not at all where nobody looks at a terminal. */
export interface Style {
  readonly dim: (text: string) => string
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly strong: (text: string) => string
}

const paint = (open: number, close: number) => (text: string): string => `\u001b[${open}m${text}\u001b[${close}m`

export const coloured: Style = { dim: paint(2, 22), good: paint(32, 39), bad: paint(31, 39), strong: paint(1, 22) }

const asIs = (text: string): string => text
export const plain: Style = { dim: asIs, good: asIs, bad: asIs, strong: asIs }

/** Makes a text harmless for a terminal: it keeps no control characters but line breaks and tabs, and no marks that turn text around. */
export const harmless = (text: string): string =>
  text
    .replace(/\p{Bidi_Control}/gu, "")
    .replace(/[^\P{Cc}\n\t]/gu, (control) => {
      const code = control.charCodeAt(0)
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : ""
    })

/** Shortens a text to one line of a length. */
const short = (text: string, length: number): string => {
  const line = harmless(text).replace(/\s+/g, " ")
  const characters = Array.from(line)
  return characters.length <= length ? line : `${characters.slice(0, length - 1).join("")}…`
}

const isRecord = (u: unknown): u is Readonly<Record<string, unknown>> =>
  typeof u === "object" && u !== null && !Array.isArray(u)

/** JSON with less punctuation: `order: "1042", total: 89`. */
const described = (u: unknown): string =>
  Array.isArray(u)
    ? `[${u.map((item) => isRecord(item) ? `{ ${described(item)} }` : described(item)).join(", ")}]`
    : isRecord(u)
    ? Object.entries(u)
      .map(([key, value]) => `${key}: ${isRecord(value) ? `{ ${described(value)} }` : described(value)}`)
      .join(", ")
    : JSON.stringify(u)

const width = 100

const duration = (millis: number): string =>
  millis < 1 ? "under 1 ms" : millis < 1000 ? `${millis} ms` : `${(millis / 1000).toFixed(1)} s`

/** A call, in a line. */
export const called = (name: string, params: unknown): string => short(`${name}(${described(params)})`, width)

const result = (u: unknown): string =>
  isRecord(u) && typeof u["_tag"] === "string"
    ? `${u["_tag"]} ${described(Object.fromEntries(Object.entries(u).filter(([key]) => key !== "_tag")))}`
    : described(u)

const outcomes = { Succeeded: "✓", Failed: "✗", Denied: "✗", Interrupted: "✗", HandedOff: "✓" } as const

/** What is shown: what was shown so far says whether a line is still open, and whose text it ends with. */
export interface Shown {
  readonly isOpen: boolean
  readonly speaker?: string | undefined
}

export const nothing: Shown = { isOpen: false }

/** How many tokens, as far as that is known. */
const tokens = ({ input, output }: Usage.Usage): string => {
  const say = (count: Usage.TokenCount): string =>
    Usage.exact(count)?.toString() ?? (count.known === 0 ? "unknown" : `at least ${count.known}`)
  return `tokens: ${say(input)} in, ${say(output)} out`
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** How control changed hands, in a line. */
const handedOver = (from: string, { context, reason, target }: AgentEvent.HandoffCompleted["request"]): string => {
  const why = reason === undefined ? "" : `: ${reason}`
  return short(
    `${target} takes over from ${from}${why}${context === undefined ? "" : ` (${described(context)})`}`,
    width
  )
}

/** How a run ended, in a line. */
export const ending = (state: AgentState.AgentState, isInterrupted: boolean, style: Style): string => {
  const pending = AgentState.pendingApprovals(state).length
  const status = isInterrupted
    ? style.bad("interrupted")
    : pending > 0
    ? style.strong("awaiting approval")
    : AgentStatus.AgentStatus.match(state.status, {
      InProgress: () => "in progress",
      WaitingForTools: () => "waiting for tools",
      HandoffRequested: ({ request }) => `handing over to ${request.target}`,
      Complete: () => style.good("complete"),
      Failed: ({ error }) => style.bad(`failed: ${error.tag}`)
    })
  return `${style.dim("—")} ${style.strong(state.agent)}: ${status}${
    style.dim(`, ${plural(state.run.steps, "step")}, ${tokens(state.run.usage)}`)
  }`
}

/** Whether a run failed before anything was done: there is nothing to tell but why. */
const isNothing = (event: AgentEvent.RunCompleted | AgentEvent.RunFailed | AgentEvent.RunInterrupted): boolean =>
  event._tag === "RunFailed" && event.error.tag === "ModelCallFailed" && event.state.run.steps === 0

/** What an event adds to what is shown. */
export const show = (shown: Shown, event: AgentEvent.AgentEvent, style: Style): readonly [Shown, string] => {
  const line = (text: string): readonly [Shown, string] => [nothing, `${shown.isOpen ? "\n" : ""}${text}\n`]
  switch (event._tag) {
    case "TextDelta": {
      const text = harmless(event.delta)
      if (text === "") return [shown, ""]
      const speaker = event.path.at(-1)
      const name = shown.speaker === speaker ? "" : `${shown.isOpen ? "\n" : ""}${style.strong(`${speaker}:`)} `
      return [{ isOpen: !text.endsWith("\n"), speaker }, `${name}${text}`]
    }
    case "ModelResponded":
      return [nothing, shown.isOpen ? "\n" : ""]
    case "ToolCallStarted":
      return line(style.dim(`  → ${called(event.name, event.params)}`))
    case "ToolCallSettled": {
      const { duration: millis, name, outcome } = event
      const mark = outcome === "Succeeded" || outcome === "HandedOff"
        ? style.good(outcomes[outcome])
        : style.bad(outcomes[outcome])
      const how = outcome === "Succeeded" ? "" : `${outcome.toLowerCase()}, `
      return line(
        `  ${mark} ${
          style.dim(`${name} (${how}${duration(millis)}) ${short(result(event.result), width - name.length)}`)
        }`
      )
    }
    case "ApprovalRequested":
      return line(style.strong(`  ? ${called(event.name, event.params)} awaits approval`))
    case "ResultAwaited":
      return line(style.strong(`  … ${called(event.name, event.params)} awaits its result`))
    case "ModelCallFailed":
      // The desk asks a model once. If the model of the agent in control fails, so does the run, and its line says why.
      return event.tag === "Interrupted" || event.calls.length === 0
        ? [shown, ""]
        : line(style.bad(`  ✗ the model of ${event.path.at(-1)} gave no answer`))
    case "RunCompleted":
    case "RunFailed":
    case "RunInterrupted":
      return event.calls.length > 0 || isNothing(event)
        ? [shown, ""]
        : line(ending(event.state, event._tag === "RunInterrupted", style))
    case "HandoffCompleted":
      return line(style.strong(`  ⇒ ${handedOver(event.path.at(-1)!, event.request)}`))
    case "ModeEntered":
      return line(style.strong(`  ▸ ${event.path.at(-1)} is in mode ${event.stack.join(" › ")}`))
    case "ModeExited":
      return event.isKept === true
        ? [shown, ""]
        : line(style.strong(`  ◂ ${event.path.at(-1)} left mode ${event.name}`))
    case "ModeFailed":
      return line(style.bad(`  ✗ mode ${event.name}: ${short(event.message, width)}`))
    case "GuardrailSettled":
      return event.verdict === "Pass" || event.verdict === "Interrupted"
        ? [shown, ""]
        : line(style.bad(`  ! guardrail ${event.guardrail}: ${short(event.reason ?? event.verdict, width)}`))
    case "LimitReached":
      return line(style.bad(`  ! ${event.limit}: one more answer`))
    case "TextWithdrawn":
      return line(style.bad("  ! what was said is taken back"))
    case "CallApproved":
    case "CallDenied":
    case "ResultGiven":
    case "GuardrailStarted":
    case "InputGiven":
    case "ToolInvoked":
    case "ModeEntering":
    case "ModeExiting":
    case "ModeTransitionRequested":
    case "StateAdjusted":
    case "RunStarted":
    case "StepStarted":
    case "HandoffRequested":
    case "TransformFailed":
    case "HandoffSuspended":
    case "ConversationSummarized":
    case "ModelCallStarted":
    case "ReasoningDelta":
    case "ToolParamsDelta":
    case "ToolCallProgressed":
    case "ToolCallSuspended":
    case "FeedbackGiven":
    case "StepCompleted":
      return [shown, ""]
  }
}
