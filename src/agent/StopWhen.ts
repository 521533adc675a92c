/**
 * When a run stops before its model has nothing more to do.
 *
 * A condition is data. `maxSteps` and the budgets `tokens`, `cost`, `toolCalls` and `duration` are limits: meeting one fails the run
 * with its reason, and `AgentState.reopen` goes on from there with a larger one; with `onExhausted: "finish"` the model answers once
 * more instead. The other conditions finish the run: it ends `Complete`.
 *
 * Conditions are looked at before each request to the model; those that finish a run only once the model has answered.
 *
 * An agent's limits count from when it got control of the run: from its input, or from the handoff to it. What the agents spend that it
 * calls counts, and its budgets go on to hold, and to count, when it hands over.
 *
 * @since 0.1.0
 */
export * from "./definition/StopWhen.ts"
export { evaluate, type Verdict } from "./rules/StopVerdict.ts"
