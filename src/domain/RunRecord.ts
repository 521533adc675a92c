/**
 * What the current run, or else the last one, has used: how the record begins, what it counts, and how it pauses.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Count } from "./Count.ts"
import { FatalCall } from "./FatalCall.ts"
import { Calls, Models, Spent, until, withCall, withModel } from "./Spending.ts"
import * as Usage from "./Usage.ts"

/**
 * Schema for what the current run, or else the last one, has used.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Run = Schema.Struct({
  startedAt: Schema.Int,
  elapsed: Count,
  iteration: Count,
  steps: Count,
  corrections: Count,
  usage: Usage.Usage,
  inputs: Schema.optionalKey(Count),
  handoffs: Schema.optionalKey(Count),
  models: Schema.optionalKey(Models),
  calls: Schema.optionalKey(Calls),
  succeeded: Schema.optionalKey(Schema.Array(Schema.String)),
  before: Schema.optionalKey(Spent),
  sharing: Schema.optionalKey(Schema.Array(Schema.Struct({ agent: Schema.String, before: Schema.optionalKey(Spent) }))),
  landing: Schema.optionalKey(Count),
  fatal: Schema.optionalKey(FatalCall)
})

/**
 * What the current run, or else the last one, has used. A run begins with an input and ends as `Complete` or `Failed`; stops, resumptions
 * and handoffs are part of it.
 *
 * - `startedAt` (epoch milliseconds) is when the run last began, continued or stopped; `elapsed` (milliseconds) is how long it had run by
 *   then.
 * - `steps` counts the answers of models, those of called agents included, and `usage` the tokens. `models` is the usage of each model that
 *   said its name.
 * - `calls` counts the events `ToolCallSettled` of each tool, those of called agents included, but not those of handoffs that are carried
 *   out. `succeeded` names the tools of successful calls, without those of called agents, even if the call is no longer in the conversation.
 * - `iteration` counts the answers of the agent in control since it got its input or took over, but not blocked ones, which `steps` counts.
 *   `corrections` counts the answers that went back to the model, because they didn't fit the output schema or a guardrail asked for
 *   another.
 * - `inputs` is how many inputs of a user the run answers, if not one.
 * - `handoffs` counts the handoffs of the run. `before` is what was used until the last one: an agent's limits count from there. `sharing`
 *   names the agents that were in control before, whose budgets still apply, and from where each budget counts.
 * - `landing` is the `iteration` at which a limit was met that lets the model answer once more.
 * - `fatal` is the call that ends the run, until the run has ended.
 */
export interface Run extends Schema.Schema.Type<typeof Run> {}

/** A run that begins at a time, in epoch milliseconds. */
export const begin = (at: number): Run => ({
  startedAt: at,
  elapsed: 0,
  iteration: 0,
  steps: 0,
  corrections: 0,
  usage: Usage.empty
})

/** Continues at a time. */
export const goOn = (self: Run, at: number): Run => ({ ...self, startedAt: at })

/** Pauses at a time. */
export const rest = (self: Run, at: number): Run => ({
  ...self,
  startedAt: at,
  elapsed: self.elapsed + Math.max(0, at - self.startedAt)
})

/** What an answer used, and the model's name if the model said it. */
export interface Used {
  readonly usage: Usage.RequestUsage
  readonly model?: string
}

/** Counts what a model used, as so many steps. With `isOwn` it counts in `iteration` too. */
export const spend = (self: Run, { model, usage }: Used, steps: number, isOwn: boolean): Run => ({
  ...self,
  iteration: self.iteration + (isOwn ? 1 : 0),
  steps: self.steps + steps,
  usage: Usage.add(self.usage, usage),
  ...(model === undefined ? undefined : { models: withModel(self.models, model, usage) })
})

/**
 * Counts a call that has its result, and notes the tools of the run's own successful calls, sorted, so that their order says nothing of
 * time.
 */
export const call = (self: Run, name: string, hasSucceeded: boolean): Run => {
  const { calls, succeeded = [] } = self
  const counted = { ...self, calls: withCall(calls, name) }
  return hasSucceeded && !succeeded.includes(name) ? { ...counted, succeeded: [...succeeded, name].sort() } : counted
}

/** Counts an answer that went back to its model. */
export const correct = (self: Run): Run => ({ ...self, corrections: self.corrections + 1 })

/** Lets the model answer once more. */
export const land = (self: Run): Run => ({ ...self, landing: self.iteration })

/** Notes the call that ends the run. The first one counts. */
export const endBy = (self: Run, fatal: FatalCall): Run => self.fatal === undefined ? { ...self, fatal } : self

/** Forgets the call that ends the run: the run has ended, or somebody lets it go on. */
export const withoutFatal = (self: Run): Run => {
  if (self.fatal === undefined) return self
  const { fatal: _, ...run } = self
  return run
}

/** Notes at a time that an agent handed over: its budgets still apply from where they began, and limits count from here. */
export const changeHands = (self: Run, agent: string, at: number): Run => ({
  ...self,
  iteration: 0,
  corrections: 0,
  handoffs: (self.handoffs ?? 0) + 1,
  before: until(self, at),
  sharing: [...(self.sharing ?? []), { agent, ...(self.before === undefined ? undefined : { before: self.before }) }]
})
