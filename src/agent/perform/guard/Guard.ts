/**
 * What performs an agent's guardrails, as the loop sees it. An agent without guardrails has none of it.
 *
 * The guardrails carry it (`Performer`), and the loop doesn't import it. So a program that has no guardrails doesn't load it, and
 * bundlers leave it out.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { HandoffRequest } from "../../../domain/AgentStatus.ts"
import type { AgentState, Blocked, Call, User } from "../../../domain/StateSchema.ts"
import type { Definition, RunTool } from "../../definition/AgentDefinition.ts"
import type { Performer } from "../../definition/Performer.ts"
import type * as Loop from "../../journal/Loop.ts"
import type { Fail } from "../../rules/Decision.ts"
import type { CallResult } from "../call/ToolCall.ts"

/** An input as its event has it: with a marker instead of blocked words. */
export interface Said {
  readonly input: User["parts"]
  readonly blocked?: Blocked
}

/** Performs the guardrails of an agent, by what they judge. */
export interface Guard extends Performer {
  readonly _tag: "troupe/agent/Guard"

  /**
   * Emits an input by `told`, and lets guardrails judge it: those of `judges`, the agents that read it first.
   *
   * The events of the outermost agent are withheld until then. For a called agent, guardrails judge first, and `told` emits what passed;
   * `foresee` returns the state with the input. Returns an effect if guardrails must be asked at once.
   */
  readonly emitInput: (
    loop: Loop.Loop,
    judges: ReadonlyArray<Definition>,
    input: User["parts"],
    foresee: () => AgentState,
    told: (said: Said) => void
  ) => Effect.Effect<void, never, unknown> | undefined
  /** Judges the last input at once, if something else comes before the first request. */
  readonly askNow: (loop: Loop.Loop) => Effect.Effect<void, Fail, unknown>
  /**
   * Judges the last input of the outermost agent although no request will read it: the state keeps it all the same. `judges` are the agents
   * that might have read it.
   */
  readonly askAnyway: (loop: Loop.Loop, judges: ReadonlyArray<Definition>) => Effect.Effect<void, never, unknown>

  /** Asks the model and emits its answer. Guardrails judge what it reads and what it answers. */
  readonly askModel: (loop: Loop.Loop) => Effect.Effect<void, unknown, unknown>

  /**
   * Asks the guardrails about a call, a handoff too, in a state that has it. Returns the call to keep. If `state` is the
   * loop's, the loop's state holds that call then.
   */
  readonly look: (loop: Loop.Loop, call: Call, state: AgentState) => Effect.Effect<Call, never, unknown>
  /** Checks whether guardrails let a call pass before the state held it. */
  readonly hasPassed: (loop: Loop.Loop, call: Call) => boolean
  /** Notes that guardrails let a call pass that the state holds now. */
  readonly notePassed: (loop: Loop.Loop, callId: string) => void
  /** Asks the guardrails about a call's parameters. Returns those that pass, or the words that the model reads if none do. */
  readonly judgeParams: (
    loop: Loop.Loop,
    call: Call,
    state: AgentState
  ) => Effect.Effect<Result.Result<Schema.Json, string>, never, unknown>
  /** Asks the guardrails about a policy's handoff. A block or a retry ends the run, because there is no call to fail. */
  readonly judgeDecision: (
    loop: Loop.Loop,
    request: HandoffRequest
  ) => Effect.Effect<HandoffRequest, Fail, unknown>
  /** Asks the guardrails about a tool's result. Returns the result that passes, or a failure that the model reads. */
  readonly judgeResult: (
    loop: Loop.Loop,
    call: Call,
    entry: RunTool,
    answered: CallResult
  ) => Effect.Effect<CallResult, never, unknown>
}

const isGuard = (performer: Performer | undefined): performer is Guard => performer?._tag === "troupe/agent/Guard"

/** Returns what performs the guardrails of an agent, if it has any. */
export const guardOf = ({ guardrails: { performer } }: Definition): Guard | undefined =>
  isGuard(performer) ? performer : undefined

/** Returns what performs the guardrails of an agent at a stage, if it has any there. */
export const guardAt = (definition: Definition, stage: "toolCall" | "toolResult" | "handoff"): Guard | undefined =>
  definition.guardrails[stage].length === 0 ? undefined : guardOf(definition)

/** Returns what performs the guardrails of agents, if one of them has any. */
const guardOfAny = (judges: ReadonlyArray<Definition>): Guard | undefined => {
  const judge = judges.find(guardOf)
  return judge && guardOf(judge)
}

/** Emits an input, and lets the guardrails of the agents that read it judge it, if one of them has any (`Guard.emitInput`). */
export const emitInput: Guard["emitInput"] = (loop, judges, input, foresee, told) => {
  const guard = guardOfAny(judges)
  if (guard !== undefined) return guard.emitInput(loop, judges, input, foresee, told)
  told({ input })
  return undefined
}

/** Lets guardrails judge an input that no request will read, if an agent has any (`Guard.askAnyway`). */
export const askAnyway: Guard["askAnyway"] = (loop, judges) =>
  guardOfAny(judges)?.askAnyway(loop, judges) ?? Effect.void
