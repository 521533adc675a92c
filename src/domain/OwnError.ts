/**
 * Errors of an agent's own, where nothing knows their types.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { ErrorClass } from "./ErrorClass.ts"

/**
 * An error of an agent's own, such as that of a tool in its `fatal`, where nothing knows the agent's type.
 *
 * A session from `Session.make` fails with the error itself. The service has one type for all agents, and a mode for whatever
 * agent enters it, so there it stands in `error`.
 *
 * @category errors
 * @since 0.1.0
 */
export class OwnError extends ErrorClass<OwnError>("troupe/domain")("OwnError", {
  agent: Schema.String,
  error: Schema.Unknown
}, ({ agent, error }) => {
  const said = Predicate.hasProperty(error, "message") ? String(error.message) : ""
  const what = said === "" && Predicate.hasProperty(error, "_tag") ? String(error._tag) : said
  return what === ""
    ? `Agent "${agent}" failed with an error of its own`
    : `Agent "${agent}" failed: ${what}`
}) {}
