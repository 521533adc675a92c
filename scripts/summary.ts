import type { Reporter } from "vitest/node"

/**
 * Closes a test run with one plain line: `N passed, N failed`, and `, N skipped` when some were. A file that doesn't load
 * and an error outside of any test count as failures.
 */
export default class Summary implements Reporter {
  onTestRunEnd: Required<Reporter>["onTestRunEnd"] = (modules, unhandledErrors) => {
    const tests = modules.map((module) => [...module.children.allTests()].map((test) => test.result().state))
    const states = tests.flat()
    const broken = modules.filter((module, i) => !module.ok() && !tests[i]?.includes("failed"))
    const passed = states.filter((state) => state === "passed").length
    const failed = states.filter((state) => state === "failed").length + broken.length + unhandledErrors.length
    const skipped = states.length - passed - states.filter((state) => state === "failed").length
    console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`)
  }
}
