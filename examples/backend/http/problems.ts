/**
 * Whatever goes wrong is told as a problem document of RFC 9457, and nothing of the service's inside with it.
 */
import { ByteSize, Cause, Effect } from "effect"
import {
  HttpIncomingMessage,
  HttpRouter,
  HttpServerError,
  HttpServerRequest,
  HttpServerRespondable,
  HttpServerResponse,
  ProblemDetails
} from "effect/http"
import { Api } from "../api/Api.ts"
import { BodyTooLarge } from "../api/Problems.ts"
import { Settings } from "../config.ts"

const titles: Record<number, string> = {
  400: "The request can't be understood",
  404: "There is nothing at that address",
  405: "That can't be done with what is at that address",
  406: "There is no such form of it",
  408: "The request took too long",
  413: "The body is too large",
  415: "A body of that type isn't understood",
  431: "The headers are too large",
  500: "The service broke down",
  503: "The service can't do that now"
}

/** The document of a status as text. */
export const documentOf = (status: number, members?: { readonly detail?: string }) => ({
  body: JSON.stringify({
    type: ProblemDetails.blankType,
    status,
    title: titles[status] ?? "The request failed",
    ...members
  }),
  contentType: ProblemDetails.contentType
})

const problem = (status: number, members?: { readonly detail?: string }, headers?: Record<string, string>) => {
  const { body, contentType } = documentOf(status, members)
  return HttpServerResponse.text(body, { status, contentType, headers: headers ?? {} })
}

/** The paths of the API as patterns, with the methods that each one takes. */
const routes = Object.values(Api.groups).flatMap((group) =>
  Object.values(group.endpoints).map(({ method, path }) => ({
    method: method as string,
    pattern: new RegExp(`^${path.replaceAll(/:[A-Za-z]+/g, "[^/]+")}/?$`)
  }))
)

const pathOf = (url: string): string => url.split(/[?#]/, 1)[0]!

/** Which methods would have found something. */
const allowed = (url: string): ReadonlyArray<string> => {
  const path = pathOf(url)
  return [...new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))]
}

const isProblem = (response: HttpServerResponse.HttpServerResponse): boolean =>
  response.headers["content-type"]?.startsWith(ProblemDetails.contentType) === true

const notFound = ({ method, url }: HttpServerRequest.HttpServerRequest) => {
  const methods = allowed(url)
  return methods.length === 0 || methods.includes(method)
    ? problem(404)
    : problem(405, { detail: `${method} isn't possible, but ${methods.join(", ")} is` }, { allow: methods.join(", ") })
}

const isTooLarge = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RequestParseError" &&
  error.reason.reason === "BodyTooLarge"

/** What goes with every response: it is for whoever asked, for now, and of the type that it says. */
export const common = { "cache-control": "no-store", "x-content-type-options": "nosniff" }

/** The policy of pages that set no other one: they load nothing from elsewhere, and their scripts connect to this service alone. */
const policy = {
  "content-security-policy":
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'"
}

const withCommon = (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setHeaders(response, {
    ...common,
    ...(response.headers["content-type"]?.startsWith("text/html") === true ? policy : undefined),
    ...response.headers
  })

/** Takes in requests up to the limit of bodies, and makes a problem document of each failure. */
export const layer = HttpRouter.middleware(
  Effect.gen(function*() {
    const limit = (yield* Settings).limits.bodySize
    const tooLarge = HttpServerRespondable.toResponse(BodyTooLarge.of(limit))
    return (handler) =>
      Effect.gen(function*() {
        const request = yield* HttpServerRequest.HttpServerRequest
        // The router would read over a slash. What stands before the service may have rules for paths as they are written.
        if (pathOf(request.url).includes("//")) return notFound(request)
        const response = yield* handler.pipe(
          Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit)),
          Effect.catchCause((cause) => {
            const error = Cause.squash(cause)
            if (isTooLarge(error)) return tooLarge
            if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
            if (HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound") {
              return Effect.succeed(notFound(request))
            }
            return Effect.flatMap(HttpServerError.causeResponse(cause), ([{ status }]) =>
              status >= 500
                ? Effect.as(
                  Effect.annotateLogs(Effect.logError("A request broke down", cause), {
                    method: request.method,
                    path: pathOf(request.url)
                  }),
                  problem(500)
                )
                : Effect.succeed(problem(status)))
          })
        )
        return response.status < 400 || isProblem(response) ? response : problem(response.status)
      }).pipe(Effect.map(withCommon))
  }),
  { global: true }
)
