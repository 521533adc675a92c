/**
 * An agent that is a tool of another one: the editor asks the researcher, whose conversation stays inside the call that it
 * answers.
 */
import { Effect } from "effect"
import { Agent, AgentState, Conversation } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const researcher = Agent.make("researcher", {
  description: "Finds facts",
  instructions: "Answer with one fact."
})

const editor = Agent.make("editor", {
  instructions: "Write one sentence, and have its facts checked.",
  agents: [Agent.asTool(researcher)]
})

const program = Effect.gen(function*() {
  const state = yield* Agent.run(editor, "How tall is the Eiffel Tower?")
  for (const turn of state.conversation.turns) {
    const calls = turn._tag === "Assistant" ? Conversation.callsOf(turn) : []
    for (const { name, params, state } of calls) {
      console.log(`${name}(${JSON.stringify(params)})`, state._tag === "Settled" ? state.result : state._tag)
    }
  }
  console.log(AgentState.text(state))
  console.log(`${state.steps} steps`)
}).pipe(
  Effect.provide(MockModel.layer(MockModel.byAgent({
    editor: MockModel.queue(
      MockResponse.toolCall("researcher", { task: "The height of the Eiffel Tower" }),
      "The Eiffel Tower is 330 metres tall."
    ),
    researcher: MockModel.queue("It is 330 m tall.")
  })))
)

await Effect.runPromise(program)

// Output:
// researcher({"task":"The height of the Eiffel Tower"}) It is 330 m tall.
// The Eiffel Tower is 330 metres tall.
// 3 steps
