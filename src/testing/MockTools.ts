/**
 * Handlers for a toolkit that return what a script says, for the calls that a mock model makes.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { ToolHandler } from "../agent/definition/Overrides.ts"
import { CurrentAgent, type RunningAgent } from "../agent/journal/CurrentAgent.ts"
import type { Turn } from "../domain/StateSchema.ts"
import { shown } from "./handler/Shown.ts"
import type { GivenResult } from "./MockResponse.ts"

/**
 * A call of a tool that a mock handler got: its id, its name, its decoded parameters, and its `outcome`, which a call in flight doesn't
 * have.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallOfTool {
  readonly id: string | undefined
  readonly name: string
  readonly params: unknown
  readonly outcome?: Exit.Exit<unknown, unknown>
}

/**
 * Results of tools by their names: a value, or a function of the parameters that returns one, directly or in an Effect. The Effect may fail
 * as the tool's handler may. A tool that isn't in the table has only the results that the script sets.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolTable<Tools extends Record<string, Tool.Any>> = {
  readonly [Name in keyof Tools]?:
    | Tool.Success<Tools[Name]>
    | ((
      params: Tool.Parameters<Tools[Name]>,
      context: Toolkit.HandlerContext<Tools[Name]>
    ) =>
      | Tool.Success<Tools[Name]>
      | Effect.Effect<Tool.Success<Tools[Name]>, Tool.Failure<Tools[Name]>, Tool.HandlerServices<Tools[Name]>>)
}

/**
 * Error for a call of a tool that has a result neither in the script nor in the table. A handler of `MockModel.handlers` dies with it.
 * `table` has the names of the tools that the table has results for.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnansweredCall
  extends Schema.TaggedError<UnansweredCall>("troupe/testing/MockTools/UnansweredCall")("UnansweredCall", {
    id: Schema.UndefinedOr(Schema.String),
    name: Schema.String,
    params: Schema.Unknown,
    table: Schema.Array(Schema.String)
  })
{
  override get message(): string {
    const table = this.table.length === 0 ? "there is no table" : `the table has ${this.table.join(", ")} only`
    return `No result for call ${this.id ?? "without an id"} of tool "${this.name}" with ${shown(this.params)}: `
      + `the script gives it none, and ${table}`
  }
}

type Context = Toolkit.HandlerContext<Tool.Any>
type Entry = (params: unknown, context: Context) => unknown

const answerOf = (given: GivenResult): Effect.Effect<unknown, unknown> =>
  given.isFailure ? Effect.fail(given.result) : Effect.succeed(given.result)

/** Returns the turn after which the last answer came. */
const turnBefore = (turns: ReadonlyArray<Turn>): Turn | undefined =>
  turns[turns.findLastIndex(({ _tag }) => _tag === "Assistant") - 1]

/** Makes handlers for a toolkit that return the scripted result of a call, or else what a table has, and that record the calls. */
export const handlersOf = (
  toolkit: Toolkit.Any,
  table: Readonly<Record<string, unknown>>,
  given: (id: string, turn: Turn | undefined, agent: RunningAgent | undefined) => GivenResult | undefined,
  calls: Array<CallOfTool>
): Readonly<Record<string, ToolHandler>> => {
  const known = Object.keys(table)
  const answer = (
    name: string,
    params: unknown,
    context: Context,
    agent: RunningAgent | undefined
  ): Effect.Effect<unknown, unknown, unknown> => {
    const turn = turnBefore(agent?.state.conversation.turns ?? [])
    const scripted = context.toolCallId === undefined ? undefined : given(context.toolCallId, turn, agent)
    if (scripted !== undefined) return answerOf(scripted)
    if (!known.includes(name)) {
      return Effect.die(new UnansweredCall({ id: context.toolCallId, name, params, table: known }))
    }
    const entry = table[name]
    const value = typeof entry === "function" ? (entry as Entry)(params, context) : entry
    return Effect.isEffect(value) ? value : Effect.succeed(value)
  }
  const handler = (name: string): ToolHandler => (params, context) =>
    Effect.withFiber((fiber) => {
      const agent = fiber.getRef(CurrentAgent)
      const index = calls.length
      const call = { id: context.toolCallId, name, params }
      calls.push(call)
      return Effect.onExit(Effect.suspend(() => answer(name, params, context, agent)), (outcome) =>
        Effect.sync(() => {
          calls[index] = { ...call, outcome }
        }))
    })
  return Object.fromEntries(Object.keys(toolkit.tools).map((name) => [name, handler(toolkit.tools[name]!.name)]))
}
