import { join } from "node:path"
import { defineConfig } from "vitest/config"

export default defineConfig({
  ssr: { resolve: { conditions: ["@troupe/source", "node", "import", "default"] } },
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    maxWorkers: 2,
    pool: "threads",
    isolate: false,
    reporters: ["default", "./scripts/summary.ts"],
    silent: "passed-only",
    // No test judges how fast a machine is. On a slow one, eight examples that start together took more than 30 seconds.
    testTimeout: 120_000,
    // Many tests start programs, each of which would compile the same modules again.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules", ".cache", "compile") },
    typecheck: {
      enabled: true,
      ignoreSourceErrors: true,
      include: ["test/types/**/*.test-d.ts"],
      tsconfig: "test/types/tsconfig.json"
    }
  }
})
