/** The system prompt, read, changed and rendered while a conversation goes on. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Option, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Handoff, Mode, Session, SystemPrompt } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ends, reasonOf, sent } from "./sent.ts"

const echo = Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`)))
const plain = (name: string) => Mode.make(name, { enter: () => Effect.void })
const assistant = Agent.make("assistant", { instructions: "Be brief." })
const inSession = Effect.provide(Session.layer(assistant))

const failureOf = <A, E>(exit: Exit.Exit<A, E>): unknown =>
  Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined

const Look = Toolkit.make(Tool.make("look", { success: Schema.String }))

class Style extends Context.Service<Style, { readonly text: string }>()("test/modes/SystemPrompt/Style") {}

describe("Sections", () => {
  it.effect("are listed in the order in which they are sent, and read by their names", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* SystemPrompt.sections, [])
      yield* SystemPrompt.section("b", "B")
      yield* SystemPrompt.section("a", "A", { persist: true })
      yield* SystemPrompt.append("no section")
      assert.deepStrictEqual(yield* SystemPrompt.sections, [{ name: "b", text: "B" }, { name: "a", text: "A" }])
      const inside = Effect.gen(function*() {
        yield* SystemPrompt.section("b", "Inner")
        return [yield* SystemPrompt.get("b"), yield* SystemPrompt.get("a"), yield* SystemPrompt.get("none")]
      })
      assert.deepStrictEqual(yield* Mode.within(inside, plain("m")), ["Inner", "A", undefined])
      assert.strictEqual(yield* SystemPrompt.get("b"), "B")
    }).pipe(inSession, echo))

  it.effect("that are removed are gone for good, and those of an outer mode until the inner one is left", () =>
    Effect.gen(function*() {
      yield* SystemPrompt.section("a", "A")
      yield* SystemPrompt.section("b", "B")
      const inside = Effect.gen(function*() {
        yield* SystemPrompt.section("c", "C")
        yield* SystemPrompt.remove("c")
        yield* SystemPrompt.remove("a")
        yield* SystemPrompt.remove("b", { persist: true })
        return yield* SystemPrompt.sections
      })
      assert.deepStrictEqual(yield* Mode.within(inside, plain("m")), [])
      assert.deepStrictEqual(yield* SystemPrompt.sections, [{ name: "a", text: "A" }])
      yield* SystemPrompt.remove("a")
      yield* SystemPrompt.remove("a")
      const session = yield* Session.Session
      assert.deepStrictEqual((yield* session.state).prompt, [])
    }).pipe(inSession, echo))

  it.effect("that a set-up removes stay removed where it is set up again", () =>
    Effect.gen(function*() {
      const m = Mode.make("m", {
        enter: () => Effect.andThen(SystemPrompt.section("s", "S"), SystemPrompt.remove("s"))
      })
      const agent = Agent.make("agent", { modes: [m] })
      const state = yield* Effect.scoped(Effect.flatMap(Session.make(agent), (session) => session.enterMode("m")))
      const again = yield* Session.make(agent, { state })
      assert.deepStrictEqual(yield* Effect.provideService(SystemPrompt.sections, Mode.Host, again), [])
      assert.deepStrictEqual((yield* again.state).prompt, [])
    }).pipe(Effect.scoped, echo))
})

describe("The rendered system prompt", () => {
  it.effect("is what the next request sends", () =>
    Effect.gen(function*() {
      const agent = Agent.make("agent", { instructions: ({ steps }) => Effect.succeed(`After ${steps}.`) })
      const m = Mode.make("m", { description: "For work.", enter: () => SystemPrompt.prepend("First.") })
      const state = AgentState.make("agent", { systemMessage: "Of the state." })
      const session = yield* Session.make(agent, { state })
      const renderings: Array<string> = []
      const turn = Effect.gen(function*() {
        renderings.push(yield* SystemPrompt.render())
        yield* session.call("Hello")
      })
      yield* Effect.gen(function*() {
        yield* SystemPrompt.section("s", "Section.")
        yield* SystemPrompt.append("Last.")
        yield* turn
        yield* Mode.within(Effect.andThen(turn, Mode.within(turn, plain("n"))), m)
        yield* turn
      }).pipe(Effect.provideService(Mode.Host, session))
      assert.deepStrictEqual((yield* sent).map(({ system }) => system), renderings)
      assert.strictEqual(
        renderings[1],
        "First.\n\nAfter 1.\n\nOf the state.\n\nSection.\n\nYou are in mode \"m\". For work.\n\nLast."
      )
    }).pipe(Effect.scoped, echo))

  it.effect("takes other instructions than the agent's", () =>
    Effect.gen(function*() {
      yield* SystemPrompt.append("Last.")
      assert.strictEqual(yield* SystemPrompt.render("Other."), "Other.\n\nLast.")
      assert.strictEqual(yield* SystemPrompt.render(), "Be brief.\n\nLast.")
    }).pipe(inSession, echo))

  it.effect("is there in the middle of a step, and asks the instructions with the services of the agent", () =>
    Effect.gen(function*() {
      const agent = Agent.make("agent", {
        toolkit: Look,
        instructions: () => Effect.map(Style, ({ text }) => text)
      })
      const state = yield* Agent.run(agent, "Look").pipe(
        Effect.provide(Look.toLayer({ look: () => Effect.orDie(SystemPrompt.render()) }))
      )
      const systems = (yield* sent).map(({ system }) => system)
      assert.deepStrictEqual(systems, ["Plain.", "Plain."])
      const [call] = state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? turn.parts : [])
      assert.deepInclude(call, { _tag: "Call", state: { _tag: "Settled", outcome: "Succeeded", result: "Plain." } })
    }).pipe(
      Effect.provide(Layer.mergeAll(
        MockModel.layer(MockModel.queue(MockResponse.toolCall("look", {}), "Seen.")),
        Layer.succeed(Style, { text: "Plain." })
      ))
    ))

  it.effect("has what was handed over, if that is in no turn", () =>
    Effect.gen(function*() {
      let rendered = ""
      const target = Agent.make("target", { instructions: "Target.", toolkit: Look })
      const handoff = Handoff.to(target, {
        parameters: Schema.Struct({ order: Schema.Int }),
        history: Handoff.lastUser
      })
      const source = Agent.make("source", { handoffs: [handoff] })
      yield* Agent.run(source, "Help").pipe(Effect.provide(Look.toLayer({
        look: () => Effect.orDie(Effect.map(SystemPrompt.render(), (text) => rendered = text))
      })))
      const systems = (yield* sent).map(({ system }) => system)
      assert.notStrictEqual(systems[1], "Target.")
      assert.strictEqual(rendered, systems[1])
      assert.strictEqual(rendered, systems[2])
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue(
      MockResponse.toolCall("handoff_to_target", { order: 7 }),
      MockResponse.toolCall("look", {}),
      "Done."
    )))))

  it.effect("fails as the instructions do, and where they ask for it themselves", () =>
    Effect.gen(function*() {
      const failing = Agent.make("failing", { instructions: () => Effect.fail("no style") })
      const error = failureOf(
        yield* Effect.exit(
          Effect.scoped(Effect.flatMap(
            Session.make(failing),
            (session) => Effect.provideService(SystemPrompt.render(), Mode.Host, session)
          ))
        )
      )
      assert.deepInclude(error, { _tag: "OwnError", error: "no style" })
      const asked: Array<unknown> = []
      const circular = Agent.make("circular", {
        instructions: () =>
          Effect.map(Effect.exit(SystemPrompt.render()), (exit) => {
            asked.push(Exit.isSuccess(exit) ? exit.value : reasonOf(failureOf(exit))._tag)
            return "Circular."
          })
      })
      yield* ends(Agent.run(circular, "Hello"))
      assert.deepStrictEqual(asked, ["Unavailable", "Circular."])
    }).pipe(echo))
})
