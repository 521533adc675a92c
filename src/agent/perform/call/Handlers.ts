/**
 * Handlers of tools from the environment, each looked for once in a loop: all of its calls see the same services.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"

/** A handler, and the services that it was made with and that a run doesn't have itself. */
export interface Found extends Tool.Handler<string> {
  readonly missing: ReadonlyArray<readonly [string, unknown]>
}

/** Finds the handler of a tool among the services of a call. */
export const find = (
  known: Map<string, Found>,
  tool: Tool.Any,
  services: Context.Context<never>
): Found | undefined => {
  const before = known.get(tool.id)
  if (before !== undefined) return before
  const handler = services.mapUnsafe.get(tool.id) as Tool.Handler<string> | undefined
  if (handler === undefined) return undefined
  const missing = Array.from(handler.context.mapUnsafe).filter(([key]) => !services.mapUnsafe.has(key))
  const found = { ...handler, missing }
  known.set(tool.id, found)
  return found
}

/** Gives a handler the services that it was made with. Few are missing, and a merge would copy all others too. */
export const addServices = (services: Context.Context<never>, { missing }: Found): Context.Context<never> =>
  missing.reduce((services, [key, service]) => Context.addUnsafe(services, key, service), services)
