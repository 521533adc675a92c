/**
 * A run told step by step over the pure functions of a state, without a runtime, a model or a tool.
 *
 * 1. What happens is an event for `AgentState.reduce`; what is expected is a command of `AgentState.next`, a decision of an agent, or a
 *    state.
 * 2. A story fails if it ends while a command is unanswered: nothing may be left to ask, to run or to hand over. In a story of an agent or
 *    a group its decisions count too, and a failure must be expected.
 * 3. A story fails if an event doesn't fit, such as an answer that nobody asked for, or a result of a call that isn't open. The same holds
 *    for steps in a call that isn't open, and for what is expected of a called agent that hasn't begun.
 * 4. The error names the step that fails, and all steps.
 *
 * **Example** (A tool call, from the question to the answer)
 *
 * ```ts
 * import { Result } from "effect"
 * import { AgentState, AgentStatus, Conversation } from "troupe"
 * import { Story } from "troupe/testing"
 *
 * const told = Story.tell(
 *   AgentState.make("assistant"),
 *   Story.userSays("How warm is Paris?"),
 *   Story.expectCommand("AskModel"),
 *   Story.modelAnswers([Conversation.call("c1", "get_weather", { city: "Paris" })]),
 *   Story.expectCommand({ _tag: "RunCalls", callIds: ["c1"] }),
 *   Story.toolAnswers("c1", { celsius: 22 }),
 *   Story.expectState({ status: AgentStatus.inProgress, steps: 1 }),
 *   Story.modelAnswers("It is 22 °C in Paris.")
 * )
 *
 * Result.map(told, AgentState.text) // => Result.succeed("It is 22 °C in Paris.")
 *
 * const unanswered = Story.tell(AgentState.make("assistant"), Story.userSays("Anybody?"))
 * Result.mapError(unanswered, ({ issue, step }) => ({ step, issue }))
 * // => Result.fail({ step: 1, issue: "the story ends, and AskModel is unanswered" })
 * ```
 *
 * **Example** (A limit of an agent)
 *
 * ```ts
 * import { Agent, StopWhen } from "troupe"
 * import { Story } from "troupe/testing"
 *
 * const state = Story.tellOrThrow(
 *   Agent.make("assistant", { stopWhen: StopWhen.duration("1 minute") }),
 *   Story.userSays("Hello"),
 *   Story.timePasses("2 minutes"),
 *   Story.expectDecision({ _tag: "Fail", tag: "BudgetExceeded" })
 * )
 *
 * state.status._tag // => "Failed"
 * ```
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { rosterOf } from "../agent/definition/Roster.ts"
import { Fail } from "../agent/rules/Decision.ts"
import { findInputIssue } from "../agent/rules/InputIssue.ts"
import type { AgentEvent, RunStarted } from "../domain/AgentEvent.ts"
import * as AgentState from "../domain/AgentState.ts"
import { openCalls } from "../domain/Conversation.ts"
import type { Happening } from "../domain/Happening.ts"
import * as Underway from "../domain/Underway.ts"
import { misfit } from "./laws/Moves.ts"
import { expectCommandOf, expectStateOf } from "./story/Expecting.ts"
import { guardrailSays, looksAt } from "./story/GuardrailVerdict.ts"
import { type Problem, problem, ProblemReason } from "./story/Problem.ts"
import { commandTitle, type Decision, decisionTitle, type ExpectedDecision, type Step } from "./story/Step.ts"
import { addressed, type Calls, carriedOut, decisionOf, knownAt, take, type Telling, toShow } from "./story/Telling.ts"

export * from "./story/Step.ts"

/**
 * Error for a story that doesn't hold.
 *
 * `step` is the number of the step that fails, from 1: the last one if something is unanswered at the end, 0 if there are no steps. A step
 * inside `inCall` has the number of its `inCall`.
 *
 * `reason` is the kind of failure, `issue` says it in words, and `steps` are the titles of all steps.
 *
 * @category errors
 * @since 0.1.0
 */
export class StoryFailed extends Schema.TaggedError<StoryFailed>("troupe/testing/Story/StoryFailed")("StoryFailed", {
  step: Schema.Int,
  reason: ProblemReason,
  issue: Schema.String,
  steps: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const lines = this.steps.map((title, index) => `${index + 1 === this.step ? ">" : " "} ${index + 1}. ${title}`)
    return [`The story fails at step ${this.step}: ${this.issue}`, ...lines].join("\n")
  }
}

type Runnable = Parameters<typeof rosterOf>[0]

/** An agent or a group that continues with a state. */
interface Continued {
  readonly agent: Runnable
  readonly state: AgentState.AgentState
}

/**
 * What a story begins with: a state; an agent or a group, in a new conversation; or `{ agent, state }`, an agent or a group that continues
 * with a state. Only stories of an agent or a group have decisions and guardrails.
 *
 * @category models
 * @since 0.1.0
 */
export type Given = AgentState.AgentState | Runnable | Continued

/** Applies an event, or fails if it doesn't fit, such as the answer of a model that wasn't asked. */
const happen = (self: Telling, event: AgentEvent, asked: Decision | undefined): Result.Result<Telling, Problem> => {
  const at = AgentState.at(self.state, event.calls)
  const command = at === undefined ? undefined : AgentState.next(at)
  if (event._tag === "ModelResponded" && (asked ?? command)?._tag !== "AskModel") {
    const needed = asked !== undefined
      ? `the agent decides on ${decisionTitle(asked)}`
      : command === undefined
      ? "the agent wasn't called"
      : `the state needs ${commandTitle(command)}`
    return problem("EventUnasked", `the model answers, and nobody asked it: ${needed}`)
  }
  const after = take(self, event)
  const issue = misfit(self.state, event, after.state)
  return issue === undefined ? Result.succeed(after) : problem("EventIgnored", issue)
}

/** Applies the arriving event, once all guardrails have checked it. */
const release = (self: Telling): Result.Result<Telling, Problem> => {
  const { arriving } = self
  return arriving === undefined
    ? Result.succeed(self)
    : happen({ ...self, arriving: undefined }, arriving.event, undefined)
}

/** Carries out decisions, as long as they need no answer from outside. A failure isn't carried out: the story has to expect it. */
const goOn = (self: Telling, calls: Calls): Telling => {
  const known = knownAt(self, calls)
  if (known === undefined || self.arriving !== undefined) return self
  const decision = decisionOf(self, known, calls)
  const events = toShow(decision)._tag === "Fail" ? undefined : carriedOut(known, decision)
  return events === undefined ? self : goOn(tellAll(self, calls, events), calls)
}

const tellAll = (self: Telling, calls: Calls, happenings: ReadonlyArray<Happening>): Telling =>
  happenings.reduce<Telling>((self, happening) => take(self, addressed(self, calls, happening)), self)

const decisionAt = (self: Telling, calls: Calls): Decision | undefined => {
  const known = knownAt(self, calls)
  return known === undefined ? undefined : toShow(decisionOf(self, known, calls))
}

const isExpected = (decision: Decision, expected: ExpectedDecision): boolean =>
  typeof expected === "string"
    ? decision._tag === expected
    : Object.entries(expected).every(([field, value]) => Equal.equals(Reflect.get(decision, field), value))

const expectDecisionOf = (self: Telling, calls: Calls, expected: ExpectedDecision): Result.Result<Telling, Problem> => {
  const known = knownAt(self, calls)
  if (known === undefined) return problem("DecisionDiffers", "only an agent decides: tell the story of one")
  const decision = decisionOf(self, known, calls)
  const shown = toShow(decision)
  return isExpected(shown, expected)
    ? Result.succeed(tellAll(self, calls, carriedOut(known, decision) ?? []))
    : problem("DecisionDiffers", `the agent decides on ${decisionTitle(shown)}`)
}

const happens = (
  self: Telling,
  calls: Calls,
  step: Extract<Step, { readonly _tag: "Happens" }>,
  isLookedAt: (event: AgentEvent) => boolean
): Result.Result<Telling, Problem> => {
  const state = AgentState.at(self.state, calls) ?? self.state
  const event = addressed(self, calls, step.event(state))
  const isNew = event._tag === "RunStarted" && state.conversation.turns.length === 0
  const asked = step.isGiven === true || isNew ? undefined : decisionAt(self, calls)
  if (asked?._tag === "Fail") return problem("DecisionUnanswered", `the run ends before that: ${decisionTitle(asked)}`)
  const rejected = event._tag === "RunStarted" && step.isGiven !== true ? rejection(self, calls, event) : undefined
  if (rejected !== undefined) return Result.succeed(rejected)
  const after = happen(self, event, asked)
  return isLookedAt(event) ? Result.map(after, () => ({ ...self, arriving: { event, calls } })) : after
}

/** If the input of a run is invalid, the run begins without it, and fails. */
const rejection = (self: Telling, calls: Calls, { input = [], ...event }: RunStarted): Telling | undefined => {
  const definition = knownAt(self, calls)?.definition
  const issue = definition === undefined ? undefined : findInputIssue(definition, input)
  return issue === undefined ? undefined : { ...take(self, event), failed: { calls, decision: new Fail(issue) } }
}

/** Returns the state of the agent that calls lead to, or fails if the last of them has none, or none any more. */
const stateIn = (self: Telling, calls: Calls): Result.Result<AgentState.AgentState, Problem> => {
  const state = AgentState.at(self.state, calls)
  return state === undefined
    ? problem("NotCalled", `no agent is at work in call "${calls.at(-1)}"`)
    : Result.succeed(state)
}

/** Fails if the agent that calls lead to has no open call of an id. */
const openIn = (self: Telling, calls: Calls, callId: string): Result.Result<void, Problem> => {
  const state = AgentState.at(self.state, calls)
  return state !== undefined && openCalls(state.conversation).some(({ id }) => id === callId)
    ? Result.void
    : problem("NotCalled", `no open call has the id "${callId}"`)
}

const takeStep = (
  self: Telling,
  calls: Calls,
  step: Step,
  following: Step | undefined
): Result.Result<Telling, Problem> => {
  switch (step._tag) {
    case "Happens":
      return happens(
        self,
        calls,
        step,
        (event) => self.roster !== undefined && following?._tag === "Says" && looksAt(following.stage, event)
      )
    case "Changes":
      return Result.mapBoth(step.change(self.state), {
        onFailure: (error): Problem => ({ reason: "ChangeRefused", issue: error.message }),
        onSuccess: (state) => ({ ...self, state })
      })
    case "Says":
      return guardrailSays(self, calls, step, knownAt(self, calls))
    case "TimePasses":
      return Result.succeed({ ...self, now: self.now + step.millis })
    case "InCall":
      return Result.flatMap(
        openIn(self, calls, step.callId),
        () => takeAll(self, [...calls, step.callId], step.steps, () => undefined)
      )
    case "ExpectsDecision":
      return Result.flatMap(stateIn(self, calls), () => expectDecisionOf(self, calls, step.expected))
    case "ExpectsCommand":
      return Result.map(
        Result.flatMap(stateIn(self, calls), (state) => expectCommandOf(state, step.command)),
        () => self
      )
    case "ExpectsState":
      return Result.map(
        Result.flatMap(stateIn(self, calls), (state) => expectStateOf(state, step.expected)),
        () => self
      )
  }
}

/**
 * Takes steps one after the other. Before each step, decisions that need no answer from outside are carried out, except before an expected
 * decision, which checks them, and before a given event.
 */
const takeAll = (
  given: Telling,
  calls: Calls,
  steps: ReadonlyArray<Step>,
  onStep: (index: number) => void
): Result.Result<Telling, Problem> => {
  let self = given
  for (const [index, step] of steps.entries()) {
    onStep(index)
    const isGiven = step._tag === "ExpectsDecision" || (step._tag === "Happens" && step.isGiven === true)
    const ready = isGiven ? self : step._tag === "Says" ? withWish(self, calls, step) : goOn(self, calls)
    const following = steps[index + 1]
    const taken = takeStep(ready, calls, step, following)
    const isSeen = following?._tag === "Says" && Result.isSuccess(taken) && taken.success.arriving !== undefined &&
      looksAt(following.stage, taken.success.arriving.event)
    const after = isSeen ? taken : Result.flatMap(taken, release)
    if (Result.isFailure(after)) return after
    self = after.success
  }
  return Result.succeed(self)
}

/** Makes the handoff that a policy requests the arriving event, if the step is a guardrail's verdict on handoffs. */
const withWish = (given: Telling, calls: Calls, { stage }: Extract<Step, { readonly _tag: "Says" }>): Telling => {
  if (given.arriving !== undefined) return given
  const self = goOn(given, calls)
  const decision = stage === "handoff" ? decisionAt(self, calls) : undefined
  return decision?._tag === "RequestHandoff"
    ? {
      ...self,
      arriving: { calls, event: addressed(self, calls, { _tag: "HandoffRequested", request: decision.request }) }
    }
    : self
}

/**
 * Returns the last state, or what is left to do. Nothing is left if the run waits for an approval or a result, was stopped by a limit of an
 * agent around it, has ended or was interrupted.
 */
const finish = (given: Telling): Result.Result<AgentState.AgentState, Problem> => {
  const self = goOn(given, [])
  const { isInterrupted, state } = self
  const decision = decisionAt(self, [])
  const command = AgentState.next(state)
  if (decision === undefined) {
    return isInterrupted || command._tag === "Await" || command._tag === "Stop"
      ? Result.succeed(state)
      : problem("CommandUnanswered", `the story ends, and ${commandTitle(command)} is unanswered`)
  }
  return isInterrupted || decision._tag === "Finish" || decision._tag === "Await" || decision._tag === "Suspend"
    ? Result.succeed(state)
    : problem("DecisionUnanswered", `the story ends, and ${decisionTitle(decision)} is unanswered`)
}

const begin = (given: Given): Telling => {
  const from = "conversation" in given
    ? { roster: undefined, state: given }
    : isContinued(given)
    ? { roster: rosterOf(given.agent), state: given.state }
    : { roster: rosterOf(given), state: undefined }
  return {
    roster: from.roster,
    state: from.state ?? AgentState.make(from.roster?.first.name ?? ""),
    now: 0,
    sequence: 0,
    underway: Underway.nothing,
    isInterrupted: false
  }
}

const isContinued = (given: Runnable | Continued): given is Continued => "agent" in given

/**
 * Tells a story from a state, or of an agent or a group, and returns the last state. Fails with `StoryFailed` if the story doesn't hold.
 *
 * @category running
 * @since 0.1.0
 */
export const tell = (
  given: Given,
  ...steps: ReadonlyArray<Step>
): Result.Result<AgentState.AgentState, StoryFailed> => {
  let at = 0
  const told = Result.flatMap(
    takeAll(begin(given), [], steps, (index) => {
      at = index + 1
    }),
    finish
  )
  return Result.mapError(
    told,
    (failure) => new StoryFailed({ step: at, steps: steps.map(({ title }) => title), ...failure })
  )
}

/**
 * Tells a story as `tell` does, and returns the last state. Throws `StoryFailed` if the story doesn't hold.
 *
 * @category running
 * @since 0.1.0
 */
export const tellOrThrow = (given: Given, ...steps: ReadonlyArray<Step>): AgentState.AgentState =>
  Result.getOrThrowWith(tell(given, ...steps), (error) => error)
