/**
 * A run told step by step over the pure functions of a state, without a runtime, a model or a tool.
 *
 * 1. What happens is an event, taken in by `AgentState.reduce`; what is expected is a command of `AgentState.next` or a state.
 * 2. A story fails while a command is unanswered: at its end nothing may be left to ask, to run or to hand over.
 * 3. A story fails where an event doesn't fit: a model that nobody asked, a result of a call that isn't open.
 * 4. The failure says which step it was, and what led there.
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
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import * as Formatter from "effect/Formatter"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import * as AgentState from "../domain/AgentState.ts"
import { misfit } from "./laws/Moves.ts"
import { commandTitle, type EventInput, type Step } from "./story/Step.ts"

export * from "./story/Step.ts"

/**
 * Error for a story that doesn't hold. `step` counts from 1, 0 where there is none.
 *
 * @category errors
 * @since 0.1.0
 */
export class StoryFailed extends Schema.TaggedError<StoryFailed>("troupe/testing/Story/StoryFailed")("StoryFailed", {
  step: Schema.Int,
  reason: Schema.Literals([
    "CommandUnanswered",
    "CommandDiffers",
    "StateDiffers",
    "EventUnasked",
    "EventIgnored",
    "ChangeRefused"
  ]),
  issue: Schema.String,
  steps: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const lines = this.steps.map((title, index) => `${index + 1 === this.step ? ">" : " "} ${index + 1}. ${title}`)
    return [`The story fails at step ${this.step}: ${this.issue}`, ...lines].join("\n")
  }
}

/** Why a step fails. */
type Problem = Pick<StoryFailed, "reason" | "issue">

const problem = (reason: Problem["reason"], issue: string): Result.Result<never, Problem> =>
  Result.fail({ reason, issue })

const addressed = (input: EventInput, state: AgentState.AgentState, sequence: number): AgentEvent => ({
  run: "",
  path: [state.agent],
  calls: [],
  step: state.run.iteration,
  sequence,
  at: 0,
  ...input
})

const happen = (state: AgentState.AgentState, event: AgentEvent): Result.Result<AgentState.AgentState, Problem> => {
  const at = AgentState.at(state, event.calls)
  const command = at === undefined ? undefined : AgentState.next(at)
  if (event._tag === "ModelResponded" && command?._tag !== "AskModel") {
    const needed = command === undefined ? "the agent wasn't called" : `the state needs ${commandTitle(command)}`
    return problem("EventUnasked", `the model answers, and nobody asked it: ${needed}`)
  }
  const after = AgentState.reduce(state, event)
  const issue = misfit(state, event, after)
  return issue === undefined ? Result.succeed(after) : problem("EventIgnored", issue)
}

const expectCommandOf = (
  state: AgentState.AgentState,
  expected: AgentState.Command | AgentState.Command["_tag"]
): Result.Result<AgentState.AgentState, Problem> => {
  const command = AgentState.next(state)
  const holds = typeof expected === "string" ? command._tag === expected : Equal.equals(command, expected)
  return holds ? Result.succeed(state) : problem("CommandDiffers", `the state needs ${commandTitle(command)}`)
}

const expectStateOf = (
  state: AgentState.AgentState,
  expected: Partial<AgentState.AgentState> | ((state: AgentState.AgentState) => unknown)
): Result.Result<AgentState.AgentState, Problem> => {
  if (typeof expected === "function") {
    const said = Result.try(() => expected(state))
    if (Result.isFailure(said)) {
      const error = said.failure
      return problem("StateDiffers", error instanceof Error ? error.message : Formatter.format(error))
    }
    return said.success === false ? problem("StateDiffers", "the function gives false") : Result.succeed(state)
  }
  const fields = Object.keys(expected) as ReadonlyArray<keyof AgentState.AgentState>
  const field = fields.find((field) => !Equal.equals(state[field], expected[field]))
  return field === undefined ? Result.succeed(state) : problem(
    "StateDiffers",
    `${field} is ${Formatter.format(state[field])}, and ${Formatter.format(expected[field])} is expected`
  )
}

const take = (
  state: AgentState.AgentState,
  step: Step,
  sequence: number
): Result.Result<AgentState.AgentState, Problem> => {
  switch (step._tag) {
    case "Happens":
      return happen(state, addressed(step.event(state), state, sequence))
    case "Changes":
      return Result.mapError(
        step.change(state),
        (error): Problem => ({ reason: "ChangeRefused", issue: error.message })
      )
    case "ExpectsCommand":
      return expectCommandOf(state, step.command)
    case "ExpectsState":
      return expectStateOf(state, step.expected)
  }
}

/** Gives what is left to do at the end. Whoever waits for an approval, has ended or was interrupted needs nothing. */
const finish = (
  state: AgentState.AgentState,
  isInterrupted: boolean
): Result.Result<AgentState.AgentState, Problem> => {
  const command = AgentState.next(state)
  return isInterrupted || command._tag === "Await" || command._tag === "Stop"
    ? Result.succeed(state)
    : problem("CommandUnanswered", `the story ends, and ${commandTitle(command)} is unanswered`)
}

/**
 * Tells a story from a state, and gives the last state or why the story fails.
 *
 * @category running
 * @since 0.1.0
 */
export const tell = (
  given: AgentState.AgentState,
  ...steps: ReadonlyArray<Step>
): Result.Result<AgentState.AgentState, StoryFailed> => {
  let state = given
  let sequence = 0
  let isInterrupted = false
  const titles = steps.map(({ title }) => title)
  for (const [index, step] of steps.entries()) {
    const result = take(state, step, sequence)
    if (Result.isFailure(result)) {
      return Result.fail(new StoryFailed({ step: index + 1, steps: titles, ...result.failure }))
    }
    if (step._tag === "Happens") {
      sequence++
      const { _tag, calls } = step.event(state)
      isInterrupted = _tag === "RunInterrupted" && (calls ?? []).length === 0
    }
    state = result.success
  }
  return Result.mapError(
    finish(state, isInterrupted),
    (failure) => new StoryFailed({ step: steps.length, steps: titles, ...failure })
  )
}

/**
 * Tells a story from a state, and gives the last state. Throws `StoryFailed` where the story doesn't hold.
 *
 * @category running
 * @since 0.1.0
 */
export const tellOrThrow = (given: AgentState.AgentState, ...steps: ReadonlyArray<Step>): AgentState.AgentState =>
  Result.getOrThrowWith(tell(given, ...steps), (error) => error)
