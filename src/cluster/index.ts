/**
 * Conversations on Effect's cluster.
 *
 * @since 0.1.0
 */
export * as ClusterDialogue from "./ClusterDialogue.ts"
export * as ClusterPlan from "./ClusterPlan.ts"
export * as Conversation from "./Conversation.ts"
export * as ConversationStore from "./ConversationStore.ts"
