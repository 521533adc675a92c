import { Context, Effect, Schema } from "effect"
import type { LanguageModel } from "effect/ai"
import { Agent, type AgentError, type AgentState, Group, Guardrail, Handoff } from "troupe"
import { describe, expectTypeOf, it } from "vitest"

class Words extends Context.Service<Words, ReadonlySet<string>>()("test/Words") {}
class Rules extends Context.Service<Rules, string>()("test/Rules") {}
class Down extends Schema.TaggedError<Down>()("Down", {}) {}

const known = Guardrail.make(
  "known",
  (text) => Effect.map(Words, (words) => words.has(text) ? Guardrail.pass : Guardrail.warn("unknown"))
)
const ruled = Guardrail.make("ruled", () => Effect.as(Rules, Guardrail.pass), { on: "toolCall" })
const shaky = Guardrail.make("shaky", () => Effect.fail(new Down()))
const plain = Guardrail.make("plain", () => Guardrail.pass)
const onInput = Guardrail.make("input", () => Guardrail.pass, { on: "input" })
const onHandoff = Guardrail.make("handoff", () => Guardrail.pass, { on: "handoff" })
const onResult = Guardrail.make("result", () => Guardrail.pass, { on: "toolResult" })

describe("Guardrail.make", () => {
  it("knows what is looked at, where, and what a check needs and fails with", () => {
    expectTypeOf(plain).toEqualTypeOf<Guardrail.Guardrail>()
    expectTypeOf(known).toEqualTypeOf<Guardrail.Guardrail<"text", string, never, Words>>()
    expectTypeOf(shaky).toEqualTypeOf<Guardrail.Guardrail<"text", string, Down>>()
    expectTypeOf(ruled).toEqualTypeOf<Guardrail.Guardrail<"toolCall", Schema.Json, never, Rules>>()
    Guardrail.make("input", (parts, context) => {
      expectTypeOf(parts).toEqualTypeOf<Guardrail.Values["input"]>()
      expectTypeOf(context).toEqualTypeOf<Guardrail.Context>()
      expectTypeOf(context.state).toEqualTypeOf<AgentState.AgentState>()
      return Guardrail.pass
    }, { on: "input" })
    Guardrail.make("call", (params, context) => {
      expectTypeOf(params).toEqualTypeOf<Schema.Json>()
      expectTypeOf(context).toEqualTypeOf<Guardrail.CallContext>()
      return Guardrail.replace({ a: 1 }, "why")
    }, { on: "toolCall" })
    Guardrail.make("handoff", ({ context, reason, target }) => {
      expectTypeOf(target).toEqualTypeOf<string>()
      expectTypeOf(reason).toEqualTypeOf<string | undefined>()
      expectTypeOf(context).toEqualTypeOf<Schema.Json | undefined>()
      return Guardrail.pass
    }, { on: "handoff" })
    Guardrail.make("text", (text, context) => {
      expectTypeOf(text).toEqualTypeOf<string>()
      expectTypeOf(context).toEqualTypeOf<Guardrail.Context>()
      return Guardrail.pass
    })
  })

  it("takes the value of an output from its check", () => {
    const output = Guardrail.make(
      "output",
      (value: { readonly name: string }) => Guardrail.replace({ name: value.name }, "why"),
      { on: "output" }
    )
    expectTypeOf(output).toEqualTypeOf<Guardrail.Guardrail<"output", { readonly name: string }>>()
    const any = Guardrail.make("output", (value) => {
      expectTypeOf(value).toBeUnknown()
      return Guardrail.pass
    }, { on: "output" })
    expectTypeOf(any).toEqualTypeOf<Guardrail.Guardrail<"output", unknown>>()
  })

  it("refuses verdicts that don't fit", () => {
    // @ts-expect-error: a text is replaced by a text
    Guardrail.make("text", () => Guardrail.replace(1, "why"))
    // @ts-expect-error: an output is replaced by an output
    Guardrail.make("output", ({ name }: { readonly name: string }) => Guardrail.replace(name, "why"), { on: "output" })
    // @ts-expect-error: parts are replaced by parts
    Guardrail.make("input", () => Guardrail.replace("text", "why"), { on: "input" })
    // @ts-expect-error: a handoff keeps a target
    Guardrail.make("handoff", () => Guardrail.replace({ reason: "why" }, "why"), { on: "handoff" })
    // @ts-expect-error: a check gives a verdict
    Guardrail.make("text", (text) => text.length > 3)
    // @ts-expect-error: there is no such stage
    Guardrail.make("text", () => Guardrail.pass, { on: "answer" })
    // @ts-expect-error: there is no such mode
    Guardrail.make("text", () => Guardrail.pass, { mode: "beside" })
  })
})

describe("What is made of guardrails", () => {
  it("looks where they look, and needs and fails with what they do", () => {
    expectTypeOf(Guardrail.all()).toEqualTypeOf<Guardrail.Guardrail>()
    expectTypeOf(Guardrail.all(known, shaky)).toEqualTypeOf<Guardrail.Guardrail<"text", string, Down, Words>>()
    expectTypeOf(Guardrail.sequence(ruled)).toEqualTypeOf<Guardrail.Guardrail<"toolCall", Schema.Json, never, Rules>>()
    expectTypeOf(Guardrail.any(plain, known)).toEqualTypeOf<Guardrail.Guardrail<"text", string, never, Words>>()
    expectTypeOf(Guardrail.not(known)).toEqualTypeOf<Guardrail.Guardrail<"text", string, never, Words>>()
    expectTypeOf(Guardrail.when((text) => text !== "", known)).toEqualTypeOf<
      Guardrail.Guardrail<"text", string, never, Words>
    >()
    expectTypeOf(Guardrail.when((_, { call }) => call.name === "look", ruled)).toEqualTypeOf<typeof ruled>()
    const list: ReadonlyArray<typeof known> = [known]
    expectTypeOf(Guardrail.all(...list)).toEqualTypeOf<Guardrail.Guardrail<"text", string, never, Words>>()
  })

  it("says what becomes of a block in values that fit", () => {
    const retried = Guardrail.mapBlock(({ reason }) => Guardrail.retry(reason))
    expectTypeOf(retried(known)).toEqualTypeOf<typeof known>()
    expectTypeOf(retried(ruled)).toEqualTypeOf<typeof ruled>()
    expectTypeOf(known.pipe(Guardrail.mapBlock(() => Guardrail.replace("…", "why")))).toEqualTypeOf<typeof known>()
    expectTypeOf(Guardrail.mapBlock(ruled, () => Guardrail.replace([], "why"))).toEqualTypeOf<typeof ruled>()
    // @ts-expect-error: a text is replaced by a text
    known.pipe(Guardrail.mapBlock(() => Guardrail.replace(1, "why")))
    // @ts-expect-error: a text is replaced by a text
    Guardrail.mapBlock(known, () => Guardrail.replace(1, "why"))
  })

  it("is made of one kind", () => {
    // @ts-expect-error: nothing could pass
    Guardrail.any()
    // @ts-expect-error: it stands nowhere
    Agent.make("a", { guardrails: { input: [Guardrail.all(onInput, ruled)] } })
    // @ts-expect-error: it stands nowhere
    Agent.make("a", { guardrails: { toolCall: [Guardrail.all(onInput, ruled)] } })
    // @ts-expect-error: a guardrail on text is asked about texts, one on inputs about parts
    Agent.make("a", { guardrails: { input: [Guardrail.all(onInput, plain)] } })
  })
})

describe("Agent.make", () => {
  it("needs what its guardrails need, and fails with nothing of theirs", () => {
    const none = Agent.make("a", { guardrails: {} })
    expectTypeOf(none).toEqualTypeOf<Agent.Agent<"a", string, never, LanguageModel.LanguageModel>>()
    const agent = Agent.make("a", {
      guardrails: { input: [known, shaky], toolCall: [ruled], output: [plain], releaseEarly: true }
    })
    expectTypeOf(agent).toEqualTypeOf<
      Agent.Agent<"a", string, never, LanguageModel.LanguageModel | Words | Rules>
    >()
    expectTypeOf(Agent.run(agent, "Hello")).toEqualTypeOf<
      Effect.Effect<AgentState.AgentState, AgentError.AgentError, LanguageModel.LanguageModel | Words | Rules>
    >()
    const each = [known, plain]
    expectTypeOf(Agent.make("a", { guardrails: { handoff: each } })).toEqualTypeOf<
      Agent.Agent<"a", string, never, LanguageModel.LanguageModel | Words>
    >()
    const some = (maybe: typeof known | undefined) =>
      Agent.make("a", { guardrails: { input: maybe === undefined ? [] : [maybe] } })
    expectTypeOf(some).returns.toEqualTypeOf<Agent.Agent<"a", string, never, LanguageModel.LanguageModel | Words>>()
  })

  it("passes on what the guardrails need of those that it hands over to or calls, and of a group", () => {
    const strict = Agent.make("strict", { guardrails: { input: [known] } })
    const first = Agent.make("first", { handoffs: [Handoff.to(strict)] })
    expectTypeOf<Agent.Services<typeof first>>().toEqualTypeOf<LanguageModel.LanguageModel | Words>()
    const caller = Agent.make("caller", { agents: [Agent.asTool(strict)] })
    expectTypeOf<Agent.Services<typeof caller>>().toEqualTypeOf<LanguageModel.LanguageModel | Words>()
    const desk = Group.make({ first: Agent.make("first"), strict }, { start: "first" })
    expectTypeOf(Agent.run(desk, "Hello")).toEqualTypeOf<
      Effect.Effect<AgentState.AgentState, AgentError.AgentError, LanguageModel.LanguageModel | Words>
    >()
  })

  it("lets guardrails on text stand everywhere, and others where they belong", () => {
    Agent.make("a", {
      guardrails: { input: [plain], output: [plain], toolCall: [plain], toolResult: [plain], handoff: [plain] }
    })
    Agent.make("a", {
      guardrails: { input: [onInput], toolCall: [ruled], toolResult: [onResult], handoff: [onHandoff, plain] }
    })
    // @ts-expect-error: it looks at inputs
    Agent.make("a", { guardrails: { output: [onInput] } })
    // @ts-expect-error: it looks at calls
    Agent.make("a", { guardrails: { toolResult: [ruled] } })
    // @ts-expect-error: it looks at results
    Agent.make("a", { guardrails: { toolCall: [plain, onResult] } })
    // @ts-expect-error: it looks at handoffs
    Agent.make("a", { guardrails: { input: [onHandoff] } })
    // @ts-expect-error: there is no such stage
    Agent.make("a", { guardrails: { answer: [plain] } })
    // @ts-expect-error: it is no guardrail
    Agent.make("a", { guardrails: { input: [(text: string) => text] } })
  })

  it("takes guardrails on its own outputs", () => {
    const Person = Schema.Struct({ name: Schema.String, born: Schema.Date })
    const onPerson = Guardrail.make(
      "person",
      ({ name }: typeof Person.Type) => name === "" ? Guardrail.block("empty") : Guardrail.pass,
      { on: "output" }
    )
    const onNamed = Guardrail.make("named", ({ name }: { readonly name: string }) => Guardrail.warn(name), {
      on: "output"
    })
    const onAny = Guardrail.make("any", () => Guardrail.pass, { on: "output" })
    const onString = Guardrail.make("string", (text: string) => Guardrail.replace(text, "why"), { on: "output" })
    const agent = Agent.make("a", { output: Person, guardrails: { output: [onPerson, onNamed, onAny, plain] } })
    expectTypeOf(agent).toEqualTypeOf<Agent.Agent<"a", typeof Person.Type, never, LanguageModel.LanguageModel>>()
    Agent.make("a", { guardrails: { output: [onString, onAny, plain] } })
    // @ts-expect-error: its answers are texts
    Agent.make("a", { guardrails: { output: [onPerson] } })
    // @ts-expect-error: its answers are persons
    Agent.make("a", { output: Person, guardrails: { output: [onString] } })
    const onAge = Guardrail.make(
      "old",
      ({ age }: { readonly age: number }) => age < 0 ? Guardrail.block("young") : Guardrail.pass,
      { on: "output" }
    )
    // @ts-expect-error: its answers have no age
    Agent.make("a", { output: Person, guardrails: { output: [onAge] } })
  })

  it("takes guardrails that are made where they stand", () => {
    const agent = Agent.make("a", {
      guardrails: {
        input: [
          Guardrail.make("text", (text) => text === "" ? Guardrail.block("empty") : Guardrail.pass),
          Guardrail.make("parts", (parts) => parts.length === 0 ? Guardrail.pass : Guardrail.warn("parts"), {
            on: "input",
            mode: "parallel"
          }),
          Guardrail.make("needing", () => Effect.as(Rules, Guardrail.pass), { timeout: "1 second" }),
          Guardrail.not(Guardrail.make("negated", () => Guardrail.pass))
        ],
        output: [
          Guardrail.make("text", (text) => Guardrail.replace(text.trim(), "spaces")),
          Guardrail.make("output", (text: string) => Guardrail.replace(text.trim(), "spaces"), { on: "output" })
        ],
        toolCall: [Guardrail.make("call", (_, { call }) => Guardrail.warn(call.name), { on: "toolCall" })]
      }
    })
    expectTypeOf(agent).toEqualTypeOf<Agent.Agent<"a", string, never, LanguageModel.LanguageModel | Rules>>()
  })

  it("doesn't forget what guardrails need whose type says nothing of it", () => {
    const make = (guardrails: Guardrail.Guardrails<string>) => Agent.make("a", { guardrails })
    expectTypeOf<Agent.Services<ReturnType<typeof make>>>().toBeUnknown()
    const guardrails = { input: [known] } satisfies Guardrail.Guardrails<string>
    const agent = Agent.make("a", { guardrails })
    expectTypeOf<Agent.Services<typeof agent>>().toEqualTypeOf<LanguageModel.LanguageModel | Words>()
  })
})
