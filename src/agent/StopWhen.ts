/**
 * Conditions that stop a run before its model has nothing more to do.
 *
 * A condition is data. `maxSteps` and the budgets `tokens`, `cost`, `toolCalls` and `duration` are limits: meeting one fails the run
 * with its reason, and `AgentState.reopen` lets it continue under a larger one; with `onExhausted: "finish"` the model answers once
 * more instead. The other conditions finish the run: it ends `Complete`.
 *
 * Conditions are checked before each request to the model. Those that finish a run count once the model has answered in it.
 *
 * An agent's limits count from when it got control of the run: from the input, or from the handoff to it. They include what the agents that
 * it calls spend. Its budgets still count after it has handed over.
 *
 * @since 0.1.0
 */
export * from "./definition/StopWhen.ts"
export { evaluate, type Verdict } from "./rules/StopVerdict.ts"
