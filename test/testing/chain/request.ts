import { Schema } from "effect"
import { Tool } from "effect/ai"
import { InstructionChain } from "troupe/testing"

type Message = InstructionChain.Request["messages"][number]

const message = (role: Message["role"]) => (...texts: ReadonlyArray<string>): Message => ({ role, texts })

export const system = message("system")
export const user = message("user")
export const assistant = message("assistant")
export const tool = message("tool")

export const tools = [
  Tool.make("get_weather", {
    description: "Tells the weather",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Finite
  }),
  Tool.make("sleep")
]

/** Chooses for a conversation with nothing else in the request. */
export const choose = (
  messages: ReadonlyArray<Message>,
  more: Partial<InstructionChain.Request> = {}
): InstructionChain.Choice => InstructionChain.choose({ messages, system: "", tools: [], body: {}, ...more })

/** The parts of the step that was chosen, or why none was. */
export const partsOf = (choice: InstructionChain.Choice) =>
  choice._tag === "Chosen" ? choice.response.parts : choice._tag

/** The text of the step that was chosen, or why none was. */
export const textOf = (choice: InstructionChain.Choice): string =>
  choice._tag === "Chosen"
    ? choice.response.parts.map((part) => part.type === "text" ? part.text : `[${part.type}]`).join("")
    : choice._tag

/** Marks text as a chain, whatever it is. */
export const marked = (json: string): string => `<|instruction_start|>${json}<|instruction_end|>`

/** Marks steps of any kind as a chain. */
export const chainOf = (...steps: ReadonlyArray<unknown>): string =>
  marked(JSON.stringify({ instruction_chain: steps }))

export const say = (text: string) => ({ messages: [{ text }] })
