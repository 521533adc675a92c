/**
 * What was done to somebody else's history to make it a conversation, as a closed union of plain data.
 *
 * Each repair names by its index in the prompt the message that it is about, and the call by its id in the
 * conversation. Whatever found no place in the conversation is in the repair that dropped it.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import * as Schema from "effect/Schema"
import { Change } from "./ForeignValue.ts"
import * as Part from "./Part.ts"

const message = Schema.Int

const result = {
  message,
  id: Schema.String,
  name: Schema.String,
  isFailure: Schema.Boolean,
  result: Schema.Json,
  modelOutput: Schema.optionalKey(Schema.Array(Prompt.ToolModelOutputPart)),
  metadata: Schema.optionalKey(Part.Metadata)
}

/**
 * Schema for what was done to a history to make it a conversation.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Repair = Schema.TaggedUnion({
  SystemMessageMoved: { message, text: Schema.String },
  EmptyMessageDropped: { message, role: Schema.Literals(["user", "assistant", "tool"]) },
  MessageOptionsDropped: { message, options: Part.Metadata },
  PartDropped: { message, part: Schema.Json },
  CallIdReplaced: { message, id: Schema.String, replacement: Schema.String },
  ProviderExecutionAssumed: { message, id: Schema.String },
  ResultMoved: { message, id: Schema.String },
  ResultNameReplaced: { message, id: Schema.String, name: Schema.String, replacement: Schema.String },
  OrphanedResultDropped: result,
  DoubledResultDropped: result,
  MissingResultSettled: { message, id: Schema.String },
  ApprovalRequestDropped: { message, approvalId: Schema.String, id: Schema.String },
  ApprovalResponseDropped: {
    message,
    approvalId: Schema.String,
    approved: Schema.Boolean,
    reason: Schema.optionalKey(Schema.String)
  },
  ApprovalReasonDropped: { message, id: Schema.String, reason: Schema.String },
  ValueMadeJson: {
    message,
    id: Schema.optionalKey(Schema.String),
    field: Schema.Literals(["params", "result", "metadata", "part"]),
    changes: Schema.NonEmptyArray(Change)
  }
})

type Case<Tag extends keyof typeof Repair.cases> = Schema.Schema.Type<(typeof Repair.cases)[Tag]>

/** A system message stood behind other messages, or there were several: its text is in `systemMessage`. */
export interface SystemMessageMoved extends Case<"SystemMessageMoved"> {}
/** A message without parts was left out. */
export interface EmptyMessageDropped extends Case<"EmptyMessageDropped"> {}
/** A provider's options for a whole message were left out: turns have none, parts keep theirs. */
export interface MessageOptionsDropped extends Case<"MessageOptionsDropped"> {}
/** A part that can't stand in a message of that role was left out. */
export interface PartDropped extends Case<"PartDropped"> {}
/** A call whose id was empty or taken, `id`, got another; its result and approval followed. */
export interface CallIdReplaced extends Case<"CallIdReplaced"> {}
/** Of a call and its result, only one said that the provider ran the tool: both do now. */
export interface ProviderExecutionAssumed extends Case<"ProviderExecutionAssumed"> {}
/** A result stood somewhere else than behind its call, or not in the order of the calls. */
export interface ResultMoved extends Case<"ResultMoved"> {}
/** A result named another tool than its call. */
export interface ResultNameReplaced extends Case<"ResultNameReplaced"> {}
/** A result had no call. */
export interface OrphanedResultDropped extends Case<"OrphanedResultDropped"> {}
/** A result came for a call that has one. */
export interface DoubledResultDropped extends Case<"DoubledResultDropped"> {}
/** A call without a result, or any approval to wait for, was settled as `Interrupted`. */
export interface MissingResultSettled extends Case<"MissingResultSettled"> {}
/** A request to approve the call `id` was left out: there is no such call, or it doesn't wait for approval. */
export interface ApprovalRequestDropped extends Case<"ApprovalRequestDropped"> {}
/** An approval or a denial was left out: nothing asked for it, or its call doesn't wait for it. */
export interface ApprovalResponseDropped extends Case<"ApprovalResponseDropped"> {}
/** Why a call was approved was left out. */
export interface ApprovalReasonDropped extends Case<"ApprovalReasonDropped"> {}
/** A value that isn't JSON was made JSON. */
export interface ValueMadeJson extends Case<"ValueMadeJson"> {}

/**
 * What was done to a history to make it a conversation.
 *
 * @category models
 * @since 0.1.0
 */
export type Repair =
  | SystemMessageMoved
  | EmptyMessageDropped
  | MessageOptionsDropped
  | PartDropped
  | CallIdReplaced
  | ProviderExecutionAssumed
  | ResultMoved
  | ResultNameReplaced
  | OrphanedResultDropped
  | DoubledResultDropped
  | MissingResultSettled
  | ApprovalRequestDropped
  | ApprovalResponseDropped
  | ApprovalReasonDropped
  | ValueMadeJson

/** Takes a repair down. */
export type Report = (repair: Repair) => void
