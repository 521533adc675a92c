/**
 * Which rules a conversation is held to.
 *
 * @since 0.1.0
 */

/**
 * Which rules a conversation is held to.
 *
 * **Details**
 *
 * - `allowSystemAnywhere`: system messages may stand behind others.
 * - `requireUserFirst`: no assistant speaks before a user.
 * - `allowRepeatedRoles`: users and assistants may speak twice in a row. Tool messages always may.
 * - `enforceToolResponseOrder`: results come in the order of their calls.
 * - `allowUnknownToolResponse`: a result may have an id that no call has that still waits.
 * - `allowDuplicateToolResponse`: a call may have a second result.
 * - `allowDeveloperAndFunction`: messages of the roles `developer` and `function` may be there.
 * - `allowEmptyMessages`: a user or an assistant may say nothing: no parts, or texts without words alone.
 * - `enforceContiguousToolResponses`: nobody speaks between a call and its result.
 * - `requireUserPresent`: there is a user message.
 * - `allowDanglingToolCalls`: calls may stay without results.
 *
 * `isHandoff` says which tools hand over, by their names, and `isHandedOver` that the messages are those that the target
 * of a handoff receives, if no call in them says so.
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
 * The policy that every prompt of a run keeps, as long as no history of its own breaks it.
 *
 * Roles may be repeated: a user's words stand behind others that waited, and a model that pauses goes on.
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
 * The policy that allows nothing and enforces everything.
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
