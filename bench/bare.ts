/**
 * The floor: requests alone. `effect/ai` hands the calls over unresolved, and they are answered in place.
 *
 * It has no state to keep, no events, no spans of its own and no failure that it survives, so it is what an agent on
 * `effect/ai` could cost at best, and no way to write one.
 */
import { Effect, Schema, Stream } from "effect"
import { LanguageModel, Prompt } from "effect/ai"
import * as model from "./effectModel.ts"
import { type Calls, question, system } from "./script.ts"

const start = [
  Prompt.makeMessage("system", { content: system }),
  Prompt.makeMessage("user", { content: [Prompt.makePart("text", { text: question })] })
]
const decode = Schema.decodeUnknownSync(model.Next.parametersSchema)
const encode = Schema.encodeUnknownSync(model.Next.successSchema)

const options = {
  toolkit: { tools: model.Counting.tools, handle: () => Effect.die("nobody asks") },
  disableToolCallResolution: true,
  toolCallValidation: "deferred"
} as const

const asking = { ...options, prompt: Prompt.fromMessages(start) } as const
/** Without tools: `effect/ai` keeps its decoder only for a toolkit with some, so none of them is sent. */
const silent = { ...asking, toolChoice: { oneOf: [] } } as const

const answered = (id: string, name: string, params: unknown, result: unknown): ReadonlyArray<Prompt.Message> => [
  Prompt.makeMessage("assistant", {
    content: [Prompt.makePart("tool-call", { id, name, params, providerExecuted: false })]
  }),
  Prompt.makeMessage("tool", {
    content: [Prompt.makePart("tool-result", { id, name, result, isFailure: false, providerExecuted: false })]
  })
]

const loop = (calls: Calls) => {
  const next = model.next(calls)
  return Effect.gen(function*() {
    const messages: Array<Prompt.Message> = start.slice()
    while (true) {
      const response = yield* LanguageModel.generateText({ ...options, prompt: Prompt.fromMessages(messages.slice()) })
      const before = messages.length
      for (const part of response.content) {
        if (part.type !== "tool-call") continue
        messages.push(...answered(part.id, part.name, part.params, encode(next(decode(part.params)))))
      }
      if (messages.length === before) return response.text
    }
  })
}

const hear = (request: typeof asking | typeof silent): model.Programs["hear"] => (heard) =>
  Stream.runForEachArray(LanguageModel.streamText(request), (parts) => {
    for (const part of parts) {
      if (part.type !== "text-delta") continue
      heard.deltas++
      heard.characters += part.delta.length
    }
    return Effect.void
  })

export const bare = model.subject((calls) => ({
  tool: { run: loop(calls), hear: hear(asking) },
  "no tools": {
    run: Effect.map(LanguageModel.generateText(silent), (response) => response.text),
    hear: hear(silent)
  }
}), "turns")
