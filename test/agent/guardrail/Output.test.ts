import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Result, Schema, SchemaGetter } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Guardrail, StopWhen, Usage } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag } from "../watch.ts"
import { model, ran, said, sent, shown, streamed, turns } from "./looking.ts"

/** Says of each text what a verdict in it says, and takes down what it was asked about. */
const judge = (asked: Array<unknown> = []) =>
  Guardrail.make("judge", (text) => {
    asked.push(text)
    return text.includes("blocked")
      ? Guardrail.block("it is blocked")
      : text.includes("again")
      ? Guardrail.retry("Say it otherwise.")
      : text.includes("odd")
      ? Guardrail.warn("it is odd")
      : text.includes("Ada")
      ? Guardrail.replace(text.replaceAll("Ada", "her"), "a name")
      : Guardrail.pass
  })

const Look = Tool.make("look", { success: Schema.String })
const Kit = Toolkit.make(Look)
const handlers = Kit.toLayer({ look: () => Effect.succeed("seen") })
const look = MockResponse.toolCall("look", {})
/** What stands in the place of an answer that was sent back. */
const marker = "(This answer wasn't accepted and isn't shown.)"
const tokens = { input: 10, output: 5 }

describe("An answer", () => {
  it.effect("is what the state holds once it is replaced", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { guardrails: { output: [judge()] } })
      const { events, state } = yield* ran(Agent.run(agent, "Who?"))
      assert.strictEqual(AgentState.text(state), "It is her.")
      assert.deepStrictEqual(turns(state), ["User: Who?", "a: Reasoning | It is her. | Source"])
      assert.deepStrictEqual(said(events), ["output: judge Pass", "output: judge Replace (a name)"])
      assert.notInclude(JSON.stringify(AgentState.toJson(state)), "Ada")
      const order = events.map(({ _tag }) => _tag).filter((tag) => /Guardrail|Model/.test(tag))
      assert.deepStrictEqual(order, [
        "ModelCallStarted",
        "GuardrailStarted",
        "GuardrailSettled",
        "GuardrailStarted",
        "GuardrailSettled",
        "ModelResponded"
      ])
      const next = yield* Agent.continueConversation(agent, state, "And?")
      assert.deepStrictEqual(turns(next).slice(2), ["User: And?", "a: It is odd."])
      assert.deepStrictEqual((yield* sent)[1]?.[1], "assistant: reasoning | It is her.")
    }).pipe(Effect.provide(model(
      MockResponse.all(
        MockResponse.reasoning("Hm."),
        "It ",
        "is Ada.",
        MockResponse.source({ sourceType: "url", id: "book", title: "A book", url: "https://example.com" })
      ),
      "It is odd."
    ))))

  it.effect("is asked about as it will stand: the guardrail sees the state with it, and the run's own doesn't hold it", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const agent = Agent.make("a", {
        guardrails: {
          output: [Guardrail.make("looking", (text, { agent, state, stage, call }) => {
            seen.push(text, agent, stage, call, state.status._tag, turns(state))
            return Guardrail.pass
          })]
        }
      })
      yield* Agent.run(agent, "Who?")
      assert.deepStrictEqual(seen, ["Bob.", "a", "output", undefined, "Complete", ["User: Who?", "a: Bob."]])
    }).pipe(Effect.provide(model("Bob."))))

  it.effect("isn't in the state once it is blocked, and what it used is", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { guardrails: { output: [judge()] } })
      const { error, events, state } = yield* ran(Agent.run(agent, "Who?"))
      assert.isTrue(error?.reason._tag === "GuardrailBlocked")
      if (error?.reason._tag !== "GuardrailBlocked") return
      const { agent: name, guardrail, reason, stage } = error.reason
      assert.deepStrictEqual([name, guardrail, stage, reason], ["a", "judge", "output", "it is blocked"])
      assert.deepStrictEqual(turns(state), ["User: Who?"])
      assert.deepStrictEqual(state.usage, Usage.add(Usage.empty, tokens))
      assert.deepStrictEqual([state.steps, state.run.steps, state.run.iteration], [1, 1, 0])
      assert.deepStrictEqual(
        ofTag(events, "ModelCallFailed").map(({ attempt, message, tag, usage }) => [attempt, tag, message, usage]),
        [[0, "GuardrailBlocked", error.message, tokens]]
      )
      const last = yield* Agent.continueConversation(agent, state, "Then?")
      assert.strictEqual(AgentState.text(last), "Bob.")
    }).pipe(Effect.provide(model(MockResponse.withUsage("This is blocked.", tokens), "Bob."))))

  it.effect("goes back to the model with what is wrong, and leaves a marker in the history", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const agent = Agent.make("a", { outputRetries: 2, guardrails: { output: [judge(asked)] } })
      const { events, state } = yield* ran(Agent.run(agent, "Who?"))
      assert.deepStrictEqual(turns(state), [
        "User: Who?",
        `a: ${marker}`,
        "Feedback: Say it otherwise.",
        `a: ${marker}`,
        "Feedback: Say it otherwise.",
        "a: It is her."
      ])
      assert.deepStrictEqual(asked, ["Once again.", "Twice again.", "It is Ada."])
      assert.strictEqual(state.run.corrections, 2)
      assert.strictEqual(state.status._tag, "Complete")
      assert.deepStrictEqual(ofTag(events, "ModelResponded").map(({ feedback }) => feedback), [
        "Say it otherwise.",
        "Say it otherwise.",
        undefined
      ])
      assert.deepStrictEqual((yield* sent)[1], [
        "user: Who?",
        `assistant: ${marker}`,
        "user: Say it otherwise."
      ])
    }).pipe(Effect.provide(model("Once again.", "Twice again.", "It is Ada."))))

  it.effect("that may go back no more is blocked", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { guardrails: { output: [judge()] } })
      const { error, events, state } = yield* ran(Agent.run(agent, "Who?"))
      assert.isTrue(error?.reason._tag === "GuardrailBlocked" && error.reason.reason === "Say it otherwise.")
      assert.deepStrictEqual(said(events), [
        "output: judge Retry (Say it otherwise.)",
        "output: judge Block (Say it otherwise.)"
      ])
      assert.deepStrictEqual(turns(state), ["User: Who?", `a: ${marker}`, "Feedback: Say it otherwise."])
      assert.strictEqual(state.steps, 2)
      const never = Agent.make("a", { outputRetries: 0, guardrails: { output: [judge()] } })
      const atOnce = yield* ran(Agent.run(never, "Who?"))
      assert.strictEqual(atOnce.error?.reason._tag, "GuardrailBlocked")
    }).pipe(Effect.provide(model("Once again.", "Twice again.", "And again."))))

  it.effect("is one beside a call that the provider ran", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const Search = Tool.providerDefined({
        id: "acme.search",
        customName: "acme_search",
        providerName: "search",
        parameters: Schema.Struct({ query: Schema.String }),
        success: Schema.Struct({ hits: Schema.Finite })
      })(undefined)
      const agent = Agent.make("a", { toolkit: Toolkit.make(Search), guardrails: { output: [judge(asked)] } })
      const { state } = yield* ran(Agent.run(agent, "Who?"))
      assert.deepStrictEqual(asked, ["It is Ada."])
      assert.deepStrictEqual(AgentState.text(state), "It is her.")
    }).pipe(Effect.provide(
      model(MockResponse.all(MockResponse.providerCall("acme_search", { query: "Who?" }, { hits: 3 }), "It is Ada."))
    )))

  it.effect("without a text is an empty one", () =>
    Effect.gen(function*() {
      const spoken = Guardrail.make(
        "spoken",
        (text) => text === "" ? Guardrail.retry("Say something.") : Guardrail.pass
      )
      const agent = Agent.make("a", { guardrails: { output: [spoken] } })
      const { state } = yield* ran(Agent.run(agent, "Who?"))
      assert.deepStrictEqual(turns(state), ["User: Who?", "a: Reasoning", "Feedback: Say something.", "a: Bob."])
      const removed = Agent.make("a", {
        guardrails: { output: [Guardrail.make("silent", () => Guardrail.replace("", "hush"))] }
      })
      assert.deepStrictEqual(turns(yield* Agent.run(removed, "Who?")), ["User: Who?", "a: "])
    }).pipe(Effect.provide(model(MockResponse.reasoning("Hm."), "Bob.", "Bob."))))
})

const Answer = Schema.Struct({ name: Schema.String, born: Schema.optionalKey(Schema.Date) })
const answer = (params: unknown) => MockResponse.toolCall("final_answer", params, { id: "answer" })

describe("JSON as text beside a call", () => {
  const Person = Schema.Struct({ name: Schema.String })
  const asked: Array<unknown> = []
  const typed = (verdict: (name: string) => Guardrail.Verdict<typeof Person.Type>) => {
    asked.length = 0
    const looking = Guardrail.make("typed", (value: typeof Person.Type) => {
      asked.push(value)
      return value.name === "Ada" ? verdict(value.name) : Guardrail.pass
    }, { on: "output" })
    const agent = Agent.make("a", { toolkit: Kit, output: Person, guardrails: { output: [looking] } })
    return ran(Agent.run(agent, "Who?")).pipe(
      Effect.provide([handlers, model(MockResponse.all("{\"name\":\"Ada\"}", look), "{\"name\":\"Bob\"}")])
    )
  }
  const found = [{ name: "Ada" }, { name: "Bob" }]

  it.effect("is looked at as the value that it is, and is replaced", () =>
    Effect.gen(function*() {
      const { events, state } = yield* typed(() => Guardrail.replace({ name: "her" }, "a name"))
      assert.deepStrictEqual(asked, found)
      assert.deepStrictEqual(turns(state), [
        "User: Who?",
        "a: {\"name\":\"her\"} | look({}) Succeeded \"seen\"",
        "a: {\"name\":\"Bob\"}"
      ])
      assert.notInclude(JSON.stringify([events, AgentState.toJson(state)]), "Ada")
    }))

  it.effect("is left out if a guardrail refuses it", () =>
    Effect.gen(function*() {
      for (const verdict of [() => Guardrail.block("a name"), () => Guardrail.retry("No names.")]) {
        const { events, state } = yield* typed(verdict)
        assert.deepStrictEqual(asked, found)
        assert.deepStrictEqual(turns(state), [
          "User: Who?",
          "a: look({}) Succeeded \"seen\"",
          "a: {\"name\":\"Bob\"}"
        ])
        assert.notInclude(JSON.stringify([events, AgentState.toJson(state)]), "Ada")
      }
    }))
})

describe("Text beside calls", () => {
  const remarking = (
    remark: MockResponse.Input,
    options: {
      readonly releaseEarly?: boolean
      readonly asked?: Array<unknown>
      readonly stopWhen?: StopWhen.StopWhen
    } = {}
  ) => {
    const agent = Agent.make("a", {
      toolkit: Kit,
      guardrails: { output: [judge(options.asked)], releaseEarly: options.releaseEarly ?? false },
      ...(options.stopWhen === undefined ? undefined : { stopWhen: options.stopWhen })
    })
    return streamed(Agent.stream(agent, "Who?")).pipe(
      Effect.provide([handlers, model(MockResponse.all(remark, look), "Bob.")])
    )
  }

  it.effect("is looked at like an answer, and shown and kept where it passes", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const { events, state } = yield* remarking("Let me see. ", { asked })
      assert.deepStrictEqual(asked, ["Let me see. ", "Bob."])
      assert.deepStrictEqual(turns(state).slice(1), [`a: Let me see.  | look({}) Succeeded "seen"`, "a: Bob."])
      assert.strictEqual(shown(events), "Let me see. Bob.")
    }))

  it.effect("is said otherwise where it is replaced", () =>
    Effect.gen(function*() {
      const { events, state } = yield* remarking("It may be Ada. ")
      assert.deepStrictEqual(turns(state).slice(1), [`a: It may be her.  | look({}) Succeeded "seen"`, "a: Bob."])
      assert.strictEqual(shown(events), "It may be her. Bob.")
    }))

  for (
    const [remark, verdict] of [["This is blocked.", "Block (it is blocked)"], [
      "Once again.",
      "Block (Say it otherwise.)"
    ]] as const
  ) {
    it.effect(`isn't said where it is refused, and the run goes on: ${verdict}`, () =>
      Effect.gen(function*() {
        const { error, events, state } = yield* remarking(remark)
        assert.isUndefined(error)
        assert.deepStrictEqual(said(events), [`output: judge ${verdict}`, "output: judge Pass"])
        assert.deepStrictEqual(turns(state).slice(1), [`a: look({}) Succeeded "seen"`, "a: Bob."])
        assert.strictEqual(shown(events), "Bob.")
        assert.strictEqual(state.run.corrections, 0)
      }))
  }

  it.effect("that was shown early is taken back where it doesn't pass", () =>
    Effect.gen(function*() {
      const { events } = yield* remarking("This is blocked. ", { releaseEarly: true })
      assert.strictEqual(shown(events), "This is blocked. Bob.")
      const order = events.map(({ _tag }) => _tag).filter((tag) => /Withdrawn|Responded/.test(tag))
      assert.deepStrictEqual(order, ["TextWithdrawn", "ModelResponded", "ModelResponded"])
      const replaced = yield* remarking("It may be Ada. ", { releaseEarly: true })
      assert.strictEqual(shown(replaced.events), "It may be Ada. It may be her. Bob.")
      assert.strictEqual(ofTag(replaced.events, "TextWithdrawn").length, 1)
    }))

  it.effect("is looked at where the run ends with it, too", () =>
    Effect.gen(function*() {
      const stopWhen = StopWhen.toolCalled("look")
      const { state } = yield* remarking("It is Ada.", { stopWhen })
      assert.deepStrictEqual([state.status._tag, AgentState.text(state)], ["Complete", "It is her."])
      const blocked = yield* remarking("This is blocked.", { stopWhen })
      assert.deepStrictEqual([blocked.state.status._tag, AgentState.text(blocked.state)], ["Complete", ""])
    }))

  it.effect("isn't asked about by guardrails on outputs, nor where there is none", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const onOutput = Guardrail.make("answers", (value: unknown) => {
        asked.push(value)
        return Guardrail.pass
      }, { on: "output" })
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { output: [onOutput, judge(asked)] } })
      yield* ran(Agent.run(agent, "Who?")).pipe(
        Effect.provide([handlers, model(MockResponse.all("Let me see.", look), look, "Bob.")])
      )
      assert.deepStrictEqual(asked, ["Let me see.", "Bob.", "Bob."])
    }))

  it.effect("of a final answer is looked at apart from it", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const agent = Agent.make("a", { output: Answer, guardrails: { output: [judge(asked)] } })
      const { events, state } = yield* streamed(Agent.stream(agent, "Who?")).pipe(
        Effect.provide(model(MockResponse.all("This is blocked.", answer({ name: "Ada" }))))
      )
      assert.deepStrictEqual(asked, ["This is blocked.", "Ada"])
      assert.deepStrictEqual(turns(state).slice(1), [`a: final_answer({"name":"her"}) Succeeded "Accepted."`])
      assert.strictEqual(shown(events), "")
      assert.deepStrictEqual(ofTag(events, "ToolParamsDelta").map(({ delta }) => delta), [`{"name":"her"}`])
    }))

  it.effect("is looked at by hand, too", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        toolkit: Kit,
        stopWhen: StopWhen.toolCalled("look"),
        guardrails: { output: [judge()] }
      })
      const state = yield* Agent.step(agent, AgentState.ask(AgentState.make("a"), "Who?", 0))
      assert.deepStrictEqual([state.status._tag, AgentState.text(state)], ["Complete", "It is her."])
    }).pipe(Effect.provide([handlers, model(MockResponse.all("It is Ada.", look))])))
})

describe("An answer that was sent back", () => {
  it.effect("isn't what a condition finishes the run with", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        stopWhen: StopWhen.any(StopWhen.satisfies((state) => state.steps > 0), StopWhen.maxSteps(3)),
        guardrails: { output: [judge()] }
      })
      const { events, state } = yield* ran(Agent.run(agent, "Who?")).pipe(
        Effect.provide(model("Once again.", "Bob."))
      )
      assert.deepStrictEqual(said(events), ["output: judge Retry (Say it otherwise.)", "output: judge Pass"])
      assert.deepStrictEqual([state.status._tag, AgentState.text(state)], ["Complete", "Bob."])
    }))
})

describe("An answer with a schema", () => {
  it.effect("is the decoded value to a guardrail on outputs, and each text of its JSON to one on text", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const onOutput = Guardrail.make("old", (value: typeof Answer.Type) => {
        asked.push([value.name, value.born?.getUTCFullYear()])
        return value.born === undefined
          ? Guardrail.pass
          : Guardrail.replace({ ...value, born: new Date(0) }, "nobody asks")
      }, { on: "output" })
      const agent = Agent.make("a", { output: Answer, guardrails: { output: [onOutput, judge(asked)] } })
      const { state } = yield* ran(Agent.run(agent, "Who?"))
      assert.deepStrictEqual(asked, [["Ada", 1815], "Ada", "1970-01-01T00:00:00.000Z"])
      assert.deepStrictEqual(yield* Effect.fromResult(AgentState.output(agent)(state)), {
        name: "her",
        born: new Date(0)
      })
      assert.deepStrictEqual(turns(state).slice(1), [
        `a: final_answer({"name":"her","born":"1970-01-01T00:00:00.000Z"}) Succeeded "Accepted."`
      ])
    }).pipe(Effect.provide(model(answer({ name: "Ada", born: "1815-12-10" })))))

  it.effect("may be a text that fits, and stays one", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { output: Answer, guardrails: { output: [judge()] } })
      const { state } = yield* ran(Agent.run(agent, "Who?"))
      assert.deepStrictEqual(turns(state).slice(1), [`a: {"name":"her"}`])
    }).pipe(Effect.provide(model(`{ "name": "Ada" }`))))

  it.effect("may be no object", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        output: Schema.Array(Schema.String),
        guardrails: {
          output: [
            Guardrail.make(
              "few",
              (names: ReadonlyArray<string>) => Guardrail.replace(names.slice(0, 1), "too many"),
              { on: "output" }
            ),
            judge()
          ]
        }
      })
      const { state } = yield* ran(Agent.run(agent, "Who?"))
      assert.deepStrictEqual(yield* Effect.fromResult(AgentState.output(agent)(state)), ["her"])
    }).pipe(Effect.provide(model(answer({ value: ["Ada", "Bob"] })))))

  it.effect("that doesn't fit goes back without what guardrails on text refuse of it", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const agent = Agent.make("a", { output: Answer, outputRetries: 2, guardrails: { output: [judge(asked)] } })
      const { state } = yield* ran(Agent.run(agent, "Who?"))
      assert.deepStrictEqual(asked, ["This is blocked.", "Bob"])
      assert.strictEqual(state.run.corrections, 2)
      assert.notInclude(JSON.stringify(state), "blocked")
    }).pipe(Effect.provide(model("This is blocked.", answer({ name: 7 }), answer({ name: "Bob" })))))

  for (const finishReason of ["tool-calls", "length"] as const) {
    it.effect(`that a call gave is taken back and kept without what is refused, if it doesn't fit (${finishReason})`, () =>
      Effect.gen(function*() {
        const Name = Schema.Struct({ name: Schema.String })
        const wrong = (name: string) => MockResponse.toolCall("final_answer", { name: [name] })
        for (const isEarly of [true, false]) {
          for (
            const [name, kept] of [["Ada", { name: ["her"] }], ["blocked", {}], ["Bob", { name: ["Bob"] }]] as const
          ) {
            const agent = Agent.make("a", {
              output: Name,
              guardrails: { output: [judge()], releaseEarly: isEarly }
            })
            const first = MockResponse.withFinishReason(MockResponse.all("Well.", wrong(name)), finishReason)
            const last = MockResponse.toolCall("final_answer", { name: "Eve" })
            const { events, state } = yield* streamed(Agent.stream(agent, "Who?")).pipe(
              Effect.provide(model(first, last))
            )
            const [call] = state.conversation.turns.flatMap((turn) =>
              turn._tag === "Assistant" ? Conversation.callsOf(turn) : []
            )
            assert.deepStrictEqual(call?.params, kept)
            const withdrawn = events.findIndex(({ _tag }) => _tag === "TextWithdrawn")
            assert.strictEqual(withdrawn >= 0, isEarly && name !== "Bob")
            assert.strictEqual(shown(events.slice(withdrawn + 1)), "Well.")
            if (!isEarly) assert.notMatch(JSON.stringify(events), /Ada|"blocked/)
          }
        }
      }))
  }

  it.effect("is blocked where its replacement doesn't fit", () =>
    Effect.gen(function*() {
      const Short = Schema.Struct({ name: Schema.String.check(Schema.isMaxLength(4)) })
      const longer = Guardrail.make("longer", (text) => Guardrail.replace(`${text}${text}`, "short"))
      const other = Guardrail.make("other", () => Guardrail.replace({ name: "Charles" }, "short"), { on: "output" })
      for (const [name, guardrail] of [["longer", longer], ["other", other]] as const) {
        const agent = Agent.make("a", { output: Short, guardrails: { output: [guardrail] } })
        const { error, events } = yield* ran(Agent.run(agent, "Who?")).pipe(
          Effect.provide(model(answer({ name: "Ada" })))
        )
        assert.isTrue(error?.reason._tag === "GuardrailBlocked" && error.reason.guardrail === name)
        assert.match(said(events)[0] ?? "", /^output: \w+ Block \(its replacement doesn't fit: /)
      }
    }))

  it.effect("is the JSON that was read, to guardrails on text, where the schema only decodes", () =>
    Effect.gen(function*() {
      const Loud = Schema.Struct({ name: Schema.String }).pipe(
        Schema.decodeTo(Schema.Struct({ loud: Schema.String }), {
          decode: SchemaGetter.transform(({ name }) => ({ loud: name.toUpperCase() })),
          encode: SchemaGetter.forbidden(() => "it is only read")
        })
      )
      const longer = Guardrail.make(
        "longer",
        (given: typeof Loud.Type) =>
          given.loud.length < 4 ? Guardrail.replace({ loud: "LONG" }, "it is short") : Guardrail.pass,
        { on: "output" }
      )
      const asked: Array<unknown> = []
      const agent = Agent.make("a", { output: Loud, outputRetries: 0, guardrails: { output: [judge(asked), longer] } })
      const ways = [
        (name: string) => MockResponse.toolCall("final_answer", { name }),
        (name: string) => JSON.stringify({ name })
      ]
      for (const answer of ways) {
        for (const [name, loud] of [["Grace", "GRACE"], ["Ada L.", "HER L."]] as const) {
          const { state } = yield* ran(Agent.run(agent, "Who?").pipe(Effect.provide(model(answer(name)))))
          assert.deepStrictEqual(AgentState.output(agent, state), Result.succeed({ loud }))
          assert.notInclude(JSON.stringify(AgentState.toJson(state)), "Ada")
          assert.deepStrictEqual(asked.splice(0), [name])
        }
        const { error } = yield* ran(Agent.run(agent, "Who?").pipe(Effect.provide(model(answer("Bo")))))
        assert.include(error?.message, "its replacement doesn't fit")
        asked.length = 0
      }
    }))

  it.effect("goes back with what is wrong: the call of final_answer has failed then", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { output: Answer, guardrails: { output: [judge()] } })
      const { events, state } = yield* ran(Agent.run(agent, "Who?"))
      assert.deepStrictEqual(turns(state).slice(1), [
        `a: final_answer({}) Failed "This answer wasn't accepted."`,
        "Feedback: Say it otherwise.",
        `a: final_answer({"name":"Bob"}) Succeeded "Accepted."`
      ])
      assert.strictEqual(state.run.corrections, 1)
      assert.deepStrictEqual(said(events), ["output: judge Retry (Say it otherwise.)", "output: judge Pass"])
      assert.deepStrictEqual((yield* sent)[1]?.slice(1), [
        "assistant: tool-call",
        `tool: "This answer wasn't accepted."`,
        "user: Say it otherwise."
      ])
    }).pipe(Effect.provide(model(answer({ name: "again" }), answer({ name: "Bob" })))))

  it.effect("shares what may go back with answers that don't fit", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { output: Answer, outputRetries: 1, guardrails: { output: [judge()] } })
      const first = yield* ran(Agent.run(agent, "Who?"))
      assert.strictEqual(first.error?.reason._tag, "GuardrailBlocked")
      const second = yield* ran(Agent.run(agent, "Who?"))
      assert.strictEqual(second.error?.reason._tag, "OutputInvalid")
    }).pipe(Effect.provide(model(
      answer({ name: 7 }),
      answer({ name: "again" }),
      answer({ name: "again" }),
      answer({ name: 7 })
    ))))

  it.effect("isn't in the state once it is blocked", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { output: Answer, toolkit: Kit, guardrails: { output: [judge()] } })
      const { error, state } = yield* ran(Agent.run(agent, "Who?"))
      assert.strictEqual(error?.reason._tag, "GuardrailBlocked")
      assert.deepStrictEqual(turns(state), ["User: Who?"])
    }).pipe(Effect.provide([handlers, model(MockResponse.all(look, answer({ name: "blocked" })))])))
})

describe("What an answer has used", () => {
  for (const mode of ["output", "parallel"] as const) {
    it.effect(`counts where the run is interrupted while guardrails look (${mode})`, () =>
      Effect.gen(function*() {
        const events: Array<Parameters<typeof AgentState.reduce>[1]> = []
        const fiber = yield* Effect.forkChild(Effect.gen(function*() {
          const looking = Guardrail.make(
            "looking",
            () => Effect.as(Effect.never, Guardrail.pass),
            mode === "parallel" ? { mode } : {}
          )
          const agent = Agent.make("a", {
            guardrails: mode === "parallel" ? { input: [looking] } : { output: [looking] }
          })
          return yield* Agent.run(agent, "Who?").pipe(
            Agent.observe((event) => Effect.sync(() => void events.push(event))),
            Effect.provide(model(MockResponse.withUsage("Bob.", tokens)))
          )
        }))
        yield* Effect.repeat(Effect.yieldNow, { times: 50 })
        yield* Fiber.interrupt(fiber)
        const end = events[events.length - 1]
        assert.isTrue(end?._tag === "RunInterrupted")
        if (end?._tag !== "RunInterrupted") return
        assert.deepStrictEqual(end.state.usage, Usage.add(Usage.empty, tokens))
        assert.deepStrictEqual(end.state.conversation.turns.map(Conversation.textOf), ["Who?"])
        assert.deepStrictEqual(
          ofTag(events, "GuardrailSettled").map(({ verdict }) => verdict),
          ["Interrupted"]
        )
      }))
  }
})

it.effect("Agents that are called have answers of their own to look at", () =>
  Effect.gen(function*() {
    const helper = Agent.make("helper", { guardrails: { output: [judge()] } })
    const asked: Array<unknown> = []
    const agent = Agent.make("a", { agents: [Agent.asTool(helper)], guardrails: { output: [judge(asked)] } })
    const { state } = yield* ran(Agent.run(agent, "Who?"))
    assert.deepStrictEqual(asked, ["Fine."])
    assert.deepStrictEqual(turns(state).slice(1), [
      `a: helper({"task":"one"}) Succeeded "It is her." | helper({"task":"two"}) Failed ` +
      `"Agent \\"helper\\" failed: Guardrail \\"judge\\" of agent \\"helper\\" blocked the output: it is blocked"`,
      "a: Fine."
    ])
  }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
    a: MockModel.queue(
      MockResponse.all(
        MockResponse.toolCall("helper", { task: "one" }),
        MockResponse.toolCall("helper", { task: "two" })
      ),
      "Fine."
    ),
    helper: MockModel.conditional(
      MockModel.when(({ lastUserText }) => lastUserText === "one", "It is Ada."),
      MockModel.otherwise("This is blocked.")
    )
  })))))
