/**
 * Errors for invalid definitions: two things share a name by which a state or a model refers to one of them.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorClass } from "../../domain/ErrorClass.ts"

/**
 * Error for an invalid definition: two different agents that a run can reach share a name.
 *
 * @category errors
 * @since 0.1.0
 */
export class DuplicateAgent extends ErrorClass<DuplicateAgent>("troupe/agent/Agent")(
  "DuplicateAgent",
  {
    agent: Schema.String,
    from: Schema.String
  },
  ({ agent, from }) => `Two different agents of the name "${agent}" can be reached from "${from}": rename one of them`
) {}

/**
 * Error for an invalid definition: two handoffs of an agent share the name of their tool.
 *
 * @category errors
 * @since 0.1.0
 */
export class DuplicateHandoff extends ErrorClass<DuplicateHandoff>("troupe/agent/Agent")(
  "DuplicateHandoff",
  {
    agent: Schema.String,
    tool: Schema.String,
    targets: Schema.Tuple([Schema.String, Schema.String])
  },
  ({ agent, targets: [first, second], tool }) =>
    `Agent "${agent}" has two handoffs by the tool "${tool}": to "${first}" and to "${second}"`
) {}

/**
 * Error for an invalid definition: two tools of an agent share a name.
 *
 * @category errors
 * @since 0.1.0
 */
export class DuplicateTool extends ErrorClass<DuplicateTool>("troupe/agent/Agent")("DuplicateTool", {
  agent: Schema.String,
  tool: Schema.String
}, ({ agent, tool }) => `Agent "${agent}" has two tools of the name "${tool}": rename one of them`) {}

/**
 * Error for an invalid definition: two agents that run together have different tools of one name.
 *
 * Handlers are found by the names of their tools, so one of the two tools would be answered by the other's handler.
 *
 * @category errors
 * @since 0.1.0
 */
export class AmbiguousTool extends ErrorClass<AmbiguousTool>("troupe/agent/Agent")(
  "AmbiguousTool",
  {
    tool: Schema.String,
    agents: Schema.Tuple([Schema.String, Schema.String])
  },
  ({ agents: [first, second], tool }) =>
    `Agents "${first}" and "${second}" run together and have different tools of the name "${tool}", by which handlers ` +
    "are found: rename one of them, share one tool, or give the agents toolkits that have handlers"
) {}

/**
 * Error for an invalid definition: two different modes of an agent share a name.
 *
 * @category errors
 * @since 0.1.0
 */
export class DuplicateMode extends ErrorClass<DuplicateMode>("troupe/agent/Agent")("DuplicateMode", {
  agent: Schema.String,
  mode: Schema.String
}, ({ agent, mode }) => `Agent "${agent}" has two modes of the name "${mode}": rename one of them`) {}
