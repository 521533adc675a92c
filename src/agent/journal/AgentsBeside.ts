/**
 * The agents that plans and dialogues run beside the current one. They find handlers in one environment, by the names of tools.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Runnable from "../../handoff/Runnable.ts"

/** Agents and groups that run together, and the environment of their handlers. */
interface Together {
  readonly agents: ReadonlyArray<Runnable.Any>
  readonly environment: Context.Context<never>
}

/** What the plans and dialogues around a fiber run. */
const RunTogether = Context.Reference<ReadonlyArray<Together>>("troupe/agent/journal/AgentsBeside", {
  defaultValue: () => []
})

/** Returns a context in which these agents and groups run together. */
export const within = <R>(context: Context.Context<R>, agents: ReadonlyArray<Runnable.Any>): Context.Context<R> => {
  // Handlers are looked up by their keys, so the type of the environment doesn't matter.
  const environment = context as Context.Context<never>
  return Context.add(context, RunTogether, [...Context.get(environment, RunTogether), { agents, environment }])
}

/** Returns the agents and groups that find one of these handlers too. A program that provides handlers of its own shares none. */
export const sharing = (
  context: Context.Context<never>,
  handlers: ReadonlyArray<string>
): ReadonlyArray<Runnable.Any> =>
  Context.get(context, RunTogether).flatMap(({ agents, environment }) =>
    handlers.some((id) => context.mapUnsafe.get(id) === environment.mapUnsafe.get(id)) ? agents : []
  )
