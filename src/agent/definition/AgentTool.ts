/**
 * An agent, or a group of them, as a tool of other agents.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import type * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { toolNamed } from "../../domain/InvalidName.ts"
import * as ToolName from "../../domain/ToolName.ts"
import * as Wanted from "../../domain/Wanted.ts"
import { given, type Runnable } from "../../handoff/Runnable.ts"
import type * as Definition from "./AgentDefinition.ts"
import { paramsDecoder } from "./Codec.ts"
import { type Input, partsOf } from "./Input.ts"
import { rosterOf } from "./Roster.ts"

/**
 * An agent as a tool of other agents. `R` is what a run of it needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface AsTool<out Name extends string, out R = never> {
  readonly [ToolTypeId]: { readonly entry: Definition.AgentTool; readonly _R?: () => R }
  readonly name: Name
}

/** Any agent as a tool, without type parameters, so that they are inferred from the agent itself. */
export interface AnyAsTool {
  readonly [ToolTypeId]: { readonly entry: Definition.AgentTool }
}

/** Marks an agent as a tool. */
export const ToolTypeId = "~troupe/agent/Agent/AsTool"

/** Checks whether something is an agent as a tool. */
export const isTool = (u: unknown): u is AnyAsTool => Predicate.hasProperty(u, ToolTypeId)

/**
 * The default parameters of an agent as a tool: what it should do, in words.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Task = Schema.Struct({ task: Schema.String })

/**
 * Makes a tool from an agent or a group, for the `agents` of another agent.
 *
 * The model writes a `task` in words, or the `parameters` of a schema. The agent gets the task as text, and parameters as JSON text or as
 * `toInput` converts them. The result of the call is the agent's output as JSON, or its last text if it has no output schema; after a
 * handoff, the output of the agent that ended in control.
 *
 * `name` and `description` are those of the agent by default; in the agent's name, characters that providers refuse are replaced. The call
 * needs no approval unless `needsApproval` says so.
 *
 * While the agent runs or waits, its state is kept in the call. So its approvals are found in the caller's state. Its usage counts for the
 * caller, and its failure is a failed call.
 *
 * Throws `InvalidName` if providers refuse `name`, and `MissingAgent` if the agent is `undefined`, because its module isn't loaded yet.
 *
 * @category combinators
 * @since 0.1.0
 */
export const asTool = <
  Name extends string,
  Output,
  E,
  R,
  const ToolName extends string = Name,
  Params = typeof Task.Type,
  Encoded = typeof Task.Encoded
>(
  agent: Runnable<Name, Output, E, R>,
  options?: {
    readonly name?: ToolName
    readonly description?: string
    readonly parameters?: Schema.Codec<Params, Encoded>
    readonly toInput?: (params: Params) => Input
    readonly needsApproval?:
      | boolean
      | ((params: Params, context: Tool.NeedsApprovalContext) => boolean | Effect.Effect<boolean>)
  }
): AsTool<ToolName, R> => {
  given(agent, "Agent.asTool")
  // `Params` is `Task`'s type if no schema is given.
  const parameters = (options?.parameters ?? Task) as Schema.Codec<unknown, unknown>
  const description = options?.description ?? agent.description
  const name = toolNamed(options?.name ?? ToolName.from("", agent.name))
  const tool = Tool.make(name, {
    parameters,
    success: Schema.Unknown,
    ...(description === undefined ? undefined : { description }),
    ...(options?.needsApproval === undefined
      ? undefined
      // The parameters that it takes are those of the schema above.
      : { needsApproval: options.needsApproval as Tool.NeedsApproval<Schema.Constraint> })
  }) as Tool.Any
  const toJson = Schema.encodeUnknownSync(Schema.toCodecJson(parameters))
  const toInput = (options?.toInput ??
    (options?.parameters === undefined
      ? ({ task }: typeof Task.Type) => task
      : (params: Params) => JSON.stringify(toJson(params)))) as (params: unknown) => Input
  const entry: Definition.AgentTool = {
    _tag: "Agent",
    tool,
    policy: {},
    decode: paramsDecoder(tool),
    agent,
    roster: () => rosterOf(agent),
    toInput: (params) => partsOf(Wanted.input(`\`toInput\` of tool "${name}"`, toInput(params)))
  }
  return { [ToolTypeId]: { entry }, name: tool.name }
}
