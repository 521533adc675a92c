import { NodeRuntime, NodeStdio } from "@effect/platform-node"
import { Effect, Layer, Schema } from "effect"
import { McpProtocol, McpServer, Tool, Toolkit } from "effect/ai"

const Weather = Toolkit.make(Tool.make("weather", { success: Schema.String }))

const registrations = McpServer.toolkit(Weather).pipe(
  Layer.provide(Weather.toLayer({ weather: () => Effect.succeed("22 °C and no rain") }))
)

McpServer.layerStdio({ name: "weather", version: "1.0.0", protocols: [McpProtocol.v2025_11_25], registrations }).pipe(
  Layer.provide(NodeStdio.layer),
  Layer.launch,
  NodeRuntime.runMain
)
