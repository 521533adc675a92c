/**
 * What OpenAI refuses of a request's body, in its words.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import type { Step } from "./Cases.ts"
import type { Flaw } from "./Flaw.ts"
import { notStrict } from "./Format.ts"
import type { Fields, Refusal } from "./Protocol.ts"

/** Refuses a request as OpenAI does. */
export const refuse = (message: string, param?: string, code?: string): Refusal => ({
  status: 400,
  type: "invalid_request_error",
  message,
  ...(param === undefined ? undefined : { param }),
  ...(code === undefined ? undefined : { code })
})

/** The body of an error of OpenAI's. */
export const error = ({ code, message, param, type }: Refusal): Fields => ({
  error: { message, type, param: param ?? null, code: code ?? null }
})

/** The headers of any response of OpenAI's. */
export const headers = (id: string): Readonly<Record<string, string>> => ({
  "openai-organization": "org-troupe",
  "openai-processing-ms": "1",
  "openai-version": "2020-10-01",
  "x-request-id": id
})

const kindOf = (value: unknown): string =>
  value === null
    ? "null"
    : Array.isArray(value)
    ? "an array"
    : typeof value === "number"
    ? Number.isInteger(value) ? "an integer" : "a decimal"
    : typeof value === "object"
    ? "an object"
    : `a ${typeof value}`

/** OpenAI's words for the types that a value should have. Other annotations of schemas are in OpenAI's words already. */
const expectations: Readonly<Record<string, string>> = {
  string: "a string",
  integer: "an integer",
  number: "a decimal",
  boolean: "a boolean",
  list: "an array of objects",
  "list of strings": "an array of strings",
  object: "an object",
  dictionary: "an object"
}

const listed = (values: ReadonlyArray<string>): string => {
  const quoted = values.map((value) => `'${value}'`)
  return values.length < 2
    ? quoted.join()
    : `${quoted.slice(0, -1).join(", ")}${values.length > 2 ? "," : ""} and ${quoted.at(-1)}`
}

/** A way into a body, as OpenAI writes it. */
const paramOf = (at: ReadonlyArray<Step>): string =>
  at.reduce<string>(
    (param, step) =>
      typeof step === "object"
        ? param
        : typeof step === "number"
        ? `${param}[${step}]`
        : `${param}${param === "" ? "" : "."}${String(step)}`,
    ""
  )

const unreadable = refuse(
  "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library " +
    "correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
)

/** Refuses a body for its first flaw. */
export const refuseFlaw = (flaw: Flaw): Refusal => {
  if (flaw.at.length === 0) return unreadable
  const param = paramOf(flaw.at)
  switch (flaw._tag) {
    case "Missing":
      return refuse(`Missing required parameter: '${param}'.`, param, "missing_required_parameter")
    case "Mistyped": {
      const expected = expectations[flaw.expected] ?? flaw.expected
      return refuse(
        `Invalid type for '${param}': expected ${expected}, but got ${kindOf(flaw.value)} instead.`,
        param,
        "invalid_type"
      )
    }
    case "Unsupported":
      return refuse(
        `Invalid value: '${flaw.value}'. Supported values are: ${listed(flaw.values)}.`,
        param,
        "invalid_value"
      )
    case "Empty":
      return refuse(
        `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
        param,
        "empty_array"
      )
    case "Unknown":
      return refuse(`Unknown parameter: '${param}'.`, param, "unknown_parameter")
    case "Unfit":
      return refuse(`Invalid '${param}': ${flaw.message}`, param, flaw.title ?? "invalid_value")
  }
}

/** A JSON schema. If `strict` is set, answers must keep it strictly. */
interface Strict {
  readonly name: string
  readonly schema?: Schema.JsonObject | null | undefined
  readonly strict?: boolean | null | undefined
}

/** Refuses a schema that must be kept strictly and can't be. */
export const checkStrict = (
  what: "function" | "response_format",
  { name, schema, strict }: Strict,
  param: string,
  code?: string
): Refusal | undefined => {
  const problem = strict === true && schema ? notStrict(schema) : undefined
  return problem === undefined ? undefined : refuse(`Invalid schema for ${what} '${name}': ${problem}`, param, code)
}

/** Refuses a function whose parameters must be kept strictly and can't be. */
export const checkFunction = (
  { parameters: schema, ...named }: Omit<Strict, "schema"> & { readonly parameters?: Strict["schema"] },
  at: string
): Refusal | undefined =>
  checkStrict("function", { ...named, schema }, `${at}.parameters`, "invalid_function_parameters")

/** Refuses `stream_options` in a request that isn't streamed. */
export const checkStream = (
  { stream, stream_options: options }: { readonly stream?: boolean | null; readonly stream_options?: object | null }
): Refusal | undefined =>
  options !== undefined && options !== null && stream !== true
    ? refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    : undefined
