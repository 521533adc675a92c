import { Effect, Layer } from "effect"
import { Agent, AgentState } from "troupe"
import { desk, Orders, ToolsLive } from "./desk.ts"
import { Model } from "./model.ts"

const question = process.argv[2] ?? "Where is order 7?"

const program = Agent.run(desk, question).pipe(
  Effect.map(AgentState.text),
  Effect.catchTag("AgentError", (error) => Effect.succeed(`That didn't work: ${error.message}`)),
  Effect.provide([ToolsLive.pipe(Layer.provide(Orders.layer)), Model])
)

console.log(await Effect.runPromise(program))
