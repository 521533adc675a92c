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
import type { ToolHandler } from "./Overrides.ts"

const numbers = new WeakMap<object, number>()
let count = 0

const numberOf = (schema: object): number => {
  const number = numbers.get(schema) ?? count++
  numbers.set(schema, number)
  return number
}

type Key = Context.Key<ToolHandler, ToolHandler>

const keys = new WeakMap<Tool.Any, Key>()

const makeKey = ({ description, failureSchema, id, parametersSchema, successSchema }: Tool.Any): Key =>
  Context.Service<ToolHandler>(
    ["troupe/agent/StandIn", id, ...[parametersSchema, successSchema, failureSchema].map(numberOf), description]
      .join("/")
  )

const keyOf = (tool: Tool.Any): Key => {
  const key = keys.get(tool) ?? makeKey(tool)
  keys.set(tool, key)
  return key
}

/** Adds a handler that stands in for the one that the toolkit of a tool brings. */
export const add = <R>(context: Context.Context<R>, tool: Tool.Any, handler: ToolHandler): Context.Context<R> =>
  Context.add(context, keyOf(tool), handler) as Context.Context<R>

/** Finds the handler that stands in for the one that the toolkit of a tool brings, if there is one. */
export const find = (context: Context.Context<never>, tool: Tool.Any): ToolHandler | undefined =>
  Context.getOrUndefined(context, keyOf(tool))
