/**
 * What a guardrail masks or refuses stands nowhere: a marker goes through each stage, and everything that was stored, sent, traced,
 * observed or logged is searched for it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Logger, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { Agent, type AgentEvent, AgentState, Guardrail, Handoff, Mode, Session, Trace } from "troupe"
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
  const first = Guardrail.make(
    "first",
    (text) =>
      text.includes("harmless") ? Guardrail.replace(text.replaceAll("harmless", "fine"), "a word") : Guardrail.pass
  )
  const second = Guardrail.make("second", (text) =>
    !text.includes(marker)
      ? Guardrail.pass
      : way === "masked"
      ? Guardrail.replace(text.replaceAll(marker, "***"), "a marker")
      : verdicts[way]())
  const all = [first, second]
  return { input: all, output: all, toolCall: all, toolResult: all, handoff: all }
}

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
  "an answer": { responses: [secret, "Fine.", "Fine."] },
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

const talking = Mode.make("talking", {
  enter: Effect.fn(function*() {
    yield* Effect.ignore(Mode.call(secret))
  })
})

/** Does all of a stage in a stored session that is observed, traced, streamed and logged. Gives what anybody has of it. */
const everything = (way: Way, { isSaidByMode, responses, result = "seen", words = ["Go."] }: Stage) =>
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
    const agent = Agent.make("agent", {
      toolkit: Kit,
      handoffs: [Handoff.to(other)],
      modes: [talking],
      guardrails,
      fatal: ["fail"]
    })
    const program = Effect.gen(function*() {
      const session = yield* Session.make(agent, { store: Session.store("id") })
      if (isSaidByMode) kept.push(yield* Effect.exit(session.enterMode("talking")))
      for (const text of words) kept.push(yield* Effect.exit(Stream.runCollect(session.stream(text))))
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
