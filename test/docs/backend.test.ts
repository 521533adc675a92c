/** Tables of the backend's page are those of its code: routes, roles, statuses and variables. */
import { assert, describe, it } from "@effect/vitest"
import { HttpApi, OpenApi } from "effect/http-api"
import { globSync } from "node:fs"
import { Api } from "../../examples/backend/api/Api.ts"
import { ColleaguesOnly, CustomersOnly } from "../../examples/backend/api/Authentication.ts"
import { help } from "../../examples/desk/model/configured.ts"
import { root } from "../../scripts/examples.ts"
import { assertNames, codes, inCode, named, read, rows } from "./tables.ts"

const page = "docs/backend-service.md"

interface Endpoint {
  readonly route: string
  readonly role: "customer" | "colleague" | "both"
}

/** The statuses with which requests are refused, by the API. A 500 is no refusal but a defect. */
const refusals = new Set<number>()

/** Those of the HTTP server: a field that doesn't fit, a method, and a request that doesn't arrive. */
const ofServer = [400, 405, 408]

const endpoints: ReadonlyArray<Endpoint> = (() => {
  const found: Array<Endpoint> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, errors, middleware }) => {
      for (const status of errors.keys()) if (status < 500 || status === 503) refusals.add(status)
      const keys = [...middleware].map(({ key }) => key)
      found.push({
        route: `${endpoint.method} ${endpoint.path.replace(/(?<=.)\/$/, "")}`,
        role: keys.includes(CustomersOnly.key) ? "customer" : keys.includes(ColleaguesOnly.key) ? "colleague" : "both"
      })
    }
  })
  return found
})()

describe(page, () => {
  it("has every route", () => {
    assertNames(
      [inCode(rows(page, "request", "what it does"), 0, (code) => code)],
      endpoints.map(({ route }) => route)
    )
    const documented = Object.entries(OpenApi.fromApi(Api).paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) =>
        `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1").replace(/(?<=.)\/$/, "")}`
      )
    )
    assert.deepStrictEqual(documented.sort(), endpoints.map(({ route }) => route).sort())
  })

  it("names what the role of a token decides", () => {
    const of = (role: Endpoint["role"]) => endpoints.filter((each) => each.role === role).map(({ route }) => route)
    const listed = rows(page, "request", "customer", "colleague")
    const withAnswer = (customer: string, colleague: string) =>
      listed.filter((row) => row[1] === customer && row[2] === colleague).map(([request]) => request!)
    // What the words of these rows stand for.
    assert.deepStrictEqual(
      withAnswer("yes", "403"),
      ["open and delete a conversation, send a message, resume, cancel"],
      listed.where
    )
    assert.sameMembers([...of("customer")], [
      "POST /v1/conversations",
      "DELETE /v1/conversations/:id",
      "POST /v1/conversations/:id/messages",
      "POST /v1/conversations/:id/resume",
      "POST /v1/conversations/:id/cancel"
    ])
    const paths = withAnswer("403", "yes").flatMap(codes).flatMap((code) =>
      code.startsWith("/")
        ? [`GET ${code}`]
        : [code.replace("…", "/v1/conversations/:id")]
    )
    assert.deepStrictEqual(paths.sort(), [...of("colleague")].sort(), listed.where)
    assert.lengthOf(listed, 4, listed.where)
  })

  it("has every status with which a request is refused", () => {
    const found = rows(page, "status")
    const listed = found.flatMap(({ 0: status, where }) => status!.split(", ").map((name) => ({ name, where })))
    assertNames([Object.assign(listed, { where: found.where })], [...refusals, ...ofServer].map(String))
  })

  it("has every variable that the service reads", () => {
    const texts = globSync("examples/{backend,desk}/**/*.ts", { cwd: root }).map(read)
    const settings = texts.flatMap((text) =>
      Array.from(text.matchAll(/\b(?:setting|text|time|timeOr|wholeNumber)\(\s*"([A-Z_]+)"/g), ([, name]) => name!)
    )
    const models = Array.from(help.matchAll(/\b[A-Z]+(?:_[A-Z]+)+\b/g), ([name]) => name)
    assert.isAbove(settings.length, 10)
    assert.isAbove(models.length, 5)
    // Other variables of OpenTelemetry are on a page of their own.
    const own = settings.filter((name) => !name.startsWith("OTEL_"))
    const others = ["TOKENS", "COLLEAGUE_TOKENS", "OTEL_EXPORTER_OTLP_ENDPOINT"]
    assertNames([named(page, "variable")], [...own, ...models, ...others])
  })
})
