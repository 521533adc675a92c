/**
 * Errors of an agent's own whose types aren't known.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { ErrorClass } from "./ErrorClass.ts"

/**
 * An error of an agent's own whose type isn't known, such as the error of a tool in its `fatal`.
 *
 * A session from `Session.make` fails with the error itself. The session's service and modes have one type for all agents, so they wrap the
 * error in `error`.
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
