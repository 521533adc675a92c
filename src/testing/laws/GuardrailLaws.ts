/**
 * The laws of a guardrail: of its verdicts alone, and of runs of an agent that has it.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Arbitrary from "effect/Arbitrary"
import * as Cause from "effect/Cause"
import type * as Services from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Agent from "../../agent/Agent.ts"
import type { Guardrails } from "../../agent/definition/guardrail/AgentGuardrails.ts"
import { type Any, type Context, internalsOf } from "../../agent/definition/guardrail/GuardrailType.ts"
import { NoVerdict } from "../../agent/definition/guardrail/Verdict.ts"
import { to } from "../../agent/perform/HandOver.ts"
import { HandoffRequest } from "../../domain/AgentStatus.ts"
import { Stage } from "../../domain/GuardrailStage.ts"
import * as Part from "../../domain/Part.ts"
import { deepFreeze, ofSchema, one, oneOf, pick } from "../arbitrary/Choice.ts"
import * as ConversationArbitrary from "../ConversationArbitrary.ts"
import { difference } from "./Difference.ts"
import { type Breach, breach } from "./LawBroken.ts"
import * as Plan from "./Plan.ts"
import * as RunLaws from "./RunLaws.ts"
import type * as RunSubject from "./Subject.ts"

/**
 * A guardrail, the services that it needs, the texts to try it with, and the schema of the answers that it checks, if they aren't texts.
 */
export interface Subject {
  readonly self: Any
  readonly layer: Layer.Layer<never, unknown, unknown>
  readonly texts: Plan.Texts
  readonly output: Schema.Codec<unknown, unknown> | undefined
}

/** One value at one stage, and a run of an agent with the guardrail. */
interface Trial {
  readonly value: unknown
  readonly context: Context
  readonly plan: Plan.Plan
}

const stages = Stage.literals

/** One of the texts, one of them inside another text, or any other text. */
const textOf = (texts: Plan.Texts): Arbitrary.Arbitrary<string> => {
  const other = ofSchema(Schema.String)
  const known = pick(...texts)
  return oneOf(
    known,
    Arbitrary.map(
      Arbitrary.all({ before: other, known, after: other }),
      ({ after, before, known }) => `${before} ${known} ${after}`
    ),
    other
  )
}

const target = "other"

const valueOf = ({ output, self, texts }: Subject): Arbitrary.Arbitrary<unknown> => {
  const text = textOf(texts)
  const json = oneOf<unknown>(
    Arbitrary.map(text, (text) => ({ text })),
    text,
    ofSchema(Schema.Json)
  )
  switch (internalsOf(self).on) {
    case "text":
      return text
    case "input":
      return Arbitrary.array(
        oneOf<Part.UserPart>(Arbitrary.map(text, (text) => Part.text(text)), ofSchema(Part.UserPart)),
        { minLength: 1, maxLength: 3 }
      )
    case "output":
      return output === undefined ? text : ofSchema(output)
    case "toolCall":
    case "toolResult":
      return json
    case "handoff":
      return oneOf<unknown>(
        Arbitrary.map(text, (reason) => ({ target, reason })),
        Arbitrary.map(Arbitrary.all({ reason: text, context: json }), (said) => ({ target, ...said })),
        one({ target })
      )
  }
}

/** Random trials of a guardrail. */
export const trialsOf = (subject: Subject): Arbitrary.Arbitrary<Trial> => {
  const { on } = internalsOf(subject.self)
  const inputs = subject.texts.filter((text) => text !== "")
  return Arbitrary.map(
    Arbitrary.all({
      value: valueOf(subject),
      stage: on === "text" ? pick(...stages) : one(on),
      state: ConversationArbitrary.state({ maxTurns: 3, depth: 0, maxModes: 0 }),
      plan: Plan.plansOf(["What is it?", ...inputs], subject.texts)
    }),
    ({ plan, stage, state, value }) =>
      deepFreeze({
        value,
        plan,
        context: {
          stage,
          agent: state.agent,
          state,
          ...(stage === "toolCall" || stage === "toolResult"
            ? { call: { id: "call", name: "say", params: stage === "toolCall" ? value as Schema.Json : {} } }
            : undefined)
        }
      })
  )
}

const isHandoff = Schema.is(HandoffRequest)

/** Says what is wrong with a replacement, if anything is. */
const unfit = ({ output, self }: Subject, value: unknown): string | undefined => {
  const wanted = (isFit: boolean, what: string) => isFit ? undefined : `the replacement isn't ${what}`
  switch (internalsOf(self).on) {
    case "text":
      return undefined
    case "input":
      return wanted(Schema.is(Schema.Array(Part.UserPart))(value), "what a user says")
    case "output":
      return wanted(
        output === undefined ? typeof value === "string" : Schema.is(output)(value),
        "an answer"
      )
    case "toolCall":
    case "toolResult":
      return wanted(Schema.is(Schema.Json)(value), "JSON")
    case "handoff":
      return wanted(isHandoff(value) && value.target === target, "a handoff to the same agent")
  }
}

const fits = "a check returns a verdict that fits its stage"

const checked = Effect.fnUntraced(function*(subject: Subject, { context, value }: Trial) {
  const { judge } = internalsOf(subject.self)
  const ask = (value: unknown) =>
    Effect.suspend(() => {
      // The arbitrary makes values that this guardrail accepts, which the type of any guardrail doesn't say.
      const judged = judge(value as never, context as never)
      return Effect.isEffect(judged) ? judged : Effect.succeed(judged)
    })
  const verdict = yield* ask(value)
  const wrong = verdict._tag === "Replace" ? unfit(subject, verdict.value) : undefined
  if (wrong !== undefined) return breach(fits, wrong)
  const other = difference(yield* ask(value), verdict)
  if (other !== undefined) return breach("a check returns the same verdict for the same value", other)
  if (verdict._tag !== "Replace") return undefined
  const again = yield* ask(deepFreeze(verdict.value))
  const issue = again._tag === "Replace"
    ? difference(again.value, verdict.value)
    : again._tag === "Block" || again._tag === "Retry"
    ? `it is refused: ${again._tag === "Block" ? again.reason : again.feedback}`
    : undefined
  return issue === undefined ? undefined : breach("a guardrail passes its own replacement", issue)
})

/** Puts the guardrail at each stage that it can check. */
const standing = (self: Any): Guardrails => {
  const { on } = internalsOf(self)
  return Object.fromEntries((on === "text" ? stages : [on]).map((stage) => [stage, [self]]))
}

/** An agent with a guardrail. It may hand over, and call a tool that returns its parameter. */
const guarded = ({ layer, output, self, texts }: Subject): RunSubject.Subject => {
  const Echo = Toolkit.make(Tool.make("say", {
    parameters: Schema.Struct({ text: Schema.Union([Schema.Literals(texts), Schema.String]) }),
    success: Schema.String
  }))
  const runnable = Agent.make("agent", {
    toolkit: Echo,
    handoffs: [to(Agent.make(target))],
    guardrails: standing(self),
    ...(output === undefined ? undefined : { output })
  })
  return { runnable, layer: Layer.merge(layer, Echo.toLayer({ say: ({ text }) => Effect.succeed(text) })) }
}

/** Returns how the check of a trial ends. A layer that can't be built is a defect, since nothing was checked. */
const exitOf = (subject: Subject, trial: Trial): Effect.Effect<Exit.Exit<Breach | undefined, unknown>> =>
  Effect.scoped(Effect.flatMap(
    // A guardrail's law is typed so that its layer needs nothing.
    Effect.orDie(
      Layer.build(Layer.fresh(subject.layer)) as Effect.Effect<Services.Context<never>, unknown, Scope.Scope>
    ),
    (services) =>
      Effect.exit(Effect.provideContext(checked(subject, trial) as Effect.Effect<Breach | undefined>, services))
  ))

/** Makes a function that returns the first law that a guardrail breaks in a trial. */
export const breachesOf = (subject: Subject) => {
  const agent = guarded(subject)
  return Effect.fnUntraced(function*(trial: Trial) {
    const exit = yield* exitOf(subject, trial)
    if (Exit.isFailure(exit)) {
      const defect = Cause.squash(exit.cause)
      return defect instanceof NoVerdict && defect.cause === undefined
        ? breach(fits, defect.what)
        : breach("a check changes nothing that it is given, and throws nothing", String(defect))
    }
    return exit.value ?? (yield* RunLaws.breachOf(agent, trial.plan))
  })
}
