/** The names of errors in the code, as its modules export them and as the unions of reasons have them. */
import * as Troupe from "troupe"
import { Dialogue } from "troupe"
import * as Cluster from "troupe/cluster"
import * as Testing from "troupe/testing"
import { type Key, keysOf } from "./references.ts"

const isError = (value: unknown): boolean => typeof value === "function" && value.prototype instanceof Error

/** Each error with its module: `Session.OwnError`. */
export const exported: ReadonlyArray<string> = [Troupe, Testing, Cluster].flatMap((entry) =>
  Object.entries(entry).flatMap(([module, members]) =>
    Object.entries(members).flatMap(([name, value]: [string, unknown]) => isError(value) ? [`${module}.${name}`] : [])
  )
)

/** The classes of an error's name: two of some names. */
export const classesOf = (name: string): ReadonlyArray<Key> => [
  ...new Set(exported.filter((each) => each.endsWith(`.${name}`)).flatMap(keysOf))
]

const reasonsOf = (
  union: { readonly members: ReadonlyArray<{ readonly identifier: string }> }
): ReadonlyArray<string> => union.members.map(({ identifier }) => identifier.slice(identifier.lastIndexOf("/") + 1))

/** The reasons that each error may have. */
export const reasons = {
  AgentError: reasonsOf(Troupe.AgentError.Reason),
  SessionError: reasonsOf(Troupe.Session.Reason),
  ModeError: reasonsOf(Troupe.Mode.Reason),
  DialogueError: Object.entries(Dialogue).flatMap(([name, value]: [string, unknown]) =>
    isError(value) && (value as { identifier?: string }).identifier?.includes("/DialogueError/") === true ? [name] : []
  ),
  ConversationError: reasonsOf(Cluster.Conversation.Reason)
}
