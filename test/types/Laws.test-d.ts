import { Context, Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { Agent, Guardrail, Handoff, Mode } from "troupe"
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

  it("need what the check of a guardrail needs, and the schema of answers that aren't texts", () => {
    class Words extends Context.Service<Words, string>()("test/Words") {}
    const plain = Guardrail.make("plain", () => Guardrail.pass)
    const needy = Guardrail.make("needy", () => Effect.as(Words, Guardrail.pass))
    const count = Guardrail.make("count", (count: number) => count > 1 ? Guardrail.block("many") : Guardrail.pass, {
      on: "output"
    })
    const text = Guardrail.make("text", (text: string) => text === "" ? Guardrail.block("empty") : Guardrail.pass, {
      on: "output"
    })
    expectTypeOf(Laws.guardrail(plain)).toEqualTypeOf<Effect.Effect<void, Laws.LawBroken>>()
    expectTypeOf(Laws.guardrail(text, { texts: ["a"] })).toEqualTypeOf<Effect.Effect<void, Laws.LawBroken>>()
    Laws.guardrail(needy, { layer: Layer.succeed(Words, "a") })
    Laws.guardrail(count, { output: Schema.Finite })
    // @ts-expect-error: there are no words
    Laws.guardrail(needy)
    // @ts-expect-error: there is no schema of answers
    Laws.guardrail(count)
    // @ts-expect-error: answers are others
    Laws.guardrail(count, { output: Schema.String })
  })

  it("take a history as a handoff does, and need what it needs", () => {
    expectTypeOf(Laws.history(Handoff.lastTurns(2), { runs: 3 })).toEqualTypeOf<Effect.Effect<void, Laws.LawBroken>>()
    expectTypeOf(Laws.history((conversation) => conversation)).toEqualTypeOf<Effect.Effect<void, Laws.LawBroken>>()
    class Summarizer extends Context.Service<Summarizer, string>()("test/Summarizer") {}
    const summary = Handoff.summary(() => Effect.flatMap(Summarizer, (text) => Effect.fail(text)))
    const broken = Layer.effect(Summarizer, Effect.fail("no model" as const))
    expectTypeOf(Laws.history(summary, { layer: broken })).toEqualTypeOf<
      Effect.Effect<void, Laws.LawBroken | "no model">
    >()
    // @ts-expect-error: there is no summarizer
    Laws.history(summary)
    // @ts-expect-error: there is no summarizer
    Laws.history(summary, { layer: Layer.empty })
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
