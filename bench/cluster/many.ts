/** Many conversations at once that await an approval each, on two runners: how long until all are answered, and how many are stuck. */
import { Effect } from "effect"
import { Desk } from "../../test/cluster/processes/clients.ts"
import { figure, quantile } from "./figure.ts"
import { cluster } from "./runners.ts"

/** Measures conversations that await approvals. */
export const measureMany = (url: string, counts: ReadonlyArray<number>) =>
  Effect.gen(function*() {
    const { client } = yield* cluster(url, 2)
    const chats = yield* Effect.provideContext(Desk.client, client)
    for (const count of counts) {
      const took: Array<number> = []
      const from = performance.now()
      const converse = (id: string) =>
        Effect.gen(function*() {
          const chat = chats(id)
          const waiting = yield* chat.say("Refund", { key: "m1" })
          const [call] = waiting.pending
          if (call === undefined) return
          const { status } = yield* chat.approve(call.callId)
          if (status === "Complete") took.push(performance.now() - from)
        })
      const ids = Array.from({ length: count }, (_, n) => `many-${count}-${n}`)
      yield* Effect.forEach(ids, converse, { concurrency: "unbounded", discard: true }).pipe(
        Effect.timeoutOption("120 seconds")
      )
      yield* figure(`${count} approvals at once on two runners: all answered after, s`, Math.max(...took) / 1000)
      yield* figure(`${count} approvals at once: median, s`, quantile(took, 0.5) / 1000)
      yield* figure(`${count} approvals at once: stuck`, count - took.length, "0")
    }
  }).pipe(Effect.scoped)
