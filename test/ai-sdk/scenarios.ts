/** What agents do with a model, whichever it is: the script of the model, and the run. */
import { Effect, type Layer, Option, Result, Schema, Stream } from "effect"
import { type LanguageModel, Prompt, Tool, Toolkit } from "effect/ai"
import { Agent, type AgentError, AgentState } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const { all, reasoning, toolCall, withUsage } = MockResponse

class NoStation extends Schema.TaggedError<NoStation>("test/NoStation")("NoStation", { city: Schema.String }) {}

/** One pixel. */
const png = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10])

const success = Schema.Struct({ celsius: Schema.Finite })

const Kit = Toolkit.make(
  Tool.make("get_weather", {
    description: "How warm it is",
    parameters: Schema.Struct({ city: Schema.String }),
    success,
    failure: NoStation
  }),
  Tool.make("draw", {
    parameters: Schema.Struct({ of: Schema.String }),
    success: Schema.String,
    toModelOutput: (caption) => [
      Prompt.makePart("text", { text: caption }),
      Prompt.makePart("file", { mediaType: "image/png", data: png })
    ]
  }),
  Tool.make("book", {
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.String,
    needsApproval: true
  })
)

const handlers = Kit.toLayer({
  get_weather: ({ city }) => city === "Oslo" ? Effect.fail(new NoStation({ city })) : Effect.succeed({ celsius: 22 }),
  draw: ({ of }) => Effect.succeed(`A drawing of ${of}`),
  book: ({ city }) => Effect.succeed(`Booked ${city}`)
})

const assistant = Agent.make("assistant", { instructions: "Be brief.", toolkit: Kit })

const reporter = Agent.make("reporter", {
  instructions: "Report.",
  output: Schema.Struct({ city: Schema.String, warm: Schema.Boolean, note: Schema.NullOr(Schema.String) })
})

type Needed = LanguageModel.LanguageModel | Layer.Success<typeof handlers>

type Ran = Effect.Effect<
  AgentState.AgentState,
  AgentError.AgentError | AgentState.NotAwaitingApproval,
  LanguageModel.LanguageModel
>

/** A way to run an agent: at once, or streamed. */
type Run = <Output>(
  agent: Agent.Agent<"assistant" | "reporter", Output, never, Needed>,
  input: string | AgentState.AgentState
) => Ran

const whole: Run = (agent, input) =>
  (typeof input === "string" ? Agent.run(agent, input) : Agent.resume(agent, input)).pipe(Effect.provide(handlers))

const streamed: Run = (agent, input) =>
  typeof input !== "string" ? whole(agent, input) : Agent.stream(agent, input).pipe(
    Stream.runLast,
    Effect.flatMap((last) =>
      Option.isSome(last) && last.value._tag === "RunCompleted"
        ? Effect.succeed(last.value.state)
        : Effect.die("the run didn't complete")
    ),
    Effect.provide(handlers)
  )

/** The ways to run an agent. */
export const ways: Readonly<Record<string, Run>> = { "at once": whole, "streamed": streamed }

export interface Scenario {
  readonly script: () => MockModel.Handler
  readonly run: (run: Run) => Ran
  readonly requests: number
  /** Whether the model is told to think. */
  readonly thinks?: boolean
}

const signed = { metadata: { anthropic: { signature: "c2lnbmVk" } } }

export const scenarios: Readonly<Record<string, Scenario>> = {
  "says something": {
    script: () => MockModel.queue("Hello, Ada."),
    run: (run) => run(assistant, "I am Ada."),
    requests: 1
  },
  "calls tools side by side, one of which fails and one of which draws": {
    script: () =>
      MockModel.queue(
        all(
          "Let me look.",
          toolCall("get_weather", { city: "Paris" }),
          toolCall("get_weather", { city: "Oslo" }),
          toolCall("draw", { of: "the Seine" })
        ),
        "It is warm in Paris."
      ),
    run: (run) => run(assistant, "Where is it warm?"),
    requests: 2
  },
  "thinks before it calls a tool, and before it answers": {
    script: () =>
      MockModel.queue(
        all(reasoning("Paris, then.", signed), toolCall("get_weather", { city: "Paris" })),
        withUsage(all(reasoning("Warm enough.", signed), "22 °C"), { input: 40, output: 9, cached: 30, reasoning: 3 })
      ),
    run: (run) => run(assistant, "How warm is Paris?"),
    requests: 2,
    thinks: true
  },
  "gives a structured answer, after one that doesn't fit": {
    script: () =>
      MockModel.queue(
        toolCall("final_answer", { city: "Paris", warm: "very", note: null }),
        toolCall("final_answer", { city: "Paris", warm: true, note: null })
      ),
    run: (run) => run(reporter, "Report on Paris."),
    requests: 2
  },
  "waits for an approval, and goes on from JSON": {
    script: () => MockModel.queue(toolCall("book", { city: "Paris" }), "It is booked."),
    run: (run) =>
      Effect.gen(function*() {
        const waiting = yield* run(assistant, "Book Paris.")
        const stored = Result.getOrThrow(AgentState.fromJson(JSON.stringify(AgentState.toJson(waiting))))
        const [pending] = AgentState.pendingApprovals(stored)
        if (pending === undefined) return yield* Effect.die("nothing awaits approval")
        return yield* run(assistant, yield* Effect.fromResult(AgentState.approve(stored, pending.callId)))
      }),
    requests: 2
  },
  "hears no, and what it was denied for": {
    script: () => MockModel.queue(toolCall("book", { city: "Paris" }), "As you wish."),
    run: (run) =>
      Effect.gen(function*() {
        const waiting = yield* run(assistant, "Book Paris.")
        const [pending] = AgentState.pendingApprovals(waiting)
        if (pending === undefined) return yield* Effect.die("nothing awaits approval")
        return yield* run(assistant, yield* Effect.fromResult(AgentState.deny(waiting, pending.callId, "too dear")))
      }),
    requests: 2
  }
}
