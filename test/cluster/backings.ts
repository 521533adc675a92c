/** Stores of conversations that tests run on: memory and SQLite always, Postgres where there is one. */
import { beforeEach, describe } from "@effect/vitest"
import { Layer } from "effect"
import { ConversationStore } from "troupe/cluster"
import { postgres, sqlite } from "./databases.ts"

const server = process.env["TEST_DATABASE_URL"]
const isNeeded = process.env["CI"] !== undefined && process.env["CI"] !== ""
const missing = "There is no Postgres in TEST_DATABASE_URL: npm run postgres -- npm test"

export interface Backing {
  readonly describe: (tests: () => void) => void
  readonly layer: Layer.Layer<ConversationStore.ConversationStore, unknown>
}

/** Describes tests that need Postgres: where it has to be there, one that finds none fails. */
export const describePostgres = (name: string, tests: () => void) =>
  describe(name, () => {
    if (server === undefined && !isNeeded) beforeEach(({ skip }) => skip(missing))
    tests()
  })

export const backings: ReadonlyArray<Backing> = [
  { describe: (tests) => describe("in memory", tests), layer: ConversationStore.layerMemory },
  { describe: (tests) => describe("in SQLite", tests), layer: Layer.provide(ConversationStore.layerSql(), sqlite) },
  {
    describe: (tests) => describePostgres("in Postgres", tests),
    layer: Layer.provide(ConversationStore.layerSql(), Layer.suspend(() => postgres(server!)))
  }
]
