/**
 * The laws of a `history`: a function that changes a conversation before it crosses.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as AgentState from "../../domain/AgentState.ts"
import * as Conversation from "../../domain/Conversation.ts"
import * as ConversationRules from "../ConversationRules.ts"
import { difference } from "./Difference.ts"
import { through } from "./EventLaws.ts"
import { breach } from "./LawBroken.ts"
import { problems } from "./Legality.ts"

type Change<E, R> = (conversation: Conversation.Conversation) => Effect.Effect<Conversation.Conversation, E, R>

/** Returns the first law that a change breaks with a conversation. */
export const breachOf = Effect.fnUntraced(
  function*<E, R>(change: Change<E, R>, conversation: Conversation.Conversation) {
    const exit = yield* Effect.exit(change(conversation))
    if (Exit.isFailure(exit)) {
      return Cause.hasDies(exit.cause)
        ? breach("a history changes nothing that it is given, and throws nothing", String(Cause.squash(exit.cause)))
        : undefined
    }
    const changed = exit.value
    const [problem] = problems(changed)
    if (problem !== undefined) return breach("what crosses is legal", problem)
    const stored = Result.flatMap(Result.try(() => AgentState.make("agent", { conversation: changed })), through)
    const lost = Result.isFailure(stored) ? String(stored.failure) : difference(stored.success.conversation, changed)
    if (lost !== undefined) return breach("what crosses survives JSON", lost)
    const again = yield* Effect.exit(change(conversation))
    const found = Exit.isSuccess(again) ? difference(again.value, changed) : String(again.cause)
    if (found !== undefined) return breach("the same conversation crosses each time", found)
    const messages = changed.turns.flatMap(Conversation.toMessages)
    if (Conversation.hasOpenCalls(changed) || messages.length === 0) return undefined
    // A prompt would have an opening, which would hide that a history has removed the user's message.
    const broken = ConversationRules.check(messages, { isHandedOver: true })
    return broken.length === 0 ? undefined : breach("what crosses is a prompt", ConversationRules.format(broken))
  }
)
