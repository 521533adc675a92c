/**
 * Runs as a Markdown log that can be written event by event.
 *
 * 1. The log of a list of events is the concatenation of their fragments: a fragment depends on its event alone.
 * 2. Each fragment is whole: it ends with an empty line and every fence that it opens is closed.
 * 3. What users, models and tools wrote stands in fences or code spans that are longer than any in it, so that no content
 *    becomes markup and all of it can be read as it was.
 * 4. Each fragment names its agent by the path from the outermost one, so that the fragments of agents that run at the
 *    same time can stand in any order.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import type * as Schema from "effect/Schema"
import type { AgentEvent, ModelResponded, RunStarted, Window } from "../../domain/AgentEvent.ts"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import { pendingApprovals } from "../../domain/Approval.ts"
import { openCalls } from "../../domain/Conversation.ts"
import type * as Part from "../../domain/Part.ts"
import type { AgentState, AssistantPart, Call, Outcome } from "../../domain/StateSchema.ts"
import { weightOf } from "../../domain/Summarized.ts"
import type { RequestUsage, TokenCount } from "../../domain/Usage.ts"
import * as Excerpt from "./Excerpt.ts"
import { guardrailLine } from "./GuardrailLine.ts"
import { code, fence, paragraph } from "./Markup.ts"
import { modeLine } from "./ModeLine.ts"

/**
 * How much a Markdown log shows.
 *
 * `maxLength` is the number of characters of each text, of each call's parameters and of each result; 10,000 where it
 * isn't given. What stands in a line of the log's own, such as a name, has 200.
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

const who = (event: AgentEvent): string => {
  const call = event.calls[event.calls.length - 1]
  return `${event.path.map(code).join(" › ")}${call === undefined ? "" : ` (${code(call)})`}`
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
  const count = (kind: keyof RequestUsage, name: string) => usage[kind] === undefined ? [] : [`${usage[kind]} ${name}`]
  const known = [
    ...count("input", "input"),
    ...count("cached", "cached"),
    ...count("output", "output"),
    ...count("reasoning", "reasoning")
  ]
  return `tokens: ${known.length === 0 ? "unknown" : known.join(", ")}`
}

const turns = (count: number): string => `${count} turn${count === 1 ? "" : "s"}`

const windowed = ({ by, left, turns: sent, tokens }: Window): string =>
  [
    `${turns(sent)}${left === 0 ? "" : ` of ${sent + left}`}`,
    ...(tokens === undefined ? [] : [`${by === "estimate" ? "about " : ""}${tokens} tokens`])
  ].join(", ")

const atLeast = (count: TokenCount): string => count.unreported === 0 ? `${count.known}` : `at least ${count.known}`

const size = (data: Part.File["data"]): string =>
  typeof data === "string"
    ? `${data.length} characters`
    : data instanceof URL
    ? code(data.href)
    : `${data.length} bytes`

const file = (part: {
  readonly mediaType: string
  readonly fileName?: string | undefined
  readonly data: Part.File["data"]
}): string =>
  paragraph(
    `File${part.fileName === undefined ? "" : ` ${code(part.fileName)}`}: ${code(part.mediaType)}, ${size(part.data)}`
  )

/** What writes the contents of events, at most `maxLength` characters of each. */
const writer = (maxLength: number) => {
  const excerpt = (text: string): string => Excerpt.ofText(text, maxLength, (n) => `… (${n} more characters)`)
  const text = (content: string): string => fence("text", excerpt(content))
  const json = (value: Schema.Json): string => fence("json", excerpt(Excerpt.jsonText(value, 2)))

  const settled = (call: string, outcome: Outcome, result: Schema.Json, duration: string): string =>
    paragraph(`${call} ${verbs[outcome]}${duration}:`) + json(result)

  const modelOutput = (parts: ReadonlyArray<Prompt.ToolModelOutputPart> | undefined): string =>
    parts === undefined
      ? ""
      : paragraph("The model reads instead:") +
        parts.map((part) => part.type === "text" ? text(part.text) : file(part)).join("")

  const providerCall = (call: Call): string =>
    call.state._tag === "Settled"
      ? settled(called({ callId: call.id, name: call.name }), call.state.outcome, call.state.result, "") +
        modelOutput(call.state.modelOutput)
      : ""

  const part = (part: AssistantPart): string => {
    switch (part._tag) {
      case "Text":
        return paragraph("Text:") + text(part.text)
      case "Reasoning":
        return paragraph("Reasoning:") + text(part.text)
      case "File":
        return file(part)
      case "Source":
        return paragraph(`Source ${code(part.title)}: ${code(part.url ?? part.fileName ?? part.id)}`)
      case "Call":
        return paragraph(
          `Call of ${called({ callId: part.id, name: part.name })}${
            part.providerExecuted === true ? ", run by the provider" : ""
          }:`
        ) + json(part.params) + providerCall(part)
    }
  }

  const answer = (event: ModelResponded): string =>
    paragraph(
      `${who(event)} got an answer at ${time(event.at)}; finish reason: ${event.finishReason}; ${tokens(event.usage)}`
    ) + (event.parts.length === 0 ? paragraph("The answer is empty.") : event.parts.map(part).join(""))

  const input = (parts: NonNullable<RunStarted["input"]>): string =>
    parts.map((part) => part._tag === "Text" ? text(part.text) : file(part)).join("")

  const start = (event: RunStarted): string =>
    heading(event, 1, who(event)) +
    paragraph(`${event.input === undefined ? "Went on" : "Started"} at ${time(event.at)}`) +
    input(event.input ?? [])

  const reason = ({ context, reason }: HandoffRequest): string =>
    (reason === undefined ? "" : text(reason)) + (context === undefined ? "" : json(context))

  return { answer, input, json, modelOutput, reason, settled, start, text }
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
      return pendingApprovals(state).length > 0 ? "Awaiting approvals" : "Stopped with open calls"
  }
}

/** The calls that keep a run from its end, and what the run has used. */
const remains = (state: AgentState): string => {
  const pending = pendingApprovals(state)
  const open = pending.length > 0
    ? pending.map((call) => `- ${call.path.map(code).join(" › ")} needs approval for ${called(call)}`)
    : openCalls(state.conversation).map((call) => `- ${called({ callId: call.id, name: call.name })} is open`)
  const { elapsed, steps, usage } = state.run
  return (open.length === 0 ? "" : paragraph(open.join("\n"))) +
    paragraph(
      `Steps: ${steps}; duration: ${elapsed} ms; tokens: ${atLeast(usage.input)} input, ${atLeast(usage.output)} output`
    )
}

/**
 * Gives what one event adds to the Markdown log of its run; deltas, and guardrails that begin, add nothing.
 *
 * @category conversions
 * @since 0.1.0
 */
export const fragment = (event: AgentEvent, options?: MarkdownOptions): string => {
  const write = writer(options?.maxLength ?? 10_000)
  const at = time(event.at)
  switch (event._tag) {
    case "RunStarted":
      return write.start(event)
    case "StepStarted":
      return heading(event, 2, `Step ${event.step + 1} of ${who(event)}`)
    case "ModelCallStarted":
      return paragraph(
        `${who(event)} asked the model${event.attempt === 0 ? "" : `, attempt ${event.attempt + 1},`} at ${at}${
          event.window === undefined ? "" : ` with ${windowed(event.window)}`
        }`
      )
    case "ConversationSummarized":
      return paragraph(
        `${who(event)} summarized ${turns(weightOf(event))} in ${event.duration} ms at ${at}${
          event.usage === undefined ? "" : `; ${tokens(event.usage)}`
        }:`
      ) + write.text(event.text)
    case "TextDelta":
    case "ReasoningDelta":
    case "ToolParamsDelta":
    case "GuardrailStarted":
      return ""
    case "ModelResponded":
      return write.answer(event)
    case "ModelCallFailed":
      return paragraph(`${who(event)} got no answer from attempt ${event.attempt + 1} at ${at}: ${code(event.tag)}`) +
        write.text(event.message)
    case "ApprovalRequested":
      return paragraph(`${who(event)} needs approval for ${called(event)}:`) + write.json(event.params)
    case "CallApproved":
      return event.params === undefined
        ? paragraph(`${who(event)}: ${called(event)} was approved at ${at}`)
        : paragraph(`${who(event)}: ${called(event)} was approved at ${at} with other parameters:`) +
          write.json(event.params)
    case "CallDenied":
      return paragraph(`${who(event)}: ${called(event)} was denied at ${at}:`) + write.text(event.reason)
    case "ToolCallStarted":
      return paragraph(
        `${who(event)} started ${called(event)} at ${at} with ${code(Excerpt.jsonText(event.params, 0))}${
          event.asked === undefined ? "" : ` in the place of ${code(Excerpt.jsonText(event.asked, 0))}`
        }`
      )
    case "ToolCallProgressed":
      return paragraph(`${who(event)} heard from ${called(event)} at ${at}: ${code(Excerpt.jsonText(event.result, 0))}`)
    case "ToolCallSuspended":
      return paragraph(`${called(event)} stopped before its end at ${at} and stays open`)
    case "ToolCallSettled":
      return write.settled(
        `${who(event)}: ${called(event)}`,
        event.outcome,
        event.result,
        ` after ${event.duration} ms`
      ) +
        write.modelOutput(event.modelOutput)
    case "FeedbackGiven":
      return paragraph(`${who(event)} was given feedback:`) + write.text(event.text)
    case "GuardrailSettled":
      return paragraph(`${who(event)}: ${guardrailLine(event, code)} at ${at}`) +
        (event.reason === undefined ? "" : write.text(event.reason))
    case "LimitReached":
      return paragraph(`${who(event)} met its limit ${code(event.limit)} at ${at} and may answer once more:`) +
        write.text(event.text)
    case "TextWithdrawn":
      return paragraph(`${who(event)} took back what it had said at ${at}:`) + write.text(event.reason)
    case "HandoffRequested":
      return paragraph(`${who(event)} hands over to ${code(event.request.target)} at ${at}`) +
        write.reason(event.request)
    case "TransformFailed":
      return paragraph(
        `The policy couldn't change what crosses to ${code(event.request.target)} at ${at}: ${code(event.tag)}`
      ) + write.text(event.message)
    case "HandoffCompleted":
      return heading(event, 2, `Handed over to ${code(event.request.target)} by ${who(event)}`) +
        paragraph(
          `${code(event.request.target)} took over at ${at}${
            event.conversation === undefined
              ? ""
              : ` with ${turns(event.conversation.turns.length)}`
          }`
        )
    case "HandoffSuspended":
      return paragraph(`${code(event.request.target)} didn't take over before the run ended at ${at}`)
    case "InputGiven":
      return paragraph(`${who(event)} was told by mode ${code(event.mode)} at ${at}:`) + write.input(event.input)
    case "ToolInvoked":
      return paragraph(`${called(event)} was invoked by hand at ${at}`)
    case "ModeFailed":
      return paragraph(`${who(event)}: ${modeLine(event, code)} at ${at}`) + write.text(event.message)
    case "ModeEntering":
    case "ModeEntered":
    case "ModeExiting":
    case "ModeExited":
    case "ModeTransitionRequested":
    case "StateAdjusted":
      return paragraph(`${who(event)} ${modeLine(event, code)} at ${at}`)
    case "StepCompleted":
      return paragraph(`Step ${event.step + 1} of ${who(event)} ended at ${at}`)
    case "RunCompleted":
      return heading(event, 2, `${stopped(event.state)}: ${who(event)}`) + remains(event.state)
    case "RunInterrupted":
      return heading(event, 2, `Interrupted: ${who(event)}`) + remains(event.state)
    case "RunFailed":
      return heading(event, 2, `Failed: ${who(event)}, ${code(event.error.tag)}`) + write.text(event.error.message) +
        remains(event.state)
  }
}

/**
 * Gives events as a Markdown log: a section for each step, those of called agents below their callers'.
 *
 * The events may be of several runs, of a run that isn't over, or read back from where they were stored.
 *
 * **Gotchas**
 *
 * A log doesn't tell runs of one agent at the same time apart: give each its own.
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
  let markdown = ""
  for (const event of events) markdown += fragment(event, options)
  return markdown
}
