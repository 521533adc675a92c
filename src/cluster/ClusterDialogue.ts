/**
 * Dialogues on Effect's cluster: a dialogue that is under way outlives any runner, and so does each of its agents.
 *
 * 1. Each participant has a conversation of its own, with all that a conversation promises.
 * 2. What was chosen and said is kept before the dialogue continues. Nobody is told anything twice.
 * 3. If a call awaits an approval or a result, the dialogue waits in the turn of its agent.
 *
 * @since 0.1.0
 */
import type * as MessageStorage from "effect/cluster/MessageStorage"
import type * as Sharding from "effect/cluster/Sharding"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { Scope } from "effect/Scope"
import { type Input, partsOf } from "../agent/definition/Input.ts"
import type { ParticipantMismatch, UnknownSpeaker } from "../handoff/dialogue/DialogueError.ts"
import * as DialogueJson from "../handoff/dialogue/DialogueJson.ts"
import type { DialogueState } from "../handoff/dialogue/DialogueState.ts"
import { definitionOf, type Dialogue } from "../handoff/dialogue/DialogueType.ts"
import * as Client_ from "./Client.ts"
import type { AnswerOf, Client as ConversationClient, Options } from "./Conversation.ts"
import * as Conversation from "./Conversation.ts"
import type { ConversationStore } from "./ConversationStore.ts"
import * as DialoguePlay from "./long/DialoguePlay.ts"
import { kind, type Step } from "./long/DialogueSteps.ts"
import * as Serve from "./long/Serve.ts"
import * as Steps from "./long/Steps.ts"
import { UnknownParticipant } from "./long/UnknownParticipant.ts"
import * as Protocol from "./Protocol.ts"

export { Step } from "./long/DialogueSteps.ts"
export { UnknownParticipant } from "./long/UnknownParticipant.ts"

/**
 * The client of a dialogue, from anywhere in the cluster. `say` says something to all participants. Its answer comes when the dialogue
 * ends, fails, or waits for an approval or a result. If it is `Complete`, `text` is what was said last.
 *
 * @category models
 * @since 0.1.0
 */
export interface Client<in Name extends string, out E = unknown>
  extends Client_.Client<Input, AnswerOf<E | ParticipantMismatch | UnknownSpeaker>, DialogueState, Step>
{
  /**
   * Returns a participant's own conversation: its state, and its events while it speaks. Throws `UnknownParticipant` for a name that isn't a
   * participant's.
   */
  readonly participant: (name: Name) => Pick<ConversationClient, "state" | "events">
}

/**
 * A dialogue on a cluster.
 *
 * `layer` registers it and the conversations of its participants on a runner. `client` talks to one by its id.
 *
 * @category models
 * @since 0.1.0
 */
export interface ClusterDialogue<Name extends string, in Participant extends string, out E, out R> {
  readonly name: Name
  readonly layer: Layer.Layer<
    never,
    never,
    Exclude<R, Scope> | ConversationStore | Sharding.Sharding | MessageStorage.MessageStorage
  >
  readonly client: Effect.Effect<(id: string) => Client<Participant, E>, never, Sharding.Sharding>
}

const codec: Client_.Codec<Input, DialogueState, Step> = {
  inputToJson: (input) => Protocol.inputToJson(partsOf(input)),
  stateFromJson: DialogueJson.fromJson,
  eventFromJson: (json) => Steps.stepFromJson(kind, json)
}

/**
 * Makes a dialogue that runs on a cluster. The name is its entity's there. Never change it, nor the names of the participants: they are
 * stored. If a participant who has heard something, or whose turn it is, isn't there any more, the answer's error has the tag
 * `ParticipantMismatch`, and nobody says anything. `options` are those of the participants' conversations. Throws `InvalidName`
 * and `InvalidLimit` as `Conversation.make` does.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <Name extends string, Participant extends string, E, R>(
  name: Name,
  dialogue: Dialogue<Participant, E, R>,
  options: Options = {}
): ClusterDialogue<Name, Participant, E, R> => {
  const agents = definitionOf(dialogue).participants.map((agent) => [agent.name, agent] as const)
  const { entities, entity, layer } = Serve.make(name, agents, DialoguePlay.make(dialogue), options)
  const client = Effect.gen(function*() {
    const clientOf = yield* entity.client
    const clients = new Map<string, (id: string) => Client_.Requests>()
    for (const [place, child] of entities) clients.set(place, yield* child.client)
    const participant = (id: string) => (name: string) => {
      const childOf = clients.get(name)
      if (childOf === undefined) throw new UnknownParticipant({ participant: name, available: [...clients.keys()] })
      return Client_.make(id, childOf(id), Conversation.codec)
    }
    return (id: string) => ({
      ...Client_.make(id, clientOf(id), codec, Conversation.idOf(name, id)),
      participant: participant(id)
    })
  })
  return {
    name,
    layer: layer as ClusterDialogue<Name, Participant, E, R>["layer"],
    client: client as ClusterDialogue<Name, Participant, E, R>["client"]
  }
}
