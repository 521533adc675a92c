/**
 * What only one role may do. Other callers are refused, whatever they sent.
 */
import { Effect, Layer } from "effect"
import { type Headers, HttpServerRequest } from "effect/http"
import { Caller, ColleaguesOnly, CustomersOnly, type Role } from "../api/Authentication.ts"
import { BodyTooLarge, Forbidden, MalformedText, UnsupportedEncoding } from "../api/Problems.ts"
import { Settings } from "../config.ts"

/** Why something is another role's to do. */
const refusals: { readonly [Of in Role]: string } = {
  customer: "Only a customer may do that: a colleague reads conversations, and decides what awaits approval",
  colleague: "Only a colleague may do that: a customer waits for the decision"
}

/** Why a body can't be read, by what is said of it. */
const encodingIssue = (headers: Headers.Headers): string | undefined => {
  const packing = headers["content-encoding"]?.trim().toLowerCase() ?? ""
  if (packing !== "" && packing !== "identity") return "A body is sent as it is, without a content-encoding"
  const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(headers["content-type"] ?? "")?.[1]?.toLowerCase()
  return charset === undefined || ["utf-8", "utf8", "us-ascii"].includes(charset)
    ? undefined
    : "A body is written in UTF-8"
}

const decoder = new TextDecoder("utf-8", { fatal: true })

/** Whether bytes are valid UTF-8. Reading a body as text would replace invalid bytes without saying so. */
const isText = (bytes: ArrayBuffer): boolean => {
  try {
    decoder.decode(bytes)
    return true
  } catch {
    return false
  }
}

/** Lets a role through, if the body isn't too large by its own account and can be read. */
const only = (role: Role) =>
  Effect.map(
    Settings,
    ({ limits: { bodySize } }) => <A, E, R>(handler: Effect.Effect<A, E, R>) =>
      Effect.gen(function*() {
        if ((yield* Caller).role !== role) return yield* new Forbidden({ detail: refusals[role], role })
        const request = yield* HttpServerRequest.HttpServerRequest
        const { headers } = request
        if (Number(headers["content-length"] ?? 0) > bodySize) return yield* BodyTooLarge.of(bodySize)
        const issue = encodingIssue(headers)
        if (issue !== undefined) return yield* new UnsupportedEncoding({ detail: issue })
        if (headers["content-type"] !== undefined && !isText(yield* Effect.orDie(request.arrayBuffer))) {
          return yield* new MalformedText({ detail: "A body is written in UTF-8" })
        }
        return yield* handler
      })
  )

export const layer = Layer.merge(
  Layer.effect(CustomersOnly, only("customer")),
  Layer.effect(ColleaguesOnly, only("colleague"))
)
