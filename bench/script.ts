/**
 * What every model in the benchmarks says, and what comes out when all of it is true.
 *
 * In the tool loop the model counts: it reads the last result out of the prompt that it is sent and asks for the number
 * after it. So the answer is right only if each call ran with its parameters and each result reached the model.
 */
export const system = "You count."
export const question = "How far can you count?"
export const answer = "Far enough."
export const addition = "Count aloud."
export const delta = "and one more "

/** What the model says next in a loop of `steps` calls, when `last` is the last result it was sent. */
export const nextMove = (steps: number, last: number): { readonly after: number; readonly id: string } | string =>
  last < steps ? { after: last, id: `call_${last + 1}` } : counted(steps)

export const counted = (steps: number): string => `I counted to ${steps}.`

/** The name of an agent in a chain. */
export const agentName = (index: number): string => `agent${index}`

/** How often a subject called its model and its tool. */
export interface Calls {
  model: number
  tool: number
}

/** What came out of a stream of deltas. */
export interface Heard {
  deltas: number
  characters: number
}

/** Whether an agent has the tool. */
export type Kind = "tool" | "no tools"

/** How deltas come from the model: one by one as they arrive, or all in one chunk. */
export type Chunks = "each" | "all"

/** One way to write an agent. */
export interface Subject {
  readonly calls: Calls
  readonly oneTurn: (kind: Kind) => Promise<string>
  readonly toolLoop: (steps: number) => Promise<string>
  readonly deltas: (count: number, kind: Kind, chunks: Chunks) => Promise<Heard>
  /** Whether `handoffs` hands over, or only takes the turns. */
  readonly handsOver: boolean
  /** A chain of agents that hand over to each other, or as many single turns. */
  readonly handoffs: (hops: number) => Promise<string>
  readonly concurrent: (runs: number, kind: Kind) => Promise<ReadonlyArray<string>>
}

/** How long the model of the concurrent runs takes, in milliseconds. */
export const latency = 5

/** Keeps what `make` gave for each key. */
export const remember = <Key, A>(make: (key: Key) => A): (key: Key) => A => {
  const made = new Map<Key, A>()
  return (key) => {
    if (!made.has(key)) made.set(key, make(key))
    return made.get(key)!
  }
}
