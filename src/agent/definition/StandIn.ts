/**
 * Handlers that stand in for those that toolkits bring: mocks.
 *
 * Each tool has a key of its own, so that contexts with several of them can be merged in any order. Copies of a tool that have a policy or
 * an annotation share its key; another tool of its name doesn't.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import { memoize } from "effect/Function"
import type * as Schema from "effect/Schema"
import type { ToolHandler } from "./Overrides.ts"

let count = 0

/** Schemas have no name of their own, so each gets a number. */
const numberOf = memoize((_schema: Schema.Constraint) => count++)

type Key = Context.Key<ToolHandler, ToolHandler>

const keyOf = memoize(({ description, failureSchema, id, parametersSchema, successSchema }: Tool.Any): Key =>
  Context.Service<ToolHandler>(
    ["troupe/agent/StandIn", id, ...[parametersSchema, successSchema, failureSchema].map(numberOf), description]
      .join("/")
  )
)

/** Adds a handler that stands in for the one that the toolkit of a tool brings. */
export const add = <R>(context: Context.Context<R>, tool: Tool.Any, handler: ToolHandler): Context.Context<R> =>
  Context.add(context, keyOf(tool), handler) as Context.Context<R>

/** Finds the handler that stands in for the one that the toolkit of a tool brings, if there is one. */
export const find = (context: Context.Context<never>, tool: Tool.Any): ToolHandler | undefined =>
  Context.getOrUndefined(context, keyOf(tool))
