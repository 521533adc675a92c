/**
 * The events of guardrails. They are emitted at once, or after the event of what the guardrails judged.
 *
 * @since 0.1.0
 */
import type { GuardrailSettled, GuardrailStarted } from "../../../domain/AgentEvent.ts"
import type { Context } from "../../definition/guardrail/GuardrailType.ts"
import * as Loop from "../../journal/Loop.ts"

/** Events of guardrails that wait until the event of what was judged is emitted. Their sequence numbers are indices into this list. */
export type WaitingEvents = Array<GuardrailStarted | GuardrailSettled>

/** Emits events that waited, with the next sequence numbers and the current time. */
export const emitWaiting = (loop: Loop.Loop, held: WaitingEvents): void => {
  const { journal, path, step } = loop
  const at = Loop.now(loop)
  const sequences: Array<number> = []
  for (const event of held) {
    const sequence = journal.nextSequence()
    sequences.push(sequence)
    const told = { ...event, path, step, sequence, at }
    journal.record(told._tag === "GuardrailStarted" ? told : { ...told, started: sequences[told.started]! }, loop)
  }
}

/** Returns the sequence number of the next event. An event that waits gets another one when it is emitted. */
const nextSequence = ({ journal }: Loop.Loop, held: WaitingEvents | undefined): number =>
  held === undefined ? journal.nextSequence() : held.length

const tell = (loop: Loop.Loop, held: WaitingEvents | undefined, event: GuardrailStarted | GuardrailSettled): void => {
  if (held === undefined) loop.journal.record(event, loop)
  else held.push(event)
}

/** Emits the start of a guardrail, at a time in epoch milliseconds. */
export const start = (
  loop: Loop.Loop,
  held: WaitingEvents | undefined,
  guardrail: string,
  { call, stage }: Context,
  at: number
): GuardrailStarted => {
  const { calls, journal: { run }, path, step } = loop
  const sequence = nextSequence(loop, held)
  // Literals of all fields: a copy of one with a field more made a step under ten guardrails slower by a twentieth.
  const event: GuardrailStarted = call === undefined
    ? { _tag: "GuardrailStarted", run, path, calls, step, sequence, at, guardrail, stage }
    : { _tag: "GuardrailStarted", run, path, calls, step, sequence, at, guardrail, stage, callId: call.id }
  tell(loop, held, event)
  return event
}

/** Emits the verdict of a guardrail whose start was emitted. */
export const settle = (
  loop: Loop.Loop,
  held: WaitingEvents | undefined,
  { at: startedAt, calls, callId, guardrail, path, run, sequence: started, stage, step }: GuardrailStarted,
  verdict: GuardrailSettled["verdict"],
  at: number,
  rest: Pick<GuardrailSettled, "reason" | "replaced"> | undefined
): void => {
  const sequence = nextSequence(loop, held)
  const duration = Math.max(0, at - startedAt)
  const event: GuardrailSettled = callId === undefined
    ? { _tag: "GuardrailSettled", run, path, calls, step, sequence, at, guardrail, stage, started, verdict, duration }
    : {
      _tag: "GuardrailSettled",
      run,
      path,
      calls,
      step,
      sequence,
      at,
      guardrail,
      stage,
      callId,
      started,
      verdict,
      duration
    }
  tell(loop, held, rest === undefined ? event : { ...event, ...rest })
}
