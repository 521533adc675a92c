/**
 * The types of a plan, from its nodes and edges: what arrives at a node, and what the plan takes and returns.
 *
 * 1. A node without edges into it takes the plan's input.
 * 2. One edge into a node brings the value itself, several bring a record keyed by their sources.
 * 3. A key of that record is optional if its edge is conditional, or its source may be skipped.
 * 4. A node may be skipped if each edge into it is conditional or comes from a node that may be skipped.
 *
 * @since 0.1.0
 */
import type { Simplify, UnionToIntersection } from "effect/Types"
import type { AnyEdge, Edge, Kind } from "./Edge.ts"
import type { Any, InputOf, NameOf, OutputOf, Takes } from "./Node.ts"

/** Nodes without edges into them. */
type Entries<Nodes extends Any, Edges extends AnyEdge> = Exclude<NameOf<Nodes>, Edges["to"]>

/** Nodes that are never skipped: the first nodes, and each node with an unconditional edge from a node that is never skipped. */
type Certain<Edges extends AnyEdge, Known extends string> = [Exclude<Followers<Edges, Known>, Known>] extends [never]
  ? Known
  : Certain<Edges, Known | Followers<Edges, Known>>

type Followers<G, Known extends string> = G extends Edge<Known, infer To, unknown, "Always", unknown, unknown> ? To
  : never

/** Nodes of a plan that are never skipped. */
type CertainOf<Nodes extends Any, Edges extends AnyEdge> = Certain<Edges, Entries<Nodes, Edges>>

type Into<G, To extends string> = G extends { readonly to: To } ? G : never

type ValueOf<G> = G extends Edge<string, string, infer Value, Kind, unknown, unknown> ? Value : never

/**
 * Checks whether a name is a single literal. A template type isn't, because it stands for many names. `string` counts as one, because
 * nothing better is known.
 */
type IsOne<T extends string> = [T] extends [never] ? false
  : {} extends { readonly [_ in T]: 1 } ? (string extends T ? true : false)
  : [T] extends [UnionToIntersection<T>] ? true
  : false

/** The sources of edges that always bring a value. */
type Bringing<G, Known extends string> = G extends Edge<Known, string, unknown, "Always", unknown, unknown> ? G["from"]
  : never

type FromTo<G extends AnyEdge, From extends string> = ValueOf<G extends { readonly from: From } ? G : never>

type Joined<G extends AnyEdge, Known extends string> = Simplify<
  & { readonly [From in Bringing<G, Known>]: FromTo<G, From> }
  & { readonly [From in Exclude<G["from"], Bringing<G, Known>>]?: FromTo<G, From> }
>

type Arriving<Edges extends AnyEdge, Known extends string> = IsOne<Edges["from"]> extends true ? ValueOf<Edges>
  : Joined<Edges, Known>

/** A node that takes what its edges bring. */
export type Fits<N, Nodes extends Any, Edges extends AnyEdge> = [Into<Edges, NameOf<N>>] extends [never] ? Any
  : Takes<Arriving<Into<Edges, NameOf<N>>, CertainOf<Nodes, Edges>>>

/** What a plan takes: an input that fits each of its first nodes. */
export type PlanInput<Nodes extends Any, Edges extends AnyEdge> = [Entries<Nodes, Edges>] extends [never] ? unknown
  : Inputs<Extract<Nodes, { readonly name: Entries<Nodes, Edges> }>> extends (input: infer Input) => void ? Input
  : never

type Inputs<N> = N extends Any ? (input: InputOf<N>) => void : never

/** What a plan returns: the output of each node that no edge leaves, by its name. */
export type PlanOutput<Nodes extends Any, Edges extends AnyEdge> = Simplify<
  & { readonly [N in Exits<Nodes, Edges> as N["name"] & CertainOf<Nodes, Edges>]: OutputOf<N> }
  & { readonly [N in Exits<Nodes, Edges> as Exclude<N["name"], CertainOf<Nodes, Edges>>]?: OutputOf<N> }
>

type Exits<Nodes extends Any, Edges extends AnyEdge> = Nodes extends { readonly name: Edges["from"] } ? never : Nodes
