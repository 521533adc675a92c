/**
 * A trie of words: each letter leads from one node to the next.
 *
 * @since 0.1.0
 */

/** A trie, with a value at the node where a word ends. */
export interface Trie<A> {
  /** The nodes, by the node before and the code unit that leads to them. */
  readonly edges: Map<number, number>
  readonly values: Array<A | undefined>
}

/** The node where words begin. */
export const root = 0

/** Makes a trie without words. */
export const make = <A>(): Trie<A> => ({ edges: new Map(), values: [undefined] })

/** Returns the node that a code unit leads to. */
export const next = <A>({ edges }: Trie<A>, node: number, code: number): number | undefined =>
  edges.get(node * 0x10000 + code)

/** Returns the node that a text leads to, and adds missing nodes. */
export const add = <A>({ edges, values }: Trie<A>, text: string): number => {
  let node = root
  for (let at = 0; at < text.length; at++) {
    const edge = node * 0x10000 + text.charCodeAt(at)
    const known = edges.get(edge)
    if (known === undefined) edges.set(edge, node = values.push(undefined) - 1)
    else node = known
  }
  return node
}
