/**
 * Conversations: lists of turns in which a turn holds its calls, and each call holds its one result once it is settled.
 *
 * 1. Calls are open only in the last assistant turn: a model isn't asked again while a call is open.
 * 2. A user may speak while calls are open; the words wait behind the turn and are sent once it is settled.
 * 3. Call ids are unique in a conversation and never empty.
 * 4. A prompt exists only when no call is open.
 *
 * Every function here keeps these rules and changes none of its arguments.
 *
 * @since 0.1.0
 */
export * from "./conversation/Branch.ts"
export * from "./conversation/Pin.ts"
export * from "./conversation/Search.ts"
export * from "./conversation/Turns.ts"
export * from "./Part.ts"
export * from "./Projection.ts"
export * from "./PromptImport.ts"
export {
  type Answered,
  type Approved,
  type Assistant,
  AssistantPart,
  type AwaitingApproval,
  type AwaitingResult,
  Call,
  CallState,
  Conversation,
  type Delegated,
  type Feedback,
  Outcome,
  type Pending,
  type Settled,
  type Summary,
  Turn,
  type User
} from "./StateSchema.ts"
export { Summarized } from "./Summarized.ts"
