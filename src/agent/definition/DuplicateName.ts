/**
 * Errors for invalid definitions: two things share a name by which a state or a model refers to one of them.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Error for an invalid definition: two different agents that a run can reach share a name.
 *
 * @category errors
 * @since 0.1.0
 */
export class DuplicateAgent extends Schema.TaggedError<DuplicateAgent>("troupe/agent/Agent/DuplicateAgent")(
  "DuplicateAgent",
  { agent: Schema.String, from: Schema.String }
) {
  override get message(): string {
    return `Two different agents of the name "${this.agent}" can be reached from "${this.from}"`
  }
}

/**
 * Error for an invalid definition: two handoffs of an agent share the name of their tool.
 *
 * @category errors
 * @since 0.1.0
 */
export class DuplicateHandoff extends Schema.TaggedError<DuplicateHandoff>("troupe/agent/Agent/DuplicateHandoff")(
  "DuplicateHandoff",
  { agent: Schema.String, tool: Schema.String, targets: Schema.Tuple([Schema.String, Schema.String]) }
) {
  override get message(): string {
    const [first, second] = this.targets
    return `Agent "${this.agent}" has two handoffs by the tool "${this.tool}": to "${first}" and to "${second}"`
  }
}

/**
 * Error for an invalid definition: two tools of an agent share a name.
 *
 * @category errors
 * @since 0.1.0
 */
export class DuplicateTool extends Schema.TaggedError<DuplicateTool>("troupe/agent/Agent/DuplicateTool")(
  "DuplicateTool",
  { agent: Schema.String, tool: Schema.String }
) {
  override get message(): string {
    return `Agent "${this.agent}" has two tools of the name "${this.tool}"`
  }
}

/**
 * Error for an invalid definition: two agents that run together have different tools of one name.
 *
 * Handlers are found by the names of their tools, so one of the two tools would be answered by the other's handler.
 *
 * @category errors
 * @since 0.1.0
 */
export class AmbiguousTool extends Schema.TaggedError<AmbiguousTool>("troupe/agent/Agent/AmbiguousTool")(
  "AmbiguousTool",
  { tool: Schema.String, agents: Schema.Tuple([Schema.String, Schema.String]) }
) {
  override get message(): string {
    const [first, second] = this.agents
    return `Agents "${first}" and "${second}" run together and have different tools of the name "${this.tool}", by which handlers ` +
      "are found: rename one of them, share one tool, or give the agents toolkits that have handlers"
  }
}

/**
 * Error for an invalid definition: two different modes of an agent share a name.
 *
 * @category errors
 * @since 0.1.0
 */
export class DuplicateMode extends Schema.TaggedError<DuplicateMode>("troupe/agent/Agent/DuplicateMode")(
  "DuplicateMode",
  { agent: Schema.String, mode: Schema.String }
) {
  override get message(): string {
    return `Agent "${this.agent}" has two modes of the name "${this.mode}"`
  }
}
