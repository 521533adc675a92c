/**
 * Guardrails at work in a loop: each is told when it starts and when it has its verdict, and stands in a span of its own.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { GuardrailBlocked } from "../../domain/AgentError.ts"
import type { GuardrailSettled } from "../../domain/AgentEvent.ts"
import { Halt } from "../Halt.ts"
import * as Loop from "../Loop.ts"
import * as Telemetry from "../Telemetry.ts"
import { type Any, type Context, internalsOf } from "./GuardrailType.ts"
import { judgeTexts } from "./Texts.ts"
import { type Block, block, type Retry, type Verdict } from "./Verdict.ts"

/**
 * How a kind of value is checked: where a text guardrail finds its text, what of the value stands in the state once it is replaced,
 * and whether a replacement fits.
 */
export interface Subject<A> {
  readonly context: Context
  /** Judges the value by the text in it; by each text that it has by default. */
  readonly judgeText?: (value: A, judge: JudgeText) => Judged
  readonly replaced?: (value: A) => GuardrailSettled["replaced"]
  /** Gives what is wrong with a replacement. */
  readonly findIssue?: (value: A) => string | undefined
  /** Whether a guardrail that sends it back can't: there is nobody to try again. */
  readonly isFinal?: boolean
  /** What stands in the state in the place of what is blocked. */
  readonly removed?: GuardrailSettled["replaced"]
}

/** A verdict, given at once or by an effect. */
export type Judged = Verdict<unknown> | Effect.Effect<Verdict<unknown>, never, unknown>
type JudgeText = (text: string) => Judged

/** What came of a value: another one, or the same, or that it doesn't pass. */
export type Checked<A> = { readonly _tag: "Passed"; readonly value: A; readonly isReplaced: boolean } | Refused

/** A value didn't pass a guardrail. */
export interface Refused {
  readonly _tag: "Refused"
  readonly guardrail: string
  readonly verdict: Block | Retry
}

/** Checks whether something didn't pass. */
export const isRefused = (u: unknown): u is Refused => u instanceof Refusal

class Refusal implements Refused {
  readonly _tag = "Refused"
  readonly guardrail: string
  readonly verdict: Block | Retry
  constructor(guardrail: string, verdict: Block | Retry) {
    this.guardrail = guardrail
    this.verdict = verdict
  }
}

const judge = <A>(self: Any, value: A, { context, judgeText }: Subject<A>): Judged => {
  const { judge, on } = internalsOf(self)
  if (on !== "text") return judge(value as never, context as never)
  const ofText: JudgeText = (text) => judge(text as never, context as never)
  return judgeText === undefined ? judgeTexts(value, ofText) : judgeText(value, ofText)
}

const reasonOf = (verdict: Verdict<unknown>): string | undefined =>
  verdict._tag === "Pass" ? undefined : verdict._tag === "Retry" ? verdict.feedback : verdict.reason

/** Gives the verdict that counts for a kind of value: what can't be replaced or tried again is blocked. */
const counting = <A>(verdict: Verdict<unknown>, subject: Subject<A>): Verdict<unknown> => {
  if (verdict._tag === "Retry" && subject.isFinal === true) return block(verdict.feedback)
  const issue = verdict._tag === "Replace" ? subject.findIssue?.(verdict.value as A) : undefined
  return issue === undefined ? verdict : block(`its replacement doesn't fit: ${issue}`)
}

/** Asks one guardrail, and tells that. */
const ask = <A>(
  loop: Loop.Loop,
  self: Any,
  value: A,
  subject: Subject<A>
): Effect.Effect<Verdict<unknown>, never, unknown> => {
  const { call, stage } = subject.context
  return Telemetry.guardrailSpan(loop, self.name, stage, (span) =>
    Effect.suspend(() => {
      const about = { guardrail: self.name, stage, ...(call === undefined ? undefined : { callId: call.id }) }
      const startedAt = Loop.now(loop)
      const started = loop.root.sequence
      Loop.tell(loop, { _tag: "GuardrailStarted", ...about })
      const checks = loop.open.checks ??= new Map()
      const tell = (
        verdict: GuardrailSettled["verdict"],
        more?: Pick<GuardrailSettled, "reason" | "replaced">
      ): void => {
        // The end of the run may have come first.
        if (!checks.delete(started)) return
        Telemetry.endGuardrail(span, verdict)
        const duration = Math.max(0, Loop.now(loop) - startedAt)
        Loop.tell(loop, { _tag: "GuardrailSettled", ...about, started, verdict, ...more, duration })
      }
      const settle = (given: Verdict<unknown>): Verdict<unknown> => {
        const verdict = counting(given, subject)
        const reason = reasonOf(verdict)
        const replaced = verdict._tag === "Replace"
          ? subject.replaced?.(verdict.value as A)
          : verdict._tag === "Block"
          ? subject.removed
          : undefined
        tell(verdict._tag, {
          ...(reason === undefined ? undefined : { reason }),
          ...(replaced === undefined ? undefined : { replaced })
        })
        return verdict
      }
      checks.set(started, () => tell("Interrupted"))
      let judged: Judged
      try {
        judged = judge(self, value, subject)
      } catch (defect) {
        tell("Interrupted")
        return Effect.die(defect)
      }
      if (!Effect.isEffect(judged)) return Effect.succeed(settle(judged))
      return Effect.map(
        Effect.onExit(judged, (exit) => Exit.isFailure(exit) ? Effect.sync(() => tell("Interrupted")) : Effect.void),
        settle
      )
    }))
}

/** Asks guardrails one after the other, each about what the one before it passed on, until one refuses. */
export const check = <A>(
  loop: Loop.Loop,
  guardrails: ReadonlyArray<Any>,
  value: A,
  subject: Subject<A>
): Effect.Effect<Checked<A>, never, unknown> => {
  const from = (index: number, value: A, isReplaced: boolean): Effect.Effect<Checked<A>, never, unknown> => {
    const guardrail = guardrails[index]
    if (guardrail === undefined) return Effect.succeed({ _tag: "Passed", value, isReplaced })
    return Effect.flatMap(ask(loop, guardrail, value, subject), (verdict) => {
      switch (verdict._tag) {
        case "Pass":
        case "Warn":
          return from(index + 1, value, isReplaced)
        case "Replace":
          return from(index + 1, verdict.value as A, true)
        case "Retry":
        case "Block":
          return Effect.succeed(
            new Refusal(verdict._tag === "Block" ? verdict.guardrail ?? guardrail.name : guardrail.name, verdict)
          )
      }
    })
  }
  return from(0, value, false)
}

/** Gives what stops a run in which something didn't pass. */
export const toHalt = (loop: Loop.Loop, { guardrail, verdict }: Refused, { stage }: Context): Halt =>
  new Halt(
    new GuardrailBlocked({
      agent: loop.definition.name,
      guardrail,
      stage,
      reason: verdict._tag === "Block" ? verdict.reason : verdict.feedback
    })
  )

/** Says to a model that something didn't pass. */
export const toMessage = ({ guardrail, verdict }: Refused, what: string): string =>
  verdict._tag === "Retry" ? verdict.feedback : `Guardrail "${guardrail}" blocked ${what}: ${verdict.reason}`
