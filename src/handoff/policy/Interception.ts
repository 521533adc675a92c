/**
 * A toolkit whose handoff tools a policy answers, for loops other than Troupe's.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import type * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { ErrorClass } from "../../domain/ErrorClass.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { acknowledgement } from "../../domain/Takeover.ts"
import * as Handoff from "../Handoff.ts"
import type { Any } from "./Policy.ts"
import { offeredTo } from "./Reading.ts"

/**
 * Schema for the result of a handoff tool: who takes over, why, and with what.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Acknowledgement = Schema.Struct({
  handoff: Schema.String,
  ack: Schema.Literal(true),
  reason: Schema.optionalKey(Schema.String),
  context: Schema.optionalKey(Schema.Json)
})

/** The result of a handoff tool: who takes over, why, and with what. */
export interface Acknowledgement extends Schema.Schema.Type<typeof Acknowledgement> {}

/**
 * The handoff tools in the type of a toolkit. A tool with a name of its own is in the toolkit too, but not in the type.
 *
 * @category models
 * @since 0.1.0
 */
export type HandoffTools = {
  readonly [toolName: `handoff_to_${string}`]: Tool.Tool<
    `handoff_to_${string}`,
    {
      readonly parameters: Schema.Unknown
      readonly success: typeof Acknowledgement
      readonly failure: Schema.Never
      readonly failureMode: "error"
    }
  >
}

/**
 * Error for a toolkit that already has a tool with the name of a handoff's tool.
 *
 * @category errors
 * @since 0.1.0
 */
export class TakenToolName extends ErrorClass<TakenToolName>("troupe/handoff/HandoffPolicy")(
  "TakenToolName",
  { toolName: Schema.String, target: Schema.String },
  ({ target, toolName }) =>
    `The toolkit already has a tool "${toolName}", the name of the handoff to "${target}": give the handoff another "toolName"`
) {}

/** Fails as a toolkit does if parameters don't decode. */
const refuse = (toolName: string, { message }: Schema.SchemaError): Effect.Effect<never, AiError.AiError> =>
  Effect.failCause(
    Cause.annotate(
      Cause.fail(AiError.make({
        module: "HandoffPolicy",
        method: `${toolName}.handle`,
        reason: new AiError.ToolParameterValidationError({ toolName, description: message })
      })),
      Context.make(Toolkit.FailureOrigin, "parameters")
    )
  )

const answer = (handoff: Handoff.Any, params: unknown, callId: string) =>
  Result.match(Handoff.requestOf(handoff, { id: callId, params: params as Schema.Json }), {
    onFailure: (error) => refuse(handoff.toolName, error),
    onSuccess: (request) => {
      const result = acknowledgement(request)
      return Effect.succeed(Stream.succeed({ result, encodedResult: result, isFailure: false, preliminary: false }))
    }
  })

/**
 * Adds the handoff tools that a policy offers an agent to a toolkit, and answers their calls with an `Acknowledgement`.
 *
 * All other calls and their results pass through the toolkit unchanged. The caller carries out the handoff.
 *
 * Given an agent's state, only handoffs whose `when` holds in it are offered; given a name, all. A call whose parameters don't decode fails
 * with `AiError`, as the toolkit's own do. Throws `TakenToolName` if the toolkit has a tool of the same name.
 *
 * @category combinators
 * @since 0.1.0
 */
export const intercept: {
  (policy: Any, agent: string | AgentState): <Tools extends Record<string, Tool.Any>>(
    self: Toolkit.WithHandler<Tools>
  ) => Toolkit.WithHandler<Tools & HandoffTools>
  <Tools extends Record<string, Tool.Any>>(
    self: Toolkit.WithHandler<Tools>,
    policy: Any,
    agent: string | AgentState
  ): Toolkit.WithHandler<Tools & HandoffTools>
} = dual(
  3,
  <Tools extends Record<string, Tool.Any>>(
    self: Toolkit.WithHandler<Tools>,
    policy: Any,
    agent: string | AgentState
  ): Toolkit.WithHandler<Tools & HandoffTools> => {
    const handoffs = new Map(offeredTo(policy, agent).map((handoff) => [handoff.toolName, handoff]))
    const tools: Record<string, Tool.Any> = { ...self.tools }
    for (const [toolName, handoff] of handoffs) {
      if (Object.hasOwn(self.tools, toolName)) throw new TakenToolName({ toolName, target: handoff.target })
      const tool = Handoff.internalsOf(handoff).tool as HandoffTools["handoff_to_"]
      tools[toolName] = tool.setSuccess(Acknowledgement)
    }
    const handle = (
      name: string,
      params: Tool.ParametersEncoded<Tools[string]>,
      toolCallId?: string,
      options?: Parameters<Toolkit.WithHandler<Tools>["handle"]>[3]
    ) => {
      const handoff = handoffs.get(name)
      return handoff === undefined
        ? self.handle(name, params, toolCallId, options)
        : answer(handoff, params, toolCallId ?? name)
    }
    // A toolkit with handlers has a type for each of its tools; these tools are only known by name.
    return { tools, handle } as never
  }
)
