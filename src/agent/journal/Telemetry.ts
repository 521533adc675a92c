/**
 * Spans of runs and calls, with OpenTelemetry's names for generative AI.
 *
 * A run is a span `invoke_agent <name>`, a call a span `execute_tool <name>`, entering and leaving a mode `enter_mode <name>` and
 * `exit_mode <name>`, making a summary `summarize_conversation <name>`. A request to a model is `chat <model>` below the run, or has the
 * name that `effect/ai` gives it if that makes the span. Content is recorded only if `RecordContent` says so. Spans of a run, and of what is
 * done to a conversation outside of one, have the id of the conversation.
 *
 * Source of the names: OpenTelemetry semantic conventions 1.41 for generative AI, agent and framework spans. A test checks
 * that `docs/telemetry.md` lists exactly the names that are exported.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import * as AgentStatus from "../../domain/AgentStatus.ts"
import type { Settlement } from "../../domain/Happening.ts"
import type { AgentState, Call } from "../../domain/StateSchema.ts"
import type { TokenCount } from "../../domain/Usage.ts"
import type { Definition } from "../definition/AgentDefinition.ts"
import { atExit } from "./AtExit.ts"
import { fromCause } from "./Failure.ts"
import type { Journal } from "./Journal.ts"
import type { Loop } from "./Loop.ts"
import { type LastRequest, lastRequestOf, tellApart } from "./ModelRequest.ts"
import { messagesOf, offeredIn } from "./SpanContent.ts"
import { shownExit, SpanError } from "./SpanExit.ts"
import type { SpanRecorder } from "./SpanRecorder.ts"

const attribute = (span: Tracer.Span, name: string, value: unknown): void => {
  if (value !== undefined) span.attribute(name, value)
}

const noStack = (): undefined => undefined

/** Returns the services of an effect that runs in a span. */
export const inSpan = (span: Tracer.Span) => <R>(services: Context.Context<R>): Context.Context<R> => {
  const parent = Context.get(services, References.CurrentStackFrame)
  const below = Context.add(services, Tracer.ParentSpan, span)
  return Context.add(below, References.CurrentStackFrame, { name: span.name, stack: noStack, parent })
}

/** Does what `Effect.withParentSpan` does without a stack trace, in one change of the services instead of two. */
export const within = <A, E, R>(self: Effect.Effect<A, E, R>, span: Tracer.Span): Effect.Effect<A, E, R> =>
  Effect.updateContext(self, inSpan(span)<R>)

/** Wraps an effect in a span, to which `use` may add attributes. */
export const inOwnSpan = <A, E, R>(
  name: string,
  attributes: Readonly<Record<string, unknown>>,
  use: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.useSpan(name, { attributes }, (span) => within(use(span), span))

const conversationId = "gen_ai.conversation.id"

/**
 * The key beside the annotations of spans that holds the conversation id that a run, and not the program, has set. Annotations that a
 * program adds are spread with it, and spans don't have it: it is a symbol.
 */
const ownConversation = Symbol("troupe/agent/Telemetry/ownConversation")

/**
 * Returns the services of an effect whose spans have the conversation id: that of the session, or else of the run. A program's own
 * annotation takes precedence, and a run within another run has its own id only in a session.
 */
export const conversationOf =
  ({ conversation, session }: Pick<Journal, "conversation" | "session">) =>
  <R>(services: Context.Context<R>): Context.Context<R> => {
    if (conversation === undefined) return services
    const annotations: Readonly<Record<string | symbol, unknown>> = Context.get(
      services,
      References.TracerSpanAnnotations
    )
    const known = annotations[conversationId]
    if (known !== undefined && (session === undefined || known !== annotations[ownConversation])) return services
    return Context.add(services, References.TracerSpanAnnotations, {
      ...annotations,
      [conversationId]: conversation,
      [ownConversation]: conversation
    })
  }

/** Sets the conversation id on the spans of an effect. */
export const inConversation = <A, E, R>(
  journal: Pick<Journal, "conversation" | "session">,
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  journal.conversation === undefined ? self : Effect.updateContext(self, conversationOf(journal)<R>)

/** The span of a run without spans: it keeps nothing, and no service changes. */
const noSpan: Tracer.Span = {
  _tag: "Span",
  name: "",
  spanId: "noop",
  traceId: "noop",
  parent: Option.none(),
  annotations: Context.empty(),
  status: { _tag: "Ended", startTime: 0n, endTime: 0n, exit: Exit.void },
  attributes: new Map(),
  links: [],
  sampled: false,
  kind: "internal",
  end: () => {},
  attribute: () => {},
  event: () => {},
  addLinks: () => {}
}

/** Wraps an effect in a span, if spans are recorded. */
const spanned = <A, E, R>(
  { journal: { hasSpans } }: Loop,
  name: string,
  attributes: () => Record<string, unknown>,
  use: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => hasSpans ? inOwnSpan(name, attributes(), use) : use(noSpan)

/** Adds services to those of an effect. */
type AddServices = <R>(services: Context.Context<R>) => Context.Context<R>

/**
 * Opens the span of a run, if spans are recorded; `use` adds the last attributes by `endRun`. What `use` returns runs in the span where it
 * calls `addSpan`: a run changes its services anyway, so it changes them once.
 */
export const runSpan = <A, E, R>(
  { journal: { hasSpans } }: Loop,
  inControl: Definition,
  use: (span: Tracer.Span, addSpan: AddServices) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  hasSpans
    ? Effect.useSpan(
      `invoke_agent ${inControl.name}`,
      { attributes: runAttributes(inControl) },
      (span) => use(span, inSpan(span))
    )
    : use(noSpan, identity)

/** Wraps the time in which an agent that took over is in control in a span below the run's. Without spans it isn't called. */
export const handoffSpan = <A, E, R>(loop: Loop, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  inOwnSpan(
    `invoke_agent ${loop.definition.name}`,
    { ...runAttributes(loop.definition), ...handoffAttributes(loop) },
    (span) => {
      const { state: { run } } = loop
      const tellTogether = tellApart(loop)
      return atExit(self, (exit) => {
        endHandoff(span, loop, run, exit)
        tellTogether()
      })
    }
  )

type ModeOperation = "enter_mode" | "exit_mode"

/** The attributes of the span of entering or leaving a mode. */
const modeAttributes = ({ definition }: Loop, operation: ModeOperation, mode: string): Record<string, string> => ({
  ...operationAttributes(operation, definition),
  "troupe.mode.name": mode
})

/** Begins the span of entering or leaving a mode, if spans are recorded. */
export const beginMode = (
  loop: Loop,
  recorder: SpanRecorder,
  operation: ModeOperation,
  mode: string
): Tracer.Span | undefined =>
  recorder.begin(`${operation} ${mode}`, modeAttributes(loop, operation, mode), recorder.now)

/** Wraps the making of a summary in a span. */
export const summarySpan = <A, E, R>(
  loop: Loop,
  turns: number,
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const operation = "summarize_conversation"
  const { definition } = loop
  const attributes = () => ({ ...operationAttributes(operation, definition), "troupe.summary.turns": turns })
  return spanned(
    loop,
    `${operation} ${definition.name}`,
    attributes,
    (span) => atExit(self, (exit) => endFailed(span, loop, exit))
  )
}

const handoffAttributes = ({ journal, state: { handoff } }: Loop): Record<string, unknown> => ({
  ...(handoff === undefined ? undefined : { "troupe.handoff.from": handoff.from }),
  ...(journal.recordsContent && handoff?.reason !== undefined ? { "troupe.handoff.reason": handoff.reason } : undefined)
})

/** The attributes that the spans of all operations of an agent have. */
const operationAttributes = (operation: string, { name }: Definition): Record<string, string> => ({
  "gen_ai.operation.name": operation,
  "gen_ai.agent.name": name
})

const runAttributes = (definition: Definition): Record<string, unknown> => {
  const attributes = operationAttributes("invoke_agent", definition)
  if (definition.description !== undefined) attributes["gen_ai.agent.description"] = definition.description
  return attributes
}

/** Ends a span. A later end of the span is ignored, so code inside the span may still handle the failure that ended it. */
const endSpan = (span: Tracer.Span, { journal }: Loop, exit: Exit.Exit<unknown, unknown>): void => {
  if (span.status._tag === "Ended") return
  const isTimed = span.status.startTime !== 0n
  span.end(isTimed ? journal.clock.currentTimeNanosUnsafe() : 0n, exit)
}

/** Ends a span with an error. */
const failSpan = (span: Tracer.Span, loop: Loop, tag: string, message: string): void => {
  attribute(span, "error.type", tag)
  endSpan(span, loop, Exit.fail(new SpanError(tag, loop.journal.recordsContent ? message : tag)))
}

/** Ends the span of what failed, before anything else ends it. */
export const endFailed = (span: Tracer.Span, loop: Loop, exit: Exit.Exit<unknown, unknown>): void => {
  if (Exit.isFailure(exit)) endSpan(span, loop, shownExit(span, exit, loop.journal.recordsContent))
}

type Run = AgentState["run"]

/** Returns the tokens that were used since a point in the run, if all of them were reported. */
const since = (before: TokenCount | undefined, after: TokenCount): number | undefined =>
  after.unreported === (before?.unreported ?? 0) ? after.known - (before?.known ?? 0) : undefined

/** Sets the attributes of the last request in a span: the model, if known, and its response. */
const attributeModel = (span: Tracer.Span, { outcome, request: { names: { model, provider } } }: LastRequest): void => {
  attribute(span, "gen_ai.provider.name", provider)
  attribute(span, "gen_ai.request.model", model)
  attribute(span, "gen_ai.response.model", outcome?.model)
  if (outcome?.finishReason !== undefined) span.attribute("gen_ai.response.finish_reasons", [outcome.finishReason])
}

/** Sets the content of a span, if content is recorded. */
const attributeContent = (span: Tracer.Span, loop: Loop, asked: LastRequest | undefined): void => {
  const { journal, state: { conversation } } = loop
  if (!journal.recordsContent || !span.sampled) return
  const sent = asked?.request.sent
  const content = { ...messagesOf(conversation), ...(sent === undefined ? undefined : offeredIn(sent)) }
  for (const [name, value] of Object.entries(content)) attribute(span, name, value)
}

/** Sets the attributes of a run, or of a part of it since a point: its requests, its usage and its status. */
const attributeRun = (span: Tracer.Span, loop: Loop, { run, status }: AgentState, before?: Run): void => {
  const asked = lastRequestOf(loop)
  if (asked !== undefined) attributeModel(span, asked)
  attributeContent(span, loop, asked)
  const { cached, input, output, reasoning } = run.usage
  attribute(span, "gen_ai.usage.input_tokens", since(before?.usage.input, input))
  attribute(span, "gen_ai.usage.output_tokens", since(before?.usage.output, output))
  attribute(span, "gen_ai.usage.cache_read.input_tokens", since(before?.usage.cached, cached))
  attribute(span, "gen_ai.usage.reasoning.output_tokens", since(before?.usage.reasoning, reasoning))
  attribute(span, "troupe.status", status._tag)
  attribute(span, "troupe.steps", run.steps - (before?.steps ?? 0))
}

/** Sets the last attributes of the span of an agent that took over. The run's own span continues around it. */
const endHandoff = (span: Tracer.Span, loop: Loop, before: Run, exit: Exit.Exit<unknown, unknown>): void => {
  const failure = Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)
    ? fromCause(loop, exit.cause)
    : undefined
  const { state } = loop
  attributeRun(span, loop, failure === undefined ? state : { ...state, status: AgentStatus.failed(failure) }, before)
  if (failure !== undefined) sayFailure(span, loop, failure, exit)
}

/** Sets the failure of a span. A defect ends it as a defect. */
const sayFailure = (
  span: Tracer.Span,
  loop: Loop,
  { message, tag }: AgentStatus.Failure,
  exit: Exit.Exit<unknown, unknown>
): void => tag === "Defect" ? endFailed(span, loop, exit) : failSpan(span, loop, tag, message)

/** Sets how the run ended in its span. */
export const endRun = (span: Tracer.Span, loop: Loop, exit: Exit.Exit<unknown, unknown>): void => {
  if (!loop.journal.hasSpans) return
  const { state } = loop
  attributeRun(span, loop, state)
  if (state.status._tag === "Failed") sayFailure(span, loop, state.status.error, exit)
}

/** Wraps a call in its span; `use` adds the last attributes by `endTool` or `endFailed`. */
export const toolSpan = <A, E, R>(
  loop: Loop,
  call: Call,
  tool: Tool.Any,
  use: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => spanned(loop, `execute_tool ${call.name}`, () => toolAttributes(loop, call, tool), use)

const toolAttributes = ({ definition }: Loop, call: Call, tool: Tool.Any): Record<string, unknown> => ({
  ...operationAttributes("execute_tool", definition),
  "gen_ai.tool.name": call.name,
  "gen_ai.tool.call.id": call.id,
  "gen_ai.tool.type": "function",
  ...(tool.description === undefined ? undefined : { "gen_ai.tool.description": tool.description })
})

/** Sets the outcome of a call in its span. */
export const endTool = (
  span: Tracer.Span,
  loop: Loop,
  call: Call,
  settlement: Pick<Settlement, "outcome" | "result"> | undefined
): void => {
  const { journal } = loop
  if (journal.recordsContent) {
    attribute(span, "gen_ai.tool.call.arguments", JSON.stringify(call.params))
    if (settlement !== undefined) attribute(span, "gen_ai.tool.call.result", JSON.stringify(settlement.result))
  }
  if (settlement === undefined || settlement.outcome === "Succeeded") return
  const { outcome, result } = settlement
  failSpan(span, loop, outcome, typeof result === "string" ? result : JSON.stringify(result))
}
