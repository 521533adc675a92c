/**
 * Times subjects against each other: in turns, over many rounds, so that what slows the machine slows them all.
 */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as (options: { readonly type: "minor" }) => void

/**
 * How long each subject runs before it is timed, and then in each round, in milliseconds. With `keepsGarbage`, a batch begins with what the
 * one before it has left.
 */
export interface Times {
  readonly warmUp: number
  readonly batch: number
  readonly keepsGarbage?: boolean
}

/** A place in memory that nobody changes, to wait for. */
const nobody = new Int32Array(new SharedArrayBuffer(4))

/**
 * Milliseconds that this thread was on a processor: what else the machine does meanwhile isn't counted.
 *
 * Linux counts the time of a running thread only at its own ticks, each 4 ms for instance, but all of it once the thread waits. So the thread
 * waits for a moment first.
 */
export const processorTime = (): number => {
  Atomics.wait(nobody, 0, 0, 0.1)
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}

/** Times one batch, and gives the milliseconds of one run in it. */
export type Batch = () => Promise<number>

/**
 * Warms a subject up, and gives the batch that times it.
 *
 * The young generation is collected before each batch, unless the batches keep their garbage. A full collection would also throw away the
 * optimized code that refers to anything that is gone, and the batch would time how that is made again.
 */
export const warmUp = async (
  run: () => Promise<void>,
  { batch, keepsGarbage = false, warmUp }: Times
): Promise<Batch> => {
  const start = performance.now()
  let runs = 0
  do {
    await run()
    runs++
  } while (performance.now() < start + warmUp)
  const count = Math.max(1, Math.round(runs * batch / (performance.now() - start)))
  return async () => {
    if (!keepsGarbage) collectGarbage({ type: "minor" })
    const began = processorTime()
    for (let left = count; left > 0; left--) await run()
    return (processorTime() - began) / count
  }
}

/** Returns the value below which a share, from 0 to 1, of the values are. */
export const quantile = (values: ReadonlyArray<number>, share: number): number => {
  const at = share * (values.length - 1)
  const sorted = values.toSorted((a, b) => a - b)
  const [below, above] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!]
  return below + (above - below) * (at - Math.floor(at))
}

export const median = (values: ReadonlyArray<number>): number => quantile(values, 0.5)

/** Gives, for each batch, the milliseconds of one run in each round. */
export const inTurns = async (
  batches: ReadonlyArray<Batch>,
  rounds: number
): Promise<ReadonlyArray<ReadonlyArray<number>>> => {
  const samples: ReadonlyArray<Array<number>> = batches.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < batches.length; turn++) {
      const at = (round + turn) % batches.length
      samples[at]!.push(await batches[at]!())
    }
  }
  return samples
}

/** Warms subjects up, and gives, for each, the milliseconds of one run in each round. */
export const interleave = async (
  runs: ReadonlyArray<() => Promise<void>>,
  rounds: number,
  times: Times
): Promise<ReadonlyArray<ReadonlyArray<number>>> => {
  const batches: Array<Batch> = []
  for (const run of runs) batches.push(await warmUp(run, times))
  return inTurns(batches, rounds)
}

/** The ratio of two subjects: the median of those of the single rounds. */
export const ratio = (self: ReadonlyArray<number>, that: ReadonlyArray<number>): number =>
  median(self.map((value, round) => value / that[round]!))
