import { Context, Effect, Schema, type Stream } from "effect"
import { type AiError, type LanguageModel, Tool, Toolkit } from "effect/ai"
import { Agent, type AgentError, type AgentState, Dialogue } from "troupe"
import { expectTypeOf, test } from "vitest"

type Model = LanguageModel.LanguageModel

class Moderator extends Context.Service<Moderator, string>()("test/Moderator") {}
class Clock extends Context.Service<Clock, string>()("test/Clock") {}
class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}
class Undecided extends Schema.TaggedError<Undecided>()("Undecided", {}) {}
class Unsure extends Schema.TaggedError<Unsure>()("Unsure", {}) {}

const Kit = Toolkit.make(Tool.make("break", { failure: Broken }))

const ada = Agent.make("ada")
const bob = Agent.make("bob", { toolkit: Kit, fatal: ["break"] })
const cid = Agent.make("cid")

test("a dialogue collects the names, the failures and the needs of all who take part", () => {
  expectTypeOf(Dialogue.make(ada, cid)).toEqualTypeOf<Dialogue.Dialogue<"ada" | "cid", never, Model>>()
  expectTypeOf(Dialogue.make(ada, bob, cid)).toEqualTypeOf<
    Dialogue.Dialogue<"ada" | "bob" | "cid", Broken, Model | Tool.Handler<"break">>
  >()
  const three: readonly [Agent.Agent<"a">, Agent.Agent<"b">, ...ReadonlyArray<Agent.Agent<"c">>] = null as never
  expectTypeOf(Dialogue.make(...three)).toEqualTypeOf<Dialogue.Dialogue<"a" | "b" | "c">>()
})

test("a dialogue of fewer than two doesn't compile", () => {
  // @ts-expect-error: nobody to talk to
  Dialogue.make(ada)
  // @ts-expect-error: nobody at all
  Dialogue.make()
  // @ts-expect-error: options are no participant
  Dialogue.make(ada, { maxTurns: 3 })
})

test("a dialogue collects what its choice and its end fail with and need", () => {
  const dialogue = Dialogue.make(ada, cid, {
    speaker: (transcript, candidates) => {
      expectTypeOf(transcript).toEqualTypeOf<Dialogue.Transcript<"ada" | "cid">>()
      expectTypeOf(candidates[0]!.name).toEqualTypeOf<"ada" | "cid">()
      return transcript.length > 3 ? Effect.as(Moderator, "ada" as const) : Effect.fail(new Undecided())
    },
    until: (transcript) => {
      expectTypeOf(transcript).toEqualTypeOf<Dialogue.Transcript<"ada" | "cid">>()
      return transcript.length > 9 ? Effect.as(Clock, true) : Effect.fail(new Unsure())
    }
  })
  expectTypeOf(dialogue).toEqualTypeOf<
    Dialogue.Dialogue<"ada" | "cid", Undecided | Unsure, Model | Moderator | Clock>
  >()
  const asked = Dialogue.make(ada, cid, { speaker: Dialogue.byModel() })
  expectTypeOf(asked).toEqualTypeOf<Dialogue.Dialogue<"ada" | "cid", AiError.AiError, Model>>()
  const plain = Dialogue.make(ada, cid, { until: (transcript) => transcript.length > 3, maxTurns: 4, stopTool: "end" })
  expectTypeOf(plain).toEqualTypeOf<Dialogue.Dialogue<"ada" | "cid", never, Model>>()
})

test("choices that are made elsewhere fit the participants", () => {
  const cases = Dialogue.byPredicate([
    [(transcript) => transcript.length > 3, "ada"],
    [() => Effect.as(Moderator, true), "cid"],
    [() => Effect.fail(new Undecided()), "cid"]
  ])
  const dialogue = Dialogue.make(ada, cid, { speaker: cases })
  expectTypeOf(dialogue).toEqualTypeOf<
    Dialogue.Dialogue<"ada" | "cid", Undecided, Model | Moderator>
  >()
  for (
    const dialogue of [
      Dialogue.make(ada, cid, { speaker: Dialogue.roundRobin }),
      Dialogue.make(ada, cid, { speaker: Dialogue.byName() }),
      Dialogue.make(ada, cid, { speaker: Dialogue.byName(() => "cid") }),
      Dialogue.make(ada, cid, { speaker: Dialogue.byPredicate([[() => true, "ada"]], "cid") }),
      Dialogue.make(ada, cid, { speaker: () => "ada" })
    ]
  ) expectTypeOf(dialogue).toEqualTypeOf<Dialogue.Dialogue<"ada" | "cid", never, Model>>()
})

test("a name that takes no part doesn't compile", () => {
  // @ts-expect-error: zed takes no part
  Dialogue.make(ada, cid, { speaker: () => "zed" })
  // @ts-expect-error: zed takes no part
  Dialogue.make(ada, cid, { speaker: () => Effect.succeed("zed") })
  // @ts-expect-error: zed takes no part
  Dialogue.make(ada, cid, { speaker: Dialogue.byName(() => "zed") })
  // @ts-expect-error: zed takes no part
  Dialogue.make(ada, cid, { speaker: Dialogue.byPredicate([[() => true, "zed"]]) })
  // @ts-expect-error: zed takes no part
  Dialogue.make(ada, cid, { speaker: Dialogue.byPredicate([[() => true, "ada"]], "zed") })
  // @ts-expect-error: zed says nothing
  Dialogue.make(ada, cid, { until: (transcript) => Dialogue.lastSpeaker(transcript) === "zed" })
})

test("a run fails with one error that holds the state, and gives a state", () => {
  const dialogue = Dialogue.make(ada, bob)
  type Failure = Dialogue.DialogueError<AgentError.AgentError | Broken>
  type Needs = Model | Tool.Handler<"break">
  const state = Dialogue.begin(dialogue, "Hello")
  expectTypeOf(state).toEqualTypeOf<Dialogue.DialogueState>()
  expectTypeOf(Dialogue.agentState(state, "ada")).toEqualTypeOf<AgentState.AgentState | undefined>()
  expectTypeOf(Dialogue.run(dialogue, "Hello")).toEqualTypeOf<
    Effect.Effect<Dialogue.DialogueState, Failure, Needs>
  >()
  expectTypeOf(dialogue.pipe(Dialogue.run("Hello"))).toEqualTypeOf<
    Effect.Effect<Dialogue.DialogueState, Failure, Needs>
  >()
  expectTypeOf(Dialogue.resume(dialogue, state)).toEqualTypeOf<
    Effect.Effect<Dialogue.DialogueState, Failure, Needs>
  >()
  expectTypeOf(dialogue.pipe(Dialogue.resume(state))).toEqualTypeOf<
    Effect.Effect<Dialogue.DialogueState, Failure, Needs>
  >()
  expectTypeOf(Dialogue.stream(dialogue, state)).toEqualTypeOf<
    Stream.Stream<Dialogue.DialogueEvent, Failure, Needs>
  >()
  expectTypeOf(dialogue.pipe(Dialogue.stream("Hello"))).toEqualTypeOf<
    Stream.Stream<Dialogue.DialogueEvent, Failure, Needs>
  >()
})

test("one reason is caught by its tag, with its error's own type", () => {
  const program = Dialogue.run(Dialogue.make(ada, bob), "Hello").pipe(
    Effect.catchReason("DialogueError", "AgentFailed", (reason, error) => {
      expectTypeOf(reason.error).toEqualTypeOf<AgentError.AgentError | Broken>()
      return Effect.succeed(error.state)
    })
  )
  expectTypeOf<Effect.Success<typeof program>>().toEqualTypeOf<Dialogue.DialogueState>()
})

test("the stop tool is handled by its layer", () => {
  const done = Agent.make("done", { toolkit: Toolkit.make(Dialogue.StopTool) })
  const dialogue = Dialogue.make(ada, done)
  const program = Dialogue.run(dialogue, "Hello").pipe(Effect.provide(Dialogue.layerStopTool))
  expectTypeOf<Effect.Services<typeof program>>().toEqualTypeOf<Model>()
})
