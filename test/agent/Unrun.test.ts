/**
 * Functions of programs that TypeScript didn't see: what gives a Promise, or an Effect of what nobody ran, is a defect that names it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { Prompt, Tool, Toolkit } from "effect/ai"
import {
  Agent,
  AgentPicker,
  AgentState,
  ContextWindow,
  Dialogue,
  Group,
  Guardrail,
  Handoff,
  HandoffPolicy,
  Mode,
  ModeTransition,
  Plan,
  StopWhen
} from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

/** Any function of a program, as one without types writes it. */
type Untyped = () => never

/** A program with a function somewhere, and what a fitting function would give there. */
interface Place {
  readonly names: string
  readonly fitting: unknown
  readonly run: (f: Untyped) => Effect.Effect<unknown, unknown, unknown>
  readonly responses?: ReadonlyArray<MockResponse.Input>
  /** Any value may come of the Effect, an `Exit` too: what `Effect.succeed` makes is one. */
  readonly takesExits?: true
  /** A function without an Effect. */
  readonly isPlain?: true
}

const b = Agent.make("b")
const c = Agent.make("c")
const both = (policy: HandoffPolicy.HandoffPolicy<"b" | "c">) =>
  Agent.run(Group.make({ b, c }, { start: "b", policy }), "Go.")

const handled = (success: Schema.Codec<unknown, unknown>) => (f: Untyped) => {
  const Kit = Toolkit.make(Tool.make("roll", { success }))
  return Agent.run(Agent.make("a", { toolkit: Kit }), "Go.").pipe(Effect.provide(Kit.toLayer({ roll: f })))
}

const owned = (success: Schema.Codec<unknown, unknown>) => (f: Untyped) => {
  const Kit = Toolkit.make(Tool.make("roll", { success }))
  return Effect.gen(function*() {
    return yield* Agent.run(Agent.make("a", { toolkit: yield* Kit }), "Go.")
  }).pipe(Effect.provide(Kit.toLayer({ roll: f })))
}

const roll = [MockResponse.toolCall("roll", {})]
const upper = Plan.node("upper", (text: string) => Effect.succeed(text.toUpperCase()))
const last = Plan.node("last", (text: string) => Effect.succeed(text))
const withMode = (options: Partial<Mode.Options<{}, never, never, never, never, never, never, never, never, never>>) =>
  Agent.run(
    Agent.make("a", { modes: [Mode.make("m", { invokable: true, enter: () => Effect.void, ...options } as never)] }),
    "Go."
  )

const within = (strategy: Parameters<typeof ContextWindow.sequence>[0]) =>
  Agent.runMultiTurn(Agent.make("a", { contextWindow: ContextWindow.make({ maxTurns: 4, strategy }) }), [
    "One.",
    "Two.",
    "Three."
  ])

const places: Readonly<Record<string, Place>> = {
  "a handler": { names: "tool \"roll\"", fitting: "6", run: handled(Schema.String), responses: roll },
  "a handler whose result may be anything": {
    names: "tool \"roll\"",
    fitting: "6",
    run: handled(Schema.Unknown),
    responses: roll
  },
  "a handler whose result may be empty": {
    names: "tool \"roll\"",
    fitting: {},
    run: handled(Schema.Struct({ eyes: Schema.optionalKey(Schema.Finite) })),
    responses: roll
  },
  "a handler of a toolkit of its own": {
    names: "tool \"roll\"",
    fitting: "6",
    run: owned(Schema.String),
    responses: roll
  },
  "a handler of a toolkit of its own whose result may be anything": {
    names: "tool \"roll\"",
    fitting: "6",
    run: owned(Schema.Unknown),
    responses: roll
  },
  "instructions": {
    names: "The instructions of agent \"a\"",
    fitting: "Be brief.",
    run: (f) => Agent.run(Agent.make("a", { instructions: f }), "Go.")
  },
  "needsApproval": {
    names: "`needsApproval` of tool \"roll\"",
    fitting: false,
    run: (f) => {
      const Kit = Toolkit.make(Tool.make("roll", { success: Schema.String, needsApproval: f }))
      return Agent.run(Agent.make("a", { toolkit: Kit }), "Go.").pipe(
        Effect.provide(Kit.toLayer({ roll: () => Effect.succeed("6") }))
      )
    },
    responses: roll
  },
  "needsApproval of an agent that is a tool": {
    names: "`needsApproval` of tool \"b\"",
    fitting: false,
    run: (f) => Agent.run(Agent.make("a", { agents: [Agent.asTool(b, { needsApproval: f })] }), "Go."),
    responses: [MockResponse.toolCall("b", { task: "Help." })]
  },
  "toInput": {
    names: "`toInput` of tool \"b\"",
    fitting: "Help.",
    run: (f) => Agent.run(Agent.make("a", { agents: [Agent.asTool(b, { toInput: f })] }), "Go."),
    responses: [MockResponse.toolCall("b", { task: "Help." })],
    isPlain: true
  },
  "toModelOutput": {
    names: "`toModelOutput` of tool \"roll\"",
    fitting: [Prompt.textPart({ text: "Six." })],
    run: (f) => {
      const Kit = Toolkit.make(Tool.make("roll", { success: Schema.String, toModelOutput: f }))
      return Agent.run(Agent.make("a", { toolkit: Kit }), "Go.").pipe(
        Effect.provide(Kit.toLayer({ roll: () => Effect.succeed("6") }))
      )
    },
    responses: roll,
    isPlain: true
  },
  "a guardrail": {
    names: "Guardrail \"g\"",
    fitting: Guardrail.pass,
    run: (f) => Agent.run(Agent.make("a", { guardrails: { input: [Guardrail.make("g", f)] } }), "Go.")
  },
  "Guardrail.when": {
    names: "Guardrail \"g\"",
    fitting: false,
    run: (f) =>
      Agent.run(
        Agent.make("a", {
          guardrails: { input: [Guardrail.when(f, Guardrail.make("g", () => Guardrail.block("no")))] }
        }),
        "Go."
      ),
    isPlain: true
  },
  "StopWhen.satisfies": {
    names: "`StopWhen.satisfies`",
    fitting: false,
    run: (f) => Agent.run(Agent.make("a", { agents: [Agent.asTool(b)], stopWhen: StopWhen.satisfies(f) }), "Go."),
    responses: [MockResponse.toolCall("b", { task: "Help." })],
    isPlain: true
  },
  "AgentPicker.make": {
    names: "`AgentPicker.make`",
    fitting: "b",
    run: (f) => Agent.run(Group.make({ b, c }, { start: AgentPicker.make<"b">(f) }), "Go.")
  },
  "AgentPicker.match": {
    names: "`AgentPicker.match`",
    fitting: false,
    run: (f) => Agent.run(Group.make({ b, c }, { start: AgentPicker.match([[f, "c"]], "b") }), "Go."),
    isPlain: true
  },
  "HandoffPolicy.make": {
    names: "`HandoffPolicy.make`",
    fitting: { target: "b" },
    run: (f) => both(HandoffPolicy.make({ names: ["b", "c"], decide: f })),
    isPlain: true
  },
  "the delegate of a manager": {
    names: "`delegate` of `HandoffPolicy.manager`",
    fitting: undefined,
    run: (f) => both(HandoffPolicy.manager("b", ["c"], { delegate: f })),
    isPlain: true
  },
  "HandoffPolicy.when": {
    names: "`HandoffPolicy.when`",
    fitting: false,
    run: (f) => both(HandoffPolicy.when(f, "c")),
    isPlain: true
  },
  "HandoffPolicy.mapConversation": {
    names: "`HandoffPolicy.mapConversation`",
    fitting: { turns: [] },
    run: (f) => both(HandoffPolicy.compose(HandoffPolicy.sequential(["b", "c"]), HandoffPolicy.mapConversation(f)))
  },
  "the rule of a manager": {
    names: "`delegate` of `HandoffPolicy.manager`",
    fitting: "c",
    run: (f) => both(HandoffPolicy.manager("b", ["c"], { delegate: (state) => state.run.handoffs ? undefined : f() })),
    isPlain: true
  },
  "the summary of a policy": {
    names: "`summarize` of `HandoffPolicy.compacting`",
    fitting: "They talked.",
    run: (f) =>
      both(HandoffPolicy.compacting(HandoffPolicy.sequential(["b", "c"]), {
        over: { turns: 0 },
        keep: 0,
        summarize: f
      }))
  },
  "the condition of a handoff": {
    names: "`when` of the handoff to \"b\"",
    fitting: false,
    run: (f) => Agent.run(Agent.make("a", { handoffs: [Handoff.to(b, { when: f })] }), "Go."),
    isPlain: true
  },
  "the condition of a policy's handoff": {
    names: "`when` of the handoff to \"c\"",
    fitting: false,
    run: (f) =>
      both(HandoffPolicy.compose(
        HandoffPolicy.explicit("c", { when: f }),
        HandoffPolicy.explicit("c", { when: () => false })
      )),
    isPlain: true
  },
  "the summary of a handoff": {
    names: "`Handoff.summary`",
    fitting: "They talked.",
    run: (f) => Agent.run(Agent.make("a", { handoffs: [Handoff.to(b, { history: Handoff.summary(f) })] }), "Go."),
    responses: [MockResponse.toolCall("handoff_to_b", {})]
  },
  "the set-up of a mode": {
    names: "`enter` of mode \"m\"",
    fitting: undefined,
    run: (f) => withMode({ enter: f }),
    responses: [MockResponse.toolCall("enter_m_mode", {})],
    takesExits: true
  },
  "the clean-up of a mode": {
    names: "`exit` of mode \"m\"",
    fitting: ModeTransition.stay,
    run: (f) => withMode({ exit: f }),
    responses: [MockResponse.toolCall("enter_m_mode", {}), MockResponse.toolCall("exit_current_mode", {})],
    takesExits: true
  },
  "Mode.update": {
    names: "`Mode.update`",
    fitting: 1,
    run: (f) => withMode({ enter: () => Effect.orDie(Mode.update("count", f)) }),
    responses: [MockResponse.toolCall("enter_m_mode", {})],
    isPlain: true
  },
  "the value of Mode.set": {
    names: "`Mode.set`",
    fitting: 1,
    run: (f) => withMode({ enter: () => Effect.orDie(Effect.suspend(() => Mode.set("count", f()))) }),
    responses: [MockResponse.toolCall("enter_m_mode", {})],
    isPlain: true
  },
  "an observer": {
    names: "An observer",
    fitting: undefined,
    run: (f) => Agent.observe(Agent.run(b, "Go."), f),
    isPlain: true
  },
  "a strategy": {
    names: "strategy of a context window",
    fitting: [],
    run: (f) => within(f),
    isPlain: true
  },
  "the size of a context window": {
    names: "\"maxTokens\" of a context window",
    fitting: 10_000,
    run: (f) => Agent.run(Agent.make("a", { contextWindow: ContextWindow.make({ maxTokens: f }) }), "Go."),
    isPlain: true
  },
  "a summary": {
    names: "`ContextWindow.summarize`",
    fitting: "They talked.",
    run: (f) => within(ContextWindow.summarize(f))
  },
  "a node of a plan": {
    names: "Node \"n\"",
    fitting: "x",
    run: (f) => Plan.run(Plan.make({ nodes: [Plan.node("n", f)] }), "x"),
    takesExits: true
  },
  "the condition of an edge": {
    names: "condition of the edge from \"upper\" to \"last\"",
    fitting: true,
    run: (f) => Plan.run(Plan.make({ nodes: [upper, last], edges: [Plan.edgeWhen(upper, last, f)] }), "x")
  },
  "what changes an output on an edge": {
    names: "the edge from \"upper\" to \"last\"",
    fitting: "y",
    run: (f) => Plan.run(Plan.make({ nodes: [upper, last], edges: [Plan.edge(upper, last, f)] }), "x"),
    takesExits: true
  },
  "until of a dialogue": {
    names: "`until` of a dialogue",
    fitting: true,
    run: (f) => Dialogue.run(Dialogue.make(b, c, { until: f }), "Go.")
  },
  "the speaker of a dialogue": {
    names: "`speaker` of a dialogue",
    fitting: "b",
    run: (f) => Dialogue.run(Dialogue.make(b, c, { speaker: f, maxTurns: 2 }), "Go.")
  },
  "a predicate of a dialogue": {
    names: "`Dialogue.byPredicate`",
    fitting: true,
    run: (f) => Dialogue.run(Dialogue.make(b, c, { speaker: Dialogue.byPredicate([[f, "b"]]), maxTurns: 2 }), "Go.")
  }
}

const ended = ({ responses = [], run }: Place, f: () => unknown): Effect.Effect<Exit.Exit<unknown, unknown>> =>
  Effect.exit(run(f as Untyped)).pipe(
    Effect.provide(MockModel.layer(MockModel.queue(...responses, ...Array.from({ length: 6 }, () => "Fine."))))
    // What is run needs a model at most.
  ) as Effect.Effect<Exit.Exit<unknown, unknown>>

/** What is given in the place of what fits, and how a message calls it. */
const given: ReadonlyArray<
  readonly [what: string, says: string, make: (fitting: unknown) => unknown, applies: (place: Place) => boolean]
> = [
  ["a Promise", "Promise", (fitting) => Promise.resolve(fitting), () => true],
  [
    "an Effect of a Promise",
    "Promise",
    (fitting) => Effect.succeed(Promise.resolve(fitting)),
    ({ isPlain }) => !isPlain
  ],
  [
    "an Effect of an Effect",
    "Effect",
    (fitting) => Effect.succeed(Effect.suspend(() => Effect.succeed(fitting))),
    ({ isPlain }) => !isPlain
  ],
  [
    "an Effect of what `Effect.succeed` makes",
    "Effect",
    (fitting) => Effect.succeed(Effect.succeed(fitting)),
    ({ isPlain, takesExits }) => !isPlain && !takesExits
  ],
  [
    "an Effect",
    "Effect",
    (fitting) => Effect.sync(() => fitting),
    ({ isPlain, names }) => isPlain === true && names !== "An observer"
  ]
]

describe("A function that gives what nobody ran is a defect that names it", () => {
  for (const [name, place] of Object.entries(places)) {
    it.effect(`${name} works`, () =>
      Effect.gen(function*() {
        const exit = yield* ended(place, () => place.isPlain ? place.fitting : Effect.succeed(place.fitting))
        if (name !== "an observer") {
          assert.isTrue(Exit.isSuccess(exit), Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "")
        }
      }))
    for (const [what, says, make, applies] of given) {
      if (!applies(place)) continue
      it.live(`${name}: ${what}`, () =>
        Effect.gen(function*() {
          const exit = yield* ended(place, () => make(place.fitting))
          assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
          const defect = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
          assert.instanceOf(defect, Error)
          assert.include((defect as Error).message, place.names)
          // A toolkit meets what its handler gives first, and says no more.
          if (what !== "a Promise" || !name.includes("toolkit")) assert.include((defect as Error).message, says)
        }).pipe(Effect.timeout("2 seconds")))
    }
  }

  it.effect("and nothing at all is no answer to whether a call needs approval", () =>
    Effect.gen(function*() {
      const exit = yield* ended(places["needsApproval"]!, () => undefined)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    }))

  it.effect("and nothing at all doesn't offer a handoff", () =>
    Effect.gen(function*() {
      for (const name of ["the condition of a handoff", "the condition of a policy's handoff"]) {
        const exit = yield* ended(places[name]!, () => undefined)
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      }
    }))

  it.effect("and a part that is no text and no file is nothing that a model reads", () =>
    Effect.gen(function*() {
      const odd = ["Six.", undefined, { type: "image", data: "" }, { type: "text" }, { type: "file", mediaType: "a/b" }]
      for (const part of odd) {
        const exit = yield* ended(places["toModelOutput"]!, () => [part])
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        const defect = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        assert.include((defect as Error).message, places["toModelOutput"]!.names)
      }
    }))

  it.effect("but an Exit is a result where the tool says so", () =>
    Effect.gen(function*() {
      const success = Schema.Exit(Schema.String, Schema.Never, Schema.Never)
      const exit = yield* ended({ ...places["a handler"]!, run: handled(success as never) }, () =>
        Effect.succeed(Exit.succeed("6")))
      assert.isTrue(Exit.isSuccess(exit) && AgentState.text(exit.value as AgentState.AgentState) === "Fine.")
    }))

  it.live("and ends a plan though the fiber of its node is gone", () =>
    Effect.gen(function*() {
      const lost = Plan.node("lost", () =>
        Effect.flatMap(Effect.yieldNow, (): Effect.Effect<string> => Promise.resolve("x") as never))
      const exit = yield* Effect.exit(Plan.run(Plan.make({ nodes: [lost] }), "x")).pipe(Effect.timeout("2 seconds"))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    }))
})
