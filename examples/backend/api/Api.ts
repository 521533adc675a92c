/**
 * The service's API: conversations with the desk, and whether the service is well.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, OpenApi } from "effect/http-api"
import { Approvals } from "./Approvals.ts"
import { Conversations } from "./Conversations.ts"
import { Unavailable } from "./Problems.ts"

/** What a load balancer asks: whether the process lives, and whether it can take requests. */
class Health extends HttpApiGroup.make("health", { topLevel: true }).add(
  HttpApiEndpoint.get("health", "/health", { success: Schema.Struct({ status: Schema.Literal("ok") }) }),
  HttpApiEndpoint.get("ready", "/ready", {
    success: Schema.Struct({ status: Schema.Literal("ready") }),
    error: Unavailable
  })
) {}

export class Api extends HttpApi.make("backend")
  .add(Conversations)
  .add(Approvals)
  .add(Health)
  .middleware(HttpApiMiddleware.ProblemDetails)
  .annotateMerge(OpenApi.annotations({
    title: "Halden's support desk",
    version: "1.0.0",
    description: "Conversations with a support desk of agents: kept, streamed, approved and resumed."
  }))
{}
