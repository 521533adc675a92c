import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema } from "effect"
import { Prompt, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentState, Guardrail, Mode, Session, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag } from "../watch.ts"
import { model, ran, sent, turns } from "./looking.ts"

class Refused extends Schema.TaggedError<Refused>("test/Refused")("Refused", { why: Schema.String }) {}

const Person = Schema.Struct({ name: Schema.String, born: Schema.Date })
const Find = Tool.make("find", {
  parameters: Schema.Struct({ name: Schema.String }),
  success: Person,
  failure: Refused
})
const Kit = Toolkit.make(Find)
const handlers = Kit.toLayer({
  find: ({ name }, { preliminary }) =>
    name === "nobody"
      ? Effect.fail(new Refused({ why: "Ada said so" }))
      : name === "bug"
      ? Effect.die("a bug")
      : Effect.as(preliminary({ name: "soon", born: new Date(0) }), { name, born: new Date(0) })
})

const names = (asked: Array<unknown> = []) =>
  Guardrail.make("names", (text) => {
    asked.push(text)
    return text === "Mallory"
      ? Guardrail.block("nobody knows Mallory")
      : text === "Eve"
      ? Guardrail.retry("Look for somebody else.")
      : text.includes("Ada")
      ? Guardrail.replace(text.replaceAll("Ada", "her"), "a name")
      : Guardrail.pass
  })

const find = (name: string, id: string = name) => MockResponse.toolCall("find", { name }, { id })
const epoch = "1970-01-01T00:00:00.000Z"

describe("What a tool gives back", () => {
  it.effect("is what the state holds and the model reads once it is replaced, or why it isn't", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolResult: [names(asked)] } })
      const { events, state } = yield* ran(Agent.run(agent, "Find"))
      const results = [
        `{"name":"her","born":"${epoch}"}`,
        `"Guardrail \\"names\\" blocked the result of \\"find\\": nobody knows Mallory"`,
        `"Look for somebody else."`,
        `{"_tag":"Refused","why":"her said so"}`,
        `{"name":"Bob","born":"${epoch}"}`
      ]
      assert.deepStrictEqual(
        ofTag(events, "ToolCallSettled").map(({ outcome, result }) => [outcome, JSON.stringify(result)]),
        results.map((result, index) => [["Succeeded", "Failed", "Failed", "Failed", "Succeeded"][index], result])
      )
      assert.strictEqual((yield* sent)[1]?.[2], `tool: ${results.join(" | ")}`)
      assert.strictEqual(AgentState.text(state), "Done.")
      assert.deepStrictEqual(
        ofTag(events, "GuardrailSettled").map(({ callId, verdict }) => `${callId} ${verdict}`).toSorted(),
        ["Ada Replace", "Bob Pass", "Eve Retry", "Mallory Block", "nobody Replace"]
      )
      assert.notInclude(JSON.stringify(events.filter(({ _tag }) => _tag === "ToolCallSettled")), "Ada said")
    }).pipe(Effect.provide([
      handlers,
      model(MockResponse.all(find("Ada"), find("Mallory"), find("Eve"), find("nobody"), find("Bob")), "Done.")
    ])))

  it.effect("is given to a guardrail with its call and how that ended", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const looking = Guardrail.make("looking", (result, { agent, call, stage }) => {
        seen.push([result, agent, stage, call])
        return Guardrail.replace({ is: "hidden" }, "why not")
      }, { on: "toolResult" })
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolResult: [looking] } })
      const { state } = yield* ran(Agent.run(agent, "Find"))
      const call = (name: string) => ({ id: name, name: "find", params: { name } })
      assert.deepStrictEqual(seen, [
        [{ name: "Bob", born: epoch }, "a", "toolResult", { ...call("Bob"), outcome: "Succeeded" }],
        [{ _tag: "Refused", why: "Ada said so" }, "a", "toolResult", { ...call("nobody"), outcome: "Failed" }]
      ])
      assert.strictEqual(
        turns(state)[1],
        `a: find({"name":"Bob"}) Succeeded {"is":"hidden"} | find({"name":"nobody"}) Failed {"is":"hidden"}`
      )
    }).pipe(Effect.provide([handlers, model(MockResponse.all(find("Bob"), find("nobody")), "Done.")])))

  it.effect("isn't told while it is preliminary", () =>
    Effect.gen(function*() {
      const plain = yield* ran(Agent.run(Agent.make("a", { toolkit: Kit }), "Find"))
      assert.strictEqual(ofTag(plain.events, "ToolCallProgressed").length, 1)
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolResult: [names()] } })
      const guarded = yield* ran(Agent.run(agent, "Find"))
      assert.deepStrictEqual(ofTag(guarded.events, "ToolCallProgressed"), [])
    }).pipe(Effect.provide([handlers, model(find("Bob"), "Done.", find("Bob"), "Done.")])))

  it.effect("ends the run all the same if its tool is fatal, by an error that has passed", () =>
    Effect.gen(function*() {
      for (const name of ["nobody", "Eve"]) {
        const Fatal = Toolkit.make(Tool.make("find", { parameters: Find.parametersSchema, failure: Refused }))
        const agent = Agent.make("a", { toolkit: Fatal, fatal: ["find"], guardrails: { toolResult: [names()] } })
        const { error, state } = yield* ran(Agent.run(agent, "Find")).pipe(Effect.provide([
          Fatal.toLayer({ find: () => Effect.fail(new Refused({ why: name === "Eve" ? name : "Ada said so" })) }),
          model(find("x"))
        ]))
        if (name === "Eve") {
          assert.isTrue(error?.reason._tag === "GuardrailBlocked" && error.reason.stage === "toolResult")
        } else assert.deepStrictEqual(error as unknown, new Refused({ why: "her said so" }))
        assert.strictEqual(state.status._tag, "Failed")
        assert.include(turns(state)[1], name === "Eve" ? "Look for somebody else." : `"why":"her said so"`)
      }
    }))

  it.effect("is looked at after the retries and the time-out of its tool", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const Slow = Toolkit.make(ToolPolicy.set(Tool.make("find", { success: Schema.String }), { timeout: "1 second" }))
      const agent = Agent.make("a", { toolkit: Slow, guardrails: { toolResult: [names(asked)] } })
      const fiber = yield* Effect.forkChild(
        ran(Agent.run(agent, "Find")).pipe(
          Effect.provide([
            Slow.toLayer({ find: () => Effect.never }),
            model(MockResponse.toolCall("find", {}), "Done.")
          ])
        )
      )
      yield* TestClock.adjust("1 second")
      const { state } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(asked, [`The tool "find" timed out.`])
      assert.strictEqual(AgentState.text(state), "Done.")
    }))

  it.effect("of a handler that breaks down isn't looked at: it is no result", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolResult: [names(asked)] } })
      const { exit } = yield* ran(Agent.run(agent, "Find"))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.provide([handlers, model(find("bug"))])))

  it.effect("is what an agent answered that was called, and nothing of modes and answers", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const helper = Agent.make("helper")
      const agent = Agent.make("a", {
        agents: [Agent.asTool(helper)],
        modes: [Mode.make("open", { invokable: true, enter: () => Effect.void })],
        output: Schema.Struct({ name: Schema.String }),
        guardrails: { toolResult: [names(asked)] }
      })
      const { state } = yield* ran(Agent.run(agent, "Go"))
      assert.deepStrictEqual(asked, ["It is Ada."])
      assert.include(turns(state)[1], `helper({"task":"help"}) Succeeded "It is her."`)
      assert.strictEqual(state.status._tag, "Complete")
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      a: MockModel.queue(
        MockResponse.all(
          MockResponse.toolCall("helper", { task: "help" }),
          MockResponse.toolCall("enter_open_mode", {})
        ),
        MockResponse.toolCall("final_answer", { name: "Ada" })
      ),
      helper: MockModel.queue("It is Ada.")
    })))))
})

const Picture = Tool.make("picture", {
  success: Schema.Struct({ of: Schema.String, png: Schema.String }),
  toModelOutput: ({ of, png }) => [
    Prompt.makePart("text", { text: `A picture of ${of}` }),
    Prompt.makePart("file", { mediaType: "image/png", data: png }),
    Prompt.makePart("text", { text: `painted by ${of}` })
  ]
})
const Pictures = Toolkit.make(Picture)

describe("What a model reads instead of a result", () => {
  let reasons: ReadonlyArray<string | undefined> = []
  const looked = (guardrails: ReadonlyArray<Guardrail.Guardrail | Guardrail.Guardrail<"toolResult">>, of = "Ada") =>
    Effect.map(
      ran(Agent.run(Agent.make("a", { toolkit: Pictures, guardrails: { toolResult: guardrails } }), "Paint")).pipe(
        Effect.provide([
          Pictures.toLayer({ picture: () => Effect.succeed({ of, png: "aGk=" }) }),
          model(MockResponse.toolCall("picture", {}), "Done.")
        ])
      ),
      ({ events }) => {
        reasons = ofTag(events, "GuardrailSettled").map(({ reason }) => reason)
        const [{ modelOutput, result } = { modelOutput: undefined, result: null }] = ofTag(events, "ToolCallSettled")
        return [result, modelOutput?.map((part) => part.type === "text" ? part.text : part.type)]
      }
    )

  it.effect("is looked at with it, text by text, and replaced with it", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      assert.deepStrictEqual(yield* looked([names(asked)]), [
        { of: "her", png: "aGk=" },
        ["A picture of her", "file", "painted by her"]
      ])
      assert.deepStrictEqual(asked, ["Ada", "aGk=", "A picture of Ada", "painted by Ada"])
      assert.deepStrictEqual(reasons, ["a name"])
      assert.deepStrictEqual(yield* looked([names()], "Bob"), [
        { of: "Bob", png: "aGk=" },
        ["A picture of Bob", "file", "painted by Bob"]
      ])
      const onlyPainted = Guardrail.make("painted", (text) =>
        text.startsWith("painted") ? Guardrail.block("it is signed") : Guardrail.pass)
      assert.deepStrictEqual(yield* looked([onlyPainted]), [
        `Guardrail "painted" blocked the result of "picture": it is signed`,
        undefined
      ])
      const again = Guardrail.make("again", (text) =>
        Guardrail.replace(`${text}!`, "quiet"))
      assert.deepStrictEqual(yield* looked([names(), again]), [
        { of: "her!", png: "aGk=!" },
        ["A picture of her!", "file", "painted by her!"]
      ])
    }))

  it.effect("goes with the result that it was made of", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const other = Guardrail.make("other", () => Guardrail.replace({ of: "Eva", png: "" }, "why not"), {
        on: "toolResult"
      })
      assert.deepStrictEqual(yield* looked([other, names(asked)]), [{ of: "Eva", png: "" }, undefined])
      assert.deepStrictEqual(asked, ["Eva", ""])
      assert.deepStrictEqual(yield* looked([names(), other]), [{ of: "Eva", png: "" }, undefined])
      const same = Guardrail.make("same", () => Guardrail.pass, { on: "toolResult" })
      assert.deepStrictEqual(yield* looked([same]), [
        { of: "Ada", png: "aGk=" },
        ["A picture of Ada", "file", "painted by Ada"]
      ])
    }))
})

describe("Session.invoke", () => {
  it.effect("gives the value of the result that stands in its place, or says that there is none", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolResult: [names()] } })
      const session = yield* Session.make(agent)
      assert.deepStrictEqual(yield* session.invoke(Find, { name: "Ada" }), { name: "her", born: new Date(0) })
      assert.deepStrictEqual(yield* session.invoke(Find, { name: "Bob" }), { name: "Bob", born: new Date(0) })
      assert.deepStrictEqual(
        yield* Effect.flip(session.invoke(Find, { name: "nobody" })),
        new Refused({ why: "her said so" })
      )
      for (const name of ["Mallory", "Eve"]) {
        const error = yield* Effect.flip(session.invoke(Find, { name }))
        assert.isTrue(error._tag === "SessionError" && error.reason._tag === "CallUnanswered")
        assert.include(error.message, name === "Eve" ? "Look for somebody else." : "nobody knows Mallory")
      }
      assert.notInclude(JSON.stringify((yield* session.state).conversation), "Ada said")
    }).pipe(Effect.scoped, Effect.provide([handlers, model()])))

  it.effect("gives nothing of a result that doesn't fit any more", () =>
    Effect.gen(function*() {
      const other = Guardrail.make("other", () => Guardrail.replace("hidden", "why not"), { on: "toolResult" })
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolResult: [other] } })
      const session = yield* Session.make(agent)
      const error = yield* Effect.flip(session.invoke(Find, { name: "Bob" }))
      assert.isTrue(error._tag === "SessionError" && error.reason._tag === "CallUnanswered")
      assert.include(error.message, "hidden")
    }).pipe(Effect.scoped, Effect.provide([handlers, model()])))
})
