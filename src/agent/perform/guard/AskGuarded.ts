/**
 * Asking the model with the guardrails around it: those on what it reads, on its answer, and on the calls in the answer.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import type * as Answer from "../../../domain/ModelAnswer.ts"
import { RecordContent } from "../../../model/RecordContent.ts"
import * as Loop from "../../journal/Loop.ts"
import { Fail } from "../../rules/Decision.ts"
import { ask, askUnguarded, type Counted, responded, tell, withOwnIds } from "../ask/AskModel.ts"
import * as ChatContent from "../ask/ChatContent.ts"
import * as HeldBack from "../ask/HeldBack.ts"
import { giveUp, orUnasked } from "../ask/Unasked.ts"
import * as AnswerGuard from "./AnswerGuard.ts"
import type { Guard } from "./Guard.ts"
import * as InputGuard from "./InputGuard.ts"
import * as ScreenCalls from "./ScreenCalls.ts"

const answerOf = (loop: Loop.Loop, held: HeldBack.HeldBack | undefined): Effect.Effect<Counted, unknown, unknown> =>
  Effect.suspend(() => ask(loop, held, identity))

/** An input was replaced while the model was asked about it. */
class InputReplaced {
  readonly _tag = "troupe/agent/InputReplaced"
}

/**
 * Asks the model while guardrails judge the input. The answer is held back until they let the input pass. A block interrupts the model. So
 * does a replaced input; the model is then asked again. If the request is given up, the guardrails still judge the input.
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
  // A provider may quote the input in a warning, and the guardrails may yet block it.
  const unrecorded = Effect.provideService(answerOf(loop, held), RecordContent, false)
  let isGivenUp = false
  const answered = orUnasked(loop, unrecorded, () => {
    isGivenUp = true
  })
  return Effect.all([answered, passed], { concurrency: 2 }).pipe(
    Effect.flatMap(([answer]) => answer === undefined ? giveUp : Effect.succeed(answer)),
    Effect.catch((error) => {
      if (error instanceof InputReplaced) {
        Loop.endRequest(loop, { tag: "Interrupted", message: "What the user said was replaced." })
        ChatContent.replaced(loop)
        HeldBack.drop(held)
        return isGivenUp ? giveUp : answerOf(loop, isHeldOn ? held : undefined)
      }
      if (error instanceof Fail) Loop.endRequest(loop, { tag: error.reason._tag, message: error.reason.message })
      return Effect.fail(error)
    })
  )
}

/** Checks whether an agent's answers are judged. */
const judgesAnswer = ({ definition: { guardrails } }: Loop.Loop): boolean => guardrails.output.length > 0

/** Checks whether the calls of an agent's answers are judged. */
const judgesCalls = ({ definition: { guardrails } }: Loop.Loop): boolean =>
  guardrails.toolCall.length > 0 || guardrails.handoff.length > 0

/** Asks the model and emits its answer, if guardrails judge the input, the answer or its calls. */
const asking = Effect.fnUntraced(function*(loop: Loop.Loop, checks: InputGuard.InputChecks | undefined) {
  if (checks?.before !== undefined) yield* checks.before
  const beside = checks?.beside
  const isGuarded = judgesAnswer(loop)
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
  const screened = judgesCalls(loop) && parts.some(({ _tag }) => _tag === "Call")
    ? yield* ScreenCalls.screen(loop, parts, (parts) => Loop.foresee(loop, made(parts)))
    : parts
  tell(loop, made(screened))
})

/** Asks the model and emits its answer (`Guard`). */
export const askModel: Guard["askModel"] = (loop) => {
  const checks = InputGuard.begin(loop)
  if (checks === undefined && !judgesAnswer(loop) && !judgesCalls(loop)) return askUnguarded(loop)
  if (checks === undefined) loop.journal.release()
  return ChatContent.telling(loop, checks?.beside === undefined, asking(loop, checks))
}
