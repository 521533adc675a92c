/**
 * An agent that is asked elsewhere: the agent here has the same name and reads the answers, and something else runs it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Failure } from "../../domain/AgentStatus.ts"
import { ErrorClass } from "../../domain/ErrorClass.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { type Any, type From, TypeId } from "../../handoff/Runnable.ts"
import type { Answer } from "../Answer.ts"

/** The run of an agent stopped without an answer, somewhere else. */
export class AgentStopped extends ErrorClass<AgentStopped>("troupe/cluster")("AgentStopped", {
  failure: Failure
}, ({ failure }) => failure.message) {
  /** Says why an agent stopped, by its answer. */
  static failureOf(agent: string, { error, status }: Answer): Failure {
    return error ?? { tag: "Failure", message: `Agent "${agent}" stopped: ${status}`, agent, step: 0 }
  }
}

/** Returns an agent that something else runs. It isn't streamed: its conversation has its events. */
export const remote = (agent: Any, run: (from: From) => Effect.Effect<AgentState, unknown, unknown>): Any => {
  const { interpreter, kind } = agent[TypeId]
  const elsewhere = {
    kind,
    interpreter: {
      ...interpreter,
      run: (_: Any, from: From) => run(from),
      stream: () => Stream.fromEffect(Effect.die("An agent that is asked elsewhere isn't streamed"))
    }
  }
  return Object.create(agent, { [TypeId]: { value: elsewhere } }) as Any
}
