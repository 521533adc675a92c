/**
 * Conversations, plans and dialogues on Effect's cluster.
 *
 * @since 0.1.0
 */

/**
 * Dialogues that continue if a machine dies; each agent has a conversation on the cluster.
 *
 * @since 0.1.0
 */
export * as ClusterDialogue from "./ClusterDialogue.ts"

/**
 * Plans that continue if a machine dies; each agent has a conversation on the cluster.
 *
 * @since 0.1.0
 */
export * as ClusterPlan from "./ClusterPlan.ts"

/**
 * Conversations on several machines: each message is answered once, and a call whose result is stored never runs again.
 *
 * @since 0.1.0
 */
export * as Conversation from "./Conversation.ts"

/**
 * Where the conversations of a cluster are stored: in memory, in Postgres or in SQLite.
 *
 * @since 0.1.0
 */
export * as ConversationStore from "./ConversationStore.ts"
