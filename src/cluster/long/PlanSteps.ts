/**
 * What happens in a plan on a cluster, as steps, and the state that they lead to.
 *
 * A place is a node, or a fallback behind it: `write`, `write/short`. A place that is open has started and has no end.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { Failure } from "../../domain/AgentStatus.ts"
import { Ended } from "../../handoff/plan/Results.ts"
import * as Places from "./Places.ts"
import type { Kind } from "./Steps.ts"

/**
 * Schema for what happens in a plan on a cluster.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Step = Schema.TaggedUnion({
  /** The plan begins, with an input. */
  PlanBegun: { input: Schema.Json },
  /** The plan was resumed: effects whose end is unknown may start again, and so may nodes whose fallback has begun. */
  PlanResumed: {},
  /** An agent, or an effect that isn't `idempotent`, has started, in answering a message. */
  PlaceStarted: { place: Schema.String, message: Schema.String, isAgent: Schema.Boolean },
  /** A call of an agent was approved or denied, or got its result, in answering a message. With `error` the agent's run then failed. */
  PlaceDecided: { place: Schema.String, message: Schema.String, error: Schema.optionalKey(Failure) },
  /** An agent has stopped without an answer; `isTold` says whether it has taken its input in. */
  PlaceStopped: { place: Schema.String, isTold: Schema.Boolean },
  /**
   * The run of an agent is `Complete`, and its answer doesn't fit the agent's `output`, isn't JSON, or wasn't read. `events` is how many events
   * its conversation had then. If the answer still can't be used, the agent is told its input again.
   */
  PlaceUnanswered: { place: Schema.String, events: Schema.Int },
  /** An effect that isn't `idempotent` has failed. */
  PlaceFailed: { place: Schema.String },
  /** All attempts of a node or a fallback have failed, the last one with `error`, so its own fallback begins. */
  PlaceGivenUp: { place: Schema.String, error: Failure },
  /** A node has its output, or is skipped. */
  NodeEnded: { node: Schema.String, ended: Ended }
})

/** What happens in a plan on a cluster. */
export type Step = typeof Step.Type

/**
 * A place that is open. `unanswered` is how many events its agent's conversation had when a run ended without an answer that fits, or
 * without one that was read. `isResumed` says that the plan was resumed since it began: an effect may then start again, and a fallback
 * give way to its node.
 */
const Open = Schema.Struct({
  message: Schema.String,
  isAgent: Schema.Boolean,
  isTold: Schema.Boolean,
  unanswered: Schema.optionalKey(Schema.Int),
  decided: Schema.optionalKey(Schema.Struct({ message: Schema.String, error: Schema.optionalKey(Failure) })),
  isResumed: Schema.optionalKey(Schema.Boolean)
})

/** How far a plan on a cluster is, as it is stored. Plans that an earlier version stored have no `givenUp`. */
const Stored = Schema.Struct({
  run: Schema.Int,
  input: Schema.optionalKey(Schema.Json),
  nodes: Schema.Record(Schema.String, Ended),
  open: Schema.Record(Schema.String, Open),
  givenUp: Schema.optionalKey(Schema.Record(Schema.String, Failure))
})

/**
 * How far a plan on a cluster is: how often it began, with which input last, how nodes ended since, which places are open, and with what
 * those were given up whose fallbacks have begun.
 */
export interface State {
  readonly run: number
  readonly input?: Schema.Json
  readonly nodes: HashMap.HashMap<string, Ended>
  readonly open: Places.Places<typeof Open.Type>
  readonly givenUp: Places.Places<Failure>
}

const isState = (u: unknown): u is State => Predicate.hasProperty(u, "nodes") && HashMap.isHashMap(u.nodes)

/** Schema for how far a plan on a cluster is. */
const State = Stored.pipe(
  Schema.decodeTo(
    Schema.declare(isState, { identifier: "PlanState" }),
    SchemaTransformation.transform({
      decode: ({ givenUp = {}, nodes, open, ...state }): State => ({
        ...state,
        nodes: HashMap.fromIterable(Object.entries(nodes)),
        open: Places.fromEntries(Object.entries(open)),
        givenUp: Places.fromEntries(Object.entries(givenUp))
      }),
      encode: ({ givenUp, nodes, open, ...state }) => ({
        ...state,
        nodes: Object.fromEntries(nodes),
        open: Object.fromEntries(Places.entries(open)),
        givenUp: Object.fromEntries(Places.entries(givenUp))
      })
    })
  )
)

/** Changes a place that is open. */
const inPlace = (self: State, place: string, change: (open: typeof Open.Type) => typeof Open.Type): State => {
  const open = Places.get(self.open, place)
  return open === undefined ? self : { ...self, open: Places.set(self.open, place, change(open)) }
}

const begin: State = { run: 0, nodes: HashMap.empty(), open: HashMap.empty(), givenUp: HashMap.empty() }

const take = (self: State, step: Step): State => {
  const { open } = self
  switch (step._tag) {
    case "PlanBegun":
      return { ...begin, run: self.run + 1, input: step.input }
    case "PlanResumed":
      return {
        ...self,
        open: Places.fromEntries(Places.entries(open).map(([place, open]) => [place, { ...open, isResumed: true }])),
        givenUp: HashMap.empty()
      }
    case "PlaceStarted": {
      const { isAgent, message, place } = step
      return Places.get(open, place) === undefined
        ? { ...self, open: Places.set(open, place, { message, isAgent, isTold: false }) }
        : inPlace(self, place, (open) => ({ ...open, isResumed: false }))
    }
    case "PlaceDecided": {
      const { error, message, place } = step
      const decided = { message, ...(error === undefined ? undefined : { error }) }
      return inPlace(self, place, (open) => ({ ...open, decided }))
    }
    case "PlaceStopped": {
      const { isTold, place } = step
      return inPlace(self, place, ({ unanswered, ...open }) => ({
        ...open,
        isTold,
        ...(isTold || unanswered === undefined ? undefined : { unanswered })
      }))
    }
    case "PlaceUnanswered": {
      const { events, place } = step
      return inPlace(self, place, (open) => ({ ...open, unanswered: events }))
    }
    case "PlaceFailed":
      return { ...self, open: Places.remove(open, step.place) }
    case "PlaceGivenUp":
      return { ...self, givenUp: Places.set(self.givenUp, step.place, step.error) }
    case "NodeEnded":
      return {
        ...self,
        nodes: HashMap.set(self.nodes, step.node, step.ended),
        open: Places.removeNode(open, step.node),
        givenUp: Places.removeNode(self.givenUp, step.node)
      }
  }
}

/** Returns the places of which a state says something: that they are open, or how they ended. */
export const placesIn = ({ givenUp, nodes, open }: State): ReadonlyArray<string> => [
  ...HashMap.keys(nodes),
  ...[...Places.entries(open), ...Places.entries(givenUp)].map(([place]) => place)
]

/** Plans on a cluster, as a kind of long run. */
export const kind: Kind<State, Step> = {
  begin,
  take,
  state: State,
  step: Step
}
