/**
 * A call that somebody must approve: the run stops, its state is put away as JSON, and a later run goes on from there.
 */
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const Refund = Tool.make("refund", {
  parameters: Schema.Struct({ order: Schema.String, euros: Schema.Finite }),
  success: Schema.Struct({ receipt: Schema.String }),
  needsApproval: ({ euros }) => euros > 100
})
const Refunds = Toolkit.make(Refund)

const clerk = Agent.make("clerk", { toolkit: Refunds })

const program = Effect.gen(function*() {
  const stopped = yield* Agent.run(clerk, "Refund order 1047, please.")
  const [approval] = AgentState.pendingApprovals(stopped)
  console.log(stopped.status._tag, approval)

  const stored = JSON.stringify(AgentState.toJson(stopped))

  // Days later, in another process:
  const loaded = yield* Effect.fromResult(AgentState.fromJson(stored))
  const approved = yield* Effect.fromResult(AgentState.approve(loaded, "call_1"))
  const done = yield* Agent.resume(clerk, approved)
  console.log(done.status._tag, AgentState.text(done))
}).pipe(
  Effect.provide(Refunds.toLayer({ refund: ({ order }) => Effect.succeed({ receipt: `R-${order}` }) })),
  Effect.provide(MockModel.layer(MockModel.queue(
    MockResponse.toolCall("refund", { order: "1047", euros: 249 }),
    "€249.00 are on their way; your receipt is R-1047."
  )))
)

await Effect.runPromise(program)

// Output:
// WaitingForTools {
//   path: [ 'clerk' ],
//   calls: [],
//   callId: 'call_1',
//   name: 'refund',
//   params: { order: '1047', euros: 249 }
// }
// Complete €249.00 are on their way; your receipt is R-1047.
