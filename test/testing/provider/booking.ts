/** One conversation for every client: which city is warmer? Book it. Three turns of the model, tools in two of them. */
import { it } from "@effect/vitest"
import { Effect } from "effect"
import type { HttpServer } from "effect/http"
import { InstructionChain, MockModel, type MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { served } from "./serve.ts"

export const question = "Book the warmer one"

const oslo = "Oslo, far in the north"

const usage = { input: 40, output: 4, cached: 30, reasoning: 1 }

/** A thought and two calls at once, then a call that depends on them, then an answer. */
const script = MockModel.queue(
  MockResponse.all(
    MockResponse.reasoning("Two cities.", { metadata: { anthropic: { signature: "c2lnbmVk" } } }),
    "Let me look.",
    MockResponse.toolCall("get_weather", { city: "Paris" }),
    MockResponse.toolCall("get_weather", { city: oslo })
  ),
  MockResponse.toolCall("book", { city: "Paris" }, { id: "chosen_by_the_script" }),
  MockResponse.withUsage(MockResponse.all(MockResponse.reasoning("Warm enough."), "Booked Paris."), usage)
)

/** The same as the script, in the conversation. */
export const chain = InstructionChain.make(
  InstructionChain.step([
    InstructionChain.reasoning("Two cities.", { signature: "c2lnbmVk" }),
    InstructionChain.text("Let me look."),
    InstructionChain.toolCalls(
      { name: "get_weather", args: { city: "Paris" } },
      { name: "get_weather", args: { city: oslo } }
    )
  ]),
  InstructionChain.toolCall("book", { city: "Paris" }, { id: "chosen_by_the_script" }),
  InstructionChain.step([InstructionChain.reasoning("Warm enough."), InstructionChain.text("Booked Paris.")], { usage })
)

/** What the client's tools do. */
export const booked = {
  get_weather: (city: string) => ({ city, celsius: city.length }),
  book: (_city: string) => "done"
}

/** The result of a call, as JSON. */
export const resultOf = (name: string, city: string): string =>
  JSON.stringify(name === "book" ? booked.book(city) : booked.get_weather(city))

/** The calls that the conversation comes to, in order. */
export const calls: Array<[name: string, params: { readonly city: string }]> = [
  ["get_weather", { city: "Paris" }],
  ["get_weather", { city: oslo }],
  ["book", { city: "Paris" }]
]

/** The conversation, streamed and at once, as a handler answers and as a chain does. */
export const eachWay = (
  test: (
    content: string,
    isStreamed: boolean
  ) => Effect.Effect<void, never, MockProvider.MockProvider | HttpServer.HttpServer>
): void => {
  const drivers = [
    { what: "a handler", content: question, handler: script },
    { what: "one chain", content: InstructionChain.embed(question, chain), handler: MockModel.queue() }
  ]
  for (const { content, handler, what } of drivers) {
    for (const isStreamed of [false, true]) {
      it.effect(
        `goes through a loop of tools in three steps that ${what} drives, ${isStreamed ? "streamed" : "at once"}`,
        () => test(content, isStreamed).pipe(Effect.provide(served({ handler, strict: true })))
      )
    }
  }
}
