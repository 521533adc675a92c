import { Context, Effect, type Option, type Result, Schema } from "effect"
import { type AiError, type DecisionModel, LanguageModel, Tool, Toolkit } from "effect/ai"
import { describe, expectTypeOf, it } from "vitest"
import { AgentPicker, AgentState, type AgentStatus, Conversation, Handoff, HandoffPolicy } from "../../src/index.ts"

class Translator extends Context.Service<Translator, string>()("test/Translator") {}
class Vault extends Context.Service<Vault, string>()("test/Vault") {}
class Lost extends Schema.TaggedError<Lost>()("Lost", {}) {}
class Leaked extends Schema.TaggedError<Leaked>()("Leaked", {}) {}

type Policy<Names extends string, E = never, R = never> = HandoffPolicy.HandoffPolicy<Names, E, R>

/** What a group of these agents takes. */
declare const desk: <E, R>(policy: Policy<"triage" | "billing" | "tech", E, R>) => [E, R]

const translated = (conversation: Conversation.Conversation) =>
  Effect.gen(function*() {
    yield* Translator
    if (conversation.turns.length === 0) return yield* new Lost()
    return conversation
  })

const sealed = (conversation: Conversation.Conversation) =>
  Effect.andThen(Vault, conversation.turns.length === 0 ? Effect.fail(new Leaked()) : Effect.succeed(conversation))

describe("names", () => {
  it("are those of the arguments", () => {
    expectTypeOf(HandoffPolicy.explicit("billing")).toEqualTypeOf<Policy<"billing">>()
    expectTypeOf(HandoffPolicy.explicit("billing", { from: ["triage", "tech"] })).toEqualTypeOf<
      Policy<"billing" | "triage" | "tech">
    >()
    expectTypeOf(HandoffPolicy.explicitAll({ to_billing: "billing", to_tech: "tech" })).toEqualTypeOf<
      Policy<"billing" | "tech">
    >()
    expectTypeOf(HandoffPolicy.explicitAll({ to_billing: "billing" }, { from: ["tech"] })).toEqualTypeOf<
      Policy<"billing" | "tech">
    >()
    expectTypeOf(HandoffPolicy.sequential(["triage", "tech"])).toEqualTypeOf<Policy<"triage" | "tech">>()
    expectTypeOf(HandoffPolicy.chain(["triage", "tech"], { maxLength: 2 })).toEqualTypeOf<Policy<"triage" | "tech">>()
    expectTypeOf(HandoffPolicy.manager("triage", ["tech"])).toEqualTypeOf<Policy<"triage" | "tech">>()
    expectTypeOf(HandoffPolicy.mapConversation((conversation) => conversation)).toEqualTypeOf<Policy<never>>()
    expectTypeOf(HandoffPolicy.when((state) => {
      expectTypeOf(state).toEqualTypeOf<AgentState.AgentState>()
      return state.steps > 3
    }, "tech")).toEqualTypeOf<Policy<"tech">>()
  })

  it("unite in a composition", () => {
    const composed = HandoffPolicy.compose(
      HandoffPolicy.explicit("billing"),
      HandoffPolicy.sequential(["triage", "tech"])
    )
    expectTypeOf(composed).toEqualTypeOf<Policy<"billing" | "triage" | "tech">>()
    expectTypeOf<HandoffPolicy.Names<typeof composed>>().toEqualTypeOf<"billing" | "triage" | "tech">()
  })

  it("are none where there are none", () => {
    expectTypeOf(HandoffPolicy.compose()).toEqualTypeOf<Policy<never>>()
    expectTypeOf(HandoffPolicy.sequential([])).toEqualTypeOf<Policy<never>>()
    expectTypeOf(HandoffPolicy.chain([])).toEqualTypeOf<Policy<never>>()
    expectTypeOf(HandoffPolicy.explicitAll({})).toEqualTypeOf<Policy<never>>()
    expectTypeOf(HandoffPolicy.manager("triage", [])).toEqualTypeOf<Policy<"triage">>()
  })

  it("have to be those of a group", () => {
    desk(HandoffPolicy.compose(HandoffPolicy.explicit("billing"), HandoffPolicy.sequential(["triage", "tech"])))
    // @ts-expect-error the group has no such agent
    desk(HandoffPolicy.explicit("sales"))
    // @ts-expect-error the group has no such agent
    desk(HandoffPolicy.explicit("billing", { from: ["sales"] }))
    // @ts-expect-error the group has no such agent
    desk(HandoffPolicy.explicitAll({ to_sales: "sales" }))
    // @ts-expect-error the group has no such agent
    desk(HandoffPolicy.sequential(["triage", "sales"]))
    // @ts-expect-error the group has no such agent
    desk(HandoffPolicy.chain(["triage", "sales"]))
    // @ts-expect-error the group has no such agent
    desk(HandoffPolicy.manager("sales", ["tech"]))
    // @ts-expect-error the group has no such agent
    desk(HandoffPolicy.manager("triage", ["sales"]))
    // @ts-expect-error the group has no such agent
    desk(HandoffPolicy.when(() => true, "sales"))
    // @ts-expect-error the group has no such agent
    desk(HandoffPolicy.compose(HandoffPolicy.explicit("billing"), HandoffPolicy.explicit("sales")))
  })

  it("may be more than are known before the program runs", () => {
    const names: ReadonlyArray<string> = ["triage"]
    expectTypeOf(HandoffPolicy.sequential(names)).toEqualTypeOf<Policy<string>>()
    // @ts-expect-error any name isn't one of the group's
    desk(HandoffPolicy.sequential(names))
  })
})

describe("failures and requirements", () => {
  it("of a function that maps conversations stay out of the type unless they end the run", () => {
    expectTypeOf(HandoffPolicy.mapConversation(translated)).toEqualTypeOf<Policy<never, never, Translator>>()
    expectTypeOf(HandoffPolicy.mapConversation(translated, { onFailure: "keep" })).toEqualTypeOf<
      Policy<never, never, Translator>
    >()
    expectTypeOf(HandoffPolicy.mapConversation(translated, { onFailure: "fail" })).toEqualTypeOf<
      Policy<never, Lost, Translator>
    >()
    const either = "fail" as HandoffPolicy.OnFailure
    expectTypeOf(HandoffPolicy.mapConversation(translated, { onFailure: either })).toEqualTypeOf<
      Policy<never, Lost, Translator>
    >()
    // @ts-expect-error a conversation comes out
    HandoffPolicy.mapConversation(() => Effect.succeed("nothing"))
    // @ts-expect-error there are two choices
    HandoffPolicy.mapConversation(translated, { onFailure: "retry" })
  })

  it("of a summary are a run's, an empty one too, where they end it", () => {
    const options = {
      over: { turns: 10 },
      keep: 4,
      summarize: (before: Conversation.Conversation) => Effect.as(translated(before), "before")
    } as const
    const inner = HandoffPolicy.mapConversation(sealed, { onFailure: "fail" })
    const kept = HandoffPolicy.compacting(inner, options)
    expectTypeOf(kept).toEqualTypeOf<Policy<never, Leaked, Vault | Translator>>()
    const failing = HandoffPolicy.compacting(inner, { ...options, onFailure: "fail" })
    expectTypeOf(failing).toEqualTypeOf<
      Policy<never, Leaked | Lost | HandoffPolicy.EmptySummary, Vault | Translator>
    >()
    expectTypeOf(HandoffPolicy.explicit("tech").pipe(HandoffPolicy.compacting(options))).toEqualTypeOf<
      Policy<"tech", never, Translator>
    >()
    const alsoFailing = inner.pipe(HandoffPolicy.compacting({ ...options, onFailure: "fail" }))
    expectTypeOf(alsoFailing).toEqualTypeOf<typeof failing>()
    // @ts-expect-error a threshold says over what
    HandoffPolicy.compacting(inner, { ...options, over: {} })
  })

  it("of what a handoff's history does are the policy's", () => {
    const policy = HandoffPolicy.explicit("tech", { history: translated })
    expectTypeOf(policy).toEqualTypeOf<Policy<"tech", Lost, Translator>>()
  })

  it("unite in a composition", () => {
    const composed = HandoffPolicy.compose(
      HandoffPolicy.explicit("tech", { history: translated }),
      HandoffPolicy.mapConversation(sealed, { onFailure: "fail" })
    )
    expectTypeOf(composed).toEqualTypeOf<Policy<"tech", Lost | Leaked, Translator | Vault>>()
    expectTypeOf<HandoffPolicy.Error<typeof composed>>().toEqualTypeOf<Lost | Leaked>()
    expectTypeOf<HandoffPolicy.Services<typeof composed>>().toEqualTypeOf<Translator | Vault>()
    expectTypeOf(desk(composed)).toEqualTypeOf<[Lost | Leaked, Translator | Vault]>()
  })

  it("are those of what is made of the conversation on its way", () => {
    const policy = HandoffPolicy.mapConversation(translated, { onFailure: "fail" })
    const crossing = { from: "a", to: "b", request: { target: "b" } }
    const arrived = HandoffPolicy.transform(policy, Conversation.empty, crossing)
    expectTypeOf(arrived).toEqualTypeOf<Effect.Effect<Conversation.Conversation, Lost, Translator>>()
    expectTypeOf(policy.pipe(HandoffPolicy.transform(Conversation.empty, crossing))).toEqualTypeOf<typeof arrived>()
  })
})

describe("reading", () => {
  it("takes any policy", () => {
    const policy: HandoffPolicy.Any = HandoffPolicy.mapConversation(translated, { onFailure: "fail" })
    expectTypeOf(HandoffPolicy.offeredTo(policy, "a")).toEqualTypeOf<ReadonlyArray<Handoff.Any>>()
    expectTypeOf(HandoffPolicy.requestOf(policy, "a", { id: "1", name: "go", params: {} })).toEqualTypeOf<
      Option.Option<Result.Result<AgentStatus.HandoffRequest, Schema.SchemaError>>
    >()
    expectTypeOf(HandoffPolicy.decide(policy, AgentState.make("a"))).toEqualTypeOf<
      Option.Option<HandoffPolicy.Decision>
    >()
    // @ts-expect-error a handoff isn't a policy
    HandoffPolicy.internalsOf(Handoff.to("a"))
  })
})

describe("intercept", () => {
  const Search = Tool.make("search", { success: Schema.Number, failure: Lost, dependencies: [Vault] })
  const Tools = Toolkit.make(Search)
  const intercepted = Effect.map(Tools, HandoffPolicy.intercept(HandoffPolicy.explicit("billing"), "triage"))

  it("gives the same either way round", () => {
    const first = Effect.map(
      Tools,
      (toolkit) => HandoffPolicy.intercept(toolkit, HandoffPolicy.explicit("billing"), "triage")
    )
    expectTypeOf(first).toEqualTypeOf<typeof intercepted>()
  })

  it("adds tools, and keeps those that there are", () => {
    const program = Effect.gen(function*() {
      const { handle, tools } = yield* intercepted
      expectTypeOf(tools.search).toEqualTypeOf<typeof Search>()
      yield* handle("search", {})
      // @ts-expect-error there is no such tool
      yield* handle("look", {})
      const { toolResults } = yield* LanguageModel.generateText({ prompt: "Hello", toolkit: intercepted })
      for (const part of toolResults) {
        if (part.isFailure) continue
        if (part.name === "search") expectTypeOf(part.result).toEqualTypeOf<number>()
        else expectTypeOf(part.result).toEqualTypeOf<HandoffPolicy.Acknowledgement>()
      }
    })
    expectTypeOf<Effect.Error<typeof program>>().toEqualTypeOf<Lost | AiError.AiError>()
    expectTypeOf<Effect.Services<typeof program>>().toEqualTypeOf<
      LanguageModel.LanguageModel | Tool.Handler<"search"> | Vault
    >()
  })
})

describe("AgentPicker", () => {
  type Picker<Names extends string, E = never, R = never> = AgentPicker.AgentPicker<Names, E, R>

  it("gives names of its arguments", () => {
    expectTypeOf(AgentPicker.always("triage")).toEqualTypeOf<Picker<"triage">>()
    expectTypeOf(AgentPicker.match([[/a/, "billing"], [/b/, "tech"]], "triage")).toEqualTypeOf<
      Picker<"billing" | "tech" | "triage">
    >()
    expectTypeOf(AgentPicker.match([[(request) => {
      expectTypeOf(request).toEqualTypeOf<AgentPicker.PickRequest>()
      return request.lastStatus?._tag === "Failed"
    }, "billing"]], "triage")).toEqualTypeOf<Picker<"billing" | "triage">>()
    expectTypeOf(AgentPicker.match([], "triage")).toEqualTypeOf<Picker<"triage">>()
    expectTypeOf(AgentPicker.model([], { fallback: "triage" })).toEqualTypeOf<
      Picker<"triage", AiError.AiError, LanguageModel.LanguageModel>
    >()
  })

  it("gives what a function or an effect does", () => {
    expectTypeOf(AgentPicker.make((request) => request.text === "" ? "triage" : "tech")).toEqualTypeOf<
      Picker<"triage" | "tech">
    >()
    const effectful = AgentPicker.make(({ text }) =>
      Effect.gen(function*() {
        if (text === "") return yield* new Lost()
        return (yield* Vault) === text ? "tech" : "triage"
      })
    )
    expectTypeOf(effectful).toEqualTypeOf<Picker<"triage" | "tech", Lost, Vault>>()
    expectTypeOf<AgentPicker.Names<typeof effectful>>().toEqualTypeOf<"triage" | "tech">()
    expectTypeOf<AgentPicker.Error<typeof effectful>>().toEqualTypeOf<Lost>()
    expectTypeOf<AgentPicker.Services<typeof effectful>>().toEqualTypeOf<Vault>()
    const request: AgentPicker.PickRequest = {
      conversation: Conversation.empty,
      text: "",
      lastStatus: undefined,
      lastAgent: undefined,
      agents: []
    }
    const picked = AgentPicker.pick(effectful, request)
    expectTypeOf(picked).toEqualTypeOf<Effect.Effect<"triage" | "tech", Lost, Vault>>()
    expectTypeOf(effectful.pipe(AgentPicker.pick(request))).toEqualTypeOf<typeof picked>()
  })

  it("by a model needs that model, and fails with its errors", () => {
    const byModel = AgentPicker.model(["billing", "tech"], { fallback: "triage" })
    type Names = "billing" | "tech" | "triage"
    expectTypeOf(byModel).toEqualTypeOf<Picker<Names, AiError.AiError, LanguageModel.LanguageModel>>()
    expectTypeOf(AgentPicker.decisionModel(["billing", "tech"], { fallback: "triage" })).toEqualTypeOf<
      Picker<Names, AiError.AiError, DecisionModel.DecisionModel>
    >()
    // @ts-expect-error there has to be a fallback
    AgentPicker.model(["billing"], {})
    // @ts-expect-error the group has no such agent
    const wrong: Picker<"billing" | "triage", AiError.AiError, LanguageModel.LanguageModel> = byModel
    expectTypeOf(wrong).not.toBeAny()
  })
})
