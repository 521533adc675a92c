/**
 * What happens in a plan on a cluster, as steps, and the state that they lead to.
 *
 * A place is a node, or a fallback behind it: `write`, `write/short`. A place that is open has started and has no end.
 *
 * @since 0.1.0
 */
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import { Failure } from "../../domain/AgentStatus.ts"
import { own } from "../../domain/OwnValue.ts"
import { Ended } from "../../handoff/plan/Results.ts"
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
  /** An effect that isn't `idempotent` has failed. */
  PlaceFailed: { place: Schema.String },
  /** All attempts of a node or a fallback have failed, the last one with `error`, so its own fallback begins. */
  PlaceGivenUp: { place: Schema.String, error: Failure },
  /** A node has its output, or is skipped. */
  NodeEnded: { node: Schema.String, ended: Ended }
})

/** What happens in a plan on a cluster. */
export type Step = typeof Step.Type

/** A place that is open. `isResumed` says that the plan was resumed since it began: a fallback may then give way to its node. */
const Open = Schema.Struct({
  message: Schema.String,
  isAgent: Schema.Boolean,
  isTold: Schema.Boolean,
  decided: Schema.optionalKey(Schema.Struct({ message: Schema.String, error: Schema.optionalKey(Failure) })),
  isResumed: Schema.optionalKey(Schema.Boolean)
})

/**
 * Schema for how far a plan on a cluster is: how often it began, with which input last, how nodes ended since, which places are open, and
 * with what those were given up whose fallbacks have begun. Plans that an earlier version stored lack the last one.
 *
 * @category schemas
 * @since 0.1.0
 */
export const State = Schema.Struct({
  run: Schema.Int,
  input: Schema.optionalKey(Schema.Json),
  nodes: Schema.Record(Schema.String, Ended),
  open: Schema.Record(Schema.String, Open),
  givenUp: Schema.optionalKey(Schema.Record(Schema.String, Failure))
})

/** How far a plan on a cluster is. */
export interface State extends Schema.Schema.Type<typeof State> {}

const without = <A>(record: Readonly<Record<string, A>>, isGone: (key: string, value: A) => boolean) =>
  Object.fromEntries(Object.entries(record).filter(([key, value]) => !isGone(key, value)))

/** Checks whether a place is a node's own, or a fallback of it. */
const isOf = (node: string, place: string): boolean => place === node || place.startsWith(`${node}/`)

/** Changes a place that is open. */
const inPlace = (self: State, place: string, change: (open: typeof Open.Type) => typeof Open.Type): State => {
  const open = own(self.open, place)
  return open === undefined ? self : { ...self, open: { ...self.open, [place]: change(open) } }
}

const take = (self: State, step: Step): State => {
  const { givenUp = {}, open } = self
  switch (step._tag) {
    case "PlanBegun":
      return { run: self.run + 1, input: step.input, nodes: {}, open: {} }
    case "PlanResumed":
      return {
        ...self,
        open: Record.map(without(open, (_, { isAgent }) => !isAgent), (open) => ({ ...open, isResumed: true })),
        givenUp: {}
      }
    case "PlaceStarted": {
      const { isAgent, message, place } = step
      return own(open, place) === undefined
        ? { ...self, open: { ...open, [place]: { message, isAgent, isTold: false } } }
        : inPlace(self, place, (open) => ({ ...open, isResumed: false }))
    }
    case "PlaceDecided": {
      const { error, message, place } = step
      const decided = { message, ...(error === undefined ? undefined : { error }) }
      return inPlace(self, place, (open) => ({ ...open, decided }))
    }
    case "PlaceStopped": {
      const { isTold, place } = step
      return inPlace(self, place, (open) => ({ ...open, isTold }))
    }
    case "PlaceFailed":
      return { ...self, open: without(open, (place) => place === step.place) }
    case "PlaceGivenUp":
      return { ...self, givenUp: { ...givenUp, [step.place]: step.error } }
    case "NodeEnded":
      return {
        ...self,
        nodes: { ...self.nodes, [step.node]: step.ended },
        open: without(open, (place) => isOf(step.node, place)),
        givenUp: without(givenUp, (place) => isOf(step.node, place))
      }
  }
}

/** Plans on a cluster, as a kind of long run. */
export const kind: Kind<State, Step> = {
  begin: { run: 0, nodes: {}, open: {} },
  take,
  state: State,
  step: Step
}
