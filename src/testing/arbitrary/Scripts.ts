/**
 * Random scripts for models: answers that fit a toolkit.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import type * as Tool from "effect/ai/Tool"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as MockResponse from "../MockResponse.ts"
import { paramsOf } from "../ToolParams.ts"
import { below, one, oneOf, pick } from "./Choice.ts"

/** What models say unless somebody wants others. A failure shrinks towards the first. */
export const defaultTexts = ["Well.", "", "Is it 22 °C? 🌡️ Yes."] as const

/** Anything that offers tools by their names. */
interface HasTools {
  readonly tools: Readonly<Record<string, Tool.Any>>
}

/**
 * Options of random scripts: what a model says.
 *
 * **Details**
 *
 * - `minAnswers` and `maxAnswers` bound the answers, 0 and 4 by default. A smaller `maxAnswers` than `minAnswers` is raised to that.
 * - `maxCalls` bounds the calls of one answer, 2 by default.
 * - `texts` are what it may say: by default two short texts and an empty one.
 * - With `reasons`, some answers have reasoning; with `usage`, some report tokens; with `chunked`, some are cut into chunks of other
 *   lengths. All three are `true` by default.
 * - With `failures`, some answers fail or break off; with `misfits`, some calls have no tool or wrong parameters. Both are `false` by
 *   default.
 *
 * @category models
 * @since 0.1.0
 */
export interface ScriptOptions {
  readonly minAnswers?: number
  readonly maxAnswers?: number
  readonly maxCalls?: number
  readonly texts?: readonly [string, ...Array<string>]
  readonly reasons?: boolean
  readonly usage?: boolean
  readonly chunked?: boolean
  readonly failures?: boolean
  readonly misfits?: boolean
}

/**
 * What a model says, answer by answer. Calls have no ids: they get them when the script is played.
 *
 * @category models
 * @since 0.1.0
 */
export type Script = ReadonlyArray<MockResponse.MockResponse>

const callOf = (tool: Tool.Any): Arbitrary.Arbitrary<MockResponse.MockResponse> =>
  Arbitrary.map(paramsOf(tool), (params) => MockResponse.toolCall(tool.name, params))

const failures: readonly [MockResponse.MockResponse, ...Array<MockResponse.MockResponse>] = [
  MockResponse.fail(new AiError.InternalProviderError({ description: "overloaded" })),
  MockResponse.fail(new AiError.AuthenticationError({ kind: "InvalidKey" }))
]

const counts = (limit: number) => Arbitrary.schema(Schema.UndefinedOr(Schema.Literals([limit, 0, 1])))

const usage = Arbitrary.map(
  Arbitrary.all({ input: counts(10), output: counts(5) }),
  ({ input, output }) => ({
    ...(input === undefined ? undefined : { input }),
    ...(output === undefined ? undefined : { output })
  })
)

/** Random answers. A failure of a law shrinks towards a single text. */
const answerOf = (tools: ReadonlyArray<Tool.Any>, options: ScriptOptions) => {
  const { maxCalls = 2, texts = defaultTexts } = options
  const misfits = options.misfits === true
    ? [
      one(MockResponse.toolCall("nothing_of_the_kind", {})),
      ...tools.map((tool) => one(MockResponse.toolCall(tool.name, { wrong: [true] })))
    ]
    : []
  const [call, ...calls] = [...tools.map(callOf), ...misfits]
  const limit = call === undefined ? 0 : maxCalls
  return Arbitrary.map(
    Arbitrary.all({
      text: pick(...texts),
      thought: options.reasons === false ? one("") : pick("", "", "Let me think."),
      calls: call === undefined || limit === 0 ? one([]) : Arbitrary.array(oneOf(call, ...calls), { maxLength: limit }),
      usage: options.usage === false ? one(undefined) : usage,
      chunks: options.chunked === false ? one(0) : below(6),
      failure: options.failures === true ? below(12) : one(0),
      after: below(4)
    }),
    ({ after, calls, chunks, failure, text, thought, usage }) => {
      const said = [
        ...(thought === "" ? [] : [MockResponse.reasoning(thought)]),
        ...(text === "" && calls.length > 0 ? [] : [MockResponse.text(text)]),
        ...calls
      ]
      let response = MockResponse.all(...said)
      if (usage !== undefined) response = MockResponse.withUsage(response, usage)
      if (chunks > 0) response = MockResponse.chunked(response, chunks)
      if (failure === 9) return MockResponse.cut(response, after)
      return failure > 9 ? failures[failure - 10]! : response
    }
  )
}

/** Random scripts over the tools of a toolkit. */
export const scriptOf = (toolkit: HasTools, options: ScriptOptions): Arbitrary.Arbitrary<Script> => {
  const { minAnswers = 0 } = options
  const maxAnswers = Math.max(minAnswers, options.maxAnswers ?? 4)
  const answer = answerOf(Object.values(toolkit.tools), options)
  return Arbitrary.array(answer, { minLength: minAnswers, maxLength: maxAnswers })
}
