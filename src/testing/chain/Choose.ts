/**
 * Chooses the step that answers a request: a function of the request alone, so that a retry gets the same answer.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import type { MockResponse } from "../MockResponse.ts"
import type { WireMessage } from "../provider/Protocol.ts"
import type { Echoed } from "./Echo.ts"
import * as Find from "./Find.ts"
import { formatWarning, type Warning } from "./Parse.ts"
import { respond } from "./Respond.ts"

/**
 * What a step is chosen by: a conversation, and what else of the request a step can echo.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request extends Echoed {
  readonly messages: ReadonlyArray<WireMessage>
}

/**
 * Where a step stands: its index in a chain of `length`, and the index of the message that carries the chain.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place {
  readonly index: number
  readonly length: number
  readonly message: number
  readonly id?: string
}

/**
 * A step answers.
 *
 * @category models
 * @since 0.1.0
 */
export interface Chosen {
  readonly _tag: "Chosen"
  readonly response: MockResponse
  readonly step: Place
  /** The step, in words: there the first is step 1. */
  readonly by: string
  /** What is wrong in the chain, and where. */
  readonly warnings: ReadonlyArray<string>
}

/**
 * No step answers, and why. Without a chain there is nothing wrong in that.
 *
 * @category models
 * @since 0.1.0
 */
export interface NotChosen {
  readonly _tag: "Absent" | "Malformed" | "Skipped" | "Exhausted"
  readonly reason: string
  readonly warnings: ReadonlyArray<string>
}

/** What came of looking for a step. */
export type Choice = Chosen | NotChosen

const absent: NotChosen = {
  _tag: "Absent",
  reason: "no message of the user carries an instruction chain",
  warnings: []
}

const turnsOf = (count: number): string => count === 1 ? "1 turn" : `${count} turns`

const skipped = (warnings: ReadonlyArray<Warning>, index: number): string => {
  const why = warnings.filter(({ step }) => step === index).map(formatWarning)
  return why.length === 0 ? "is null, which leaves its turn to the fallback" : `can't be taken: ${why.join("; ")}`
}

/**
 * Chooses the step for a request: of the last chain in it, the step at the number of turns that the model took since.
 *
 * **Details**
 *
 * - past the end of a chain, and where its step can't be taken, no step answers, and no older chain does
 * - a single instruction outside of a chain answers each request
 *
 * @category combinators
 * @since 0.1.0
 */
export const choose = (request: Request): Choice => {
  const found = Find.find(request.messages)
  if (found === undefined) return absent
  const where = `message ${found.message}`
  if (Result.isFailure(found.parsed)) {
    const reason = `the instruction chain in ${where} is malformed: ${found.parsed.failure.message}`
    return { _tag: "Malformed", reason, warnings: [reason] }
  }
  const { chain: { instruction_chain: steps }, isSingle, warnings } = found.parsed.success
  const lines = warnings.map((warning) => `${where}: ${formatWarning(warning)}`)
  const index = isSingle ? 0 : found.turns
  if (index >= steps.length) {
    const reason = steps.length === 0
      ? `the instruction chain in ${where} has no steps`
      : `the instruction chain in ${where} is exhausted: ${turnsOf(found.turns)} after it, ${steps.length} in it`
    return { _tag: "Exhausted", reason, warnings: lines }
  }
  const step = steps[index]!
  if (step === null) {
    const reason = `step ${index + 1} of the instruction chain in ${where} ${skipped(warnings, index)}`
    return { _tag: "Skipped", reason, warnings: lines }
  }
  const name = step.id ?? step.id_message
  const place = {
    index,
    length: steps.length,
    message: found.message,
    ...(name === undefined ? undefined : { id: name })
  }
  const named = name === undefined ? "" : ` "${name}"`
  const by = isSingle
    ? `the instruction${named} in ${where}`
    : `step ${index + 1}${named} of ${steps.length} of the instruction chain in ${where}`
  return { _tag: "Chosen", response: respond(step, request), step: place, by, warnings: lines }
}
