/**
 * Who asks: every request but the health checks has the bearer token of a tenant.
 */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { TooManyRequests, Unauthorized } from "./Problems.ts"

/** The tenant that a request comes from. */
export class Tenant extends Context.Service<Tenant, { readonly name: string }>()("backend/Tenant") {}

/** Finds the tenant of a token, and counts the request against the tenant's rate. */
export class Authentication extends HttpApiMiddleware.Service<Authentication, { provides: Tenant }>()(
  "backend/Authentication",
  {
    requiredForClient: true,
    security: { bearer: HttpApiSecurity.bearer },
    error: [Unauthorized, TooManyRequests]
  }
) {}
