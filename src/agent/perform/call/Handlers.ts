/**
 * Handlers of tools from the environment. Each is looked up once in a loop, so that all of its calls get the same services.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import type { Definition, OwnModel } from "../../definition/AgentDefinition.ts"
import { type Loop, Slot } from "../../journal/Loop.ts"
import { modelIn } from "../../rules/ModelInUse.ts"

/** A handler, and the services that it was made with and that the run lacks. */
export interface FoundHandler extends Tool.Handler<string> {
  readonly missing: ReadonlyArray<readonly [string, unknown]>
}

/** The handlers that were found for an agent and its model. Another agent or model has other services. */
interface Known {
  readonly definition: Definition
  readonly model: OwnModel | undefined
  readonly found: Map<Tool.Any, FoundHandler>
}

const handlers = new Slot<Known>()

const foundIn = (loop: Loop): Known["found"] => {
  const { definition, state } = loop
  const model = modelIn(definition, state)
  const known = handlers.get(loop)
  if (known?.definition === definition && known.model === model) return known.found
  const found: Known["found"] = new Map()
  handlers.set(loop, { definition, model, found })
  return found
}

/** Finds the handler of a tool among the services of a call. */
export const find = (loop: Loop, tool: Tool.Any, services: Context.Context<never>): FoundHandler | undefined => {
  const known = foundIn(loop)
  const before = known.get(tool)
  if (before !== undefined) return before
  // Under a tool's id there is only its handler.
  const handler = services.mapUnsafe.get(tool.id) as Tool.Handler<string> | undefined
  if (handler === undefined) return undefined
  const missing = Array.from(handler.context.mapUnsafe).filter(([key]) => !services.mapUnsafe.has(key))
  const found = { ...handler, missing }
  known.set(tool, found)
  return found
}

/** Provides a handler with the services that it was made with. Only missing ones are added, because a merge would copy all others too. */
export const addServices = (services: Context.Context<never>, { missing }: FoundHandler): Context.Context<never> =>
  missing.reduce((services, [key, service]) => Context.addUnsafe(services, key, service), services)
