import { Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { Agent, Mode } from "troupe"
import { ConversationArbitrary, type ConversationRules, Laws, Story } from "troupe/testing"
import { describe, expectTypeOf, it } from "vitest"

const Tools = Toolkit.make(Tool.make("look", { success: Schema.String }))
const layer = Tools.toLayer({ look: () => Effect.succeed("a tree") })

describe("Laws", () => {
  it("need the tools of an agent, and no model", () => {
    const plain = Agent.make("plain")
    const clerk = Agent.make("clerk", { toolkit: Tools })
    expectTypeOf(Laws.agent(plain)).toEqualTypeOf<Effect.Effect<void, Laws.LawBroken>>()
    expectTypeOf(Laws.agent(plain, { runs: 3 })).toEqualTypeOf<Effect.Effect<void, Laws.LawBroken>>()
    expectTypeOf(Laws.agent(clerk, { layer })).toEqualTypeOf<Effect.Effect<void, Laws.LawBroken>>()
    // @ts-expect-error: the tools have no handlers
    Laws.agent(clerk)
    // @ts-expect-error: the tools have no handlers
    Laws.agent(clerk, { layer: Layer.empty })
  })

  it("need what a mode needs", () => {
    const research = Mode.make("research", { toolkit: Tools, enter: () => Effect.void })
    expectTypeOf(Laws.mode(research, { layer })).toEqualTypeOf<Effect.Effect<void, Laws.LawBroken>>()
    // @ts-expect-error: the tools have no handlers
    Laws.mode(research)
  })

  it("fail as the layer of a store does", () => {
    const broken = Layer.effect(KeyValueStore.KeyValueStore, Effect.fail("no disk"))
    expectTypeOf(Laws.store(broken)).toEqualTypeOf<Effect.Effect<void, Laws.LawBroken | string>>()
  })
})

describe("Rules, stories and arbitraries", () => {
  it("know their kinds", () => {
    expectTypeOf<ConversationRules.Violation["kind"]>().toEqualTypeOf<typeof ConversationRules.kinds[number]>()
    // @ts-expect-error: there is no such rule
    ConversationArbitrary.violating("NoManners")
    // @ts-expect-error: there is no such command
    Story.expectCommand("Sleep")
    // @ts-expect-error: an event has its own fields
    Story.event({ _tag: "FeedbackGiven" })
  })
})
