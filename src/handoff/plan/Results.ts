/**
 * How far the run of a plan came, as data: its input, which nodes have ended, and how.
 *
 * The results survive JSON if inputs and outputs do. An `undefined` output has no key.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { Any, NameOf, OutputOf } from "./Node.ts"

/**
 * Schema for how a node ended: with an output, or skipped because no edge into it was taken.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Ended = Schema.TaggedUnion({
  Completed: { output: Schema.optionalKey(Schema.Unknown) },
  Skipped: {}
})

/** The node has an output; an `undefined` one has no key. */
export interface Completed extends Schema.Schema.Type<typeof Ended.cases.Completed> {}
/** No edge into the node was taken. */
export interface Skipped extends Schema.Schema.Type<typeof Ended.cases.Skipped> {}

/**
 * How a node ended.
 *
 * @category models
 * @since 0.1.0
 */
export type Ended = Completed | Skipped

/**
 * Schema for how far a plan came.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Results = Schema.Struct({
  input: Schema.optionalKey(Schema.Unknown),
  nodes: Schema.Record(Schema.String, Ended)
})

/**
 * How far a plan came: its input and, under the name of each node that has ended, how it ended.
 *
 * @category models
 * @since 0.1.0
 */
export interface Results extends Schema.Schema.Type<typeof Results> {}

/** Says that a node has an output. */
export const completed = (output: unknown): Completed =>
  output === undefined ? { _tag: "Completed" } : { _tag: "Completed", output }

/** Says that a node was skipped. */
export const skipped: Skipped = { _tag: "Skipped" }

/**
 * Returns results with an output of a node added, such as an agent's answer after approvals. `node` is the node or the agent itself.
 *
 * @category combinators
 * @since 0.1.0
 */
export const complete = <N extends Any>(self: Results, node: N, output: OutputOf<N>): Results => {
  // The name of a node is its type's name; TypeScript doesn't see that through the condition in `NameOf`.
  const name: NameOf<N> = node.name as never
  return { ...self, nodes: Object.fromEntries([...Object.entries(self.nodes), [name, completed(output)]]) }
}
