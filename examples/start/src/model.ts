import { createOpenAI } from "@ai-sdk/openai"
import { AiSdkModel } from "troupe/ai-sdk"

/** Reads the key from OPENAI_API_KEY. */
export const Model = AiSdkModel.layer(createOpenAI()("gpt-5"))
