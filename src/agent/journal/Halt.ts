/**
 * Why a run stops with an `AgentError`, before the state it stops in is known.
 *
 * @since 0.1.0
 */
import type { Reason } from "../../domain/AgentError.ts"

/** Stops the run it happens in; the run makes an `AgentError` of it. */
export class Halt {
  readonly _tag = "troupe/agent/Halt"
  readonly reason: Reason
  constructor(reason: Reason) {
    this.reason = reason
  }
}
