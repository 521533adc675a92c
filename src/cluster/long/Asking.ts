/**
 * How a long run asks one of its agents: by messages to the conversation that the agent has for it.
 *
 * 1. What is asked for has a key that follows from the log, so that a long run that another runner continues asks for the same again, and
 *    gets the answer that was given.
 * 2. Words are said once. If the agent has taken them in and its run failed, it is resumed instead. Words that were rejected or blocked
 *    weren't taken in, so they are said again.
 * 3. If the long run gives up, since it was cancelled or took too long, so does the agent. If its runner goes away, the agent continues.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { isBlocked } from "../../domain/Beginning.ts"
import type { AgentState, User } from "../../domain/StateSchema.ts"
import type { Answer } from "../Answer.ts"
import type { ClusterError } from "../Client.ts"
import type { ConversationError } from "../ConversationError.ts"

/** A conversation of an agent, as a long run asks it. */
export interface Child {
  readonly say: (
    input: User["parts"],
    options: { readonly key: string }
  ) => Effect.Effect<Answer, ConversationError | ClusterError>
  readonly resume: (options: { readonly key: string }) => Effect.Effect<Answer, ConversationError | ClusterError>
  readonly cancel: (key: string) => Effect.Effect<boolean, ConversationError | ClusterError>
  readonly state: Effect.Effect<AgentState, ConversationError | ClusterError>
}

/** What is asked for in a place of a long run, and what its log says of it. */
export interface Asked {
  /** Tells this place from others of the same conversation. */
  readonly place: string
  readonly words: User["parts"]
  /** The message that is being answered, and the one in which the place began. */
  readonly message: string
  readonly by: string
  /** How often it was tried before in answering this message. */
  readonly attempt: number
  /** Whether the agent has taken the words in. */
  readonly isTold: boolean
  /** How many events its conversation had before. */
  readonly before: number
}

/** How the agent answered, and whether it has taken the words in. */
export interface Reply {
  readonly answer: Answer
  readonly isTold: boolean
}

/** Asks again while the cluster can't be reached. */
export const persist = <A>(
  self: Effect.Effect<A, ConversationError | ClusterError>
): Effect.Effect<A, ConversationError> =>
  Effect.retry(self, {
    while: (error) => error._tag !== "ConversationError",
    schedule: Schedule.spaced("1 second")
  }) as Effect.Effect<A, ConversationError>

/** Checks whether an agent's run failed because the agent rejected its input: its conversation is as it was then. */
const hasRejected = ({ status }: AgentState): boolean =>
  status._tag === "Failed" && status.error.tag === "InputRejected"

/** Checks whether an agent has taken in what it was told, once it has answered. */
const hasTakenIn = (child: Child, answer: Answer, { before, isTold }: Pick<Asked, "before" | "isTold">) => {
  if (!isTold && answer.cursor <= before) return Effect.succeed(false)
  return answer.status === "Complete" || answer.status === "Waiting"
    ? Effect.succeed(true)
    : Effect.map(persist(child.state), (state) => !isBlocked(state) && (isTold || !hasRejected(state)))
}

/** Asks an agent. If the long run gives up, the agent is cancelled, and `onGivenUp` gets its reply. */
export const ask = (
  child: Child,
  asked: Asked,
  isClosed: () => boolean,
  onGivenUp: (reply: Reply) => Effect.Effect<void>
): Effect.Effect<Reply, ConversationError> => {
  const { attempt, by, isTold, message, place, words } = asked
  const isFirst = message === by && attempt === 0
  const key = isFirst ? place : `${place}/${message}/${attempt}`
  const asking = persist(isTold && !isFirst ? child.resume({ key }) : child.say(words, { key }))
  const replied = Effect.flatMap(
    asking,
    (answer) => Effect.map(hasTakenIn(child, answer, asked), (isTold): Reply => ({ answer, isTold }))
  )
  const givingUp = Effect.andThen(persist(child.cancel(key)), replied).pipe(
    Effect.flatMap(onGivenUp),
    Effect.ignore
  )
  return Effect.onInterrupt(replied, () => isClosed() ? Effect.void : givingUp)
}
