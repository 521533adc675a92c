/**
 * Words by their letters, each a step from one node to the next.
 *
 * @since 0.1.0
 */

/** Words, and what is known of each, at the node where it ends. */
export interface Trie<A> {
  /** Nodes by the node before them and the code unit that leads to them. */
  readonly edges: Map<number, number>
  readonly values: Array<A | undefined>
}

/** The node where words begin. */
export const root = 0

/** Makes a trie without words. */
export const make = <A>(): Trie<A> => ({ edges: new Map(), values: [undefined] })

/** Gives the node that a code unit leads to. */
export const next = <A>({ edges }: Trie<A>, node: number, code: number): number | undefined =>
  edges.get(node * 0x10000 + code)

/** Gives the node that a text leads to, and adds those that it lacks. */
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
