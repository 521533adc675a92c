import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"
import { Agent, AgentState } from "troupe"
import { desk, Orders, ToolsLive } from "./desk.ts"
import { Model } from "./model.ts"

const ask = Effect.gen(function*() {
  const question = yield* (yield* HttpServerRequest.HttpServerRequest).text
  const state = yield* Agent.run(desk, question)
  return HttpServerResponse.text(AgentState.text(state))
}).pipe(
  Effect.catchTag(
    "AgentError",
    (error) => Effect.as(Effect.logError(error.message), HttpServerResponse.text("Please try again.", { status: 503 }))
  )
)

const Routes = HttpRouter.add("POST", "/ask", ask).pipe(
  HttpRouter.provideRequest(Layer.mergeAll(ToolsLive.pipe(Layer.provide(Orders.layer)), Model))
)

const port = Number(process.env["PORT"] ?? 3000)
const Server = HttpRouter.serve(Routes).pipe(Layer.provide(NodeHttpServer.layer(createServer, { port })))

NodeRuntime.runMain(Layer.launch(Server))
