/**
 * Everything that is served: the API, its description, and its page.
 */
import { Layer } from "effect"
import { HttpApiBuilder, HttpApiMiddleware, HttpApiSwagger } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as Page from "../page/Page.ts"
import * as Authentication from "./authentication.ts"
import * as Handlers from "./handlers.ts"
import * as Problems from "./problems.ts"
import * as Roles from "./roles.ts"

const api = HttpApiBuilder.layer(Api, { openapiPath: "/openapi.json" }).pipe(
  Layer.provide(Handlers.layer),
  Layer.provide([Authentication.layer, Roles.layer, HttpApiMiddleware.layerProblemDetails({ includeDetails: true })])
)

/** The description of the API as a page, with all that it needs in it. */
const docs = HttpApiSwagger.layer(Api, { path: "/docs" })

export const layer = Layer.mergeAll(api, docs, Page.layer, Problems.layer)
