import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, type AgentEvent, AgentState, Guardrail } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag } from "../watch.ts"
import { model, shown, streamed, turns } from "./looking.ts"

const judge = Guardrail.make("judge", (text) =>
  text.includes("blocked")
    ? Guardrail.block("it is blocked")
    : text.includes("again")
    ? Guardrail.retry("Say it otherwise.")
    : text.includes("Ada")
    ? Guardrail.replace(text.replaceAll("Ada", "her"), "a name")
    : Guardrail.pass)

const Look = Tool.make("look", { parameters: Schema.Struct({ at: Schema.String }), success: Schema.String })
const Kit = Toolkit.make(Look)
const handlers = Kit.toLayer({ look: () => Effect.succeed("seen") })
const look = MockResponse.toolCall("look", { at: "me" })
const Answer = Schema.Struct({ name: Schema.String })

const held = Agent.make("a", { toolkit: Kit, guardrails: { output: [judge] } })
const early = Agent.make("a", { toolkit: Kit, guardrails: { output: [judge], releaseEarly: true } })
const typed = Agent.make("a", { output: Answer, guardrails: { output: [judge] } })
const typedEarly = Agent.make("a", { output: Answer, guardrails: { output: [judge], releaseEarly: true } })

type Guarded = Agent.Agent<"a", unknown, never, Agent.Services<typeof held>>

const stream = (agent: Guarded, ...responses: ReadonlyArray<MockResponse.Input>) =>
  streamed(Agent.stream(agent, "Who?")).pipe(
    Effect.provide([handlers, model(...responses.map((response) => MockResponse.chunked(response, 3)))])
  )

/** What a stream showed, in its order: what came as one piece stays one, and what was taken back is said so. */
const pieces = (events: ReadonlyArray<AgentEvent.AgentEvent>): ReadonlyArray<string> =>
  events.flatMap((event) => {
    switch (event._tag) {
      case "TextDelta":
        return [`text ${event.delta}`]
      case "ReasoningDelta":
        return [`thought ${event.delta}`]
      case "ToolParamsDelta":
        return [`${event.name} ${event.delta}`]
      case "TextWithdrawn":
        return [`withdrawn: ${event.reason}`]
      case "GuardrailSettled":
        return [`${event.verdict}`]
      case "ModelResponded":
        return ["responded"]
      default:
        return []
    }
  })

/** Joins pieces of a kind that follow one another. */
const joined = (events: ReadonlyArray<AgentEvent.AgentEvent>): ReadonlyArray<string> =>
  pieces(events).reduce<Array<string>>((all, piece) => {
    const [kind, ...rest] = piece.split(" ")
    const last = all[all.length - 1]
    if (last?.split(" ")[0] === kind && /text|thought|final_answer|look/.test(kind!)) {
      all[all.length - 1] = last + rest.join(" ")
    } else all.push(piece)
    return all
  }, [])

describe("An answer that is streamed under guardrails", () => {
  it.effect("is held back until it has passed, with what was thought", () =>
    Effect.gen(function*() {
      const { events } = yield* stream(held, MockResponse.all(MockResponse.reasoning("Hm, well."), "It is Bob."))
      assert.deepStrictEqual(joined(events), ["Pass", "Pass", "thought Hm, well.", "text It is Bob.", "responded"])
      assert.isTrue(ofTag(events, "TextDelta").length > 1)
    }))

  it.effect("is shown as it comes where nothing guards it", () =>
    Effect.gen(function*() {
      const { events } = yield* stream(
        Agent.make("a", { toolkit: Kit, guardrails: { input: [judge], toolCall: [judge] } }),
        MockResponse.all("It is ", look, "Ada."),
        "It is Ada."
      )
      assert.strictEqual(shown(events), "It is Ada.It is Ada.")
    }))

  it.effect("is shown in one piece once it is replaced", () =>
    Effect.gen(function*() {
      const { events, state } = yield* stream(held, MockResponse.all(MockResponse.reasoning("Hm."), "It is Ada."))
      assert.deepStrictEqual(joined(events), ["Pass", "Replace", "thought Hm.", "text It is her.", "responded"])
      assert.strictEqual(ofTag(events, "TextDelta").length, 1)
      assert.strictEqual(AgentState.text(state), "It is her.")
    }))

  it.effect("isn't shown once it is sent back", () =>
    Effect.gen(function*() {
      const { events } = yield* stream(held, MockResponse.all(MockResponse.reasoning("Hm."), "Once again."), "Bob.")
      assert.deepStrictEqual(joined(events), [
        "Pass",
        "Retry",
        "thought Hm.",
        "responded",
        "Pass",
        "text Bob.",
        "responded"
      ])
    }))

  it.effect("isn't shown once it is blocked, nor what was thought", () =>
    Effect.gen(function*() {
      const { error, events } = yield* stream(held, MockResponse.all(MockResponse.reasoning("Hm."), "It is blocked."))
      assert.deepStrictEqual(joined(events), ["Pass", "Block"])
      assert.strictEqual(error?.reason._tag, "GuardrailBlocked")
    }))

  it.effect("has remarks before it, each shown once it has passed, and not at all where it doesn't", () =>
    Effect.gen(function*() {
      const said = (agent: Guarded, text: string) =>
        Effect.map(stream(agent, MockResponse.all(text, look), "Bob."), ({ events }) => joined(events).slice(0, -3))
      assert.deepStrictEqual(yield* said(held, "It is Eve."), ["Pass", "text It is Eve.", "responded"])
      assert.deepStrictEqual(yield* said(held, "It is Ada."), ["Replace", "text It is her.", "responded"])
      assert.deepStrictEqual(yield* said(held, "This is blocked."), ["Block", "responded"])
      assert.deepStrictEqual(yield* said(held, "Once again."), ["Block", "responded"])
      const shownEarly = (text: string) =>
        Effect.map(said(early, text), (all) => all.filter((piece) => !piece.startsWith("look")))
      assert.deepStrictEqual(yield* shownEarly("It is Eve."), ["text It is Eve.", "Pass", "responded"])
      assert.deepStrictEqual(yield* shownEarly("It is Ada."), [
        "text It is Ada.",
        "Replace",
        "withdrawn: A guardrail put something else in its place.",
        "text It is her.",
        "responded"
      ])
      assert.deepStrictEqual(yield* shownEarly("This is blocked."), [
        "text This is blocked.",
        "Block",
        `withdrawn: Guardrail "judge" blocked what was said: it is blocked`,
        "responded"
      ])
    }))
})

describe("An answer that is released early", () => {
  it.effect("is shown as it comes, and taken back where it doesn't pass as it is", () =>
    Effect.gen(function*() {
      const run = (...said: ReadonlyArray<MockResponse.Input>) =>
        Effect.map(stream(early, ...said), ({ events }) => joined(events))
      assert.deepStrictEqual(yield* run("It is Bob."), ["text It is Bob.", "Pass", "responded"])
      assert.deepStrictEqual(yield* run("It is Ada."), [
        "text It is Ada.",
        "Replace",
        "withdrawn: A guardrail put something else in its place.",
        "text It is her.",
        "responded"
      ])
      assert.deepStrictEqual(yield* run("Once again.", "Bob."), [
        "text Once again.",
        "Retry",
        "withdrawn: Say it otherwise.",
        "responded",
        "text Bob.",
        "Pass",
        "responded"
      ])
      assert.deepStrictEqual(yield* run("It is blocked."), [
        "text It is blocked.",
        "Block",
        `withdrawn: Guardrail "judge" blocked the answer: it is blocked`
      ])
    }))

  it.effect("takes nothing back that wasn't shown", () =>
    Effect.gen(function*() {
      const silent = Agent.make("a", {
        toolkit: Kit,
        guardrails: { output: [Guardrail.make("silent", () => Guardrail.block("no"))], releaseEarly: true }
      })
      const { events } = yield* stream(silent, MockResponse.reasoning("Hm."))
      assert.deepStrictEqual(ofTag(events, "TextWithdrawn"), [])
      const watched: Array<AgentEvent.AgentEvent> = []
      yield* Agent.run(early, "Who?").pipe(
        Agent.observe((event) => Effect.sync(() => void watched.push(event))),
        Effect.exit,
        Effect.provide([handlers, model("It is blocked.")])
      )
      assert.deepStrictEqual(ofTag(watched, "TextWithdrawn"), [])
    }))
})

const answer = (name: string) => MockResponse.toolCall("final_answer", { name }, { id: "x" })

describe("An answer by final_answer", () => {
  it.effect("is held back and shown as parameters, and a remark beside it as what passed of that", () =>
    Effect.gen(function*() {
      const beside = (text: string) =>
        Effect.map(stream(typed, MockResponse.all(text, answer("Bob"))), ({ events }) => joined(events))
      assert.deepStrictEqual(yield* beside("It is Eve."), [
        "Pass",
        "Pass",
        "text It is Eve.",
        `final_answer {"name":"Bob"}`,
        "responded"
      ])
      assert.deepStrictEqual(yield* beside("It is Ada."), [
        "Replace",
        "Pass",
        "text It is her.",
        `final_answer {"name":"Bob"}`,
        "responded"
      ])
      assert.deepStrictEqual(yield* beside("A blocked text."), [
        "Block",
        "Pass",
        `final_answer {"name":"Bob"}`,
        "responded"
      ])
      const replaced = yield* stream(typed, MockResponse.all(MockResponse.reasoning("Hm."), answer("Ada")))
      assert.deepStrictEqual(joined(replaced.events), [
        "Pass",
        "Replace",
        "thought Hm.",
        `final_answer {"name":"her"}`,
        "responded"
      ])
      assert.deepStrictEqual(ofTag(replaced.events, "ToolParamsDelta").map(({ callId }) => callId), ["x"])
      const again = yield* stream(typed, answer("again"), answer("Bob"))
      assert.deepStrictEqual(joined(again.events), [
        "Retry",
        "responded",
        "Pass",
        `final_answer {"name":"Bob"}`,
        "responded"
      ])
    }))

  it.effect("is shown in one piece of text where it was one", () =>
    Effect.gen(function*() {
      const { events, state } = yield* stream(typed, `{ "name": "Ada" }`)
      assert.deepStrictEqual(pieces(events), ["Replace", `text {"name":"her"}`, "responded"])
      assert.deepStrictEqual(turns(state)[1], `a: {"name":"her"}`)
    }))

  it.effect("that was shown early is taken back", () =>
    Effect.gen(function*() {
      const { events } = yield* stream(typedEarly, answer("Ada"))
      assert.deepStrictEqual(joined(events), [
        `final_answer {"name":"Ada"}`,
        "Replace",
        "withdrawn: A guardrail put something else in its place.",
        `final_answer {"name":"her"}`,
        "responded"
      ])
      const blocked = yield* stream(typedEarly, answer("blocked"))
      assert.deepStrictEqual(ofTag(blocked.events, "TextWithdrawn").length, 1)
      const remark = yield* stream(typedEarly, MockResponse.all("It is Eve.", answer("Ada")))
      assert.deepStrictEqual(joined(remark.events), [
        "text It is Eve.",
        `final_answer {"name":"Ada"}`,
        "Pass",
        "Replace",
        "withdrawn: A guardrail put something else in its place.",
        "text It is Eve.",
        `final_answer {"name":"her"}`,
        "responded"
      ])
    }))
})

it.effect("Nobody sees what was said while a guardrail looks at it", () =>
  Effect.gen(function*() {
    const slow = Guardrail.make("slow", () => Effect.delay(Effect.succeed(Guardrail.pass), "10 seconds"))
    const agent = Agent.make("a", { guardrails: { input: [slow] } })
    const seen: Array<string> = []
    const fiber = yield* Agent.run(agent, "Who?").pipe(
      Agent.observe((event) => Effect.sync(() => void seen.push(event._tag))),
      Effect.provide(MockModel.layer(MockModel.make(() => "Bob."))),
      Effect.forkChild
    )
    yield* TestClock.adjust("5 seconds")
    assert.deepStrictEqual(seen, [])
    yield* TestClock.adjust("5 seconds")
    yield* Fiber.join(fiber)
    assert.deepStrictEqual(seen.slice(0, 4), ["RunStarted", "StepStarted", "GuardrailStarted", "GuardrailSettled"])
  }))
