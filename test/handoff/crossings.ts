/**
 * Random handoffs out of modes: from `a` to `b` to `c`, each after entering modes of its own, by a model's call or by a
 * policy's decision, while the clock moves.
 */
import { Effect, Layer, Schema } from "effect"
import { type LanguageModel, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import {
  Agent,
  type AgentState,
  type AgentStatus,
  Conversation,
  Group,
  Handoff,
  HandoffPolicy,
  Mode,
  SystemPrompt
} from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const isolations = ["none", "config", "thread", "fork"] as const

const Names = Schema.Array(Schema.Literals(isolations)).check(Schema.isMaxLength(3))

const Leg = Schema.Struct({
  enters: Names,
  by: Schema.Literals(["own", "own", "own", "offered", "decision"]),
  target: Schema.Literals(["agent", "later", "name", "names"]),
  history: Schema.Literals(["full", "full", "lastUser", "lastTurns", "none", "summary", "reversed", "same", "copied"]),
  transferSystemMessage: Schema.Boolean,
  carryModes: Schema.Literals([true, true, false]),
  works: Schema.Boolean
})
type Leg = typeof Leg.Type

/** What modes do when they are set up, what the agents do, and what stands above them. */
export const Scene = Schema.Struct({
  modes: Schema.Struct({
    cuts: Schema.Boolean,
    persists: Schema.Boolean,
    configures: Schema.Boolean,
    talks: Schema.Boolean
  }),
  legs: Schema.Struct({ a: Leg, b: Leg }),
  has: Schema.Struct({ b: Names, c: Names }),
  policy: Schema.Literals(["none", "none", "map", "compact", "fails", "both"])
})

export type Scene = typeof Scene.Type

const Kit = Toolkit.make(Tool.make("work", { success: Schema.String }))

const pass = (millis: number) => TestClock.adjust(millis)

const modeOf = ({ modes: { configures, cuts, persists, talks } }: Scene, isolation: (typeof isolations)[number]) =>
  Mode.make(isolation, {
    isolation,
    invokable: true,
    enter: Effect.fnUntraced(function*(_, { isResumed }) {
      if (isResumed) return
      yield* pass(3)
      yield* SystemPrompt.append(`In ${isolation}.`, { persist: persists })
      yield* Mode.set("where", isolation)
      if (configures) yield* Mode.configure({ toolChoice: "auto" })
      if (cuts && (isolation === "thread" || isolation === "fork")) yield* Mode.updateView(Conversation.truncate(2))
    }),
    exit: () => Effect.andThen(pass(5), talks ? Effect.orDie(Mode.call("Sum up")) : Effect.void)
  })

const histories = {
  full: Handoff.full,
  lastUser: Handoff.lastUser,
  lastTurns: Handoff.lastTurns(2),
  none: Handoff.none,
  summary: Handoff.summary(({ turns }) => Effect.as(pass(7), `${turns.length} turns`)),
  reversed: ({ turns }: Conversation.Conversation) => Effect.succeed({ turns: turns.toReversed() }),
  same: (conversation: Conversation.Conversation) => Effect.as(pass(1), conversation),
  copied: ({ turns }: Conversation.Conversation) => Effect.succeed({ turns: turns.map((turn) => ({ ...turn })) })
}

const map = HandoffPolicy.mapConversation(({ turns }, { from, request, to }) =>
  Effect.as(pass(2), { turns: [Conversation.user(`${from} ${to} ${request.reason}`), ...turns.slice(1)] })
)
const same = HandoffPolicy.mapConversation((conversation) => conversation)
const compact = HandoffPolicy.compacting(same, {
  over: { turns: 2 },
  keep: 1,
  summarize: ({ turns }) => Effect.as(pass(2), `${turns.length} turns`)
})
const fails = HandoffPolicy.mapConversation(() => Effect.fail("no"))
const policies = {
  none: HandoffPolicy.compose(),
  map,
  same,
  compact,
  fails,
  both: HandoffPolicy.compose(map, fails, compact)
}

/** Who takes over from whom. */
const after = { a: "b", b: "c" } as const

type Needs = LanguageModel.LanguageModel | Tool.HandlersFor<typeof Kit.tools>

type Anybody<Name extends string = string> = Agent.Agent<
  Name,
  string,
  Mode.ModeError,
  Needs
>

const optionsOf = ({ carryModes, history, transferSystemMessage }: Leg) => ({
  history: histories[history],
  transferSystemMessage,
  carryModes
})

type AnyHandoff = Handoff.Handoff<string, Handoff.Parameters, string, Mode.ModeError, Needs, string>

/** Makes the handoff of a leg, in one of the ways in which a target is known. */
const handoffOf = <Name extends string>(leg: Leg, target: Anybody<Name>) =>
  leg.target === "agent"
    ? Handoff.to(target, optionsOf(leg))
    : leg.target === "later"
    ? Handoff.suspend(target.name, () => target, optionsOf(leg))
    : Handoff.to(target.name, optionsOf(leg))

/** What runs in a scene, and what says how each handoff in it is carried out by hand. */
export const make = (scene: Scene) => {
  const { has, legs, policy: changes } = scene
  const modes = isolations.map((name) => modeOf(scene, name))
  const namesOf = { a: legs.a.enters, b: [...has.b, ...legs.b.enters], c: has.c }
  const agentOf = <Name extends "a" | "b" | "c">(name: Name, handoffs: ReadonlyArray<AnyHandoff>): Anybody<Name> =>
    Agent.make(name, { toolkit: Kit, modes: modes.filter(({ name: mode }) => namesOf[name].includes(mode)), handoffs })
  const c = agentOf("c", [])
  const toC = handoffOf(legs.b, c)
  const b = agentOf("b", legs.b.by === "own" ? [toC] : [])
  const toB = handoffOf(legs.a, b)
  const a = agentOf("a", legs.a.by === "own" ? [toB] : [])
  const agents = { a, b, c }
  const policy = HandoffPolicy.compose(
    HandoffPolicy.explicit("b", { ...optionsOf(legs.a), from: legs.a.by === "offered" ? ["a"] : [] }),
    HandoffPolicy.explicit("c", { ...optionsOf(legs.b), from: legs.b.by === "offered" ? ["b"] : [] }),
    HandoffPolicy.when(({ agent }) => agent === "a" && legs.a.by === "decision", "b"),
    HandoffPolicy.when(({ agent }) => agent === "b" && legs.b.by === "decision", "c"),
    policies[changes]
  )

  /** The handoff that a state asks for, and what the state can't say of it. */
  const asked = (from: AgentState.AgentState, { tool }: AgentStatus.HandoffRequest) => {
    const source = from.agent === "a" ? "a" : "b"
    const leg = legs[source]
    const own = source === "a" ? toB : toC
    const handoff = tool === undefined
      ? undefined
      : leg.by === "own"
      ? own
      : HandoffPolicy.offeredTo(policy, source)[0] as AnyHandoff
    const isKnown = leg.by === "own" && (leg.target === "agent" || leg.target === "later")
    const agent = agents[after[source]]
    const isPure = changes === "none" &&
      (handoff === undefined || ["full", "lastUser", "lastTurns", "none"].includes(leg.history))
    return {
      handoff,
      isPure,
      policy,
      target: isKnown ? undefined : leg.target === "names" ? namesOf[after[source]] : agent
    }
  }
  return { desk: Group.make(agents, { start: "a", policy }), asked }
}

/** What each model says one after the other: it enters modes, and then hands over. */
const sayings = ({ legs }: Scene): Record<string, ReadonlyArray<MockResponse.Input>> => {
  const of = (from: "a" | "b") => [
    ...legs[from].enters.map((name, at) => MockResponse.toolCall(`enter_${name}_mode`, {}, { id: `${from}.${at}` })),
    legs[from].by === "decision"
      ? "Decided."
      : MockResponse.all(
        ...(legs[from].works ? [MockResponse.toolCall("work", {}, { id: `${from}.work` })] : []),
        MockResponse.toolCall(`handoff_to_${after[from]}`, { reason: `from ${from}` }, { id: from })
      )
  ]
  return { a: of("a"), b: of("b"), c: [] }
}

/** All that a run of a scene needs. Every answer takes time, and depends on the state alone. */
export const environment = (scene: Scene) => {
  const all = sayings(scene)
  const model = MockModel.make(({ agent = "", state }) =>
    Effect.as(pass(11), all[agent]?.[state?.run.iteration ?? 0] ?? "Done.")
  )
  return Layer.merge(MockModel.layer(model), Kit.toLayer({ work: () => Effect.as(pass(13), "worked") }))
}
