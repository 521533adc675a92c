/**
 * Troupe.
 */
import { Effect, Stream } from "effect"
import { Agent, AgentState, StopWhen } from "../src/index.ts"
import * as model from "./effectModel.ts"
import { question, system } from "./script.ts"

const counter = Agent.make("counter", {
  instructions: system,
  toolkit: model.Counting,
  stopWhen: StopWhen.maxSteps(10_000)
})

const speaker = Agent.make("speaker", { instructions: system })

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

export const troupe = model.subject(() => ({ tool: programs(counter), "no tools": programs(speaker) }))

/** Runs the loop, and keeps each state or the last one. */
export const keep = (which: "each" | "last") =>
  which === "each"
    ? Stream.runCollect(Agent.states(counter, question))
    : Effect.map(Agent.run(counter, question), (state) => [state])
