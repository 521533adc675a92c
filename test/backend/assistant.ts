/** Agents without tools, whose model answers as it is told. */
import { Deferred, Effect, Layer } from "effect"
import type { LanguageModel } from "effect/ai"
import { Agent } from "troupe"
import { MockModel, type MockResponse } from "troupe/testing"
import * as Agents from "../../examples/backend/service/Agents.ts"

/** Conversations with one agent. */
export const alone = (
  agent: Agent.Agent<string, unknown, unknown, LanguageModel.LanguageModel>,
  model: MockModel.Handler
): Layer.Layer<Agents.Agents> =>
  Agents.layer({
    first: agent.name,
    agent: agent,
    tools: Layer.empty
  }).pipe(Layer.provide(MockModel.layer(model)))

export const assistant = (model: MockModel.Handler) => alone(Agent.make("assistant"), model)

/** An agent that calls another, `helper`. */
export const boss = (model: MockModel.Handler) =>
  alone(Agent.make("boss", { agents: [Agent.asTool(Agent.make("helper"))] }), model)

/** An answer that says when it is asked for, is given when it may be, and tells whether whoever asked went away. */
export const gate = (answer: MockResponse.Input = "An answer.") => {
  const asked = Deferred.makeUnsafe<void>()
  const may = Deferred.makeUnsafe<void>()
  const aborted = Deferred.makeUnsafe<void>()
  return {
    answer: () =>
      Deferred.succeed(asked, undefined).pipe(
        Effect.andThen(Deferred.await(may)),
        Effect.onInterrupt(() => Deferred.succeed(aborted, undefined)),
        Effect.as(answer)
      ),
    asked: Deferred.await(asked),
    go: Deferred.succeed(may, undefined),
    wasAborted: Deferred.isDone(aborted)
  }
}

/** An assistant that answers when it may. */
export const gated = () => {
  const { answer, ...rest } = gate()
  return { ...rest, agents: assistant(MockModel.make(answer)) }
}
