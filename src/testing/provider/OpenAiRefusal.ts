/**
 * What OpenAI refuses of a request's body, in its words.
 *
 * @since 0.1.0
 */
import type { Refusal } from "./Protocol.ts"

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is an object of JSON. */
export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Refuses a request as OpenAI does. */
export const refuse = (message: string, param?: string, code?: string): Refusal => ({
  status: 400,
  type: "invalid_request_error",
  message,
  ...(param === undefined ? undefined : { param }),
  ...(code === undefined ? undefined : { code })
})

/** Refuses a request without a parameter. */
export const missing = (param: string): Refusal =>
  refuse(`Missing required parameter: '${param}'.`, param, "missing_required_parameter")

const kind = (value: unknown): string =>
  value === null
    ? "null"
    : Array.isArray(value)
    ? "an array"
    : typeof value === "number"
    ? Number.isInteger(value) ? "an integer" : "a decimal"
    : typeof value === "object"
    ? "an object"
    : `a ${typeof value}`

/** Refuses a parameter of another type. */
export const mistyped = (param: string, expected: string, value: unknown): Refusal =>
  refuse(
    `Invalid type for '${param}': expected ${expected}, but got ${kind(value)} instead.`,
    param,
    "invalid_type"
  )

const empty = (param: string): Refusal =>
  refuse(
    `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
    param,
    "empty_array"
  )

const listed = (values: ReadonlyArray<string>): string =>
  `${values.slice(0, -1).map((value) => `'${value}'`).join(", ")}${values.length > 2 ? "," : ""} and '${
    values[values.length - 1]
  }'`

/** Refuses a value that isn't one of a few. */
export const unsupported = (param: string, value: unknown, values: ReadonlyArray<string>): Refusal =>
  refuse(`Invalid value: '${String(value)}'. Supported values are: ${listed(values)}.`, param, "invalid_value")

/** The first refusal, if any. */
export const first = <A>(
  values: Iterable<A>,
  check: (value: A, index: number) => Refusal | undefined
): Refusal | undefined => {
  let index = 0
  for (const value of values) {
    const refusal = check(value, index++)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

/** Checks that there is a field and that it is a string. */
export const string = (fields: Fields, name: string, at: string): Refusal | undefined => {
  const param = at === "" ? name : `${at}.${name}`
  if (fields[name] === undefined) return missing(param)
  return typeof fields[name] === "string" ? undefined : mistyped(param, "a string", fields[name])
}

/** A list of objects, each of which is checked. */
export const list = (
  value: unknown,
  param: string,
  check: (element: Fields, at: string) => Refusal | undefined
): Refusal | undefined => {
  if (!Array.isArray(value)) return mistyped(param, "an array of objects", value)
  if (value.length === 0) return empty(param)
  return first(value as ReadonlyArray<unknown>, (element, index) => {
    const at = `${param}[${index}]`
    return isObject(element) ? check(element, at) : mistyped(at, "an object", element)
  })
}
