/** The desk that is measured: a run asks its model four times and calls six tools. Neither takes time of its own. */
import { Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel, type Prompt, type Response, Tool, Toolkit } from "effect/ai"
import { Agent, type ContextWindow, ToolPolicy } from "../../src/index.ts"

const params = Schema.Struct({ n: Schema.Int })
const Charge = Tool.make("charge", { parameters: params, success: Schema.String })
const Look = ToolPolicy.set(Tool.make("look", { parameters: params, success: Schema.String }), { idempotent: true })
const Kit = Toolkit.make(Charge, Look)

/** How often a run asks its model. */
export const steps = 4

export const makeDesk = (contextWindow?: ContextWindow.ContextWindow<never, never>) =>
  Agent.make("desk", { toolkit: Kit, ...(contextWindow === undefined ? undefined : { contextWindow }) })

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }

const callOf = (name: string, id: string, n: number) => ({ type: "tool-call", id, name, params: { n } }) as const

let ids = 0

const respond = (prompt: Prompt.Prompt): Array<Response.PartEncoded> => {
  const { content } = prompt
  const since = content.slice(content.findLastIndex(({ role }) => role === "user") + 1)
  const n = since.filter(({ role }) => role === "assistant").length
  return n < steps - 1
    ? [
      callOf("charge", `c${ids++}`, n),
      callOf("look", `l${ids++}`, n),
      { type: "finish", reason: "tool-calls", usage }
    ]
    : [{ type: "text", text: "All is done." }, { type: "finish", reason: "stop", usage }]
}

const streamed = (part: Response.PartEncoded): ReadonlyArray<Response.StreamPartEncoded> =>
  part.type === "text"
    ? [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: part.text }, {
      type: "text-end",
      id: "1"
    }]
    : [part as Response.StreamPartEncoded]

const model = Layer.effect(
  LanguageModel.LanguageModel,
  LanguageModel.make({
    generateText: ({ prompt }) => Effect.sync(() => respond(prompt)),
    streamText: ({ prompt }) => Stream.suspend(() => Stream.fromIterable(respond(prompt).flatMap(streamed)))
  })
)

/** The model of the desk, and its handlers. */
export const services = Layer.merge(
  model,
  Kit.toLayer({
    charge: ({ n }) => Effect.succeed(`charged ${n}`),
    look: ({ n }) => Effect.succeed(`saw ${n}`)
  })
)
