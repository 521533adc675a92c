import { assert, describe, it } from "@effect/vitest"
import { counter } from "../../../src/testing/provider/Statuses.ts"

const statusesOf = (attempt: ReturnType<typeof counter>) => (body: string) => attempt(body)?.status

describe("statuses in turn", () => {
  it("are counted for each body apart", () => {
    const status = statusesOf(counter([429, 200, 503], 0))
    assert.deepStrictEqual(["a", "a", "b", "a", "a", "b"].map(status), [
      429,
      undefined,
      429,
      503,
      undefined,
      undefined
    ])
  })

  it("send a status's own header instead of the default one, however its name is written", () => {
    for (const name of ["Retry-After", "retry-after", "RETRY-AFTER"]) {
      const attempt = counter([{ status: 429, headers: { [name]: "5", "X-Request-Id": "r" } }], 7)
      assert.deepStrictEqual(attempt("a")?.headers, { "retry-after": "5", "x-request-id": "r" })
    }
    const attempt = counter([{ status: 429, headers: { "X-Request-Id": "r" } }], 7)
    assert.deepStrictEqual(attempt("a")?.headers, { "retry-after": "7", "x-request-id": "r" })
  })

  it("begin anew for a body that 10,000 others have followed, and not before", () => {
    const status = statusesOf(counter([429], 0))
    const others = (from: number, count: number) => {
      for (let index = from; index < from + count; index++) status(`other ${index}`)
    }
    assert.strictEqual(status("a"), 429)
    others(0, 9999)
    assert.isUndefined(status("a"))
    others(10_000, 9999)
    assert.isUndefined(status("a"))
    others(20_000, 10_000)
    assert.strictEqual(status("a"), 429)
  })
})
