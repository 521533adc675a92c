/**
 * What was changed in a foreign history to make it a conversation, as a closed union of plain data.
 *
 * Each repair names its message by the index in the prompt, and its call by the id in the conversation. `CallIdReplaced` and the repairs of
 * dropped results and requests name the call by the id in the prompt. What was dropped is in the repair that dropped it.
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
 * Schema for a change to a history to make it a conversation.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Repair = Schema.TaggedUnion({
  /** A system message wasn't the first message: its text is in `systemMessage`. */
  SystemMessageMoved: { message, text: Schema.String },
  /** A message without parts was left out. */
  EmptyMessageDropped: { message, role: Schema.Literals(["user", "assistant", "tool"]) },
  /** A provider's options for a whole message were left out: turns have no options. Parts keep theirs. */
  MessageOptionsDropped: { message, options: Part.Metadata },
  /** A part was left out, because a message of this role can't have it. */
  PartDropped: { message, part: Schema.Json },
  /** A call got another id, because its own (`id`) was empty or taken. Its result and approval still belong to it. */
  CallIdReplaced: { message, id: Schema.String, replacement: Schema.String },
  /** Only one of a call and its result said that the provider ran the tool; now both do. */
  ProviderExecutionAssumed: { message, id: Schema.String },
  /** A result wasn't behind its call, or not in the order of the calls. */
  ResultMoved: { message, id: Schema.String },
  /** A result named a different tool than its call. */
  ResultNameReplaced: { message, id: Schema.String, name: Schema.String, replacement: Schema.String },
  /** A result had no call. */
  OrphanedResultDropped: result,
  /** A result came for a call that has one. */
  DoubledResultDropped: result,
  /** A call that had no result, and no approval to wait for, was settled as `Interrupted`. */
  MissingResultSettled: { message, id: Schema.String },
  /** A request to approve the call `id` was left out: there is no such call, it doesn't wait for approval, or another request counts. */
  ApprovalRequestDropped: { message, approvalId: Schema.String, id: Schema.String },
  /** An approval or a denial was left out: nothing asked for it, or its call doesn't wait for it. */
  ApprovalResponseDropped: {
    message,
    approvalId: Schema.String,
    approved: Schema.Boolean,
    reason: Schema.optionalKey(Schema.String)
  },
  /** The reason for an approval was left out: a call that was approved has no place for it. */
  ApprovalReasonDropped: { message, id: Schema.String, reason: Schema.String },
  /** A value that isn't JSON was made JSON. */
  ValueMadeJson: {
    message,
    id: Schema.optionalKey(Schema.String),
    field: Schema.Literals(["params", "result", "metadata", "part"]),
    changes: Schema.NonEmptyArray(Change)
  }
})

/**
 * A change to a history to make it a conversation. `message` is the index of the message in the prompt. `id` is the call's id in the
 * conversation, but in `CallIdReplaced` and for dropped results and requests it is the id in the prompt. What was dropped is in the repair
 * that dropped it.
 *
 * @category models
 * @since 0.1.0
 */
export type Repair = {
  [Tag in keyof typeof Repair.cases]: (typeof Repair.cases)[Tag]["Type"]
}[keyof typeof Repair.cases]

/** A value that isn't JSON was made JSON. */
export type ValueMadeJson = Extract<Repair, { readonly _tag: "ValueMadeJson" }>

/** Notes a repair. */
export type Report = (repair: Repair) => void
