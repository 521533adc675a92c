/**
 * Metrics of agents, kept from what their runs tell. This file needs nothing of the backend: copy it whole.
 *
 * Requests to models are measured by the library itself, as `gen_ai.client.operation.duration` and `gen_ai.client.token.usage`. Names and
 * buckets here that begin with `gen_ai.` are those of the OpenTelemetry semantic conventions for generative AI, too (metrics, and inference
 * token metrics; both are in development). What those have no name for begins with `troupe.`:
 *
 * | metric | counts, or measures in seconds | by |
 * |---|---|---|
 * | `gen_ai.invoke_agent.duration` | runs, called agents' included | agent, `error.type` |
 * | `gen_ai.client.inference.usage.*` | cached input and reasoning tokens, which the library's don't tell apart | agent, model |
 * | `gen_ai.execute_tool.duration` | tools that ran | agent, tool, `error.type` |
 * | `troupe.runs` | runs that ended, not those of called agents | agent, outcome |
 * | `troupe.steps` | steps | agent |
 * | `troupe.tool_calls` | calls, also those that never ran | agent, tool, outcome |
 * | `troupe.approvals` | calls that had to wait for an approval | agent, tool |
 * | `troupe.handoffs` | changes of control | from, to |
 *
 * Events don't name the provider of a model, so that `gen_ai.provider.name` isn't there. A model may call tools that don't
 * exist, by any name: such calls count as those of the tool `_OTHER`, so that no model makes up series without end.
 */
import { Effect, Metric } from "effect"
import { Agent, type AgentEvent, type Usage } from "troupe"

const seconds = { unit: "s" }

const invokeAgent = Metric.histogram("gen_ai.invoke_agent.duration", {
  description: "Duration of an agent's run.",
  boundaries: Metric.exponentialBoundaries({ start: 0.1, factor: 2, count: 13 }),
  attributes: { ...seconds, "gen_ai.operation.name": "invoke_agent" }
})

const executeTool = Metric.histogram("gen_ai.execute_tool.duration", {
  description: "Duration of a tool's execution.",
  boundaries: Metric.exponentialBoundaries({ start: 0.01, factor: 2, count: 14 }),
  attributes: { ...seconds, "gen_ai.operation.name": "execute_tool" }
})

const tokens = (kind: string, description: string) =>
  Metric.counter(`gen_ai.client.inference.usage.${kind}`, {
    description,
    incremental: true,
    attributes: { unit: "{token}", "gen_ai.operation.name": "chat", "gen_ai.token.modality": "unknown" }
  })

const usage: Readonly<Record<"cached" | "reasoning", Metric.Counter<number>>> = {
  cached: tokens("cache_read.input_tokens", "The number of input tokens that were read from a cache."),
  reasoning: tokens("reasoning.output_tokens", "The number of output tokens used for reasoning.")
}

const counter = (name: string, unit: string, description: string) =>
  Metric.counter(name, { description, incremental: true, attributes: { unit } })

const runs = counter("troupe.runs", "{run}", "The number of runs that ended.")
const steps = counter("troupe.steps", "{step}", "The number of steps.")
const toolCalls = counter("troupe.tool_calls", "{call}", "The number of calls that were settled.")
const approvals = counter("troupe.approvals", "{call}", "The number of calls that had to wait for an approval.")
const handoffs = counter("troupe.handoffs", "{handoff}", "The number of times that another agent took over.")

type Attributes = Readonly<Record<string, string | undefined>>

const record = <A>(metric: Metric.Metric<A, unknown>, value: A, attributes: Attributes): Effect.Effect<void> =>
  Metric.update(
    Metric.withAttributes(
      metric,
      Object.entries(attributes).flatMap(([key, value]) =>
        value === undefined ? [] : [[key, value] as [string, string]]
      )
    ),
    value
  )

const agentOf = (event: AgentEvent.AgentEvent) => ({ "gen_ai.agent.name": event.path.at(-1) })

const between = (start: number | undefined, end: number): number => Math.max(0, end - (start ?? end)) / 1000

/** What a run that ended came to. */
const outcomeOf = (event: AgentEvent.RunCompleted | AgentEvent.RunFailed | AgentEvent.RunInterrupted): string =>
  event._tag === "RunInterrupted" ? "Interrupted" : event.state.status._tag

/** Names of tools that have run or were found: all that calls are counted by. */
const tools = new Set<string>()

/** Makes an observer that keeps the metrics of runs that follow each other, and of the agents that these call. */
const make = (): Agent.Observer => {
  const runStarts = new Map<string, number>()
  const running = new Set<string>()

  const spent = (event: AgentEvent.AgentEvent, used: Usage.RequestUsage, model: string | undefined) =>
    Effect.forEach(
      ["cached", "reasoning"] as const,
      (kind) =>
        used[kind] === undefined
          ? Effect.void
          : record(usage[kind], used[kind], { ...agentOf(event), "gen_ai.response.model": model }),
      { discard: true }
    )

  return (event) => {
    const agent = agentOf(event)
    const place = event.calls.join("/")
    switch (event._tag) {
      case "RunStarted":
        runStarts.set(place, event.at)
        return Effect.void
      case "RunCompleted":
      case "RunFailed":
      case "RunInterrupted": {
        const start = runStarts.get(place)
        runStarts.delete(place)
        const outcome = outcomeOf(event)
        const error = outcome === "Interrupted"
          ? outcome
          : event.state.status._tag === "Failed"
          ? event.state.status.error.tag
          : undefined
        return Effect.andThen(
          record(invokeAgent, between(start, event.at), { ...agent, "error.type": error }),
          event.calls.length > 0 ? Effect.void : record(runs, 1, { ...agent, "troupe.run.outcome": outcome })
        )
      }
      case "StepStarted":
        return record(steps, 1, agent)
      case "ModelResponded":
      case "ModelCallFailed":
      case "ConversationSummarized":
        return event.usage === undefined ? Effect.void : spent(event, event.usage, event.model)
      case "ToolCallStarted":
        tools.add(event.name)
        running.add(event.callId)
        return Effect.void
      case "ToolCallSettled": {
        if (event.outcome !== "Failed" && event.outcome !== "Interrupted") tools.add(event.name)
        const tool = { ...agent, "gen_ai.tool.name": tools.has(event.name) ? event.name : "_OTHER" }
        const counted = record(toolCalls, 1, { ...tool, "troupe.tool_call.outcome": event.outcome })
        if (!running.delete(event.callId)) return counted
        return Effect.andThen(
          counted,
          record(executeTool, event.duration / 1000, {
            ...tool,
            "error.type": event.outcome === "Succeeded" ? undefined : event.outcome
          })
        )
      }
      case "ApprovalRequested":
        tools.add(event.name)
        return record(approvals, 1, { ...agent, "gen_ai.tool.name": event.name })
      case "HandoffCompleted":
        return record(handoffs, 1, {
          "troupe.handoff.from": event.path.at(-1),
          "troupe.handoff.to": event.request.target
        })
      default:
        return Effect.void
    }
  }
}

/** Keeps the metrics of the runs inside an effect. Runs that go on side by side need one around each. */
export const measured = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => Agent.observe(self, make()))
