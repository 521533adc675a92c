/**
 * Random agents that hand over to each other, alone or in a group, and random scripts for their models: data first, then
 * what it stands for.
 *
 * An answer depends on the state alone (how often any model has answered), not on a queue, so that a run can be cut
 * anywhere and go on in another process. Each answer says a word of its own.
 */
import { Effect, Layer, Schema } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { Agent, AgentPicker, type AgentState, Conversation, Group, Handoff, HandoffPolicy, StopWhen } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const Add = Tool.make("add", {
  parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }),
  success: Schema.Finite
})
const Slow = Tool.make("slow", { success: Schema.String })
const Guarded = Tool.make("guarded", { success: Schema.String, needsApproval: true })

const Tools = Toolkit.make(Add, Slow, Guarded)

const toolsLayer = Tools.toLayer({
  add: ({ a, b }) => Effect.succeed(a + b),
  slow: () => Effect.as(Effect.repeat(Effect.yieldNow, { times: 2 }), "slept"),
  guarded: () => Effect.succeed("opened")
})

export const names = ["a", "b", "c"] as const

const Name = Schema.Literals(names)

const Call = Schema.Struct({
  _tag: Schema.Literal("Call"),
  tool: Schema.Literals(["add", "slow", "guarded", "team", "nothing", "a", "a", "b", "b", "c", "c"]),
  id: Schema.Literals(["own", "own", "own", "x", ""]),
  params: Schema.Literals(["good", "good", "good", "wrong", "none"])
})

const small = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const Answer = Schema.Struct({ calls: Schema.Array(Call).check(Schema.isMaxLength(3)), fails: small(0, 20) })

const Offer = Schema.Struct({
  target: Name,
  by: Schema.Literals(["value", "name", "later"]),
  history: Schema.Literals(["full", "full", "full", "lastUser", "lastTurns", "none", "summary", "reversed", "fails"]),
  when: Schema.Literals(["always", "always", "early"])
})

const Member = Schema.Struct({
  answers: Schema.Array(Answer).check(Schema.isMaxLength(4)),
  offers: Schema.Array(Offer).check(Schema.isMaxLength(3)),
  steps: small(1, 4),
  hasTeam: Schema.Boolean
})

/** Who there is, what their models say, and what stands above them. */
export const Scene = Schema.Struct({
  members: Schema.Struct({ a: Member, b: Member, c: Member }),
  team: Schema.Array(Answer).check(Schema.isMaxLength(2)),
  kind: Schema.Literals(["agent", "group"]),
  start: Schema.Literals(["a", "b", "picked", "broken"]),
  policy: Schema.Literals(["none", "explicit", "sequential", "when", "manager", "chain", "compose", "redact", "lost"]),
  maxHandoffs: small(0, 4)
}).check(Schema.makeFilter(({ kind, maxHandoffs }) => kind === "agent" || maxHandoffs > 0))

export type Scene = typeof Scene.Type

class Lost extends Schema.TaggedError<Lost>("test/Lost")("Lost", {}) {}

const params: Record<string, unknown> = { add: { a: 1, b: 2 }, team: { task: "help" } }

const isName = (tool: string): boolean => names.some((name) => name === tool)

/** Gives the answer of a model: a word of its own, and calls. */
const response = (answer: typeof Answer.Type, place: string): MockResponse.Input => {
  if (answer.fails === 20) return MockResponse.fail(new AiError.InternalProviderError({ description: "overloaded" }))
  const said = answer.calls.map((call, index) => {
    const given = call.params === "good"
      ? params[call.tool] ?? (isName(call.tool) ? { reason: `from ${place}`, context: { place } } : {})
      : call.params === "wrong"
      ? { a: "one", reason: 7 }
      : {}
    const id = call.id === "own" ? `${place}.${index}` : call.id
    return MockResponse.toolCall(isName(call.tool) ? `handoff_to_${call.tool}` : call.tool, given, { id })
  })
  return MockResponse.withUsage(MockResponse.all(MockResponse.text(`<${place}>`), ...said), { input: 10, output: 2 })
}

const modelLayer = (scene: Scene) =>
  MockModel.layer(MockModel.make((request) => {
    const { agent } = request
    const steps = request.state?.steps ?? 0
    const place = `${agent}${steps}`
    const answers = agent === "a" || agent === "b" || agent === "c" ? scene.members[agent].answers : scene.team
    const answer = answers[steps % (answers.length + 1)]
    return answer === undefined ? `<${place}>` : response(answer, place)
  }))

/** All that a run of a scene needs, made anew. */
export const environment = (scene: Scene) => Layer.fresh(Layer.mergeAll(modelLayer(scene), toolsLayer))

type Change = (conversation: Conversation.Conversation) => Effect.Effect<Conversation.Conversation, Lost>

const histories: Record<(typeof Offer.Type)["history"], Handoff.History<Lost> | Change> = {
  full: Handoff.full,
  lastUser: Handoff.lastUser,
  lastTurns: Handoff.lastTurns(2),
  none: Handoff.none,
  summary: Handoff.summary(({ turns }) => Effect.as(Effect.yieldNow, `${turns.length} turns`)),
  reversed: (conversation) => Effect.succeed({ turns: conversation.turns.toReversed() }),
  fails: () => Effect.fail(new Lost())
}

type Anybody = Agent.Agent<string, string, Lost, AgentServices>
type AgentServices = Layer.Success<ReturnType<typeof environment>>

/** The team that is called as a tool: it hands over inside its own run. */
const team = Group.make(
  {
    lead: Agent.make("lead", { toolkit: Tools, stopWhen: StopWhen.maxSteps(2) }),
    worker: Agent.make("worker", { toolkit: Tools })
  },
  {
    start: "lead",
    policy: HandoffPolicy.compose(
      HandoffPolicy.explicit("worker", { toolName: "handoff_to_b" }),
      HandoffPolicy.when((state) => state.agent === "lead" && state.steps > 1, "worker")
    ),
    maxHandoffs: 2,
    name: "team"
  }
)

const policies: Record<Scene["policy"], HandoffPolicy.HandoffPolicy<(typeof names)[number], Lost> | undefined> = {
  none: undefined,
  explicit: HandoffPolicy.explicit("c", { toolName: "handoff_to_c" }),
  sequential: HandoffPolicy.sequential(names),
  when: HandoffPolicy.when((state) => state.steps % 3 === 2, "b"),
  manager: HandoffPolicy.manager("a", ["b", "c"]),
  chain: HandoffPolicy.chain(names, { maxLength: 2 }),
  compose: HandoffPolicy.compose(
    HandoffPolicy.explicit("b", { toolName: "handoff_to_b" }),
    HandoffPolicy.sequential(["a", "c"]),
    HandoffPolicy.mapConversation(() => Effect.fail(new Lost()))
  ),
  redact: HandoffPolicy.compose(
    HandoffPolicy.sequential(names),
    HandoffPolicy.mapConversation(({ turns }) =>
      Effect.succeed(Conversation.make(turns.filter((turn) => turn._tag !== "Feedback")))
    )
  ),
  lost: HandoffPolicy.compose(
    HandoffPolicy.sequential(names),
    HandoffPolicy.mapConversation(() => Effect.fail(new Lost()), { onFailure: "fail" })
  )
}

/** Each agent of a scene, made once: they name each other in circles. */
const castOf = (scene: Scene): Record<(typeof names)[number], Anybody> => {
  const made: Partial<Record<(typeof names)[number], Anybody>> = {}
  const make = (name: (typeof names)[number]): Anybody => {
    const known = made[name]
    if (known !== undefined) return known
    const member = scene.members[name]
    const targets = new Set<string>()
    const handoffs = member.offers.flatMap((offer) => {
      if (offer.target === name || targets.has(offer.target)) return []
      targets.add(offer.target)
      const options = {
        history: histories[offer.history],
        ...(offer.when === "early" ? { when: (state: AgentState.AgentState) => state.trail.length < 3 } : undefined)
      }
      // A target that is made already can be given as it is; in a circle the others are looked up later.
      const target = made[offer.target]
      return [
        offer.by === "name" && scene.kind === "group"
          ? Handoff.to(offer.target, options)
          : offer.by === "value" && target !== undefined
          ? Handoff.to(target as Agent.Agent<typeof offer.target, string, Lost, AgentServices>, options)
          : Handoff.suspend(
            offer.target,
            () => make(offer.target) as Agent.Agent<typeof offer.target, string, Lost, AgentServices>,
            options
          )
      ]
    })
    return made[name] = Agent.make(name, {
      instructions: `I am ${name}.`,
      toolkit: Tools,
      agents: member.hasTeam ? [Agent.asTool(team)] : [],
      handoffs,
      maxHandoffs: scene.maxHandoffs,
      stopWhen: StopWhen.maxSteps(member.steps)
    })
  }
  return { a: make("a"), b: make("b"), c: make("c") }
}

/** What runs in a scene: an agent and all that it reaches, or the group of all. */
export const runnableOf = (scene: Scene) => {
  const cast = castOf(scene)
  if (scene.kind === "agent") return cast.a
  const policy = policies[scene.policy]
  const { maxHandoffs } = scene
  const { a, b, c } = cast as {
    readonly [Name in (typeof names)[number]]: Agent.Agent<Name, string, Lost, AgentServices>
  }
  return Group.make({ a, b, c }, {
    start: scene.start === "picked"
      ? AgentPicker.match([[(request) => request.lastStatus === undefined, "b"]], "c")
      : scene.start === "broken"
      ? AgentPicker.make((request) => request.text.length > 3 ? Effect.succeed("c" as const) : Effect.fail(new Lost()))
      : scene.start,
    ...(policy === undefined ? undefined : { policy }),
    maxHandoffs
  })
}

/** Whether everything that was said crosses each handoff of a scene. */
export const keepsAll = (scene: Scene): boolean =>
  names.every((name) => scene.members[name].offers.every(({ history }) => history === "full" || history === "fails"))
