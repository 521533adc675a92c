/**
 * How the agents of a group collaborate: which handoffs they are offered, whether another agent continues after an answer, and how the
 * conversation is changed when it crosses.
 *
 * 1. A policy is a value without state. It reads its position from the conversation's state, so one policy serves any number of
 *    conversations at once.
 * 2. A policy never hands over to the agent in control.
 * 3. No agent is offered two handoffs by tools of one name.
 *
 * An `AgentPicker` says who begins.
 *
 * **Example** (A desk)
 *
 * ```ts
 * import { Option } from "effect"
 * import { AgentState, HandoffPolicy } from "troupe"
 *
 * const policy = HandoffPolicy.compose(
 *   HandoffPolicy.explicit("billing", { reason: "Questions about money", from: ["triage"] }),
 *   HandoffPolicy.sequential(["triage", "tech"])
 * )
 *
 * HandoffPolicy.offeredTo(policy, "triage").map((handoff) => handoff.toolName) // => ["handoff_to_billing"]
 * HandoffPolicy.offeredTo(policy, "billing").length // => 0
 *
 * const answered = AgentState.make("triage")
 * HandoffPolicy.decide(policy, answered).pipe(
 *   Option.map((decision) => decision.target)
 * ) // => Option.some("tech")
 * ```
 *
 * **Example** (What the next agent reads)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Conversation, HandoffPolicy } from "troupe"
 *
 * const policy = HandoffPolicy.explicit("billing").pipe(
 *   HandoffPolicy.compacting({
 *     over: { turns: 2 },
 *     keep: 1,
 *     summarize: (before) => Effect.succeed(`${Conversation.count(before)} turns of small talk`)
 *   })
 * )
 *
 * const conversation = Conversation.make([
 *   Conversation.user("Hello"),
 *   Conversation.assistant("triage", "Hello!"),
 *   Conversation.user("My invoice is wrong.")
 * ])
 *
 * const program = HandoffPolicy.transform(policy, conversation, {
 *   from: "triage",
 *   to: "billing",
 *   request: { target: "billing" }
 * }).pipe(Effect.map(({ turns }) => turns.map(Conversation.textOf)))
 *
 * await Effect.runPromise(program) // => ["2 turns of small talk", "My invoice is wrong."]
 * ```
 *
 * **Example** (In a loop of one's own)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { LanguageModel, Toolkit } from "effect/ai"
 * import { HandoffPolicy } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const toolkit = Toolkit.empty.pipe(
 *   Effect.map(HandoffPolicy.intercept(HandoffPolicy.explicit("billing"), "triage"))
 * )
 *
 * const program = LanguageModel.generateText({ prompt: "My invoice is wrong.", toolkit }).pipe(
 *   Effect.map((response) => response.toolResults[0]?.result),
 *   Effect.provide(MockModel.layer(MockModel.queue(
 *     MockResponse.toolCall("handoff_to_billing", { reason: "an invoice" })
 *   )))
 * )
 *
 * await Effect.runPromise(program) // => { handoff: "billing", ack: true, reason: "an invoice" }
 * ```
 *
 * @since 0.1.0
 */
export { InvalidLimit } from "../domain/InvalidLimit.ts"
export { chain } from "./policy/Chain.ts"
export { compacting, type CompactingOptions, EmptySummary, type Threshold } from "./policy/Compacting.ts"
export { compose } from "./policy/Compose.ts"
export { make } from "./policy/Decide.ts"
export { explicit, explicitAll, type ExplicitOptions } from "./policy/Explicit.ts"
export { Acknowledgement, type HandoffTools, intercept, TakenToolName } from "./policy/Interception.ts"
export { type Delegate, inTurn, manager } from "./policy/Lead.ts"
export { type FailureOf, mapConversation, type OnFailure } from "./policy/MapConversation.ts"
export { ConflictingOffers, type Offer } from "./policy/Offer.ts"
export {
  type Any,
  type Crossing,
  type Decision,
  type Error,
  type HandoffPolicy,
  type Internals,
  internalsOf,
  isHandoffPolicy,
  type Names,
  type Services,
  type Transform
} from "./policy/Policy.ts"
export { decide, offeredTo, requestOf, transform } from "./policy/Reading.ts"
export { sequential } from "./policy/Sequential.ts"
export { when } from "./policy/When.ts"
