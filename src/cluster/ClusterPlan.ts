/**
 * Plans on Effect's cluster: a plan that is under way outlives any runner, and so does each of its agents.
 *
 * 1. Each node with an agent is a conversation of its own, with all that a conversation promises. Nodes may run on several machines.
 * 2. The outputs of nodes are kept. A node that has ended doesn't run again.
 * 3. If the end of a started effect is unknown, an `idempotent` effect starts again. For any other, the plan fails with `EffectUnknown`, and
 *    only `resume` starts the effect again, or the `retry` of its own node after the `timeout`.
 * 4. If calls await an approval or a result, the plan runs on as far as it can without them, and then waits.
 *
 * @since 0.1.0
 */
import type * as MessageStorage from "effect/cluster/MessageStorage"
import type * as Sharding from "effect/cluster/Sharding"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { Scope } from "effect/Scope"
import * as ForeignValue from "../domain/ForeignValue.ts"
import { countOf } from "../domain/InvalidLimit.ts"
import { PlanMismatch } from "../handoff/plan/PlanError.ts"
import { definitionOf, type Plan } from "../handoff/plan/PlanType.ts"
import { Results } from "../handoff/plan/Results.ts"
import * as Client_ from "./Client.ts"
import type { AnswerOf, Client as ConversationClient, Options } from "./Conversation.ts"
import * as Conversation from "./Conversation.ts"
import type { ConversationStore } from "./ConversationStore.ts"
import { EffectUnknown, OutputNotJson } from "./long/PlanFailure.ts"
import { agentsOf, checkNames } from "./long/PlanPlaces.ts"
import * as PlanPlay from "./long/PlanPlay.ts"
import { kind, type Step } from "./long/PlanSteps.ts"
import * as Serve from "./long/Serve.ts"
import * as Steps from "./long/Steps.ts"

export { EffectUnknown, OutputNotJson }
export { Step } from "./long/PlanSteps.ts"

/**
 * The answer to a message. A plan that is `Complete` has its `output`: as JSON, the outputs of the nodes that no edge leaves, by their
 * names. A node that returned nothing is left out. The `error` of a plan that failed may also have the tag `EffectUnknown`,
 * `OutputNotJson`, or `PlanMismatch` if a node that has begun or ended isn't in the plan any more.
 *
 * @category models
 * @since 0.1.0
 */
export type PlanAnswer<Output, E> =
  & Omit<AnswerOf<E | EffectUnknown | OutputNotJson | PlanMismatch>, "output">
  & { readonly output?: Output }

/**
 * The client of a plan, from anywhere in the cluster. `say` begins it with an input, anew if it was begun before. An input that isn't JSON
 * is a defect, a `TypeError`. `state` returns the results of the nodes so far.
 *
 * @category models
 * @since 0.1.0
 */
export interface Client<in Input, out Output, out E = unknown>
  extends Client_.Client<Input, PlanAnswer<Output, E>, Results, Step>
{
  /**
   * Returns the conversation of a node's agent: its state, and its events while it runs. The name of a fallback is `node/fallback`. If the
   * plan was begun several times, `run` says which of them, from 1 on; 1 by default. Throws `PlanMismatch` for a name that isn't an
   * agent's, and `InvalidLimit` for a `run` that isn't a whole number from 1 on.
   */
  readonly node: (name: string, run?: number) => Pick<ConversationClient, "state" | "events">
}

/**
 * A plan on a cluster.
 *
 * `layer` registers it and the conversations of its agents on a runner. `client` talks to one by its id.
 *
 * @category models
 * @since 0.1.0
 */
export interface ClusterPlan<Name extends string, in Input, out Output, out E, out R> {
  readonly name: Name
  readonly layer: Layer.Layer<
    never,
    never,
    Exclude<R, Scope> | ConversationStore | Sharding.Sharding | MessageStorage.MessageStorage
  >
  readonly client: Effect.Effect<(id: string) => Client<Input, Output, E>, never, Sharding.Sharding>
}

const readResults = Schema.decodeUnknownResult(Results)

const codec: Client_.Codec<unknown, Results, Step> = {
  inputToJson: (input) => {
    const { changes, json } = ForeignValue.toJson(input)
    if (changes.length > 0) throw new TypeError(`The input of a plan isn't JSON at "${changes[0]!.path.join(".")}"`)
    return json
  },
  stateFromJson: readResults,
  eventFromJson: (json) => Steps.stepFromJson(kind, json)
}

/**
 * Makes a plan that runs on a cluster. The name is its entity's there. Never change it, nor the names of the nodes: they are stored. If a
 * node or a fallback that has begun isn't in the plan any more, the answer's error has the tag `PlanMismatch`, and nothing runs. Inputs and
 * the outputs of nodes must be JSON; any other output fails the plan with `OutputNotJson`. `options` are those of the agents'
 * conversations. Throws `InvalidPlan` if the name of a node has a `/` or ends in `@` and a number, and
 * `InvalidName` and `InvalidLimit` as `Conversation.make` does.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <Name extends string, Input, Output, E, R>(
  name: Name,
  plan: Plan<Input, Output, E, R>,
  options: Options = {}
): ClusterPlan<Name, Input, Output, E, R> => {
  const definition = definitionOf(plan)
  checkNames(definition.graph)
  const agents = agentsOf(definition.graph).map(([place, { agent }]) => [place, agent!] as const)
  const { entities, entity, layer } = Serve.make(name, agents, PlanPlay.make(definition), options)
  const client = Effect.gen(function*() {
    const clientOf = yield* entity.client
    const clients = new Map<string, (id: string) => Client_.Requests>()
    for (const [place, child] of entities) clients.set(place, yield* child.client)
    const node = (id: string) => (name: string, run = 1) => {
      const childOf = clients.get(name)
      if (childOf === undefined) throw new PlanMismatch({ node: name, available: [...clients.keys()] })
      const childId = `${id}/${countOf("run", run, 1)}`
      return Client_.make(childId, childOf(childId), Conversation.codec)
    }
    return (id: string) => ({ ...Client_.make(id, clientOf(id), codec, Conversation.idOf(name, id)), node: node(id) })
  })
  return {
    name,
    layer: layer as ClusterPlan<Name, Input, Output, E, R>["layer"],
    // The codec accepts any input and returns any output, both JSON: which ones, only the plan's own types say.
    client: client as unknown as ClusterPlan<Name, Input, Output, E, R>["client"]
  }
}
