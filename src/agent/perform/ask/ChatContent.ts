/**
 * The content of the spans of requests, recorded after guardrails have judged the input and the answer.
 *
 * 1. The request's content is recorded if the guardrails beside the request have let the input pass, or if there are none.
 * 2. The answer is recorded as the state has it. A blocked answer isn't recorded.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Loop from "../../journal/Loop.ts"
import type { ModelRequest } from "../../journal/ModelRequest.ts"
import { outputOf, sentIn } from "../../journal/SpanContent.ts"

/** The requests for the awaited answer, and whether their content may be recorded. */
interface Awaited {
  readonly requests: Array<ModelRequest>
  isLetPass: boolean
}

const slot = new Loop.Slot<Awaited>()

/** Notes a request. */
export const asked = (loop: Loop.Loop, request: ModelRequest): void => {
  slot.get(loop)?.requests.push(request)
}

/** Notes that the guardrails beside a request have let the input pass. */
export const letPass = (loop: Loop.Loop): void => {
  const awaited = slot.get(loop)
  if (awaited !== undefined) awaited.isLetPass = true
}

/** Drops the content that was sent so far: the input was replaced, and the model is asked again. */
export const replaced = (loop: Loop.Loop): void => {
  const awaited = slot.get(loop)
  if (awaited === undefined) return
  for (const request of awaited.requests.splice(0)) request.release({})
  awaited.isLetPass = true
}

/** Records the content in the spans of the requests that an effect makes for an answer, if content is recorded. */
export const telling = <E, R>(
  loop: Loop.Loop,
  isLetPass: boolean,
  self: Effect.Effect<void, E, R>
): Effect.Effect<void, E, R> => {
  if (!loop.journal.recordsContent) return self
  const awaited: Awaited = { requests: [], isLetPass }
  return Effect.onExit(
    Effect.suspend(() => {
      slot.set(loop, awaited)
      return self
    }),
    (exit) =>
      Effect.sync(() => {
        slot.set(loop, undefined)
        const { isLetPass, requests } = awaited
        for (const [index, request] of requests.entries()) {
          const isAnswer = Exit.isSuccess(exit) && index === requests.length - 1
          const said = isAnswer ? outputOf(loop.state.conversation.turns.at(-1)) : undefined
          request.release({
            ...(isLetPass && request.sent !== undefined ? sentIn(request.sent) : undefined),
            "gen_ai.output.messages": said
          })
        }
      })
  )
}
