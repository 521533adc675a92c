/**
 * A dialogue: agents that talk to each other, each with a conversation of its own.
 *
 * 1. An agent sees what the others said as a user's words under their names, and what it said itself as its own answers.
 * 2. An agent sees each word of the others once: when its turn begins, its model is sent all that it missed.
 * 3. A turn ends when the agent's own run does, tools included. The others are told the answer of that run, as JSON if it isn't a text. If
 *    the answer is empty, they are told the agent's last text before it.
 * 4. The state is a value that survives JSON: what was said, the dialogue's status, and each agent's state.
 *
 * Participants speak in their order, and a dialogue ends after 10 turns, unless options say otherwise.
 *
 * **Example** (Two agents, three turns)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Dialogue } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const optimist = Agent.make("optimist", { instructions: "See the good side." })
 * const pessimist = Agent.make("pessimist", { instructions: "See the bad side." })
 * const debate = Dialogue.make(optimist, pessimist, { maxTurns: 3 })
 *
 * const program = Dialogue.run(debate, "It rains.").pipe(
 *   Effect.provide(MockModel.layer(MockModel.byAgent({
 *     optimist: MockModel.queue("The garden drinks.", "So will the frogs."),
 *     pessimist: MockModel.queue("The cellar, too.")
 *   })))
 * )
 *
 * const state = await Effect.runPromise(program)
 *
 * state.transcript.map(Dialogue.textOf)
 * // => ["It rains.", "The garden drinks.", "The cellar, too.", "So will the frogs."]
 * state.status // => { _tag: "Ended", reason: { _tag: "MaxTurnsReached", turns: 3 } }
 * ```
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorClass } from "../domain/ErrorClass.ts"
import { countOf } from "../domain/InvalidLimit.ts"
import { toolNamed } from "../domain/InvalidName.ts"
import { type Choice, type Predicate, roundRobin } from "./dialogue/Choice.ts"
import { type Dialogue, fromDefinition } from "./dialogue/DialogueType.ts"
import { StopTool } from "./dialogue/StopTool.ts"
import type { Transcript } from "./dialogue/Transcript.ts"
import * as Runnable from "./Runnable.ts"

export { InvalidLimit } from "../domain/InvalidLimit.ts"
export * from "./dialogue/Choice.ts"
export { byModel } from "./dialogue/ChoiceByModel.ts"
export * from "./dialogue/DialogueApproval.ts"
export * from "./dialogue/DialogueCommand.ts"
export * from "./dialogue/DialogueError.ts"
export * from "./dialogue/DialogueEvent.ts"
export * from "./dialogue/DialogueJson.ts"
export * from "./dialogue/DialogueResult.ts"
export { agentState, DialogueState, Participant, reopen, say, withAgentState } from "./dialogue/DialogueState.ts"
export * from "./dialogue/DialogueStatus.ts"
export { type Any, type Dialogue, isDialogue } from "./dialogue/DialogueType.ts"
export * from "./dialogue/RunDialogue.ts"
export { layerStopTool, StopTool } from "./dialogue/StopTool.ts"
export {
  type AgentEntry,
  Entry,
  goOn,
  type Input,
  lastSpeaker,
  lastText,
  textOf,
  type Transcript,
  type UserEntry
} from "./dialogue/Transcript.ts"

/**
 * Error for an invalid dialogue: two of its participants share a name.
 *
 * @category errors
 * @since 0.1.0
 */
export class DuplicateParticipant extends ErrorClass<DuplicateParticipant>("troupe/handoff/Dialogue")(
  "DuplicateParticipant",
  { name: Schema.String },
  ({ name }) => `A dialogue has two participants of the name "${name}": rename one of them`
) {}

/**
 * Options of a dialogue.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<Name extends string, ChoiceE = never, ChoiceR = never, UntilE = never, UntilR = never> {
  /** Returns who speaks next, as a function of the transcript; `roundRobin` by default. */
  readonly speaker?: Choice<Name, ChoiceE, ChoiceR> | undefined
  /** How many turns the agents take at most after the user's last words or `reopen`: 1 or more, or `Infinity`; 10 by default. */
  readonly maxTurns?: number | undefined
  /** Ends the dialogue if it returns `true` for the transcript after a turn, directly or in an Effect; no condition by default. */
  readonly until?: ((transcript: Transcript<Name>) => ReturnType<Predicate<UntilE, UntilR>>) | undefined
  /** Name of the tool that ends the dialogue after a turn in which an agent calls it successfully; `end_dialogue` by default. */
  readonly stopTool?: string | undefined
}

type AnyOptions = Options<string, unknown, unknown, unknown, unknown>

/** At least two agents, or groups of agents. */
export type Participants = readonly [Runnable.Any, Runnable.Any, ...ReadonlyArray<Runnable.Any>]

/** The names of participants. */
export type NameOf<P extends Participants> = P[number]["name"]

/** What participants may fail with besides `AgentError`. */
export type FailureOf<A> = A extends Runnable.Runnable<infer _Name, infer _Output, infer E, infer _R> ? E : never

/** What participants need. */
export type ServicesOf<A> = A extends Runnable.Runnable<infer _Name, infer _Output, infer _E, infer R> ? R : never

/**
 * Makes a dialogue of two or more agents or groups, which speak in the order of the arguments unless the option `speaker` says otherwise.
 * Options are the last argument.
 *
 * Throws `DuplicateParticipant` if two participants share a name, `Handoff.MissingAgent` if one is `undefined`, and `Agent.AmbiguousTool`
 * if they have different tools of one name, by which handlers are found. Throws `InvalidLimit` if `maxTurns` is neither a whole number of
 * at least 1 nor `Infinity`, and `Agent.InvalidName` if no tool can have the name `stopTool`. With `maxTurns: Infinity` only `until` or the
 * stop tool ends the dialogue.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: {
  // The overload with options is first: TypeScript types functions in the options by the first overload.
  <const P extends Participants, ChoiceE = never, ChoiceR = never, UntilE = never, UntilR = never>(
    ...args: [...participants: P, options: Options<NameOf<P>, ChoiceE, ChoiceR, UntilE, UntilR>]
  ): Dialogue<NameOf<P>, FailureOf<P[number]> | ChoiceE | UntilE, ServicesOf<P[number]> | ChoiceR | UntilR>
  <const P extends Participants>(...participants: P): Dialogue<NameOf<P>, FailureOf<P[number]>, ServicesOf<P[number]>>
} = (...args: ReadonlyArray<Runnable.Any | AnyOptions>) => {
  const participants = args.filter(Runnable.isRunnable)
  // After two participants or more, a last `undefined` means no options. Any other is a participant whose module isn't loaded yet.
  const isMissing = (arg: unknown, at: number) => arg === undefined && (at < args.length - 1 || participants.length < 2)
  if (args.some(isMissing)) throw new Runnable.MissingAgent({ to: "Dialogue.make" })
  const options = args.find((arg): arg is AnyOptions => !Runnable.isRunnable(arg))
  const names = participants.map(({ name }) => name)
  const name = names.find((name, index) => names.indexOf(name) < index)
  if (name !== undefined) throw new DuplicateParticipant({ name })
  const stopTool = toolNamed(options?.stopTool ?? StopTool.name)
  return fromDefinition<never, never, never>({
    participants,
    check: Runnable.checkTogether(participants),
    speaker: options?.speaker ?? roundRobin,
    until: options?.until,
    maxTurns: countOf("maxTurns", options?.maxTurns ?? 10, 1),
    stopTool
  })
}
