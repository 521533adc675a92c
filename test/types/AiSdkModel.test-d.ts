import { createOpenAI } from "@ai-sdk/openai"
import type { LanguageModelV2 } from "@ai-sdk/provider"
import { describe, expectTypeOf, it } from "@effect/vitest"
import { createOpenAI as createOpenAI3 } from "ai-sdk-openai-3"
import type { Context, Effect, Layer } from "effect"
import type { LanguageModel, Model } from "effect/ai"
import { Agent, type AgentError, type AgentState } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"

declare const older: LanguageModelV2

describe("AiSdkModel", () => {
  it("takes models of both specifications, and gives a layer that can't fail and needs nothing", () => {
    expectTypeOf(AiSdkModel.layer(createOpenAI()("gpt-5"))).toEqualTypeOf<Layer.Layer<LanguageModel.LanguageModel>>()
    expectTypeOf(AiSdkModel.layer(createOpenAI3().chat("gpt-5"), { temperature: 0 })).toEqualTypeOf<
      Layer.Layer<LanguageModel.LanguageModel>
    >()
    expectTypeOf(AiSdkModel.model(createOpenAI()("gpt-5"))).toEqualTypeOf<
      Model.Model<string, LanguageModel.LanguageModel, never>
    >()
  })

  it("is any `LanguageModel` to an agent, which needs no other one", () => {
    const model = AiSdkModel.make(createOpenAI()("gpt-5"))
    expectTypeOf(model).toEqualTypeOf<Effect.Effect<LanguageModel.LanguageModel>>()
    expectTypeOf(Agent.run(Agent.make("a"), "Hi")).toEqualTypeOf<
      Effect.Effect<AgentState.AgentState, AgentError.AgentError, LanguageModel.LanguageModel>
    >()
  })

  it("takes no model of another specification, and no setting that there isn't", () => {
    // @ts-expect-error: specification 2
    AiSdkModel.layer(older)
    // @ts-expect-error: a name is no model
    AiSdkModel.layer("openai/gpt-5")
    // @ts-expect-error: a typing error
    AiSdkModel.layer(createOpenAI()("gpt-5"), { temprature: 0 })
  })

  it("gives settings that an agent takes, and a model that an agent brings", () => {
    expectTypeOf(AiSdkModel.settings({ seed: 1 })).toEqualTypeOf<Context.Context<never>>()
    const agent = Agent.make("a", { settings: AiSdkModel.settings({ seed: 1 }) }).pipe(
      Agent.withModel(AiSdkModel.layer(createOpenAI()("gpt-5")))
    )
    expectTypeOf(Agent.run(agent, "Hi")).toEqualTypeOf<
      Effect.Effect<AgentState.AgentState, AgentError.AgentError>
    >()
  })
})
