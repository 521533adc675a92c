/**
 * What a guardrail masks or refuses stands nowhere: a marker goes through each stage, and everything that was stored, sent, traced,
 * observed or logged is searched for it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Logger, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import {
  Agent,
  type AgentEvent,
  AgentPicker,
  AgentState,
  Group,
  Guardrail,
  Handoff,
  Mode,
  Session,
  Trace
} from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { recorded } from "../spans.ts"

const marker = "swordfish"

const verdicts = {
  masked: () => Guardrail.replace("***", "a marker"),
  blocked: () => Guardrail.block("a marker"),
  retried: () => Guardrail.retry("Without the marker.")
}
type Way = keyof typeof verdicts
const ways: ReadonlyArray<Way> = ["masked", "blocked", "retried"]

/** Guardrails of an agent, each on one marker alone, behind one that masks another text. */
const guardrailsOf = (way: Way) => {
  const all = both(way)
  return { input: all, output: all, toolCall: all, toolResult: all, handoff: all }
}

const both = (way: Way, options?: { readonly mode: "parallel" }) => [
  Guardrail.make(
    "first",
    (text) =>
      text.includes("harmless") ? Guardrail.replace(text.replaceAll("harmless", "fine"), "a word") : Guardrail.pass,
    options
  ),
  Guardrail.make(
    "second",
    (text) =>
      !text.includes(marker)
        ? Guardrail.pass
        : way === "masked"
        ? Guardrail.replace(text.replaceAll(marker, "***"), "a marker")
        : verdicts[way](),
    options
  )
]

class Broken extends Schema.TaggedError<Broken>("test/Broken")("Broken", { why: Schema.String }) {
  override get message(): string {
    return `it broke: ${this.why}`
  }
}

const Look = Tool.make("look", { parameters: Schema.Struct({ at: Schema.Json }), success: Schema.Json })
const Sign = Tool.make("sign", {
  parameters: Schema.Struct({ at: Schema.String }),
  success: Schema.String,
  needsApproval: true
})
const Fail = Tool.make("fail", { success: Schema.String, failure: Broken })
const Kit = Toolkit.make(Look, Sign, Fail)
const handlers = (result: Schema.Json) =>
  Kit.toLayer({
    look: () => Effect.succeed(result),
    sign: () => Effect.succeed("signed"),
    fail: () => Effect.fail(new Broken({ why: `harmless ${marker}` }))
  })

/** What a stage is tried with: what the models answer, and what is done. */
interface Stage {
  readonly responses: ReadonlyArray<MockResponse.Input>
  readonly result?: Schema.Json
  readonly words?: ReadonlyArray<string>
  readonly isSaidByMode?: true
  readonly hasOutput?: true
  /** Nobody can be picked: whose guardrails would find the marker. */
  readonly unpicked?: "all" | "other"
}

const look = (at: Schema.Json) => MockResponse.toolCall("look", { at })
const secret = `a harmless ${marker}`

const stages: Readonly<Record<string, Stage>> = {
  "an input": { responses: ["Fine."], words: [secret] },
  "words while an approval waits": {
    responses: [MockResponse.toolCall("sign", { at: "x" }), "Fine."],
    words: ["Sign.", secret]
  },
  "words of a mode": { responses: ["Fine.", "Fine.", "Fine."], isSaidByMode: true },
  "words of a mode in a called agent": {
    responses: [
      MockResponse.toolCall("helper", { task: "Help." }),
      MockResponse.toolCall("enter_asking_mode", {}),
      ...Array.from({ length: 6 }, () => "Fine.")
    ]
  },
  "an input for which nobody could be picked": { responses: ["Fine."], words: [secret], unpicked: "all" },
  "an input for which nobody could be picked, and only another agent looks": {
    responses: ["Fine."],
    words: [secret],
    unpicked: "other"
  },
  "what a called agent is asked": { responses: [MockResponse.toolCall("asked", { task: "Help." }), "Fine.", "Fine."] },
  "what a called agent is asked, beside its model": {
    responses: [MockResponse.toolCall("parallel", { task: "Help." }), "Fine.", "Fine."]
  },
  "what an agent is asked that a called one calls, beside another call": {
    responses: [
      MockResponse.all(MockResponse.toolCall("middle", { task: "Help." }), look("x")),
      MockResponse.toolCall("asked", { task: "Help." }),
      ...Array.from({ length: 3 }, () => "Fine.")
    ]
  },
  "what a called group is asked": {
    responses: [MockResponse.toolCall("desk", { task: "Help." }), ...Array.from({ length: 3 }, () => "Fine.")]
  },
  "what a called group is asked, and nobody could be picked": {
    responses: [MockResponse.toolCall("lost", { task: "Help." }), "Fine."]
  },
  "an answer": { responses: [secret, "Fine.", "Fine."] },
  "an answer that doesn't fit": { responses: [secret, `{"n":1}`, "Fine."], hasOutput: true },
  "an answer by a call that doesn't fit": {
    responses: [
      MockResponse.toolCall("final_answer", { n: secret, [secret]: 1 }),
      MockResponse.toolCall("final_answer", { n: 1 })
    ],
    hasOutput: true
  },
  "reasoning": { responses: [MockResponse.all(MockResponse.reasoning(secret), "Fine.")] },
  "a remark": { responses: [MockResponse.all(secret, look("x")), "Fine."] },
  "parameters": { responses: [look({ deep: [secret] }), "Fine."] },
  "keys of parameters": { responses: [look({ [secret]: 1 }), "Fine."] },
  "parameters that don't fit": { responses: [MockResponse.toolCall("sign", { at: [secret] }), "Fine."] },
  "parameters of no tool": { responses: [MockResponse.toolCall("nothing", { at: secret }), "Fine."] },
  "parameters that wait for approval": { responses: [MockResponse.toolCall("sign", { at: secret }), "Fine."] },
  "a result": { responses: [look("x"), "Fine."], result: { found: secret } },
  "keys of a result": { responses: [look("x"), "Fine."], result: { [secret]: 1 } },
  "the reason of a handoff": {
    responses: [MockResponse.toolCall("handoff_to_other", { reason: secret }), "Fine.", "Fine."]
  },
  "the context of a handoff": {
    responses: [MockResponse.toolCall("handoff_to_other", { context: { [secret]: secret } }), "Fine.", "Fine."]
  },
  "a fatal failure": { responses: [MockResponse.toolCall("fail", {}), "Fine."] }
}

const talk = Effect.fn(function*() {
  yield* Effect.ignore(Mode.call(secret))
})
const talking = Mode.make("talking", { enter: talk })
const asking = Mode.make("asking", { invokable: true, isolation: "none", enter: talk, exit: talk })

/** Does all of a stage in a stored session that is observed, traced, streamed and logged. Gives what anybody has of it. */
const everything = (
  way: Way,
  { hasOutput, isSaidByMode, responses, unpicked, result = "seen", words = ["Go."] }: Stage
) =>
  Effect.gen(function*() {
    const kept: Array<unknown> = []
    const events: Array<AgentEvent.AgentEvent> = []
    const values = new Map<string, string>()
    const store = KeyValueStore.makeStringOnly({
      get: (key) => Effect.sync(() => values.get(key)),
      set: (key, value) =>
        Effect.sync(() => {
          kept.push(value)
          values.set(key, value)
        }),
      remove: (key) => Effect.sync(() => void values.delete(key)),
      clear: Effect.void,
      size: Effect.sync(() => values.size),
      keys: Effect.sync(() => [...values.keys()])
    })
    const guardrails = guardrailsOf(way)
    const other = Agent.make("other", { guardrails })
    const helper = Agent.make("helper", { modes: [asking], guardrails })
    const secretly = { toInput: ({ task }: { readonly task: string }) => `${task} ${secret}` }
    const asked = Agent.asTool(helper, { ...secretly, name: "asked" })
    const parallel = Agent.make("parallel", { guardrails: { input: both(way, { mode: "parallel" }) } })
    const plain = Agent.make("plain")
    const nobody = AgentPicker.make((): Effect.Effect<"plain", Broken> => Effect.fail(new Broken({ why: "unsure" })))
    const agent = Agent.make("agent", {
      toolkit: Kit,
      agents: [
        Agent.asTool(helper),
        asked,
        Agent.asTool(parallel, secretly),
        Agent.asTool(Agent.make("middle", { agents: [asked] })),
        Agent.asTool(Group.make({ plain, helper }, { start: AgentPicker.always("helper") }), {
          ...secretly,
          name: "desk"
        }),
        Agent.asTool(Group.make({ plain, helper }, { start: nobody }), { ...secretly, name: "lost" })
      ],
      handoffs: [Handoff.to(other)],
      modes: [talking],
      ...(hasOutput === true ? { output: Schema.Struct({ n: Schema.Finite }) } : undefined),
      ...(unpicked === "other" ? undefined : { guardrails }),
      fatal: ["fail"]
    })
    const program = Effect.gen(function*() {
      const start = AgentPicker.make((): Effect.Effect<"agent", Broken> => Effect.fail(new Broken({ why: "unsure" })))
      const who = unpicked === undefined ? agent : Group.make({ agent, other }, { start })
      const session = yield* Session.make(who as unknown as typeof agent, { store: Session.store("id") })
      if (isSaidByMode) kept.push(yield* Effect.exit(session.enterMode("talking")))
      const options = unpicked === undefined ? undefined : { control: "first" } as const
      for (const text of words) kept.push(yield* Effect.exit(Stream.runCollect(session.stream(text, options))))
      kept.push(AgentState.toJson(yield* session.state))
      for (const call of AgentState.pendingApprovals(yield* session.state)) {
        kept.push(call, yield* Effect.exit(session.approve(call.callId)))
        kept.push(yield* Effect.exit(session.resume))
      }
      kept.push(AgentState.toJson(yield* session.state))
      kept.push((yield* MockModel.calls).map(({ request }) => request.prompt))
    })
    const { exit, spans } = yield* recorded(
      program.pipe(
        Effect.scoped,
        Agent.observe((event) => Effect.sync(() => void events.push(event))),
        Effect.provideService(Agent.RecordContent, true),
        Effect.provide([
          handlers(result),
          MockModel.layer(MockModel.queue(...responses.map((each) => MockResponse.chunked(each, 3)))),
          Layer.succeed(KeyValueStore.KeyValueStore, store),
          Logger.layer([Logger.make(({ cause, message }) => void kept.push(message, Cause.pretty(cause)))])
        ])
      )
    )
    if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
    // Nothing was left out: the run got to what the marker stands in.
    assert.isTrue(
      events.some((event) =>
        event._tag === "GuardrailSettled" && event.guardrail === "second" && event.verdict !== "Pass"
      )
    )
    return [
      ...kept,
      events,
      Trace.toMarkdown(events),
      Trace.toMermaid(events),
      spans.map(({ attributes, events, name, status }) => [name, [...attributes], events, status])
    ]
  })

/** Everything that can be read in values, those that JSON would leave out too. */
const search = (value: unknown, path: string, seen: Set<unknown>, found: Array<string>): ReadonlyArray<string> => {
  if (typeof value === "string") {
    if (value.includes(marker) || value.includes("harmless")) found.push(`${path}: ${value.slice(0, 200)}`)
  } else if (typeof value === "object" && value !== null && !seen.has(value)) {
    seen.add(value)
    if (value instanceof Error) search(value.message, `${path}.message`, seen, found)
    for (const key of Object.getOwnPropertyNames(value)) {
      search(key, `${path}(key)`, seen, found)
      if (key !== "stack") search((value as Record<string, unknown>)[key], `${path}.${key}`, seen, found)
    }
  }
  return found
}

describe("What guardrails don't let pass is kept nowhere", () => {
  for (const [name, stage] of Object.entries(stages)) {
    for (const way of ways) {
      it.effect(`${name}, ${way}`, () =>
        Effect.gen(function*() {
          const kept = yield* Effect.orDie(everything(way, stage)) as Effect.Effect<ReadonlyArray<unknown>>
          assert.deepStrictEqual(search(kept, "", new Set(), []), [])
        }))
    }
  }
})

describe("A result that doesn't fit", () => {
  const Count = Toolkit.make(Tool.make("count", { success: Schema.Record(Schema.String, Schema.Finite) }))
  const counting = Count.toLayer({ count: () => Effect.succeed({ [marker]: "many" } as never) })
  const cases = [
    ["is quoted in the log if content is recorded", true, undefined],
    ["isn't quoted in the log otherwise", false, undefined],
    ["isn't where guardrails look at results", true, guardrailsOf("masked")]
  ] as const
  for (const [what, recordsContent, guardrails] of cases) {
    it.effect(
      what,
      () =>
        Effect.gen(function*() {
          const isQuoted = recordsContent && guardrails === undefined
          const options = guardrails === undefined ? undefined : { guardrails }
          const agents = [
            Agent.make("a", { toolkit: Count, ...options }),
            Agent.make("b", { toolkit: yield* Count, ...options })
          ]
          for (const agent of agents) {
            const logged: Array<unknown> = []
            yield* Effect.provide(Agent.run(agent, "Go."), [
              MockModel.layer(MockModel.queue(MockResponse.toolCall("count", {}), "Fine.")),
              Logger.layer([Logger.make(({ cause, message }) => void logged.push(message, cause))])
            ])
            assert.include(String(logged[0]), "doesn't fit its schema")
            assert.strictEqual(search(logged, "", new Set(), []).length > 0, isQuoted)
          }
        }).pipe(Effect.provideService(Agent.RecordContent, recordsContent), Effect.provide(counting))
    )
  }
})

describe("What an earlier guardrail passes on to a later one is told only as it stays", () => {
  const approved = (state: AgentState.AgentState) =>
    Effect.fromResult(AgentState.approve(state, "s", { params: { at: secret } }))
  const sign = MockResponse.toolCall("sign", { at: "x" }, { id: "s" })
  const ways = {
    "of words that an agent finds which takes over": (way: Way) => {
      const other = Agent.make("other", { guardrails: guardrailsOf(way) })
      const front = Agent.make("front", { handoffs: [Handoff.to(other)] })
      return { responses: [MockResponse.toolCall("handoff_to_other", {}), "Fine."], program: Agent.run(front, secret) }
    },
    "of words in a state": (way: Way) => {
      const agent = Agent.make("agent", { guardrails: guardrailsOf(way) })
      const asked = AgentState.ask(AgentState.make("agent"), secret, 0)
      return { responses: ["Fine."], program: Agent.resume(agent, asked) }
    },
    "of what a called agent is asked": (way: Way) => {
      const helper = Agent.make("helper", { guardrails: guardrailsOf(way) })
      const agent = Agent.make("agent", { agents: [Agent.asTool(helper)] })
      const call = MockResponse.toolCall("helper", { task: secret })
      return { responses: [call, "Fine.", "Fine."], program: Agent.run(agent, "Go.") }
    },
    "of parameters that somebody gave": (way: Way) => {
      const agent = Agent.make("agent", { toolkit: Kit, guardrails: { toolCall: guardrailsOf(way).toolCall } })
      const program = Agent.run(agent, "Sign.").pipe(
        Effect.flatMap(approved),
        Effect.flatMap((state) => Agent.resume(agent, state))
      )
      return { responses: [sign, "Fine."], program }
    }
  }
  for (const [name, make] of Object.entries(ways)) {
    for (const way of Object.keys(verdicts) as Array<Way>) {
      it.effect(`${name}, ${way}`, () =>
        Effect.gen(function*() {
          const { program, responses } = make(way)
          const events: Array<AgentEvent.AgentEvent> = []
          yield* Effect.exit(Effect.provide(
            Agent.observe(program, (event) => Effect.sync(() => void events.push(event))),
            [handlers("seen"), MockModel.layer(MockModel.queue(...responses))]
          ))
          const settled = events.filter((event) => event._tag === "GuardrailSettled")
          const [asked, last] = settled.slice(settled.findIndex(({ verdict }) => verdict !== "Pass"))
          assert.deepStrictEqual([asked?.guardrail, last?.guardrail], ["first", "second"])
          assert.deepStrictEqual(search(settled, "", new Set(), []), [])
          assert.isUndefined(asked?.replaced)
          const instead = way === "masked"
            ? "a fine ***"
            : name === "of parameters that somebody gave"
            ? `{"params":{},"refused":`
            : "blocked"
          assert.include(JSON.stringify(last?.replaced), instead)
        }))
    }
  }

  it.effect("or as far as it got, if a later one is interrupted", () =>
    Effect.gen(function*() {
      const [first] = guardrailsOf("masked").input
      const never = Guardrail.make("never", () => Effect.never)
      const agent = Agent.make("agent", { guardrails: { input: [first!, never] } })
      const events: Array<AgentEvent.AgentEvent> = []
      const fiber = yield* Effect.forkChild(
        Agent.run(agent, "a harmless word").pipe(
          Agent.observe((event) => Effect.sync(() => void events.push(event))),
          Effect.provide(MockModel.layer(MockModel.queue("Fine.")))
        )
      )
      for (let n = 0; n < 20; n++) yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      const [asked, stopped] = events.filter((event) => event._tag === "GuardrailSettled")
      assert.deepStrictEqual([asked?.verdict, stopped?.verdict, asked?.replaced], ["Replace", "Interrupted", undefined])
      assert.deepStrictEqual(search(events, "", new Set(), []), [])
      const end = events.at(-1)
      assert.isTrue(end?._tag === "RunInterrupted" && end.state.initialQuery === "a fine word")
    }))
})
