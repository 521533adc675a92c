/**
 * Chooses the step that answers a request: a function of the request alone, so that a retry gets the same answer.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import { counted } from "../../domain/Described.ts"
import type { MockResponse } from "../MockResponse.ts"
import type { WireMessage } from "../provider/Asked.ts"
import type { Echoed } from "./Echo.ts"
import * as Find from "./Find.ts"
import type * as Instruction from "./Instruction.ts"
import { formatWarning, type Warning } from "./Parse.ts"
import { respond } from "./Respond.ts"

/**
 * A request for which a step is chosen: its messages, by which the step is chosen, and the rest, which a step can repeat.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request extends Echoed {
  readonly messages: ReadonlyArray<WireMessage>
}

/**
 * Where a step stands: its `index` from 0 in a chain of `length` steps, and its `id` if it has one. `message` is the index of the message
 * that carries the chain, and missing if the chain was `given`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place {
  readonly index: number
  readonly length: number
  readonly message?: number
  readonly id?: string
}

/**
 * Says which step answers, and with which response.
 *
 * @category models
 * @since 0.1.0
 */
export interface Chosen {
  readonly _tag: "Chosen"
  readonly response: MockResponse
  readonly step: Place
  /** The step in words, which count the steps from 1. */
  readonly by: string
  /** The mistakes in the chain, each with its place. */
  readonly warnings: ReadonlyArray<string>
}

/**
 * Says why no step answers.
 *
 * There is no chain (`"Absent"`), it can't be read (`"Malformed"`), its step is `null` or invalid (`"Skipped"`), or it has no more steps
 * (`"Exhausted"`). A strict `MockProvider` refuses such a request, unless its chain is `"Absent"` and the handler answers.
 *
 * @category models
 * @since 0.1.0
 */
export interface NotChosen {
  readonly _tag: "Absent" | "Malformed" | "Skipped" | "Exhausted"
  readonly reason: string
  readonly warnings: ReadonlyArray<string>
}

/** The result of choosing a step. */
export type Choice = Chosen | NotChosen

const absent: NotChosen = {
  _tag: "Absent",
  reason: "no message of the user carries an instruction chain",
  warnings: []
}

const turnsOf = (count: number): string => counted(count, "turn")

const skipped = (warnings: ReadonlyArray<Warning>, index: number): string => {
  const why = warnings.filter(({ step }) => step === index).map(formatWarning)
  return why.length === 0 ? "is null, which leaves its turn to the fallback" : `is invalid: ${why.join("; ")}`
}

/** A chain that may have the step, and the number of the model's turns since. `message` is the index of the message that carries it. */
interface Candidate {
  readonly chain: Instruction.InstructionChain
  readonly turns: number
  readonly isSingle?: boolean
  readonly warnings?: ReadonlyArray<Warning>
  readonly message?: number
}

const chooseOf = (candidate: Candidate, request: Request): Choice => {
  const { chain: { instruction_chain: steps }, isSingle = false, message, turns, warnings = [] } = candidate
  const where = message === undefined ? "" : `message ${message}`
  const named = message === undefined ? "the given instruction chain" : `the instruction chain in ${where}`
  const lines = warnings.map((warning) => `${where}: ${formatWarning(warning)}`)
  const index = isSingle ? 0 : turns
  if (index >= steps.length) {
    const reason = steps.length === 0
      ? `${named} has no steps`
      : `${named} is exhausted: ${turnsOf(turns)} after it, ${steps.length} in it`
    return { _tag: "Exhausted", reason, warnings: lines }
  }
  const step = steps[index]!
  if (step === null) {
    return { _tag: "Skipped", reason: `step ${index + 1} of ${named} ${skipped(warnings, index)}`, warnings: lines }
  }
  const id = step.id ?? step.id_message
  const place = {
    index,
    length: steps.length,
    ...(message === undefined ? undefined : { message }),
    ...(id === undefined ? undefined : { id })
  }
  const quoted = id === undefined ? "" : ` "${id}"`
  const by = isSingle
    ? `the instruction${quoted} in ${where}`
    : `step ${index + 1}${quoted} of ${steps.length} of ${named}`
  return { _tag: "Chosen", response: respond(step, request), step: place, by, warnings: lines }
}

/**
 * Chooses the step for a request: of the last chain in a message of the user, the step whose index is the number of turns that the model
 * took since.
 *
 * **Details**
 *
 * - Past the end of a chain, and if the step is `null` or invalid, no step answers, and no earlier chain does.
 * - A single instruction outside of a chain answers each request.
 * - If no message of the user carries a chain, the chain `given` is used. Its turns are counted from the beginning of the conversation.
 *
 * @category combinators
 * @since 0.1.0
 */
export const choose = (request: Request, given?: Instruction.InstructionChain): Choice => {
  const found = Find.find(request.messages)
  if (found === undefined) {
    return given === undefined
      ? absent
      : chooseOf({ chain: given, turns: Find.countTurns(request.messages, 0) }, request)
  }
  const { message, parsed, turns } = found
  if (Result.isFailure(parsed)) {
    const reason = `the instruction chain in message ${message} is malformed: ${parsed.failure.message}`
    return { _tag: "Malformed", reason, warnings: [reason] }
  }
  return chooseOf({ ...parsed.success, message, turns }, request)
}
