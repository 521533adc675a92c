import { describe, expectTypeOf, it } from "@effect/vitest"
import { Effect, type Layer, Schema } from "effect"
import { type LanguageModel, Tool, Toolkit } from "effect/ai"
import type { MessageStorage, Sharding } from "effect/cluster"
import { Agent, Dialogue, Group, Plan } from "troupe"
import { ClusterDialogue, ClusterPlan, Conversation, type ConversationStore } from "troupe/cluster"

class Refused extends Schema.TaggedError<Refused>()("Refused", { why: Schema.String }) {}
const Refunds = Toolkit.make(Tool.make("refund", { failure: Refused }))
const clerk = Agent.make("clerk", { toolkit: Refunds, fatal: ["refund"] })
const Desk = Conversation.make("Desk", clerk)

type Cluster = Sharding.Sharding | MessageStorage.MessageStorage | ConversationStore.ConversationStore

describe("Conversation", () => {
  it("needs on a runner what its agent needs, and for callers the cluster alone", () => {
    expectTypeOf<Layer.Services<typeof Desk.layer>>().toEqualTypeOf<
      Cluster | LanguageModel.LanguageModel | Tool.Handler<"refund">
    >()
    expectTypeOf<Effect.Services<typeof Desk.client>>().toEqualTypeOf<Sharding.Sharding>()
  })

  it("takes a group where it takes an agent", () => {
    const group = Group.make({ clerk }, { start: "clerk" })
    expectTypeOf<Layer.Services<ReturnType<typeof Conversation.make<"G", string, string, Refused, never>>["layer"]>>()
      .toEqualTypeOf<Cluster>()
    expectTypeOf(Conversation.make("G", group).name).toEqualTypeOf<"G">()
  })

  it("says by the tag of an answer's error what the agent may fail with", () => {
    type Chat = ReturnType<Effect.Success<typeof Desk.client>>
    type Tag = NonNullable<Effect.Success<ReturnType<Chat["say"]>>["error"]>["tag"]
    expectTypeOf<"Refused">().toExtend<Tag>()
    expectTypeOf<"StepLimitReached">().toExtend<Tag>()
    expectTypeOf<"Unheard">().not.toExtend<Tag>()
  })

  it("says by the tag what a plan and a dialogue may fail with themselves", () => {
    type TagOf<Answer extends { readonly error?: { readonly tag: string } }> = NonNullable<Answer["error"]>["tag"]
    const plan = ClusterPlan.make("P", Plan.make({ nodes: [Plan.node("a", (text: string) => Effect.succeed(text))] }))
    type ToPlan = ReturnType<Effect.Success<typeof plan.client>>
    type OfPlan = TagOf<Effect.Success<ReturnType<ToPlan["say"]>>>
    expectTypeOf<"EffectUnknown" | "OutputNotJson" | "PlanMismatch">().toExtend<OfPlan>()
    expectTypeOf<"ParticipantMismatch">().not.toExtend<OfPlan>()
    const dialogue = ClusterDialogue.make("D", Dialogue.make(Agent.make("a"), Agent.make("b")))
    type ToDialogue = ReturnType<Effect.Success<typeof dialogue.client>>
    type OfDialogue = TagOf<Effect.Success<ReturnType<ToDialogue["say"]>>>
    expectTypeOf<"ParticipantMismatch" | "UnknownSpeaker">().toExtend<OfDialogue>()
    expectTypeOf<"PlanMismatch">().not.toExtend<OfDialogue>()
  })
})
