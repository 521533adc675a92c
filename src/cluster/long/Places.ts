/**
 * What is known of places of a plan, by their nodes. A change shares all that it doesn't change, so it costs as much in a plan of thousands of
 * nodes as in one of three.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"

/** The places of each node: its own, and those of its fallbacks. */
export type Places<A> = HashMap.HashMap<string, ReadonlyArray<Entry<A>>>

type Entry<A> = readonly [place: string, value: A]

/** The name of a node has no slash. */
const nodeOf = (place: string): string => place.split("/", 1)[0]!

const ofNode = <A>(self: Places<A>, node: string): ReadonlyArray<Entry<A>> =>
  Option.getOrElse(HashMap.get(self, node), () => [])

/** Returns what is known of a place. */
export const get = <A>(self: Places<A>, place: string): A | undefined =>
  ofNode(self, nodeOf(place)).find(([other]) => other === place)?.[1]

/** Says something of a place. */
export const set = <A>(self: Places<A>, place: string, value: A): Places<A> => {
  const others = ofNode(self, nodeOf(place)).filter(([other]) => other !== place)
  return HashMap.set(self, nodeOf(place), [...others, [place, value]])
}

/** Forgets a place. */
export const remove = <A>(self: Places<A>, place: string): Places<A> =>
  HashMap.set(self, nodeOf(place), ofNode(self, nodeOf(place)).filter(([other]) => other !== place))

/** Forgets the places of a node. */
export const removeNode = <A>(self: Places<A>, node: string): Places<A> => HashMap.remove(self, node)

/** Returns all places. Those of nodes that `order` has come first, in its order. */
export const entries = <A>(
  self: Places<A>,
  order: ReadonlyMap<string, number> = new Map()
): ReadonlyArray<Entry<A>> => inOrder(HashMap.toEntries(self), order).flatMap(([, places]) => places)

/** Sorts what is known of nodes. */
export const inOrder = <A>(
  nodes: ReadonlyArray<readonly [node: string, value: A]>,
  order: ReadonlyMap<string, number>
): ReadonlyArray<readonly [node: string, value: A]> =>
  nodes.toSorted(([one], [other]) => (order.get(one) ?? Infinity) - (order.get(other) ?? Infinity) || 0)

/** Makes places of entries. */
export const fromEntries = <A>(entries: Iterable<Entry<A>>): Places<A> => {
  let places: Places<A> = HashMap.empty()
  for (const [place, value] of entries) places = set(places, place, value)
  return places
}
