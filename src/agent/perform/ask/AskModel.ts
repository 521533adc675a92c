/**
 * Asking the model: one request with the guardrails around it. Its whole answer is one event.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import { ModelCallFailed } from "../../../domain/AgentError.ts"
import { withUniqueIds } from "../../../domain/CallIds.ts"
import type { Happening } from "../../../domain/Happening.ts"
import type * as Answer from "../../../domain/ModelAnswer.ts"
import type { Request } from "../../definition/AgentDefinition.ts"
import * as Loop from "../../journal/Loop.ts"
import * as ModelRequest from "../../journal/ModelRequest.ts"
import { Fail } from "../../rules/Decision.ts"
import { requestIn } from "../../rules/OfferedTools.ts"
import * as AnswerGuard from "../guard/AnswerGuard.ts"
import * as InputGuard from "../guard/InputGuard.ts"
import * as ScreenCalls from "../guard/ScreenCalls.ts"
import * as Attempts from "./Attempts.ts"
import * as ChatContent from "./ChatContent.ts"
import * as HeldBack from "./HeldBack.ts"
import { makePrompt, type RequestPrompt } from "./RequestPrompt.ts"

/** An answer, and how many tokens the context window counted for its request. */
interface Counted extends Answer.Answer {
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
  const answering = Effect.catch(
    Attempts.askOften(loop, { request, prompt }, progress),
    (error) => {
      const { attempts } = progress
      if (!AiError.isAiError(error) || attempts === 0) return Effect.fail(error)
      return Effect.fail(
        new Fail(new ModelCallFailed({ agent: loop.definition.name, step: loop.step, attempts, error }))
      )
    }
  )
  return Effect.map(answering, (answer) => {
    // An answer that guardrails block isn't emitted, and its usage counts all the same.
    const { model, usage } = answer
    ModelRequest.end(loop, answer)
    Loop.keepAnswer(loop, { usage, ...(model === undefined ? undefined : { model }) })
    return take({ ...answer, counted: prompt.counted })
  })
}

/** Asks the model in the current state. */
const ask = <A>(
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

const answerOf = (loop: Loop.Loop, held: HeldBack.HeldBack | undefined): Effect.Effect<Counted, unknown, unknown> =>
  Effect.suspend(() => ask(loop, held, identity))

/** An input was replaced while the model was asked about it. */
class InputReplaced {
  readonly _tag = "troupe/agent/InputReplaced"
}

/**
 * Asks the model while guardrails judge the input. The answer is held back until they let the input pass. A block interrupts the model. So
 * does a replaced input; the model is then asked again.
 */
const answerBeside = (
  loop: Loop.Loop,
  guardrails: Effect.Effect<boolean, Fail, unknown>,
  held: HeldBack.HeldBack,
  isHeldOn: boolean
): Effect.Effect<Counted, unknown, unknown> => {
  const passed = Effect.flatMap(
    guardrails,
    (isReplaced) => {
      if (isReplaced) return Effect.fail(new InputReplaced())
      ChatContent.letPass(loop)
      return isHeldOn ? Effect.void : HeldBack.release(loop, held, () => true)
    }
  )
  return Effect.all([answerOf(loop, held), passed], { concurrency: 2 }).pipe(
    Effect.map(([answer]) => answer),
    Effect.catch((error) => {
      if (error instanceof InputReplaced) {
        Loop.endRequest(loop, { tag: "Interrupted", message: "What the user said was replaced." })
        ChatContent.replaced(loop)
        HeldBack.drop(held)
        return answerOf(loop, isHeldOn ? held : undefined)
      }
      if (error instanceof Fail) Loop.endRequest(loop, { tag: error.reason._tag, message: error.reason.message })
      return Effect.fail(error)
    })
  )
}

/** Makes the event of an answer, with the given parts. */
const responded = (
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
const withOwnIds = (loop: Loop.Loop, parts: Answer.Answer["parts"]): Answer.Answer["parts"] =>
  parts.some(({ _tag }) => _tag === "Call") ? withUniqueIds(parts, loop.journal.takenIds) : parts

const tell = (loop: Loop.Loop, happening: Happening): void => {
  Loop.emit(loop, happening)
  Loop.keepAnswer(loop, undefined)
}

/** Asks the model and emits its answer, if guardrails judge the input, the answer or its calls. */
const askGuarded = Effect.fnUntraced(function*(loop: Loop.Loop, checks: InputGuard.InputChecks | undefined) {
  if (checks?.before !== undefined) yield* checks.before
  const beside = checks?.beside
  const isGuarded = AnswerGuard.isGuarded(loop)
  const isHeldOn = isGuarded && !loop.definition.guardrails.isReleasedEarly
  const held: HeldBack.HeldBack | undefined = isHeldOn || beside !== undefined
    ? HeldBack.make()
    : undefined
  const answer = yield* beside === undefined || held === undefined
    ? answerOf(loop, held)
    : answerBeside(loop, beside, held, isHeldOn)
  const seen = isGuarded ? yield* AnswerGuard.see(loop, answer) : undefined
  if (seen !== undefined) yield* HeldBack.show(loop, seen, held)
  const made = (parts: Answer.Answer["parts"]) => responded(answer, parts, seen?.feedback)
  const parts = withOwnIds(loop, seen?.parts ?? answer.parts)
  const screened = ScreenCalls.isGuarded(loop) && parts.some(({ _tag }) => _tag === "Call")
    ? yield* ScreenCalls.screen(loop, parts, (parts) => Loop.foresee(loop, made(parts)))
    : parts
  tell(loop, made(screened))
})

/** Asks the model and emits its answer. Fails with `ModelCallFailed` after the last attempt. */
export const askModel = (loop: Loop.Loop): Effect.Effect<void, unknown, unknown> =>
  Effect.suspend(() => {
    const checks = InputGuard.begin(loop)
    if (checks === undefined) loop.journal.release()
    const asking = checks !== undefined || AnswerGuard.isGuarded(loop) || ScreenCalls.isGuarded(loop)
      ? askGuarded(loop, checks)
      : ask(
        loop,
        undefined,
        (answer) => tell(loop, responded(answer, withOwnIds(loop, answer.parts), undefined))
      )
    return ChatContent.telling(loop, checks?.beside === undefined, asking)
  })
