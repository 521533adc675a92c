/**
 * Runs as a Markdown log that can be written event by event.
 *
 * 1. The log of a list of events is the concatenation of their entries: an entry depends on its event alone.
 * 2. Each entry is whole: it ends with an empty line, and every fence that it opens is closed.
 * 3. Content from users, models and tools is in fences or code spans longer than any in it, so none of it becomes markup. Long content is
 *    cut, invisible characters are replaced, and white space in a code span becomes one space.
 * 4. Entries name their agent by the path from the outermost one, or else the call or the handoff that they are about. So entries of
 *    agents that run at the same time can be in any order.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import type { AgentEvent, RunStarted, ToolCallSettled, Window } from "../../domain/AgentEvent.ts"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import { pendingApprovals } from "../../domain/Approval.ts"
import { openCalls } from "../../domain/Conversation.ts"
import { pendingResults } from "../../domain/DeferredResult.ts"
import { counted } from "../../domain/Described.ts"
import { countOf } from "../../domain/InvalidLimit.ts"
import type * as Part from "../../domain/Part.ts"
import type { AgentState, AssistantPart, Outcome } from "../../domain/StateSchema.ts"
import { weightOf } from "../../domain/Summarized.ts"
import type { RequestUsage, TokenCount } from "../../domain/Usage.ts"
import * as Excerpt from "./Excerpt.ts"
import { guardrailLine } from "./GuardrailLine.ts"
import { code, fence, paragraph } from "./Markup.ts"
import { modeLine } from "./ModeLine.ts"

/**
 * How much a Markdown log shows.
 *
 * `maxLength` is the greatest number of characters of each text, of each call's parameters and of each result; 10,000 by default. What is
 * within a line, such as a name, has at most 200. Functions with this option throw `InvalidLimit` unless it is a whole number from 0 on or
 * `Infinity`.
 *
 * @category models
 * @since 0.1.0
 */
export interface MarkdownOptions {
  readonly maxLength?: number | undefined
}

/** A heading at the level that fits the depth of its agent. */
const heading = (event: AgentEvent, level: 1 | 2, title: string): string =>
  paragraph(`${"#".repeat(Math.min(6, level + 2 * (event.path.length - 1)))} ${title}`)

const time = (at: number): string => Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : `${at} ms after 1970-01-01`

const trail = (path: ReadonlyArray<string>): string => path.map(code).join(" › ")

const who = ({ calls, path }: AgentEvent): string => {
  const call = calls.at(-1)
  return `${trail(path)}${call === undefined ? "" : ` (${code(call)})`}`
}

const called = (call: { readonly callId: string; readonly name: string }): string =>
  `${code(call.name)} (${code(call.callId)})`

const verbs: { readonly [_ in Outcome]: string } = {
  Succeeded: "succeeded",
  Failed: "failed",
  Denied: "was denied",
  Interrupted: "was interrupted",
  HandedOff: "handed over"
}

const tokens = (usage: RequestUsage): string => {
  const kinds = ["input", "cached", "output", "reasoning"] as const
  const known = kinds.flatMap((kind) => usage[kind] === undefined ? [] : [`${usage[kind]} ${kind}`])
  return `tokens: ${known.length === 0 ? "unknown" : known.join(", ")}`
}

const turns = (count: number): string => counted(count, "turn")

const windowed = ({ by, left, turns: sent, tokens }: Window): string =>
  `${turns(sent)}${left === 0 ? "" : ` of ${sent + left}`}${
    tokens === undefined ? "" : `, ${by === "estimate" ? "about " : ""}${tokens} tokens`
  }`

const atLeast = (count: TokenCount): string => count.unreported === 0 ? `${count.known}` : `at least ${count.known}`

const jsonCode = (value: Schema.Json): string => code(Excerpt.jsonText(value, 0))

const size = (data: Part.File["data"]): string =>
  data instanceof URL ? code(data.href) : `${data.length} ${typeof data === "string" ? "characters" : "bytes"}`

type File = Pick<Part.File, "data" | "mediaType"> & { readonly fileName?: string | undefined }

const file = ({ data, fileName, mediaType }: File): string =>
  paragraph(`File${fileName === undefined ? "" : ` ${code(fileName)}`}: ${code(mediaType)}, ${size(data)}`)

/** How a call ended. */
type Result = Pick<ToolCallSettled, "modelOutput" | "outcome" | "result">

/** Returns how much of each text is written. Throws `InvalidLimit` if `maxLength` is neither a whole number from 0 on nor `Infinity`. */
export const maxLengthOf = (options: MarkdownOptions | undefined): number =>
  countOf("maxLength", options?.maxLength ?? 10_000, 0)

/** Makes the functions that write the contents of events, at most `maxLength` characters of each. */
const writer = (maxLength: number) => {
  const excerpt = (text: string): string => Excerpt.ofText(text, maxLength, (n) => `… (${n} more characters)`)
  const text = (content: string): string => fence("text", excerpt(content))
  const json = (value: Schema.Json): string => fence("json", excerpt(Excerpt.jsonText(value, 2)))

  const optional = (value: Schema.Json | undefined): string => value === undefined ? "" : json(value)

  const settled = (call: string, { modelOutput, outcome, result }: Result, duration = ""): string =>
    paragraph(`${call} ${verbs[outcome]}${duration}:`) + json(result) +
    (modelOutput === undefined ? "" : paragraph("The model reads instead:")) +
    (modelOutput ?? []).map((part) => part.type === "text" ? text(part.text) : file(part)).join("")

  const part = (part: AssistantPart): string => {
    switch (part._tag) {
      case "Text":
      case "Reasoning":
        return paragraph(`${part._tag}:`) + text(part.text)
      case "File":
        return file(part)
      case "Source":
        return paragraph(`Source ${code(part.title)}: ${code(part.url ?? part.fileName ?? part.id)}`)
      case "Call": {
        const call = called({ callId: part.id, name: part.name })
        const by = part.providerExecuted === true ? ", run by the provider" : ""
        return paragraph(`Call of ${call}${by}:`) + json(part.params) +
          (part.state._tag === "Settled" ? settled(call, part.state) : "")
      }
    }
  }

  const answer = (parts: ReadonlyArray<AssistantPart>): string =>
    parts.length === 0 ? paragraph("The answer is empty.") : parts.map(part).join("")

  const input = (parts: NonNullable<RunStarted["input"]>): string =>
    parts.map((part) => part._tag === "Text" ? text(part.text) : file(part)).join("")

  const reason = ({ context, reason }: HandoffRequest): string =>
    (reason === undefined ? "" : text(reason)) + optional(context)

  return { answer, input, json, optional, reason, settled, text }
}

const stopped = (state: AgentState): string => {
  switch (state.status._tag) {
    case "Complete":
      return "Complete"
    case "Failed":
      return "Failed"
    case "InProgress":
      return "Stopped"
    case "HandoffRequested":
      return `Stopped before ${code(state.status.request.target)} took over`
    case "WaitingForTools":
      return pendingApprovals(state).length > 0
        ? "Awaiting approvals"
        : pendingResults(state).length > 0
        ? "Awaiting results"
        : "Stopped with open calls"
  }
}

/** Describes the calls that keep a run from its end, and the usage of the run. */
const remains = (state: AgentState): string => {
  const pending = [
    ...pendingApprovals(state).map((call) => `- ${trail(call.path)} needs approval for ${called(call)}`),
    ...pendingResults(state).map((call) => `- ${trail(call.path)} awaits the result of ${called(call)}`)
  ]
  const open = pending.length > 0
    ? pending
    : openCalls(state.conversation).map((call) => `- ${called({ callId: call.id, name: call.name })} is open`)
  const { elapsed, steps, usage } = state.run
  return (open.length === 0 ? "" : paragraph(open.join("\n"))) +
    paragraph(
      `Steps: ${steps}; duration: ${elapsed} ms; tokens: ${atLeast(usage.input)} input, ${atLeast(usage.output)} output`
    )
}

/**
 * Returns what one event adds to the Markdown log of its run. Deltas, and starts of guardrails, add nothing. Throws `InvalidLimit` for an
 * invalid `maxLength`.
 *
 * @category conversions
 * @since 0.1.0
 */
export const fragment = (event: AgentEvent, options?: MarkdownOptions): string => {
  const write = writer(maxLengthOf(options))
  const at = time(event.at)
  const agent = who(event)
  switch (event._tag) {
    case "RunStarted":
      return heading(event, 1, agent) +
        paragraph(`${event.input === undefined ? "Went on" : "Started"} at ${at}`) + write.input(event.input ?? [])
    case "StepStarted":
      return heading(event, 2, `Step ${event.step + 1} of ${agent}`)
    case "ModelCallStarted": {
      const attempt = event.attempt === 0 ? "" : `, attempt ${event.attempt + 1},`
      const window = event.window === undefined ? "" : ` with ${windowed(event.window)}`
      return paragraph(`${agent} asked the model${attempt} at ${at}${window}`)
    }
    case "ConversationSummarized": {
      const used = event.usage === undefined ? "" : `; ${tokens(event.usage)}`
      return paragraph(`${agent} summarized ${turns(weightOf(event))} in ${event.duration} ms at ${at}${used}:`) +
        write.text(event.text)
    }
    case "TextDelta":
    case "ReasoningDelta":
    case "ToolParamsDelta":
    case "GuardrailStarted":
      return ""
    case "ModelResponded":
      return paragraph(
        `${agent} got an answer at ${at}; finish reason: ${event.finishReason}; ${tokens(event.usage)}`
      ) +
        write.answer(event.parts)
    case "ModelCallFailed":
      return paragraph(`${agent} got no answer from attempt ${event.attempt + 1} at ${at}: ${code(event.tag)}`) +
        write.text(event.message)
    case "ApprovalRequested":
      return paragraph(`${agent} needs approval for ${called(event)}:`) + write.json(event.params)
    case "CallApproved":
      return paragraph(
        `${agent}: ${called(event)} was approved at ${at}${event.params === undefined ? "" : " with other parameters:"}`
      ) + write.optional(event.params)
    case "CallDenied":
      return paragraph(`${agent}: ${called(event)} was denied at ${at}:`) + write.text(event.reason)
    case "ToolCallStarted": {
      const asked = event.asked === undefined ? "" : ` in the place of ${jsonCode(event.asked)}`
      return paragraph(`${agent} started ${called(event)} at ${at} with ${jsonCode(event.params)}${asked}`)
    }
    case "ToolCallProgressed":
      return paragraph(`${agent} heard from ${called(event)} at ${at}: ${jsonCode(event.result)}`)
    case "ResultAwaited":
      return paragraph(`${called(event)} ended at ${at} without a result, which comes later`)
    case "ResultGiven":
      return paragraph(
        `${agent}: ${called(event)} was given its ${event.outcome === "Failed" ? "failure" : "result"} at ${at}:`
      ) +
        write.json(event.result)
    case "ToolCallSuspended":
      return paragraph(`${called(event)} stopped before its end at ${at} and stays open`)
    case "ToolCallSettled":
      return write.settled(`${agent}: ${called(event)}`, event, ` after ${event.duration} ms`)
    case "FeedbackGiven":
      return paragraph(`${agent} was given feedback:`) + write.text(event.text)
    case "GuardrailSettled":
      return paragraph(`${agent}: ${guardrailLine(event, code)} at ${at}`) +
        (event.reason === undefined ? "" : write.text(event.reason))
    case "LimitReached":
      return paragraph(`${agent} met its limit ${code(event.limit)} at ${at} and may answer once more:`) +
        write.text(event.text)
    case "TextWithdrawn":
      return paragraph(`${agent} took back at ${at} what it had said:`) + write.text(event.reason)
    case "HandoffRequested":
      return paragraph(`${agent} hands over to ${code(event.request.target)} at ${at}`) + write.reason(event.request)
    case "TransformFailed": {
      const target = code(event.request.target)
      return paragraph(`The policy couldn't change what crosses to ${target} at ${at}: ${code(event.tag)}`) +
        write.text(event.message)
    }
    case "HandoffCompleted": {
      const target = code(event.request.target)
      const given = event.conversation === undefined ? "" : ` with ${turns(event.conversation.turns.length)}`
      return heading(event, 2, `Handed over to ${target} by ${agent}`) +
        paragraph(`${target} took over at ${at}${given}`)
    }
    case "HandoffSuspended":
      return paragraph(`${code(event.request.target)} didn't take over yet, at ${at}`)
    case "InputGiven":
      return paragraph(`${agent} was told by mode ${code(event.mode)} at ${at}:`) + write.input(event.input)
    case "ToolInvoked":
      return paragraph(`${called(event)} was invoked by hand at ${at}`)
    case "ModeFailed":
      return paragraph(`${agent}: ${modeLine(event, code)} at ${at}`) + write.text(event.message)
    case "ModeEntering":
    case "ModeEntered":
    case "ModeExiting":
    case "ModeExited":
    case "ModeTransitionRequested":
    case "StateAdjusted":
      return paragraph(`${agent} ${modeLine(event, code)} at ${at}`)
    case "StepCompleted":
      return paragraph(`Step ${event.step + 1} of ${agent} ended at ${at}`)
    case "RunCompleted":
      return heading(event, 2, `${stopped(event.state)}: ${agent}`) + remains(event.state)
    case "RunInterrupted":
      return heading(event, 2, `Interrupted: ${agent}`) + remains(event.state)
    case "RunFailed":
      return heading(event, 2, `Failed: ${agent}, ${code(event.error.tag)}`) + write.text(event.error.message) +
        remains(event.state)
  }
}

/**
 * Returns events as a Markdown log: a section for each step, with the steps of called agents below those of their callers.
 *
 * The events may be those of several runs or of a run that isn't over, and may come from a store. Throws `InvalidLimit` for an invalid
 * `maxLength`.
 *
 * **Gotchas**
 *
 * If an agent runs twice at the same time, one log mixes both runs: make a log for each.
 *
 * **Example** (Reading what happened)
 *
 * ```ts
 * import { AgentEvent, Trace } from "troupe"
 *
 * const { FeedbackGiven, StepStarted } = AgentEvent.AgentEvent.cases
 * const common = { path: ["editor"], calls: [], step: 0, at: 0 } as const
 * const events = [
 *   StepStarted.make({ ...common, sequence: 0 }),
 *   FeedbackGiven.make({ ...common, sequence: 1, text: "Too long." })
 * ]
 *
 * Trace.toMarkdown(events).split("\n")
 * // => [
 * //   "## Step 1 of `editor`",
 * //   "",
 * //   "`editor` was given feedback:",
 * //   "",
 * //   "```text",
 * //   "Too long.",
 * //   "```",
 * //   "",
 * //   ""
 * // ]
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const toMarkdown = (events: Iterable<AgentEvent>, options?: MarkdownOptions): string => {
  maxLengthOf(options)
  let markdown = ""
  for (const event of events) markdown += fragment(event, options)
  return markdown
}
