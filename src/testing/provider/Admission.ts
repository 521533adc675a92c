/**
 * What providers want to see in the headers of a request before they look at its body.
 *
 * @since 0.1.0
 */
import type { Protocol, Refusal } from "./Protocol.ts"
import * as Refusals from "./Refusals.ts"

type Headers = Readonly<Record<string, string>>

const unkeyed = "You didn't provide an API key. You need to provide your API key in an Authorization header using " +
  "Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're " +
  "accessing the API from your browser and are prompted for a username and password. You can obtain an API key from " +
  "https://platform.openai.com/account/api-keys."

/** A key as OpenAI's error shows it: only the ends of a long key, and all of a short one. */
const masked = (key: string): string =>
  key.length <= 12 ? key : `${key.slice(0, 8)}${"*".repeat(key.length - 12)}${key.slice(-4)}`

const bearer = ({ authorization = "" }: Headers): string | undefined => /^Bearer\s+(\S+)$/i.exec(authorization)?.[1]

const checkOpenAi = (headers: Headers, apiKey: string): Refusal | undefined => {
  const key = bearer(headers)
  if (key === apiKey) return undefined
  return key === undefined
    ? { status: 401, type: "invalid_request_error", message: unkeyed }
    : Refusals.ofStatus(
      "openai-chat",
      401,
      `Incorrect API key provided: ${masked(key)}. You can find your API key at ` +
        "https://platform.openai.com/account/api-keys."
    )
}

const checkAnthropic = (headers: Headers, apiKey: string): Refusal | undefined => {
  const key = headers["x-api-key"] ?? bearer(headers)
  if (key === apiKey) return undefined
  return Refusals.ofStatus(
    "anthropic-messages",
    401,
    key === undefined ? "x-api-key header is required" : undefined
  )
}

/** A version is a date. Any date is accepted, since the newest client may send one that isn't known here. */
const checkVersion = ({ "anthropic-version": version }: Headers): Refusal | undefined =>
  version !== undefined && /^\d{4}-\d\d-\d\d$/.test(version) ? undefined : Refusals.ofStatus(
    "anthropic-messages",
    400,
    version === undefined
      ? "anthropic-version: header is required"
      : `anthropic-version: "${version}" is not a valid version`
  )

/** Why a provider refuses a request for its headers, if it does. If no `apiKey` is set, it accepts any key, and none. */
export const check = (
  protocol: Protocol["name"],
  headers: Headers,
  apiKey: string | undefined
): Refusal | undefined => {
  if (protocol !== "anthropic-messages") return apiKey === undefined ? undefined : checkOpenAi(headers, apiKey)
  return (apiKey === undefined ? undefined : checkAnthropic(headers, apiKey)) ?? checkVersion(headers)
}
