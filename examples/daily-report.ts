/**
 * An agent on a schedule: each morning at seven a cron of the cluster begins a conversation, in which the agent writes the report of the day
 * before. The key of the message is the day, so each day has one report, whichever runner dies.
 *
 * Here the cluster is one process and lives in memory, and the clock is a test's, so that a day passes at once. On several machines,
 * `Reports` stays as it is: docs/cluster.md has the layers below it.
 */
import { Cron, DateTime, Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { ClusterCron, TestRunner } from "effect/cluster"
import { TestClock } from "effect/testing"
import { Agent, ToolPolicy } from "troupe"
import { Conversation, ConversationStore } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"

const Orders = Tool.make("orders_of", {
  description: "How many orders came in on a day",
  parameters: Schema.Struct({ day: Schema.String }),
  success: Schema.Int
})
// To look something up twice does no harm: after a death it is looked up again.
const Shop = Toolkit.make(ToolPolicy.set(Orders, { idempotent: true }))

const reporter = Agent.make("reporter", { instructions: "Write one line on the orders of the day.", toolkit: Shop })
const Report = Conversation.make("Report", reporter)

const dayOf = (time: DateTime.Utc): string => DateTime.formatIsoDateUtc(time)

const EachMorning = ClusterCron.make({
  name: "report",
  cron: Cron.parseUnsafe("0 7 * * *", "UTC"),
  execute: Effect.gen(function*() {
    const day = dayOf(DateTime.subtract(yield* ClusterCron.CurrentScheduledTime, { days: 1 }))
    const report = (yield* Report.client)(day)
    yield* report.post(`Report on ${day}`, { key: day })
  })
})

const Reports = Layer.merge(Report.layer, EachMorning)

// A model without a key: it looks the orders up, and says how many there were.
const model = MockModel.make(({ lastToolResults: [orders], lastUserText }) => {
  const day = lastUserText.slice("Report on ".length)
  return orders === undefined
    ? MockResponse.toolCall("orders_of", { day })
    : `${day}: ${String(orders.result)} orders.`
})

const twoMornings = Effect.gen(function*() {
  yield* TestClock.adjust("26 hours")
  const client = yield* Report.client
  for (const day of ["2026-01-01", "2026-01-02", "2026-01-03"]) {
    const { conversation, status } = yield* client(day).state
    const last = conversation.turns.at(-1)
    const text = last?._tag === "Assistant" ? last.parts.flatMap((part) => part._tag === "Text" ? [part.text] : []) : []
    console.log(text.length > 0 ? `${text.join("")} (${status._tag})` : `${day}: no report yet`)
  }
}).pipe(
  Effect.provide(Reports.pipe(
    Layer.provide(Shop.toLayer({ orders_of: ({ day }) => Effect.succeed(Number(day.slice(-2)) * 10) })),
    Layer.provide(MockModel.layer(model)),
    Layer.provide(ConversationStore.layerMemory),
    Layer.provideMerge(TestRunner.layer)
  ))
)

const program = TestClock.setTime(Date.UTC(2026, 0, 2, 6)).pipe(
  Effect.andThen(twoMornings),
  Effect.provide(TestClock.layer())
)

await Effect.runPromise(program)

// Output:
// 2026-01-01: 10 orders. (Complete)
// 2026-01-02: 20 orders. (Complete)
// 2026-01-03: no report yet
