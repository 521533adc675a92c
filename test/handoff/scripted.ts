/**
 * Runs of agents that hand over to each other: what their models say, and what every run must keep.
 */
import { assert } from "@effect/vitest"
import { Effect, Exit, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { AgentError, type AgentEvent, AgentState, AgentStatus, type Conversation } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { imbalances } from "../agent/balanced.ts"
import { watch } from "../agent/watch.ts"
import { problems } from "../domain/legal.ts"

/** What models say one after the other, by the names of their agents. */
export type Script = Readonly<Record<string, ReadonlyArray<MockResponse.Input>>>

/** Models that say what a script says. */
export const models = (script: Script) =>
  MockModel.layer(MockModel.byAgent(
    Object.fromEntries(Object.entries(script).map(([agent, said]) => [agent, MockModel.queue(...said)]))
  ))

/** Models that say the same to the same state, in any process: by how often their agent has answered in it. */
export const replayable = (script: Script) =>
  MockModel.layer(MockModel.make(({ agent, state }) => {
    const turns = state?.conversation.turns ?? []
    const index = turns.filter((turn) => turn._tag === "Assistant" && turn.agent === agent).length
    return MockResponse.withUsage(script[agent]?.[index] ?? "I have nothing more to say.", { input: 10, output: 1 })
  }))

/** A call that hands over. */
export const handTo = (target: string, params: unknown = {}, id?: string): MockResponse.MockResponse =>
  MockResponse.toolCall(`handoff_to_${target}`, params, id === undefined ? undefined : { id })

/** Tools of agents that hand over: one that works, and one that needs approval. */
export const Kit = Toolkit.make(
  Tool.make("work", { parameters: Schema.Struct({ what: Schema.String }), success: Schema.String }),
  Tool.make("sign", { success: Schema.String, needsApproval: true })
)

/** Calls of these tools, and what answers them. */
export const work = (what: string) => MockResponse.toolCall("work", { what }, { id: what })
export const sign = MockResponse.toolCall("sign", {}, { id: "sign" })
export const handlers = Kit.toLayer({
  work: ({ what }) => Effect.succeed(`${what}!`),
  sign: () => Effect.succeed("signed")
})

/** Lets a state go through JSON text, as from one process to another. */
export const throughText = (state: AgentState.AgentState): AgentState.AgentState =>
  Result.getOrThrow(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))))

/**
 * Runs to the end, and checks what holds of every run: its events have their ends, its last state is their fold, and each
 * on the way is legal and survives JSON. `before` is the state that it goes on with, or the name of the agent that begins.
 */
export const checked = Effect.fnUntraced(function*<E, R>(
  run: Effect.Effect<AgentState.AgentState, E, R>,
  before: AgentState.AgentState | string
) {
  const { events, exit } = yield* watch(run)
  assert.deepStrictEqual(imbalances(events), [])
  let state = typeof before === "string" ? AgentState.make(before) : before
  for (const event of events) {
    const after = AgentState.reduce(state, event)
    if (after !== state) assert.deepStrictEqual(throughText(after), after)
    assert.deepStrictEqual(problems(after.conversation), [])
    state = after
  }
  for (const each of [state, Exit.isSuccess(exit) ? exit.value : state]) assert.deepStrictEqual(each, state)
  const end = events[events.length - 1]
  // A state that has ended is returned as it is, and nothing is told.
  const hasEnded = typeof before !== "string" && AgentStatus.isTerminal(before.status)
  if (!hasEnded || end !== undefined) {
    assert.deepStrictEqual(end !== undefined && "state" in end ? end.state : undefined, state)
  }
  return { events, exit, state }
})

/** Runs into a failure, and gives its reason and its state. */
export const failing = <E, R>(run: Effect.Effect<AgentState.AgentState, E, R>) =>
  Effect.map(Effect.flip(run), (error) => {
    assert.isTrue(AgentError.isAgentError(error), String(error))
    return error as AgentError.AgentError & E
  })

/** The requests so far. */
export const requests = Effect.map(MockModel.calls, (calls) => calls.map(({ request }) => request))

/** What the request of a place reads, in short. */
export const read = (index: number) =>
  Effect.map(requests, (requests) =>
    requests[index]!.messages.map((message) => {
      const content = typeof message.content === "string"
        ? message.content
        : message.content.map((part) => part.type === "text" ? part.text : part.type).join()
      return `${message.role}: ${content}`
    }))

/** How each call of a conversation was settled. */
export const outcomes = ({ turns }: Conversation.Conversation): ReadonlyArray<readonly [string, string]> =>
  turns.flatMap((turn) =>
    turn._tag === "Assistant"
      ? turn.parts.flatMap((part) =>
        part._tag === "Call"
          ? [[part.name, part.state._tag === "Settled" ? part.state.outcome : part.state._tag] as const]
          : []
      )
      : []
  )

/** The tags of events that tell of handoffs and of runs, in order. */
export const handoffEvents = (events: ReadonlyArray<AgentEvent.AgentEvent>): ReadonlyArray<string> =>
  events.flatMap(({ _tag, path }) => /Handoff|Run/.test(_tag) ? [`${_tag} ${path.join("/")}`] : [])
