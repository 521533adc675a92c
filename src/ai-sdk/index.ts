/**
 * Models of the AI SDK's providers.
 *
 * @since 0.1.0
 */
export * as AiSdkModel from "./AiSdkModel.ts"
