/**
 * What models were sent while modes were entered and left, and effects that must not wait for themselves.
 */
import { Effect, Fiber } from "effect"
import type { Prompt } from "effect/ai"
import { type AgentState, Conversation } from "troupe"
import { MockModel } from "troupe/testing"

const textOf = ({ content, role }: Prompt.Message): string =>
  `${role}: ${
    typeof content === "string" ?
      content :
      content.map((part) =>
        part.type === "text" ? part.text : part.type === "tool-result" ? JSON.stringify(part.result) : part.type
      ).join(" ")
  }`

/** Each request so far: its system text, its other messages, and the names of the tools it offered. */
export const sent = Effect.map(
  MockModel.calls,
  (calls) =>
    calls.map(({ request }) => ({
      system: request.system,
      messages: request.messages.filter(({ role }) => role !== "system").map(textOf),
      tools: offered(request)
    }))
)

/** The tools that a request lets its model call. */
export const offered = ({ toolChoice, toolNames }: MockModel.MockRequest): ReadonlyArray<string> =>
  typeof toolChoice === "object" && "oneOf" in toolChoice
    ? toolNames.filter((name) => toolChoice.oneOf.includes(name))
    : toolNames

/** The names of the modes that a state is in, the innermost last. */
export const stackOf = ({ modes }: AgentState.AgentState): ReadonlyArray<string> => modes.map(({ name }) => name)

/** The turns of a state, each as who spoke and what was said. */
export const said = ({ conversation }: AgentState.AgentState): ReadonlyArray<string> =>
  conversation.turns.map((turn) => {
    const text = Conversation.textOf(turn)
    const calls = turn._tag === "Assistant"
      ? turn.parts.flatMap((part) => part._tag === "Call" ? [`<${part.name}>`] : [])
      : []
    return [`${turn._tag}:`, ...(text === "" ? [] : [text]), ...calls].join(" ")
  })

/** Runs something that must end by itself: it is a defect where it waits for what never comes. */
export const ends = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(self, { startImmediately: true })
    for (let turn = 0; turn < 5_000 && fiber.pollUnsafe() === undefined; turn++) yield* Effect.yieldNow
    if (fiber.pollUnsafe() === undefined) {
      yield* Fiber.interrupt(fiber).pipe(Effect.forkDetach)
      return yield* Effect.die(new Error("It waits for itself"))
    }
    return yield* Fiber.join(fiber)
  })

/** What is wrong, of the error of a run or of modes. */
export const reasonOf = (error: unknown): { readonly _tag: string; readonly message: string } =>
  (error as { readonly reason: { readonly _tag: string; readonly message: string } }).reason
