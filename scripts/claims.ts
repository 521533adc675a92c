/**
 * What a compiled documentation example calls for each of its `// =>` lines.
 */
import { Equal } from "effect"
import { AssertionError } from "node:assert"

const ran = new Map<string, Set<number>>()

/** The lines of `file` whose claims were made so far. */
export const linesRun = (file: string): ReadonlySet<number> => ran.get(file) ?? new Set()

/** Makes the claims of one file: `actual` equals `expected` as `Equal.equals` of Effect sees it. */
export const claims = (file: string) => <A>(line: number, actual: A, expected: unknown): A => {
  if (!ran.has(file)) ran.set(file, new Set())
  ran.get(file)?.add(line)
  if (!Equal.equals(actual, expected)) {
    throw new AssertionError({ message: `${file}:${line} isn't what it claims`, actual, expected, operator: "equals" })
  }
  return actual
}
