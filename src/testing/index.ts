/**
 * Models that answer as a test says, under the real `effect/ai`.
 *
 * @since 0.1.0
 */
export * as Cassette from "./Cassette.ts"
export * as ConversationArbitrary from "./ConversationArbitrary.ts"
export * as ConversationRules from "./ConversationRules.ts"
export * as InstructionChain from "./InstructionChain.ts"
export * as Laws from "./Laws.ts"
export * as MockModel from "./MockModel.ts"
export * as MockProvider from "./MockProvider.ts"
export * as MockResponse from "./MockResponse.ts"
export * as Story from "./Story.ts"
