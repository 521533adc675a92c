/**
 * Troupe.
 */
import { Effect, Stream } from "effect"
import { Agent, AgentState, Handoff, StopWhen } from "../src/index.ts"
import * as model from "./effectModel.ts"
import { agentName, question, system } from "./script.ts"

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

export const troupe = model.subject(() => ({ tool: programs(counter), "no tools": programs(speaker) }), chain)

/** Runs the loop, and keeps each state or the last one. */
export const keep = (which: "each" | "last") =>
  which === "each"
    ? Stream.runCollect(Agent.states(counter, question))
    : Effect.map(Agent.run(counter, question), (state) => [state])
