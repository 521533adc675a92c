/** What conversations take of a runner's memory while they are awake, and what stays of them when they sleep. */
import { Effect } from "effect"
import { Conversation } from "../../src/cluster/index.ts"
import { Agent } from "../../src/index.ts"
import { figure } from "./figure.ts"
import { cluster } from "./runners.ts"

const Talker = Conversation.make("Talker", Agent.make("talker"))
const count = 2000

/** Measures memory. */
export const measureMemory = (url: string) =>
  Effect.gen(function*() {
    const { client, runners } = yield* cluster(url, 1, { maxIdleTime: 20_000 })
    const chats = yield* Effect.provideContext(Talker.client, client)
    const [runner] = runners
    const say = (name: string, many: number) =>
      Effect.forEach(Array.from({ length: many }, (_, n) => `${name}-${n}`), (id) => chats(id).say("Hello"), {
        concurrency: 50,
        discard: true
      })
    yield* say("warm", 200)
    yield* Effect.sleep("35 seconds")
    const before = yield* runner!.memory
    yield* say("memory", count)
    const awake = yield* runner!.memory
    yield* Effect.sleep("45 seconds")
    const asleep = yield* runner!.memory
    yield* figure("memory of a runner without conversations, heap, MB", before.heap / 2 ** 20)
    yield* figure("memory of a conversation awake, heap, KB", (awake.heap - before.heap) / count / 1024)
    yield* figure("memory of a conversation asleep, heap, KB", (asleep.heap - before.heap) / count / 1024, "≤ 1")
  }).pipe(Effect.scoped)
