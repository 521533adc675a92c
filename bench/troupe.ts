/**
 * Troupe.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { Effect, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { AiSdkModel } from "../src/ai-sdk/index.ts"
import { Agent, AgentState, Handoff, StopWhen } from "../src/index.ts"
import * as model from "./effectModel.ts"
import { agentName, question, system } from "./script.ts"
import * as sdkModel from "./sdkModel.ts"

const counter = Agent.make("counter", {
  instructions: system,
  toolkit: model.Counting,
  stopWhen: StopWhen.maxSteps(10_000)
})

const speaker = Agent.make("speaker", { instructions: system })

/** The AI SDK and OpenAI Agents have their telemetry off, so their rows have Troupe's off too. */
const untraced = ({ hear, run }: model.Programs): model.Programs => ({
  run: Effect.withTracerEnabled(run, false),
  hear: (heard) => Effect.withTracerEnabled(hear(heard), false)
})

const programs = <E, R extends model.Services>(agent: Agent.Agent<string, string, E, R>): model.Programs => ({
  run: Effect.map(Agent.run(agent, question), AgentState.text),
  hear: (heard) =>
    Stream.runForEach(Agent.stream(agent, question), (event) =>
      Effect.sync(() => {
        if (event._tag !== "TextDelta") return
        heard.deltas++
        heard.characters += event.delta.length
      }))
})

/** A chain of agents, each of which has the tool and can hand over to the next. */
const chain = (hops: number): Effect.Effect<string, unknown, model.Services> => {
  let next = Agent.make(agentName(hops), { instructions: system, toolkit: model.Counting })
  for (let index = hops - 1; index >= 0; index--) {
    next = Agent.make(agentName(index), {
      instructions: system,
      toolkit: model.Counting,
      handoffs: [Handoff.to(next)],
      maxHandoffs: hops
    })
  }
  return Effect.map(Agent.run(next, question), AgentState.text)
}

const ofKind = () => ({ tool: programs(counter), "no tools": programs(speaker) })

export const troupe = model.subject(ofKind, chain)

const native = (sdk: LanguageModelV4) =>
  Effect.runSync(Effect.scoped(Effect.provide(Effect.service(LanguageModel.LanguageModel), AiSdkModel.layer(sdk))))

/** Troupe over the objects that the AI SDK asks too. */
export const troupeNative = model.subject(
  () => {
    const { tool, "no tools": noTools } = ofKind()
    return { tool: untraced(tool), "no tools": untraced(noTools) }
  },
  (hops) => Effect.withTracerEnabled(chain(hops), false),
  {
    oneTurn: (calls) => native(sdkModel.oneTurn(calls)),
    slow: (calls) => native(sdkModel.slow(calls)),
    toolLoop: (calls, steps) => native(sdkModel.toolLoop(calls, steps)),
    handingOver: (calls) => native(sdkModel.handingOver(calls)),
    deltas: (calls, count, chunks) => native(sdkModel.deltas(calls, count, chunks))
  }
)

/** Runs the loop, and keeps each state or the last one. */
export const keep = (which: "each" | "last") =>
  which === "each"
    ? Stream.runCollect(Agent.states(counter, question))
    : Effect.map(Agent.run(counter, question), (state) => [state])
