/**
 * Where a request goes: to a model, or to another endpoint of the provider, which lists the models or counts the tokens of a request.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Chat from "./Chat.ts"
import * as Messages from "./Messages.ts"
import { fromRequest } from "./MessagesAsked.ts"
import { read } from "./MessagesRefusal.ts"
import type { Protocol, Refusal } from "./Protocol.ts"
import * as Refusals from "./Refusals.ts"
import * as Responses from "./Responses.ts"
import { inputOf } from "./Tokens.ts"

/** What answers a body, or refuses it, without a model. */
interface Endpoint {
  readonly name: string
  readonly method: "GET" | "POST"
  readonly answer: (body: unknown, takesUnknown: boolean) => Result.Result<Schema.Json, Refusal>
}

/** Counts the tokens of a request, which needn't have `max_tokens`. */
const counting: Endpoint = {
  name: "count of tokens",
  method: "POST",
  answer: (body, takesUnknown) =>
    Result.map(
      read(Predicate.isObject(body) ? { max_tokens: Number.MAX_SAFE_INTEGER, ...body } : body, takesUnknown),
      (request) => ({ input_tokens: inputOf(fromRequest(request)) })
    )
}

const openAiModel = (id: string): Schema.Json => ({ id, object: "model", created: 1_767_225_600, owned_by: "troupe" })

const anthropicModel = (id: string): Schema.Json => ({
  type: "model",
  id,
  display_name: id,
  created_at: "2026-01-01T00:00:00Z",
  capabilities: null,
  deprecated_at: null,
  lifecycle: "active",
  line: null,
  max_input_tokens: null,
  max_tokens: null,
  retires_at: null
})

const listing = (names: ReadonlyArray<string>, isAnthropic: boolean): Schema.Json =>
  isAnthropic
    ? { data: names.map(anthropicModel), has_more: false, first_id: names[0] ?? null, last_id: names.at(-1) ?? null }
    : { object: "list", data: names.map(openAiModel) }

/** The list of models if any name is accepted. */
const anyModel = ["mock-model"]

const listed = (protocol: Protocol, name: string | undefined, models: ReadonlyArray<string> | undefined): Endpoint => {
  const isAnthropic = protocol.name === "anthropic-messages"
  const answer = (): Result.Result<Schema.Json, Refusal> => {
    if (name === undefined) return Result.succeed(listing(models ?? anyModel, isAnthropic))
    return models?.includes(name) === false
      ? Result.fail(Refusals.unknownModel(protocol.name, name))
      : Result.succeed(isAnthropic ? anthropicModel(name) : openAiModel(name))
  }
  return { name: "list of models", method: "GET", answer }
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Where a request goes. */
export type Route =
  | { readonly _tag: "Model"; readonly protocol: Protocol }
  | { readonly _tag: "Endpoint"; readonly protocol: Protocol; readonly endpoint: Endpoint }
  | { readonly _tag: "Nowhere"; readonly protocol: Protocol }

const protocols: ReadonlyArray<Protocol> = [Chat.protocol, Responses.protocol, Messages.protocol]

/** Finds where a request goes. If several providers have the path, the headers decide. */
export const routeOf = (
  path: string,
  headers: Readonly<Record<string, string>>,
  models: ReadonlyArray<string> | undefined
): Route => {
  const spoken = protocols.find((protocol) => path.endsWith(protocol.path))
  if (spoken !== undefined) return { _tag: "Model", protocol: spoken }
  if (path.endsWith(`${Messages.protocol.path}/count_tokens`)) {
    return { _tag: "Endpoint", protocol: Messages.protocol, endpoint: counting }
  }
  const protocol = "anthropic-version" in headers ? Messages.protocol : Chat.protocol
  const [found, name] = /\/v1\/models(?:\/(.+))?$/.exec(path) ?? []
  return found === undefined
    ? { _tag: "Nowhere", protocol }
    : { _tag: "Endpoint", protocol, endpoint: listed(protocol, name && decoded(name), models) }
}
