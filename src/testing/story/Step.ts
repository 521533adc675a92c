/**
 * The steps of a story: what happens, and what is expected of the state then.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { Verdict } from "../../agent/definition/guardrail/Verdict.ts"
import type { Decision as Decided } from "../../agent/rules/Decision.ts"
import type { Reason } from "../../domain/AgentError.ts"
import type { AgentEvent, ToolCallSettled } from "../../domain/AgentEvent.ts"
import * as AgentState from "../../domain/AgentState.ts"
import * as Conversation from "../../domain/Conversation.ts"
import type { Stage } from "../../domain/GuardrailStage.ts"
import type * as Part from "../../domain/Part.ts"
import { fromInput } from "../../domain/PartCopy.ts"

interface Envelope extends Pick<AgentEvent, "run" | "path" | "calls" | "step" | "sequence" | "at"> {}

type WithoutEnvelope<E> = E extends AgentEvent ? Omit<E, keyof Envelope> & Partial<Envelope> : never

/**
 * An event of a story. The fields that a story can fill in may be left out.
 *
 * By default, `path` and `calls` are those of the agent that the story is about, or of the called agent in `inCall`, and `step` is the
 * `run.iteration` of that agent. `run` is `""`, `at` is the time that has passed in the story, and `sequence` is counted.
 *
 * @category models
 * @since 0.1.0
 */
export type EventInput = WithoutEnvelope<AgentEvent>

type Failing = Extract<Decided, { readonly _tag: "Fail" | "FailByTool" }>

/**
 * What an agent does next, as its run decides. `Fail` has the `tag` of the reason or of a fatal tool's error, and its `message`.
 *
 * @category models
 * @since 0.1.0
 */
export type Decision =
  | Exclude<Decided, Failing>
  | { readonly _tag: "Fail"; readonly tag: Reason["_tag"] | (string & {}); readonly message: string }

type Some<D> = D extends Decision ? Pick<D, "_tag"> & Partial<D> : never

/** What is expected of a decision: its tag, or its tag with some of its other fields. */
export type ExpectedDecision = Decision["_tag"] | Some<Decision>

/** An event that happens, made from the state at that point. If `isGiven` is set, it happens even if the agent decided otherwise. */
interface Happens {
  readonly _tag: "Happens"
  readonly title: string
  readonly isGiven?: true
  readonly event: (state: AgentState.AgentState) => EventInput
}

/** A change that somebody makes by hand, or why it can't be made. */
interface Changes {
  readonly _tag: "Changes"
  readonly title: string
  readonly change: (state: AgentState.AgentState) => Result.Result<AgentState.AgentState, Error>
}

/** The verdict of a guardrail at a stage. */
interface Says {
  readonly _tag: "Says"
  readonly title: string
  readonly stage: Stage
  readonly verdict: Verdict<unknown>
  readonly options: GuardrailOptions
}

/** Time that goes by. */
interface TimePasses {
  readonly _tag: "TimePasses"
  readonly title: string
  readonly millis: number
}

/** Steps of the agent that answers a call. */
interface InCall {
  readonly _tag: "InCall"
  readonly title: string
  readonly callId: string
  readonly steps: ReadonlyArray<Step>
}

/** What the agent does next. */
interface ExpectsDecision {
  readonly _tag: "ExpectsDecision"
  readonly title: string
  readonly expected: ExpectedDecision
}

/** What the state needs next. */
interface ExpectsCommand {
  readonly _tag: "ExpectsCommand"
  readonly title: string
  readonly command: AgentState.Command | AgentState.Command["_tag"]
}

/** What holds of the state: some of its fields, or anything that a function says. */
interface ExpectsState {
  readonly _tag: "ExpectsState"
  readonly title: string
  readonly expected: Partial<AgentState.AgentState> | ((state: AgentState.AgentState) => unknown)
}

/**
 * A step of a story.
 *
 * @category models
 * @since 0.1.0
 */
export type Step =
  | Happens
  | Changes
  | Says
  | TimePasses
  | InCall
  | ExpectsDecision
  | ExpectsCommand
  | ExpectsState

/**
 * Lets an event happen, even if the agent decided otherwise. For an event of a called agent, set its `path` and `calls`, or use `inCall`.
 * The story fails if the event doesn't fit the state.
 *
 * @category steps
 * @since 0.1.0
 */
export const event = (event: EventInput): Step => ({
  _tag: "Happens",
  title: event._tag,
  isGiven: true,
  event: () => event
})

const titleOf = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 59)}…` : text)

/**
 * Lets a user say something, which begins a run. If the agent can't accept the input, the run fails: then expect the decision `Fail`.
 *
 * @category steps
 * @since 0.1.0
 */
export const userSays = (input: string | ReadonlyArray<Part.UserPart>): Step => ({
  _tag: "Happens",
  title: `the user says ${typeof input === "string" ? titleOf(input) : `${input.length} parts`}`,
  event: () => ({ _tag: "RunStarted", input: fromInput(input) })
})

/**
 * Lets the model answer, with a text or with parts, which may be calls. The story fails if the model wasn't asked.
 *
 * By default `usage` is unknown, and the `finishReason` is `"tool-calls"` if there are calls, else `"stop"`.
 *
 * @category steps
 * @since 0.1.0
 */
export const modelAnswers = (
  answer: string | ReadonlyArray<Conversation.AssistantPart>,
  options?: Parameters<typeof Conversation.assistant>[2]
): Step => {
  const { finishReason, parts, usage } = Conversation.assistant("", answer, options)
  const calls = Conversation.callsOf({ _tag: "Assistant", agent: "", parts, usage, finishReason })
  const said = typeof answer === "string" ? [titleOf(answer)] : calls.map(({ id, name }) => `call "${id}" of ${name}`)
  return {
    _tag: "Happens",
    title: `the model answers ${said.length === 0 ? `${parts.length} parts` : said.join(", ")}`,
    event: () => ({ _tag: "ModelResponded", parts, usage, finishReason })
  }
}

/**
 * Lets a tool answer an open call of the agent in control. The story fails if there is no such call.
 *
 * The `outcome` is `"Succeeded"` by default. With `fatal` the tool fails with an error that ends the run, and the `outcome` is `"Failed"`
 * by default.
 *
 * @category steps
 * @since 0.1.0
 */
export const toolAnswers = (
  callId: string,
  result: Conversation.Call["params"],
  options?: { readonly outcome?: Conversation.Outcome; readonly fatal?: ToolCallSettled["fatal"] }
): Step => ({
  _tag: "Happens",
  title: `the tool answers "${callId}"`,
  event: ({ conversation }) => ({
    _tag: "ToolCallSettled",
    callId,
    name: Conversation.openCalls(conversation).find(({ id }) => id === callId)?.name ?? "",
    outcome: options?.outcome ?? (options?.fatal === undefined ? "Succeeded" : "Failed"),
    result,
    ...(options?.fatal === undefined ? undefined : { fatal: options.fatal }),
    duration: 0
  })
})

/**
 * Lets a call wait for approval. It doesn't check whether the call's tool needs one: only a run does.
 *
 * @category steps
 * @since 0.1.0
 */
export const approvalIsRequested = (callId: string): Step => ({
  _tag: "Happens",
  title: `approval of "${callId}" is requested`,
  event: ({ conversation }) => {
    const call = Conversation.openCalls(conversation).find(({ id }) => id === callId)
    return { _tag: "ApprovalRequested", callId, name: call?.name ?? "", params: call?.params ?? null }
  }
})

/**
 * Lets somebody approve a call, with `params` instead of the model's parameters if you set them. The story fails if the call doesn't await
 * approval.
 *
 * @category steps
 * @since 0.1.0
 */
export const approve = (callId: string, options?: AgentState.ApproveOptions): Step => ({
  _tag: "Changes",
  title: `"${callId}" is approved${options?.params === undefined ? "" : ` with ${JSON.stringify(options.params)}`}`,
  change: (state) => AgentState.approve(state, callId, options)
})

/**
 * Lets somebody deny a call. The model reads the `reason`. The story fails if the call doesn't await approval.
 *
 * @category steps
 * @since 0.1.0
 */
export const deny = (callId: string, reason: string): Step => ({
  _tag: "Changes",
  title: `"${callId}" is denied`,
  change: (state) => AgentState.deny(state, callId, reason)
})

/**
 * Lets the handler of a call end without a result, which comes later.
 *
 * @category steps
 * @since 0.1.0
 */
export const resultComesLater = (callId: string): Step => ({
  _tag: "Happens",
  title: `the result of "${callId}" comes later`,
  event: ({ conversation }) => {
    const call = Conversation.openCalls(conversation).find(({ id }) => id === callId)
    return { _tag: "ResultAwaited", callId, name: call?.name ?? "", params: call?.params ?? null }
  }
})

/**
 * Lets somebody give a call the result that it awaits. Then `toolAnswers` settles the call. The story fails if the call awaits no result.
 *
 * @category steps
 * @since 0.1.0
 */
export const giveResult = (callId: string, result: Schema.Json): Step => ({
  _tag: "Changes",
  title: `"${callId}" is given its result`,
  change: (state) => AgentState.giveResult(state, callId, result)
})

/**
 * Lets somebody say that a call that awaits its result failed. Then `toolAnswers` settles the call. The story fails if the call awaits no
 * result.
 *
 * @category steps
 * @since 0.1.0
 */
export const giveFailure = (callId: string, reason: string): Step => ({
  _tag: "Changes",
  title: `"${callId}" is given a failure`,
  change: (state) => AgentState.giveFailure(state, callId, reason)
})

/**
 * Lets the target of the requested handoff take over. The whole conversation crosses, and entered modes stay entered. The story fails if no
 * handoff is requested.
 *
 * @category steps
 * @since 0.1.0
 */
export const targetTakesOver = (): Step => ({
  _tag: "Happens",
  title: "the target takes over",
  event: ({ status }) => ({
    _tag: "HandoffCompleted",
    request: status._tag === "HandoffRequested" ? status.request : { target: "nobody" }
  })
})

/**
 * Options of `guardrailSays`: `guardrail` is the name of the guardrail, by default the first of its stage. `callId` is the call that a
 * guardrail on `toolCall` checks, by default the first open one.
 */
export interface GuardrailOptions {
  readonly guardrail?: string
  readonly callId?: string
}

/**
 * Lets a guardrail of the agent give its verdict, and carries out what follows from it.
 *
 * At `output`, `toolResult` and `handoff` it judges the answer, the result or the request in the step before; at `handoff` also the handoff
 * that a policy decides on. At `input` it judges what the user said, and at `toolCall` an open call. The story fails if the agent has no
 * such guardrail, or if there is nothing to judge.
 *
 * @category steps
 * @since 0.1.0
 */
export const guardrailSays = (stage: Stage, verdict: Verdict<unknown>, options: GuardrailOptions = {}): Step => ({
  _tag: "Says",
  title: `a guardrail on ${stage} says ${verdict._tag}`,
  stage,
  verdict,
  options
})

/**
 * Lets time pass, for limits such as `StopWhen.duration`. A number is in milliseconds.
 *
 * @category steps
 * @since 0.1.0
 */
export const timePasses = (duration: Duration.Input): Step => {
  const millis = Duration.toMillis(duration)
  return { _tag: "TimePasses", title: `${millis} ms pass`, millis }
}

/**
 * Lets steps happen in the called agent that answers a call, which must be open. In them, `userSays` is what its caller asks it.
 *
 * @category steps
 * @since 0.1.0
 */
export const inCall = (callId: string, ...steps: ReadonlyArray<Step>): Step => ({
  _tag: "InCall",
  title: `in call "${callId}"`,
  callId,
  steps
})

/** Returns the title that stories give a command: its tag, with the calls or the agent in it. */
export const commandTitle = (command: AgentState.Command | AgentState.Command["_tag"]): string => {
  if (typeof command === "string") return command
  switch (command._tag) {
    case "RunCalls":
      return `RunCalls of ${command.callIds.map((id) => `"${id}"`).join(", ")}`
    case "HandOver":
      return `HandOver to "${command.request.target}"`
    case "FailRun":
      return `FailRun by "${command.fatal.callId}"`
    case "AskModel":
    case "Await":
    case "Stop":
      return command._tag
  }
}

/** Returns the title that stories give a decision: its tag, with its fields. */
export const decisionTitle = (decision: ExpectedDecision): string => {
  if (typeof decision === "string") return decision
  const { _tag, ...fields } = decision
  const said = Object.values(fields).map((field) => typeof field === "string" ? field : JSON.stringify(field))
  // The text of `GiveLastAnswer` begins with its `limit`, which is left out.
  const shown = said.filter((field) => !said.some((other) => other.length > field.length && other.includes(field)))
  return shown.length === 0 ? _tag : `${_tag} (${shown.join(": ")})`
}

/**
 * Expects what the agent does next. The story fails if the agent decides otherwise, or if it isn't a story of an agent or a group.
 *
 * A decision that needs no model, tool or person is carried out: to send an answer back, to give calls up, to let the model give its last
 * answer, to request a handoff that no guardrail checks, to end or to fail.
 *
 * @category expectations
 * @since 0.1.0
 */
export const expectDecision = (expected: ExpectedDecision): Step => ({
  _tag: "ExpectsDecision",
  title: `expect ${decisionTitle(expected)}`,
  expected
})

/**
 * Expects what the state needs next: a command that is equal to this one, or any command with this tag.
 *
 * @category expectations
 * @since 0.1.0
 */
export const expectCommand = (command: AgentState.Command | AgentState.Command["_tag"]): Step => ({
  _tag: "ExpectsCommand",
  title: `expect ${commandTitle(command)}`,
  command
})

/**
 * Expects something of the state: fields that are equal, or a function of the state that neither returns `false` nor throws. A function
 * that returns a Promise or an Effect fails the story, because nobody would await or run it.
 *
 * @category expectations
 * @since 0.1.0
 */
export const expectState = (
  expected: Partial<AgentState.AgentState> | ((state: AgentState.AgentState) => unknown)
): Step => ({
  _tag: "ExpectsState",
  title: typeof expected === "function" ? "expect of the state" : `expect ${Object.keys(expected).join(", ")}`,
  expected
})
