/**
 * How a group picks the agent that begins a run.
 *
 * A picker is asked when a conversation begins, also in a session, and when a run that continues one is given `control: "first"`. It isn't asked if the input is
 * rejected, or while calls or a handoff are open. It sees the conversation with the new words of the user, and how the last run ended. A
 * `HandoffPolicy` says how the agents continue from there.
 *
 * **Example** (By what the user says)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentPicker, Conversation } from "troupe"
 *
 * const picker = AgentPicker.match([
 *   [/invoice|refund/i, "billing"],
 *   [(request) => request.lastStatus?._tag === "Failed", "tech"]
 * ], "triage")
 *
 * const ask = (text: string) =>
 *   AgentPicker.pick(picker, {
 *     conversation: Conversation.make([Conversation.user(text)]),
 *     text,
 *     lastStatus: undefined,
 *     lastAgent: undefined,
 *     agents: []
 *   })
 *
 * await Effect.runPromise(ask("My invoice is wrong.")) // => "billing"
 * await Effect.runPromise(ask("Hello")) // => "triage"
 * ```
 *
 * **Example** (By a model)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AgentPicker, Conversation } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const picker = AgentPicker.model(["billing", "tech"], { fallback: "triage" })
 *
 * const program = AgentPicker.pick(picker, {
 *   conversation: Conversation.make([Conversation.user("It crashes.")]),
 *   text: "It crashes.",
 *   lastStatus: undefined,
 *   lastAgent: undefined,
 *   agents: [
 *     { name: "billing", description: "Invoices and refunds" },
 *     { name: "tech", description: "Crashes and bugs" },
 *     { name: "triage", description: "Everything else" }
 *   ]
 * }).pipe(Effect.provide(MockModel.layer(MockModel.queue(`{ "agent": "tech" }`))))
 *
 * await Effect.runPromise(program) // => "tech"
 * ```
 *
 * @since 0.1.0
 */
export { always } from "./picker/Always.ts"
export { decisionModel } from "./picker/DecisionModel.ts"
export { make } from "./picker/Make.ts"
export { match, type Pattern } from "./picker/Match.ts"
export { model } from "./picker/Model.ts"
export {
  type AgentPicker,
  type Any,
  type Error,
  isAgentPicker,
  type Names,
  namesOf,
  pick,
  type PickRequest,
  type Services
} from "./picker/Picker.ts"
export type { ModelOptions } from "./picker/Question.ts"
