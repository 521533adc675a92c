/**
 * Tests of agents without a real model: mocks, recordings, stories, random values and laws.
 *
 * @since 0.1.0
 */

/**
 * Cassettes: record a real model's answers and the results of tools in a file, and replay them.
 *
 * @since 0.1.0
 */
export * as Cassette from "./Cassette.ts"

/**
 * Random conversations, prompts, states and scripts for property tests.
 *
 * @since 0.1.0
 */
export * as ConversationArbitrary from "./ConversationArbitrary.ts"

/**
 * The rules of providers for conversations, to check any prompt.
 *
 * @since 0.1.0
 */
export * as ConversationRules from "./ConversationRules.ts"

/**
 * Instruction chains: scripts inside the user's text, one step for each answer of the model.
 *
 * @since 0.1.0
 */
export * as InstructionChain from "./InstructionChain.ts"

/**
 * Laws: what must hold for every run of an agent, a group or a mode, and for guardrails, histories and stores, tested with random values.
 *
 * @since 0.1.0
 */
export * as Laws from "./Laws.ts"

/**
 * Mock models: a `LanguageModel` that answers from a script, and mock tools.
 *
 * @since 0.1.0
 */
export * as MockModel from "./MockModel.ts"

/**
 * Mock providers: OpenAI and Anthropic on the wire, for tests of a provider's client.
 *
 * @since 0.1.0
 */
export * as MockProvider from "./MockProvider.ts"

/**
 * Responses of mocks: texts, calls, failures, delays and other parts of a script.
 *
 * @since 0.1.0
 */
export * as MockResponse from "./MockResponse.ts"

/**
 * Stories: tests of pure states, step by step, without a runtime, a model or a tool.
 *
 * @since 0.1.0
 */
export * as Story from "./Story.ts"
