import { defineConfig } from "vitest/config"

export default defineConfig({
  resolve: { conditions: ["@troupe/source", "node", "module", "import", "default"] },
  ssr: { resolve: { conditions: ["@troupe/source", "node", "module", "import", "default"] } },
  test: {
    include: ["test/**/*.test.ts"],
    maxWorkers: 2
  }
})
