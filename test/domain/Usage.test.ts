import { assert, describe, it } from "@effect/vitest"
import { Usage } from "troupe"
import { deepFreeze } from "./legal.ts"

const Request = Usage.RequestUsage

describe("Usage", () => {
  it.prop("is the same in any grouping", [Usage.Usage, Usage.Usage, Usage.Usage], ([a, b, c]) => {
    assert.deepStrictEqual(
      Usage.combine(Usage.combine(a, b), c),
      Usage.combine(a, Usage.combine(b, c))
    )
  })

  it.prop("is the same in any order", [Usage.Usage, Usage.Usage], ([a, b]) => {
    assert.deepStrictEqual(Usage.combine(a, b), Usage.combine(b, a))
  })

  it.prop("isn't changed by that of no request", [Usage.Usage], ([usage]) => {
    assert.deepStrictEqual(Usage.combine(usage, Usage.empty), usage)
    assert.deepStrictEqual(Usage.combine(Usage.empty, usage), usage)
  })

  it.prop("takes in a request as it takes in the sum of that request", [Usage.Usage, Request], ([usage, request]) => {
    assert.deepStrictEqual(
      Usage.add(deepFreeze(usage), deepFreeze(request)),
      Usage.combine(usage, Usage.add(Usage.empty, request))
    )
  })

  it("stays a number that can be counted, however much was reported", () => {
    const most = Number.MAX_SAFE_INTEGER
    const twice = Usage.add(Usage.add(Usage.empty, { input: most }), { input: most })
    assert.deepStrictEqual(twice.input, { known: most, unreported: 0 })
    assert.deepStrictEqual(Usage.combine(twice, twice).input, { known: most, unreported: 0 })
  })

  it("tells what no provider reported from zero", () => {
    const silent = Usage.add(Usage.empty, { output: 0 })
    assert.deepStrictEqual(silent, {
      requests: 1,
      input: { known: 0, unreported: 1 },
      output: { known: 0, unreported: 0 },
      reasoning: { known: 0, unreported: 1 },
      cached: { known: 0, unreported: 1 }
    })
    assert.strictEqual(Usage.exact(silent.input), undefined)
    assert.strictEqual(Usage.exact(silent.output), 0)
  })

  it("is exact while every request reported, and a lower bound from then on", () => {
    const reported = Usage.add(Usage.add(Usage.empty, { input: 3, output: 4 }), { input: 5, output: 6 })
    assert.strictEqual(Usage.exact(reported.input), 8)
    assert.strictEqual(Usage.knownTotal(reported), 18)
    const partly = Usage.add(reported, { output: 1 })
    assert.strictEqual(Usage.exact(partly.input), undefined)
    assert.strictEqual(Usage.exact(partly.output), 11)
    assert.strictEqual(Usage.knownTotal(partly), 19)
  })
})
