import { assert } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { AiError } from "effect/ai"
import { CurrentAgent } from "../../src/agent/journal/CurrentAgent.ts"
import * as AgentState from "../../src/domain/AgentState.ts"
import { MockModel } from "../../src/testing/index.ts"

/** What an effect dies of. */
export const defectOf = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(self), (exit) => {
    assert.isTrue(Exit.isFailure(exit))
    return Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  })

/** Why a request has no answer. */
export const reasonOf = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.map(defectOf(self), (defect) => {
    assert.instanceOf(defect, MockModel.UnansweredRequest)
    return (defect as MockModel.UnansweredRequest).reason
  })

/** Asks as an agent asks. */
export const as = (agent: string) => <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.provideService(self, CurrentAgent, { agent, path: ["desk", agent], calls: [], state: AgentState.make("any") })

/** A failure of a provider. */
export const overloaded = AiError.make({
  module: "Test",
  method: "ask",
  reason: new AiError.InternalProviderError({ description: "overloaded" })
})
