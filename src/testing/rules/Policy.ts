/**
 * Which rules a conversation is held to.
 *
 * @since 0.1.0
 */

/**
 * The rules that messages must keep. Rules without a field here, such as unique ids of calls, always apply.
 *
 * **Details**
 *
 * - `allowSystemAnywhere`: system messages may come after other messages.
 * - `requireUserFirst`: no assistant speaks before a user.
 * - `allowRepeatedRoles`: two messages in a row may have the same role. Tool messages always may.
 * - `enforceToolResponseOrder`: results come in the order of their calls.
 * - `allowUnknownToolResponse`: a result may have an id that no waiting call has, but not before the first call.
 * - `allowDuplicateToolResponse`: a call may have a second result.
 * - `allowDeveloperAndFunction`: messages may have the roles `developer` and `function`.
 * - `allowEmptyMessages`: a message of a user or an assistant may say nothing: it has no parts, or only texts and reasoning that have
 *   neither words nor provider options.
 * - `enforceContiguousToolResponses`: no message but results comes between a call and its result.
 * - `requireUserPresent`: there is a user message.
 * - `allowDanglingToolCalls`: calls may stay without results.
 * - `isHandoff`: which tools hand over, by their names. The target of a handoff must receive a user message.
 * - `isHandedOver`: the messages are those that the target of a handoff receives, even if no call in them says so.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy {
  readonly allowSystemAnywhere: boolean
  readonly requireUserFirst: boolean
  readonly allowRepeatedRoles: boolean
  readonly enforceToolResponseOrder: boolean
  readonly allowUnknownToolResponse: boolean
  readonly allowDuplicateToolResponse: boolean
  readonly allowDeveloperAndFunction: boolean
  readonly allowEmptyMessages: boolean
  readonly enforceContiguousToolResponses: boolean
  readonly requireUserPresent: boolean
  readonly allowDanglingToolCalls: boolean
  readonly isHandoff: (tool: string) => boolean
  readonly isHandedOver: boolean
}

/**
 * The policy that every prompt of a run keeps, unless a function of yours that changes conversations breaks it, such as a `history` or a
 * policy's transform.
 *
 * It allows repeated roles, since a user may speak again before the model answers, and a model that paused continues; nothing else is
 * allowed. It requires that results come in the order of their calls and that a user speaks first. It doesn't require contiguous results or
 * a user message. Tools whose names begin with `handoff_to_` hand over.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultPolicy: Policy = Object.freeze({
  allowSystemAnywhere: false,
  requireUserFirst: true,
  allowRepeatedRoles: true,
  enforceToolResponseOrder: true,
  allowUnknownToolResponse: false,
  allowDuplicateToolResponse: false,
  allowDeveloperAndFunction: false,
  allowEmptyMessages: false,
  enforceContiguousToolResponses: false,
  requireUserPresent: false,
  allowDanglingToolCalls: false,
  isHandoff: (tool: string) => tool.startsWith("handoff_to_"),
  isHandedOver: false
})

/**
 * The policy that allows nothing and enforces everything. Tools whose names begin with `handoff_to_` hand over.
 *
 * @category constants
 * @since 0.1.0
 */
export const strictPolicy: Policy = Object.freeze({
  ...defaultPolicy,
  allowRepeatedRoles: false,
  enforceContiguousToolResponses: true,
  requireUserPresent: true
})
