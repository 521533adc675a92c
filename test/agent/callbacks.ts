/**
 * A conversation in which every callback comes up that users give: what it is made of, and all that can be asked for from within.
 */
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Schedule, Schema, Stream } from "effect"
import { AiError, Prompt, Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import {
  Agent,
  type AgentEvent,
  AgentPicker,
  AgentState,
  ContextWindow,
  Conversation,
  Group,
  Guardrail,
  Handoff,
  HandoffPolicy,
  Mode,
  ModeTransition,
  Session,
  StopWhen,
  SystemPrompt,
  ToolPolicy
} from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

/** What is asked for from within a callback. Those of a session need one. */
export type Operation = Effect.Effect<unknown, unknown, Services>

/** What operations need. Where nothing holds the conversation, they are told so. */
type Services = Session.Session | Mode.Host

const side = Mode.make("side", { isolation: "thread", enter: () => Effect.void })
const Work = Tool.make("work", { success: Schema.String })
const Beside = Tool.make("beside", { success: Schema.String })
const Chore = Tool.make("chore", { success: Schema.String })
const Sealed = Tool.make("sealed", { success: Schema.String, needsApproval: true })

const withSession = <R>(f: (session: Session.Session) => Effect.Effect<unknown, unknown, R>) =>
  Effect.flatMap(Effect.service(Session.Session), f)

/** Operations on the conversation around, whoever holds it. */
export const ofConversation: Readonly<Record<string, Operation>> = {
  "Mode.name": Mode.name,
  "Mode.list": Mode.list,
  "Mode.previous": Mode.previous,
  "Mode.get": Mode.get("key"),
  "Mode.set": Mode.set("key", 1),
  "Mode.update": Mode.update("key", () => 2),
  "Mode.updateView": Mode.updateView((conversation) => conversation),
  "Mode.configure": Mode.configure({ toolChoice: "auto" }),
  "Mode.schedule": Mode.schedule(ModeTransition.push("m")),
  "Mode.call": Mode.call("Psst."),
  "Mode.within": Mode.within(Effect.void, side),
  "Mode.enter": Effect.scoped(Mode.enter(side)),
  "SystemPrompt.append": SystemPrompt.append("x"),
  "SystemPrompt.prepend": SystemPrompt.prepend("x"),
  "SystemPrompt.section": SystemPrompt.section("x", "x"),
  "SystemPrompt.render": SystemPrompt.render("x"),
  "SystemPrompt.render, as it is sent": SystemPrompt.render(),
  "SystemPrompt.remove": SystemPrompt.remove("x"),
  "SystemPrompt.sections": SystemPrompt.sections,
  "SystemPrompt.get": SystemPrompt.get("x"),
  "SystemPrompt.append, in a fiber that it joins": Effect.flatMap(
    Effect.forkChild(SystemPrompt.append("x")),
    Fiber.join
  ),
  "SystemPrompt.append, beside others": Effect.all(
    [SystemPrompt.append("x"), SystemPrompt.append("y"), Mode.set("key", 3)],
    { concurrency: "unbounded" }
  ),
  "Agent.run": Effect.provide(Agent.run(Agent.make("scribe"), "Note it."), MockModel.layer(MockModel.queue("Noted."))),
  "Session.make": Effect.scoped(
    Effect.flatMap(Session.make(Agent.make("scribe")), (session) => session.call("Note it."))
  )
    .pipe(Effect.provide(MockModel.layer(MockModel.queue("Noted."))))
}

/** Operations of a session that is held. */
export const ofSession: Readonly<Record<string, Operation>> = {
  "session.call": withSession((session) => session.call("Psst.")),
  "session.stream": withSession((session) => Stream.runDrain(session.stream("Psst."))),
  "session.resume": withSession((session) => session.resume),
  "session.approve": withSession((session) => session.approve("a")),
  "session.deny": withSession((session) => session.deny("a", "no")),
  "session.giveResult": withSession((session) => session.giveResult("later", "Here it is.")),
  "session.giveFailure": withSession((session) => session.giveFailure("later", "Nobody came.")),
  "session.pin": withSession((session) => session.pin(0)),
  "session.unpin": withSession((session) => session.unpin(0)),
  "session.invoke": withSession((session) => session.invoke(Work, {})),
  "session.fork": Effect.scoped(withSession((session) => session.fork)),
  "session.enterMode": withSession((session) => session.enterMode("m")),
  "session.exitMode": withSession((session) => session.exitMode()),
  "session.schedule": withSession((session) => session.schedule(ModeTransition.push("m"))),
  "session.configure": withSession((session) => session.configure({ toolChoice: "auto" })),
  "session.state": withSession((session) => session.state),
  "session.changes": withSession((session) => Stream.runHead(session.changes))
}

/** Asks for operations, one after the other, whenever a callback comes up. */
export class Attempts {
  /** How each ended, by its name. */
  readonly ended: Array<readonly [name: string, exit: Exit.Exit<unknown, unknown>]> = []
  /** What is asked for and didn't end. */
  readonly open = new Set<string>()
  /** What nobody waits for. */
  readonly fibers: Array<Fiber.Fiber<unknown, unknown>> = []
  /** How often the callback came up, apart from when what it asks for brings it up again. */
  times = 0
  readonly place: string
  readonly operations: ReadonlyArray<readonly [name: string, operation: Operation]>
  readonly isForked: boolean
  /** The program's own services, for what isn't there where a callback comes up. */
  services: Context.Context<Services> = Context.empty() as never
  constructor(
    place: string,
    operations: ReadonlyArray<readonly [name: string, operation: Operation]>,
    isForked = false
  ) {
    this.place = place
    this.operations = operations
    this.isForked = isForked
  }
  /** A callback that comes up more often has no end: none does so by itself. */
  static readonly most = 1_000
  /** Asks, if this is the place. */
  at(place: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!this.isNow(place)) return Effect.void
      return this.isForked
        ? Effect.map(Effect.forkDetach(this.all), (fiber) => void this.fibers.push(fiber))
        : this.all
    })
  }
  /** Asks from a function that can't wait. */
  from<A>(place: string, value: A): A {
    if (this.isNow(place)) this.fibers.push(Effect.runForkWith(this.services)(this.all))
    return value
  }
  /** The operations that have no end, or none that they say they may have. */
  get failures(): ReadonlyArray<string> {
    const defects = this.ended.filter(([, exit]) => Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    return [
      ...[...this.open].map((name) => `${name} has no end`),
      ...defects.map(([name, exit]) => `${name}: ${String(exit)}`),
      ...(this.times < Attempts.most ? [] : [`the answers to ${this.place} have no end`])
    ]
  }
  private isNow(place: string): boolean {
    return place === this.place && this.open.size === 0 && this.times++ < Attempts.most
  }
  private get all(): Effect.Effect<void> {
    // What is asked for so often is asked for to see whether that ends.
    return Effect.forEach(
      this.times > 2 ? this.operations.slice(0, 1) : this.operations,
      ([name, operation]) =>
        Effect.suspend(() => {
          this.open.add(name)
          const asked = Effect.updateContext(
            operation,
            (here: Context.Context<never>) => Context.merge(this.services, here)
          )
          return Effect.map(Effect.exit(asked), (exit) => {
            this.open.delete(name)
            this.ended.push([name, exit])
          })
        }),
      { discard: true }
    )
  }
}

const guardrails = (attempts: Attempts): never => {
  const on = <const S extends Guardrail.Subject>(stage: S) =>
    Guardrail.make(stage, () => Effect.as(attempts.at(`guardrail on ${stage}`), Guardrail.pass), { on: stage } as never)
  const again = Guardrail.make(
    "again",
    (text) => text === "Once more." ? Guardrail.retry("Otherwise.") : Guardrail.pass
  )
  return {
    input: [on("input")],
    output: [on("output"), again],
    toolCall: [on("toolCall")],
    toolResult: [on("toolResult")],
    handoff: [on("handoff")],
    releaseEarly: true
  } as never
}

const makeMode = (name: string, attempts: Attempts) =>
  Mode.make(name, {
    isolation: "thread",
    invokable: true,
    enter: Effect.fn(function*() {
      yield* Effect.addFinalizer(() => attempts.at(`finalizer of ${name}`))
      yield* Mode.set("entered", true)
      yield* Effect.exit(Mode.call("Psst."))
      yield* attempts.at(`set-up of ${name}`)
    }),
    exit: () => attempts.at(`clean-up of ${name}`),
    recover: () => attempts.at(`recovery of ${name}`)
  })

/** Tries once more, after a callback. */
const again = (attempts: Attempts, place: string) => Schedule.recurs(1).pipe(Schedule.tap(() => attempts.at(place)))

/** Fails where a conversation ends with a text. */
const breaking = (conversation: Conversation.Conversation, text: string) =>
  Conversation.lastUserText(conversation) === text ? Effect.fail("no") : Effect.succeed(conversation)

const runnable = (attempts: Attempts) => {
  const stalled = Deferred.makeUnsafe<void>()
  const kit = Toolkit.make(
    Work,
    Beside,
    Tool.make("asked", {
      success: Schema.String,
      needsApproval: () => Effect.as(attempts.at("needsApproval"), false)
    }),
    ToolPolicy.set(Tool.make("retried", { success: Schema.String, failure: Schema.String }), {
      retry: again(attempts, "a tool's retry")
    }),
    Tool.make("shown", {
      success: Schema.String,
      toModelOutput: (text) => attempts.from("toModelOutput", [Prompt.textPart({ text })])
    }),
    Tool.make("deferred", { success: Schema.String }),
    Tool.make("signed", { success: Schema.String, needsApproval: true }),
    Tool.make("stalled", { success: Schema.String })
  )
  const helper = Agent.make("helper", {
    toolkit: Toolkit.make(Chore, Sealed),
    output: Schema.Struct({ n: Schema.Finite }),
    instructions: () => Effect.as(attempts.at("instructions of a called agent"), "Help.")
  })
  const other = Agent.withModel(
    Agent.make("other", { guardrails: guardrails(attempts) }),
    Layer.unwrap(Effect.as(attempts.at("layer of a model"), MockModel.layer(MockModel.make("Done."))))
  )
  const desk = Agent.make("desk", {
    toolkit: kit,
    agents: [Agent.asTool(helper)],
    handoffs: [Handoff.to(other, {
      history: (conversation) => Effect.andThen(attempts.at("history"), breaking(conversation, "Tear.")),
      when: () => attempts.from("when", true)
    })],
    modes: [makeMode("m", attempts)],
    retry: again(attempts, "an agent's retry"),
    instructions: () => Effect.as(attempts.at("instructions"), "Be brief."),
    guardrails: guardrails(attempts),
    stopWhen: StopWhen.any(
      StopWhen.maxSteps(12),
      StopWhen.toolCalls("beside", 2, { onExhausted: "finish" }),
      StopWhen.satisfies(() => attempts.from("stopWhen", false))
    ),
    contextWindow: ContextWindow.make({
      maxTurns: 6,
      strategy: ContextWindow.sequence(
        (turns) => attempts.from("strategy", turns.map(({ turn }) => turn)),
        ContextWindow.summarize(() => Effect.as(attempts.at("summarizer"), "Summed up."))
      )
    })
  })
  const runnable = Group.make({ desk, other }, {
    start: AgentPicker.make(() => Effect.as(attempts.at("picker"), "desk" as const)),
    policy: HandoffPolicy.compose(
      HandoffPolicy.mapConversation((conversation) =>
        Effect.andThen(attempts.at("transform"), breaking(conversation, "Bend."))
      ),
      HandoffPolicy.when(() => attempts.from("policy", false), "other")
    )
  })
  const handlers = Layer.mergeAll(
    kit.toLayer({
      work: () => Effect.as(attempts.at("handler"), "worked"),
      beside: () => Effect.as(attempts.at("handler beside others"), "worked, too"),
      asked: () => Effect.succeed("asked"),
      retried: () => Effect.fail("not yet"),
      shown: () => Effect.succeed("shown"),
      deferred: () => Effect.andThen(attempts.at("handler whose result comes later"), ToolPolicy.deferResult),
      signed: () => Effect.succeed("signed"),
      stalled: () => Effect.andThen(Deferred.succeed(stalled, undefined), Effect.never)
    }),
    Toolkit.make(Chore, Sealed).toLayer({
      sealed: () => Effect.succeed("sealed"),
      chore: (_, { preliminary }) =>
        Effect.as(Effect.andThen(preliminary("…"), attempts.at("handler of a called agent")), "done")
    })
  )
  return { runnable, handlers, stalled }
}

const overloaded = AiError.make({
  module: "Provider",
  method: "ask",
  reason: new AiError.InternalProviderError({ description: "overloaded" })
})

/** Says what each agent answers next: once for each of its requests, then the same. */
const model = (attempts: Attempts) => {
  const call = (name: string, params: object = {}) => MockResponse.toolCall(name, params)
  const scripts: Record<string, Array<MockResponse.Input>> = {
    desk: [
      call("enter_m_mode"),
      MockResponse.all(
        call("work"),
        call("beside"),
        call("asked"),
        call("retried"),
        call("shown"),
        call("helper", { task: "Help." })
      ),
      call("exit_current_mode"),
      call("handoff_to_other")
    ],
    helper: [MockResponse.all(MockResponse.reasoning("Hm."), call("chore")), "Helped.", call("final_answer", { n: 1 })]
  }
  const asides: Record<string, Array<MockResponse.Input>> = {
    "Sign.": [call("signed")],
    "Defer.": [MockResponse.toolCall("deferred", {}, { id: "later" })],
    "Sign that.": [call("signed")],
    "Seal.": [call("helper", { task: "Seal it." })],
    "Seal it.": [call("sealed")],
    "Say.": ["Once more."],
    "Loop.": [call("beside"), call("beside")],
    "Bend.": [call("handoff_to_other")],
    "Tear.": [call("handoff_to_other")],
    "Stall.": [call("stalled")],
    "Fail.": [MockResponse.fail(overloaded), MockResponse.fail(overloaded)]
  }
  const answer = (agent: string, state: AgentState.AgentState | undefined): MockResponse.Input => {
    const turns = state?.conversation.turns ?? []
    const said = turns.flatMap((turn) => turn._tag === "User" ? [Conversation.textOf(turn)] : [])
    if (turns[turns.length - 1]?._tag === "User" && said[said.length - 1] === "Psst.") return "Heard."
    const asked = said.findLast((text) => text !== "Psst.") ?? ""
    const script = asides[asked] ?? (asked === "Go." || agent === "helper" ? scripts[agent] : undefined)
    return script?.shift() ?? "Done."
  }
  return MockModel.layer(
    MockModel.make(({ agent, state }) => Effect.map(attempts.at("model"), () => answer(agent, state)))
  )
}

/** The store of a session, whose writes are a callback too. */
const store = (attempts: Attempts) =>
  Layer.effect(
    KeyValueStore.KeyValueStore,
    Effect.map(KeyValueStore.KeyValueStore, (kept) => ({
      ...kept,
      set: (key: string, value: string | Uint8Array) => Effect.andThen(attempts.at("store"), kept.set(key, value))
    }))
  ).pipe(Layer.provide(KeyValueStore.layerMemory))

/** Who holds the conversation, and where its observers were added: within the session, or around it. */
export const grounds = [
  "run",
  "session",
  "session, from outside",
  "stored session",
  "stored session, from outside"
] as const

/** What came of a program. */
export interface Played {
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
  /** The states that were given, each with how many events there were by then. */
  readonly states: ReadonlyArray<readonly [state: AgentState.AgentState, events: number]>
}

/** Makes a program that brings up every callback, one of which asks for something. */
export const program = (ground: typeof grounds[number], attempts: Attempts): Effect.Effect<Played> => {
  const { handlers, runnable: agent, stalled } = runnable(attempts)
  const events: Array<AgentEvent.AgentEvent> = []
  const states: Array<readonly [AgentState.AgentState, number]> = []
  const observed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
    self.pipe(
      Agent.observe((event) => attempts.at(`observer of ${event._tag}`)),
      Agent.observe((event) => Effect.sync(() => void (event.path[0] !== "scribe" && events.push(event))))
    )
  const interrupted = <R>(self: Effect.Effect<unknown, unknown, R>) =>
    Effect.exit(Effect.raceFirst(self, Deferred.await(stalled)))
  const inRun = Effect.gen(function*() {
    attempts.services = yield* Effect.context<Services>()
    const inputs = ["Go.", "Sign.", "Defer.", "Seal.", "Loop.", "Bend.", "Tear.", "Fail."]
    for (const input of inputs) yield* Effect.exit(Agent.run(agent, input))
    yield* Effect.exit(Stream.runDrain(Agent.stream(agent, "Say.")))
    yield* interrupted(Agent.run(agent, "Stall."))
  })
  const inSession = Effect.gen(function*() {
    attempts.services = yield* Effect.context<Services>()
    const session = yield* Session.Session
    const read = (event: AgentEvent.AgentEvent) => event._tag === "StepStarted" ? attempts.at("reader") : Effect.void
    yield* Effect.exit(Stream.runForEach(session.stream("Go."), read))
    yield* Effect.exit(Mode.within(Effect.fail("no"), makeMode("alone", attempts)))
    const signed = yield* Effect.exit(session.call("Sign.", { control: "first" }))
    for (const { callId } of Exit.isSuccess(signed) ? AgentState.pendingApprovals(signed.value) : []) {
      yield* Effect.exit(session.approve(callId))
    }
    yield* Effect.exit(session.resume)
    const refused = yield* Effect.exit(session.call("Sign that.", { control: "first" }))
    for (const { callId } of Exit.isSuccess(refused) ? AgentState.pendingApprovals(refused.value) : []) {
      yield* Effect.exit(session.deny(callId, "no"))
    }
    yield* Effect.exit(session.resume)
    yield* Effect.exit(session.call("Defer.", { control: "first" }))
    yield* Effect.exit(session.giveResult("later", "Here it is."))
    yield* Effect.exit(session.resume)
    yield* Effect.exit(session.call("Seal.", { control: "first" }))
    for (const { callId } of AgentState.pendingApprovals(yield* session.state)) {
      yield* Effect.exit(session.approve(callId))
    }
    yield* Effect.exit(session.resume)
    for (const input of ["Loop.", "Bend.", "Tear.", "Say."]) {
      yield* Effect.exit(Stream.runDrain(session.stream(input, { control: "first" })))
    }
    yield* Effect.exit(session.invoke(Work, {}))
    yield* Effect.exit(session.call("Pick.", { control: "first" }))
    yield* Effect.exit(session.call("Fail.", { control: "first" }))
    yield* interrupted(session.call("Stall.", { control: "first" }))
    yield* Effect.exit(session.enterMode("m"))
    states.push([yield* session.state, events.length])
  })
  const options = ground.startsWith("stored") ? { store: Session.store("1") } : {}
  const layer = Layer.provide(Session.layer(agent, options), store(attempts))
  const playing = ground === "run"
    ? observed(inRun)
    : ground.endsWith("outside")
    ? observed(Effect.provide(inSession, layer))
    : Effect.provide(observed(inSession), layer)
  const played = Effect.as(playing, { events, states })
  return Effect.scoped(Effect.provide(played, Layer.merge(handlers, model(attempts)))) as never
}

/** Opens a stored session once: it imports a module, which may take longer than all turns that a program has. */
export const warmUp = (): Promise<unknown> =>
  Session.make(Agent.make("warm"), { store: Session.store("1") }).pipe(
    Effect.scoped,
    Effect.provide([KeyValueStore.layerMemory, MockModel.layer(MockModel.queue())]),
    Effect.runPromise
  )
