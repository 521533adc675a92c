/**
 * What one role alone may do: who may not hears so whatever they sent.
 */
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { Caller, ColleaguesOnly, CustomersOnly, type Role } from "../api/Authentication.ts"
import { BodyTooLarge, Forbidden } from "../api/Problems.ts"
import { Settings } from "../config.ts"

/** Why something is another role's to do. */
const refusals: { readonly [Of in Role]: string } = {
  customer: "Only a customer may do that: a colleague reads conversations, and decides what awaits approval",
  colleague: "Only a colleague may do that: a customer waits for the decision"
}

/** Lets a role through, if the body isn't too large by its own account. */
const only = (role: Role) =>
  Effect.map(
    Settings,
    ({ limits: { bodySize } }) => <A, E, R>(handler: Effect.Effect<A, E, R>) =>
      Effect.gen(function*() {
        if ((yield* Caller).role !== role) return yield* new Forbidden({ detail: refusals[role], role })
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        if (Number(headers["content-length"] ?? 0) > bodySize) return yield* BodyTooLarge.of(bodySize)
        return yield* handler
      })
  )

export const layer = Layer.merge(
  Layer.effect(CustomersOnly, only("customer")),
  Layer.effect(ColleaguesOnly, only("colleague"))
)
