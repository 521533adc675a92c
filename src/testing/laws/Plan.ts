/**
 * Random plans of what models say: data first, then answers that fit the tools of each request.
 *
 * An answer depends on the state alone (how often models have answered), so that a run can be cut anywhere and go on.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import type * as Tool from "effect/ai/Tool"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { toolName as finalAnswer } from "../../domain/FinalAnswer.ts"
import * as MockModel from "../MockModel.ts"
import type { MockRequest } from "../MockRequest.ts"
import * as MockResponse from "../MockResponse.ts"
import { paramsOf } from "../ToolParams.ts"

const upTo = (limit: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: limit }))

/**
 * A call: which of the offered tools is called, and with which parameters. One in four fits nothing. Here and below everything is drawn as
 * a number, because a failure shrinks towards 0, and literals don't shrink.
 */
const Call = Schema.Struct({ tool: upTo(11), params: upTo(20), misfits: upTo(3) })

const answerFields = {
  thinks: Schema.Boolean,
  calls: Schema.Array(Call).check(Schema.isMaxLength(2)),
  tokens: upTo(1),
  chunks: upTo(4),
  fails: upTo(15)
}

/** Texts. A failure shrinks towards the first of them. */
export type Texts = readonly [string, ...Array<string>]

const decisions = ["leaves", "approves", "denies", "does both"] as const

const schemaOf = (inputs: Texts, texts: Texts) => {
  const Answer = Schema.Struct({ text: upTo(texts.length - 1), ...answerFields })
  return Schema.Struct({
    input: upTo(inputs.length - 1),
    answers: Schema.Array(Answer).check(Schema.isMaxLength(4)),
    called: Schema.Array(Answer).check(Schema.isMaxLength(2)),
    decides: upTo(decisions.length - 1),
    cut: upTo(999)
  })
}

type Drawn = ReturnType<typeof schemaOf>["Type"]

/**
 * What happens in a run: what the user says, what the models say (of the agents in control, and of those that are called), what somebody
 * decides of calls that wait for approval, and where the run is cut.
 */
export interface Plan extends Pick<Drawn, "cut"> {
  readonly input: string
  readonly answers: ReadonlyArray<Answer>
  readonly called: ReadonlyArray<Answer>
  readonly decides: typeof decisions[number]
}

interface Answer extends Omit<Drawn["answers"][number], "text"> {
  readonly text: string
}

/** Random plans over these inputs of users and texts of models. */
export const plansOf = (inputs: Texts, texts: Texts): Arbitrary.Arbitrary<Plan> =>
  Arbitrary.map(Arbitrary.schema(schemaOf(inputs, texts)), ({ answers, called, cut, decides, input }) => {
    const answered = (drawn: Drawn["answers"][number]): Answer => ({ ...drawn, text: texts[drawn.text] ?? texts[0] })
    return {
      input: inputs[input] ?? inputs[0],
      answers: answers.map(answered),
      called: called.map(answered),
      decides: decisions[decides] ?? decisions[0],
      cut
    }
  })

const callOf = (tools: ReadonlyArray<Tool.Any>, call: typeof Call.Type, id: string) => {
  const tool = tools[call.tool % Math.max(1, tools.length)]
  const misfits = call.misfits === 3
  if (tool === undefined || (misfits && call.params % 2 === 0)) {
    return Effect.succeed(MockResponse.toolCall("nothing_of_the_kind", {}, { id }))
  }
  return Effect.map(
    misfits ? Effect.succeed([{ wrong: [true] }]) : sampled(tool, call.params),
    ([params]) => MockResponse.toolCall(tool.name, params ?? {}, { id })
  )
}

const sampled = (tool: Tool.Any, seed: number): Effect.Effect<ReadonlyArray<unknown>> =>
  Effect.suspend(() => Arbitrary.sampleEffect(paramsOf(tool), { count: 1, seed, size: Math.min(seed, 5) })).pipe(
    Effect.catchCause(() => Effect.succeed([{}]))
  )

const overloaded = new AiError.InternalProviderError({ description: "overloaded" })

/** The tools that a request may call. */
const offeredIn = ({ toolChoice, tools }: MockRequest): ReadonlyArray<Tool.Any> =>
  typeof toolChoice !== "object"
    ? toolChoice === "none" ? [] : tools
    : tools.filter(({ name }) => "tool" in toolChoice ? toolChoice.tool === name : toolChoice.oneOf.includes(name))

const answer = (plan: Plan, request: MockRequest) =>
  Effect.gen(function*() {
    const step = request.state?.steps ?? 0
    const place = `${request.agent}${step}`
    const said = (request.path.length > 1 ? plan.called : plan.answers)[step]
    const offered = offeredIn(request)
    if (said === undefined) {
      const last = offered.find(({ name }) => name === finalAnswer)
      return last === undefined
        ? MockResponse.text("Done.")
        : yield* callOf([last], { tool: 0, params: 1, misfits: 0 }, `${place}.last`)
    }
    if (said.fails === 15) return MockResponse.fail(overloaded)
    const calls = yield* Effect.forEach(said.calls, (call, index) => callOf(offered, call, `${place}.${index}`))
    let response = MockResponse.all(
      ...(said.thinks ? [MockResponse.reasoning("Let me think.")] : []),
      MockResponse.text(said.text),
      ...calls
    )
    if (said.tokens === 0) response = MockResponse.withUsage(response, { input: 10, output: 5 })
    return said.chunks > 0 ? MockResponse.chunked(response, said.chunks) : response
  })

/** The model of a plan: the same answer to the same state, in any process. `hear` is called with each request. */
export const modelOf = (plan: Plan, hear: (request: MockRequest) => void = () => {}) =>
  MockModel.layer(
    MockModel.make((request) => {
      hear(request)
      return answer(plan, request)
    }),
    { replacesOwn: true }
  )
