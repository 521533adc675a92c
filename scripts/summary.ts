import type { Reporter } from "vitest/node"

/**
 * Closes a test run with one plain line: `N passed, N failed`, and `, N skipped` when some were, after a line for each reason
 * that was given. A file that doesn't load and an error outside of any test count as failures.
 */
export default class Summary implements Reporter {
  onTestRunEnd: Required<Reporter>["onTestRunEnd"] = (modules, unhandledErrors) => {
    const results = modules.map((module) => [...module.children.allTests()].map((test) => test.result()))
    const states = results.flat().map(({ state }) => state)
    const broken = modules.filter((module, i) => !module.ok() && !results[i]?.some(({ state }) => state === "failed"))
    const passed = states.filter((state) => state === "passed").length
    const failed = states.filter((state) => state === "failed").length + broken.length + unhandledErrors.length
    const skipped = states.length - passed - states.filter((state) => state === "failed").length
    const reasons = results.flat().flatMap((result) => result.state === "skipped" ? result.note ?? [] : [])
    for (const reason of new Set(reasons)) {
      console.log(`skipped ${reasons.filter((other) => other === reason).length}: ${reason}`)
    }
    console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`)
  }
}
