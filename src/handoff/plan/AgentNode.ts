/**
 * Nodes of a plan that run an agent or a group.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type { AgentError } from "../../domain/AgentError.ts"
import type { User } from "../../domain/StateSchema.ts"
import * as Runnable from "../Runnable.ts"
import { ask, type NoAnswer } from "./Asking.ts"
import * as Node from "./Node.ts"

/**
 * Options of a node that runs an agent.
 *
 * @category options
 * @since 0.1.0
 */
export interface AgentOptions<out Name, in Input, in E, out RetryE, out RetryR, out Timeout, out Fallback>
  extends Node.Policy<E, RetryE, RetryR, Timeout, Fallback>
{
  /** The name of the node; the agent's by default. */
  readonly name?: Name
  /** Returns what the agent is told, a text or parts; by default that is the node's input, which must be text. */
  readonly input?: ((input: Input) => string | User["parts"]) | undefined
}

/**
 * Makes a node of an agent or a group. An agent needs such a node only for another name, an input that isn't text, or a policy.
 *
 * Without options the node is what the agent itself is in a plan: its input is text, and its output is the answer, a text or, with an
 * `output` schema, the decoded value. Each attempt begins a new conversation, except on a cluster, where attempts continue the one
 * conversation of the node. If an attempt fails, its error is that of the agent's run, or `NoAnswer`. A group's type has no name, so a group needs the option `name`. Throws `InvalidLimit` for a `timeout` that isn't a duration above 0, and
 * `Handoff.MissingAgent` if the agent is `undefined`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const agent = <
  AgentName extends string,
  Output,
  E,
  R,
  const Name extends string = AgentName,
  Input = string,
  RetryE = never,
  RetryR = never,
  Timeout extends Duration.Input | undefined = never,
  Fallback extends Node.Takes<Input> = never
>(
  agent: Runnable.Runnable<AgentName, Output, E, R>,
  options?: AgentOptions<Name, Input, AgentError | NoAnswer | NoInfer<E>, RetryE, RetryR, Timeout, Fallback>
): Node.Node<
  Node.Own<Name>,
  Node.Own<Input>,
  Node.Own<Output> | Node.OutputOf<Fallback>,
  Node.Failing<AgentError | NoAnswer | Node.Own<E> | Node.Own<RetryE>, Timeout, Fallback>,
  Node.Own<R> | Node.Own<RetryR> | Node.ServicesOf<Fallback>
> => {
  const { name } = Runnable.given(agent, "Plan.agent")
  const run = ask(agent, options?.input as Parameters<typeof ask>[1])
  return Node.make(options?.name ?? name, agent, run, options as Node.AnyPolicy) as never
}
