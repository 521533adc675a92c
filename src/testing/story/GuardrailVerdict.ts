/**
 * Applies a guardrail's verdict to a story, by the rules of a run.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { Definition } from "../../agent/definition/AgentDefinition.ts"
import type { Block, Replace, Verdict } from "../../agent/definition/guardrail/Verdict.ts"
import type { Fail } from "../../agent/rules/Decision.ts"
import * as GuardedAnswer from "../../agent/rules/GuardedAnswer.ts"
import type { Known } from "../../agent/rules/Known.ts"
import * as Consequences from "../../agent/rules/VerdictConsequences.ts"
import type { AgentEvent, GuardrailSettled, ModelResponded } from "../../domain/AgentEvent.ts"
import { type HandoffRequest, isTerminal } from "../../domain/AgentStatus.ts"
import { openCalls, textIn } from "../../domain/Conversation.ts"
import type { UserPart } from "../../domain/Part.ts"
import { fromInput } from "../../domain/PartCopy.ts"
import { reduceAt } from "../../domain/Reducer.ts"
import { withText } from "../../domain/Replacement.ts"
import type { Call } from "../../domain/StateSchema.ts"
import { type Problem, problem } from "./Problem.ts"
import type { EventInput, Step } from "./Step.ts"
import { addressed, type Calls, decisionOf, take, type Telling } from "./Telling.ts"

type Says = Extract<Step, { readonly _tag: "Says" }>

/** A verdict, the guardrail that returns it, and what it judges. */
interface Saying {
  readonly at: Consequences.LookedAt
  readonly guardrail: string
  readonly verdict: Verdict<unknown>
  readonly call: Call | undefined
  readonly replaced?: GuardrailSettled["replaced"]
}

/** The events that guardrails of a stage look at before the state holds them. */
export const looksAt = (stage: Says["stage"], { _tag }: AgentEvent): boolean =>
  stage === "output"
    ? _tag === "ModelResponded"
    : stage === "toolResult"
    ? _tag === "ToolCallSettled"
    : stage === "handoff" && _tag === "HandoffRequested"

const unasked = (issue: string) => problem("EventUnasked", issue)

/** Adds the events of a guardrail that judged something. */
const settled = (
  self: Telling,
  calls: Calls,
  { stage }: Says,
  { call, guardrail, replaced, verdict }: Saying
): Telling => {
  const what = { guardrail, stage, ...(call === undefined ? undefined : { callId: call.id }) }
  const started = addressed(self, calls, { _tag: "GuardrailStarted", ...what })
  const reason = verdict._tag === "Pass" ? undefined : verdict._tag === "Retry" ? verdict.feedback : verdict.reason
  const after = take(self, started)
  return take(
    after,
    addressed(after, calls, {
      _tag: "GuardrailSettled",
      ...what,
      started: started.sequence,
      verdict: verdict._tag,
      ...(reason === undefined ? undefined : { reason }),
      ...(replaced === undefined ? undefined : { replaced }),
      duration: 0
    })
  )
}

const failedWith = (self: Telling, calls: Calls, decision: Fail): Telling => ({ ...self, failed: { calls, decision } })

const arrivingWith = (self: Telling, event: AgentEvent): Telling => ({
  ...self,
  arriving: self.arriving === undefined ? undefined : { ...self.arriving, event }
})

/** Adds another event in the place of the one that arrives. */
const instead = (self: Telling, calls: Calls, input: EventInput): Telling => {
  const rest = { ...self, arriving: undefined }
  return take(rest, addressed(rest, calls, input))
}

/** Fails a call. If the call's error would have ended the run, the guardrail's block ends it instead. */
const failCall = (
  self: Telling,
  calls: Calls,
  { id: callId, name }: Call,
  result: string,
  refused: Consequences.Refused
): Telling => {
  const event = self.arriving?.event
  const fatal = event?._tag === "ToolCallSettled" && event.fatal !== undefined
    ? { fatal: { guardrail: refused.guardrail, reason: Consequences.saidIn(refused) } }
    : undefined
  return instead(self, calls, {
    _tag: "ToolCallSettled",
    callId,
    name,
    outcome: "Failed",
    result,
    ...fatal,
    duration: 0
  })
}

/** Applies a verdict on an answer, or on a remark beside calls. */
const onAnswer = (
  self: Telling,
  calls: Calls,
  { definition: { name, output }, state }: Known,
  event: ModelResponded,
  found: GuardedAnswer.GivenAnswer | undefined,
  { guardrail, verdict }: Saying
): Telling => {
  const { parts, usage } = event
  if (verdict._tag === "Pass" || verdict._tag === "Warn") return self
  if (verdict._tag === "Replace") {
    const { value } = verdict
    const put = found === undefined
      ? withText(parts, String(value))
      : GuardedAnswer.withValue(output, parts, { call: found.call, value })
    return arrivingWith(self, { ...event, parts: put })
  }
  const refused = { guardrail, verdict }
  if (found === undefined) return arrivingWith(self, { ...event, parts: withText(parts, "") })
  const consequence = Consequences.consequenceOf(refused, "output", name)
  if (consequence._tag === "SendBack") {
    const { feedback } = consequence
    return instead(self, calls, { ...event, parts: GuardedAnswer.sentBack(parts, found), feedback })
  }
  const { message, _tag: tag } = consequence.reason
  const attempt = state.run.iteration
  return failedWith(
    instead(self, calls, { _tag: "ModelCallFailed", attempt, tag, message, usage }),
    calls,
    consequence
  )
}

const onCall = (self: Telling, calls: Calls, agent: string, saying: Saying, call: Call): Telling => {
  const { at, guardrail, verdict } = saying
  if (verdict._tag === "Pass" || verdict._tag === "Warn") return self
  if (verdict._tag !== "Replace") {
    const refused = { guardrail, verdict }
    const looked = at === "toolResult" ? "toolResult" : at === "handoff" ? "handoff" : "toolCall"
    const { result } = Consequences.consequenceOf(refused, looked, agent, call.name)
    return failCall(self, calls, call, result, refused)
  }
  const event = self.arriving?.event
  return event?._tag === "ToolCallSettled"
    ? arrivingWith(self, { ...event, result: verdict.value as Schema.Json })
    : event?._tag === "HandoffRequested"
    ? arrivingWith(self, { ...event, request: crossing(event.request, verdict) })
    : self
}

const crossing = (request: HandoffRequest, { value }: Replace<unknown>): HandoffRequest => ({
  ...request,
  ...value as Pick<HandoffRequest, "reason" | "context">,
  target: request.target
})

/** Applies a verdict on a handoff that a policy wants. If the handoff is refused, it isn't requested, and the run fails. */
const onDecision = (self: Telling, calls: Calls, agent: string, { guardrail, verdict }: Saying): Telling => {
  const event = self.arriving?.event
  if (verdict._tag === "Replace" && event?._tag === "HandoffRequested") {
    return arrivingWith(self, { ...event, request: crossing(event.request, verdict) })
  }
  return verdict._tag === "Block" || verdict._tag === "Retry"
    ? failedWith(
      { ...self, arriving: undefined },
      calls,
      Consequences.consequenceOf({ guardrail, verdict }, "decision", agent)
    )
    : self
}

/** Returns what replaces the user's input, if the verdict replaces or blocks it. */
const inputInstead = (turn: number, guardrail: string, verdict: Verdict<unknown>): GuardrailSettled["replaced"] => {
  switch (verdict._tag) {
    case "Replace": {
      const { value } = verdict
      return { turn, input: fromInput(value as string | ReadonlyArray<UserPart>) }
    }
    case "Block":
      return { turn, input: Consequences.blockedInput, blocked: { guardrail, reason: verdict.reason } }
    case "Pass":
    case "Warn":
    case "Retry":
      return undefined
  }
}

const isBlock = (verdict: Verdict<unknown>): verdict is Block => verdict._tag === "Block"

const staged = ({ guardrails }: Definition, stage: Says["stage"]): ReadonlyArray<string> =>
  [...guardrails[stage], ...(stage === "input" ? guardrails.parallel : [])].map(({ guardrail }) => guardrail.name)

/** Lets a guardrail give its verdict. */
export const guardrailSays = (
  self: Telling,
  calls: Calls,
  says: Says,
  known: Known | undefined
): Result.Result<Telling, Problem> => {
  const { options, stage, verdict: given } = says
  if (known === undefined) return unasked("only an agent has guardrails: tell the story of one")
  const { definition, state } = known
  const names = staged(definition, stage)
  const guardrail = options.guardrail ?? names[0]
  if (guardrail === undefined || !names.includes(guardrail)) {
    return unasked(`"${definition.name}" has no such guardrail on ${stage}: ${JSON.stringify(names)}`)
  }
  const say = (
    at: Consequences.LookedAt,
    then: (self: Telling, saying: Saying) => Telling,
    call?: Call,
    replaced?: (verdict: Verdict<unknown>) => GuardrailSettled["replaced"]
  ): Result.Result<Telling, Problem> => {
    const verdict = Consequences.counting(given, at, definition, state)
    const saying = { at, guardrail, verdict, call }
    return Result.succeed(then(settled(self, calls, says, { ...saying, replaced: replaced?.(verdict) }), saying))
  }
  const { name: agent, output } = definition
  const event = self.arriving?.event
  const decision = decisionOf(self, known, calls)
  const callId = event?._tag === "ToolCallSettled"
    ? event.callId
    : event?._tag === "HandoffRequested"
    ? event.request.callId
    : options.callId
  const open = openCalls(state.conversation)
  const call = callId === undefined && stage === "toolCall" ? open[0] : open.find(({ id }) => id === callId)
  switch (stage) {
    case "input": {
      const turn = state.conversation.turns.findLastIndex(({ _tag }) => _tag === "User")
      if (decision._tag !== "AskModel" || turn < 0) return unasked("guardrails on input look before the model is asked")
      return say(
        "input",
        (self, { verdict }) =>
          isBlock(verdict)
            ? failedWith(self, calls, Consequences.consequenceOf({ guardrail, verdict }, "input", agent))
            : self,
        undefined,
        (verdict) => inputInstead(turn, guardrail, verdict)
      )
    }
    case "output": {
      if (event?._tag !== "ModelResponded") return unasked("guardrails on output look at an answer in the step before")
      const isOver = isTerminal(reduceAt(state, event, calls.length).status)
      const found = GuardedAnswer.find(output, event.parts, isOver)
      if (found === undefined && (isOver || textIn(event.parts) === "")) return unasked("there is no answer to look at")
      return say(
        found === undefined ? "remark" : "output",
        (self, saying) => onAnswer(self, calls, known, event, found, saying)
      )
    }
    case "toolCall":
      if (decision._tag !== "RunCalls" || call === undefined || !decision.callIds.includes(call.id)) {
        return unasked("guardrails on calls look before these are run")
      }
      return say(
        stage,
        (self, saying) => onCall(self, calls, agent, saying, call),
        call,
        (verdict) => verdict._tag === "Replace" ? { params: verdict.value as Schema.Json } : undefined
      )
    case "toolResult":
      return call === undefined
        ? unasked("guardrails on results look at a tool's answer in the step before")
        : say(stage, (self, saying) => onCall(self, calls, agent, saying, call), call)
    case "handoff":
      if (call !== undefined) return say(stage, (self, saying) => onCall(self, calls, agent, saying, call), call)
      return event?._tag === "HandoffRequested"
        ? say("decision", (self, saying) => onDecision(self, calls, agent, saying))
        : unasked("guardrails on handoffs look at a request in the step before, or at what a policy wants")
  }
}
