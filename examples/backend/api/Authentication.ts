/**
 * Who asks: every request but the health checks has a bearer token, which stands for a tenant and a role.
 *
 * A tenant's conversations are those of all its customers and colleagues. A customer talks and never decides; a colleague looks
 * on and decides, and says nothing in a customer's name.
 */
import { Context, Schema } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import {
  BodyTooLarge,
  Forbidden,
  MalformedText,
  TooManyRequests,
  Unauthorized,
  UnsupportedEncoding
} from "./Problems.ts"

export const Role = Schema.Literals(["customer", "colleague"])
export type Role = typeof Role.Type

/** Whoever a request comes from. */
export class Caller extends Context.Service<Caller, { readonly tenant: string; readonly role: Role }>()(
  "backend/Caller"
) {}

/** Finds whoever a token stands for, and counts the request against the rate of that tenant and role. */
export class Authentication extends HttpApiMiddleware.Service<Authentication, { provides: Caller }>()(
  "backend/Authentication",
  {
    requiredForClient: true,
    security: { bearer: HttpApiSecurity.bearer },
    error: [Unauthorized, TooManyRequests]
  }
) {}

const refusals = [Forbidden, BodyTooLarge, UnsupportedEncoding, MalformedText] as const

/** Lets customers through, before anybody reads what they sent. */
export class CustomersOnly extends HttpApiMiddleware.Service<CustomersOnly, { requires: Caller }>()(
  "backend/CustomersOnly",
  { error: refusals }
) {}

/** Lets colleagues through, before anybody reads what they sent. */
export class ColleaguesOnly extends HttpApiMiddleware.Service<ColleaguesOnly, { requires: Caller }>()(
  "backend/ColleaguesOnly",
  { error: refusals }
) {}
