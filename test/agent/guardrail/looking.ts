/**
 * Looking on while guardrails look on: what they said, what was shown, and what a run left behind.
 */
import { assert } from "@effect/vitest"
import { Cause, Effect, Exit, Option, Stream } from "effect"
import { type AgentError, type AgentEvent, AgentState, Conversation, Guardrail } from "troupe"
import { MockModel, type MockResponse } from "troupe/testing"
import { problems } from "../../domain/legal.ts"
import { imbalances } from "../balanced.ts"
import { ofTag, watch } from "../watch.ts"

export const model = (...responses: ReadonlyArray<MockResponse.Input>) => MockModel.layer(MockModel.queue(...responses))

/** Blocks what has a word in it, and takes down what it was asked about. */
export const without = (word: string, asked: Array<unknown> = []) =>
  Guardrail.make(`without ${word}`, (text) => {
    asked.push(text)
    return text.includes(word) ? Guardrail.block(`it says "${word}"`) : Guardrail.pass
  })

/** Makes one word of another. */
export const made = (word: string, other: string) =>
  Guardrail.make(
    `no ${word}`,
    (text) =>
      text.includes(word) ? Guardrail.replace(text.replaceAll(word, other), `it says "${word}"`) : Guardrail.pass
  )

/** What guardrails said, in its order: each verdict with who gave it, where, and why. */
export const said = (events: ReadonlyArray<AgentEvent.AgentEvent>): ReadonlyArray<string> =>
  ofTag(events, "GuardrailSettled").map(({ guardrail, reason, stage, verdict }) =>
    `${stage}: ${guardrail} ${verdict}${reason === undefined ? "" : ` (${reason})`}`
  )

/** What a stream showed of a run's text. */
export const shown = (events: ReadonlyArray<AgentEvent.AgentEvent>): string =>
  ofTag(events, "TextDelta").map(({ delta }) => delta).join("")

/** How a run ended: its last state, what it failed with, and what happened, which is checked. */
const ended = (exit: Exit.Exit<unknown, unknown>, events: ReadonlyArray<AgentEvent.AgentEvent>) => {
  assert.deepStrictEqual(imbalances(events), [])
  const end = events[events.length - 1]
  const state = end !== undefined && "state" in end ? end.state : AgentState.make("")
  assert.deepStrictEqual(problems(state.conversation), [])
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return { events, exit, state, error: error as AgentError.AgentError | undefined }
}

/** Runs something, whole, to its end. */
export const ran = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.map(watch(self), ({ events, exit }) => ended(exit, events))

/** Runs something as a stream to its end. */
export const streamed = <E, R>(self: Stream.Stream<AgentEvent.AgentEvent, E, R>) =>
  Effect.suspend(() => {
    const events: Array<AgentEvent.AgentEvent> = []
    return Effect.map(
      Effect.exit(Stream.runForEach(self, (event) => Effect.sync(() => void events.push(event)))),
      (exit) => ended(exit, events)
    )
  })

/** What stands in a conversation, each turn in a word and its text. */
export const turns = ({ conversation }: AgentState.AgentState): ReadonlyArray<string> =>
  conversation.turns.map((turn) =>
    turn._tag === "Assistant"
      ? `${turn.agent}: ${
        turn.parts.map((part) =>
          part._tag === "Text"
            ? part.text
            : part._tag === "Call"
            ? `${part.name}(${JSON.stringify(part.params)}) ${
              part.state._tag === "Settled"
                ? `${part.state.outcome} ${JSON.stringify(part.state.result)}`
                : part.state._tag
            }`
            : part._tag
        ).join(" | ")
      }`
      : `${turn._tag}: ${Conversation.textOf(turn)}`
  )

/** What the model was sent in each request, by the texts of its messages. */
export const sent = Effect.map(
  MockModel.calls,
  (calls) =>
    calls.map(({ request }) =>
      request.messages.map(({ content, role }) =>
        `${role}: ${
          typeof content === "string"
            ? content
            : content.map((part) =>
              part.type === "text"
                ? part.text
                : part.type === "tool-result"
                ? JSON.stringify(part.result)
                : part.type
            ).join(" | ")
        }`
      )
    )
)
