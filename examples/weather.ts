/**
 * An agent with one tool: the model asks for the weather, reads what the tool found, and answers.
 */
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const GetWeather = Tool.make("get_weather", {
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.Struct({ celsius: Schema.Finite })
})
const Weather = Toolkit.make(GetWeather)

const assistant = Agent.make("assistant", { instructions: "Be brief.", toolkit: Weather })

const program = Agent.run(assistant, "How warm is Paris?").pipe(
  Effect.map(AgentState.text),
  Effect.provide(Weather.toLayer({ get_weather: () => Effect.succeed({ celsius: 22 }) })),
  Effect.provide(MockModel.layer(MockModel.queue(
    MockResponse.toolCall("get_weather", { city: "Paris" }),
    "It is 22 °C in Paris."
  )))
)

console.log(await Effect.runPromise(program))

// Output:
// It is 22 °C in Paris.
