/**
 * Asking the model: one request. Its whole answer is one event.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import { ModelCallFailed } from "../../../domain/AgentError.ts"
import { withUniqueIds } from "../../../domain/CallIds.ts"
import type { Happening } from "../../../domain/Happening.ts"
import type * as Answer from "../../../domain/ModelAnswer.ts"
import type { Request } from "../../definition/AgentDefinition.ts"
import * as Loop from "../../journal/Loop.ts"
import * as ModelRequest from "../../journal/ModelRequest.ts"
import { Fail } from "../../rules/Decision.ts"
import { requestIn } from "../../rules/OfferedTools.ts"
import { guardOf } from "../guard/Guard.ts"
import * as Attempts from "./Attempts.ts"
import * as ChatContent from "./ChatContent.ts"
import type * as HeldBack from "./HeldBack.ts"
import { makePrompt } from "./MakePrompt.ts"
import type { RequestPrompt } from "./RequestPrompt.ts"
import { orUnasked } from "./Unasked.ts"

/** An answer, and how many tokens the context window counted for its request. */
export interface Counted extends Answer.Answer {
  readonly counted: number | undefined
}

/** Sends a prompt to the model, and passes the answer to `take`. */
const answerTo = <A>(
  loop: Loop.Loop,
  request: Request,
  prompt: RequestPrompt,
  held: HeldBack.HeldBack | undefined,
  take: (answer: Counted) => A
): Effect.Effect<A, unknown, unknown> => {
  const progress: Attempts.RequestProgress = { attempts: 0, arriving: undefined, window: prompt.window, held }
  return Effect.matchEffect(Attempts.askOften(loop, { request, prompt }, progress), {
    onFailure: (error) => {
      const { attempts } = progress
      if (!AiError.isAiError(error) || attempts === 0) return Effect.fail(error)
      Attempts.endFailed(loop, progress, error)
      const { definition: { name: agent }, step } = loop
      return Loop.flushed(loop, Effect.fail(new Fail(new ModelCallFailed({ agent, step, attempts, error }))))
    },
    onSuccess: (whole) => {
      const answer = Attempts.answerOf(progress, whole)
      // An answer that guardrails block isn't emitted, and its usage counts all the same.
      const { model, usage } = answer
      ModelRequest.end(loop, answer)
      Loop.keepAnswer(loop, { usage, ...(model === undefined ? undefined : { model }) })
      return Effect.succeed(take({ ...answer, counted: prompt.counted }))
    }
  })
}

/** Asks the model in the current state. */
export const ask = <A>(
  loop: Loop.Loop,
  held: HeldBack.HeldBack | undefined,
  take: (answer: Counted) => A
): Effect.Effect<A, unknown, unknown> => {
  const request = requestIn(loop.definition, loop.state, loop.isChangingModes)
  const made = makePrompt(loop, request)
  return Effect.isEffect(made)
    ? Effect.flatMap(made, (prompt) => answerTo(loop, request, prompt, held, take))
    : answerTo(loop, request, made, held, take)
}

/** Makes the event of an answer, with the given parts. */
export const responded = (
  { counted, finishReason, model, usage }: Counted,
  parts: Answer.Answer["parts"],
  feedback: string | undefined
): Extract<Happening, { readonly _tag: "ModelResponded" }> => ({
  _tag: "ModelResponded",
  parts,
  usage,
  ...(model === undefined ? undefined : { model }),
  finishReason,
  ...(counted === undefined ? undefined : { counted }),
  ...(feedback === undefined ? undefined : { feedback })
})

/** Gives each call of an answer an id that no other call has. */
export const withOwnIds = (loop: Loop.Loop, parts: Answer.Answer["parts"]): Answer.Answer["parts"] =>
  parts.some(({ _tag }) => _tag === "Call") ? withUniqueIds(parts, loop.journal.takenIds) : parts

export const tell = (loop: Loop.Loop, happening: Happening): void => {
  Loop.emit(loop, happening)
  Loop.keepAnswer(loop, undefined)
}

/** Asks the model and emits its answer, if no guardrails judge the input, the answer or its calls. */
export const askUnguarded = (loop: Loop.Loop): Effect.Effect<void, unknown, unknown> => {
  loop.journal.release()
  const asking = ask(
    loop,
    undefined,
    (answer) => tell(loop, responded(answer, withOwnIds(loop, answer.parts), undefined))
  )
  return ChatContent.telling(loop, true, asking)
}

/**
 * Asks the model and emits its answer, unless a summary that was made for the request has used up a limit. Fails with `ModelCallFailed`
 * after the last attempt.
 */
export const askModel = (loop: Loop.Loop): Effect.Effect<void, unknown, unknown> => {
  const guard = guardOf(loop.definition)
  return orUnasked(loop, guard === undefined ? askUnguarded(loop) : guard.askModel(loop))
}
