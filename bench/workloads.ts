/**
 * What is timed. Each run is checked, so that no subject can be fast by leaving something out.
 */
import { looked, type Looping } from "./guardrails.ts"
import type { Asking } from "./mockModel.ts"
import type { Calling } from "./modes.ts"
import { answer, type Chunks, counted, delta, type Kind, type Subject } from "./script.ts"
import type { Windowed } from "./window.ts"

export interface Workload {
  readonly name: string
  /** The largest ratio of Troupe to the loop by hand that is good enough. */
  readonly aim: number | undefined
  /** How many of what a row counts are in one run. */
  readonly units: number
  readonly run: (subject: Subject) => Promise<void>
}

const equal = (actual: unknown, expected: unknown, what: string): void => {
  if (actual !== expected) throw new Error(`${what}: ${String(actual)} instead of ${String(expected)}`)
}

/** Runs a subject, and checks how often it called its model and its tool. */
const counting = async <A>(subject: Subject, run: () => Promise<A>, model: number, tool: number): Promise<A> => {
  const before = { ...subject.calls }
  const result = await run()
  equal(subject.calls.model - before.model, model, "calls of the model")
  equal(subject.calls.tool - before.tool, tool, "calls of the tool")
  return result
}

const named = (name: string, kind: Kind): string => kind === "tool" ? name : `${name}, no tools`

/** Beside one plain request there is no agent by hand to compare with, only what an agent adds to a request. */
const aimOf = (aim: number, kind: Kind): number | undefined => kind === "tool" ? aim : undefined

const oneTurn = (kind: Kind): Workload => ({
  name: named("one turn", kind),
  aim: aimOf(0.4, kind),
  units: 1,
  run: async (subject) => equal(await counting(subject, () => subject.oneTurn(kind), 1, 0), answer, "answer")
})

const toolLoop = (steps: number, aim: number): Workload => ({
  name: `a step of ${steps.toLocaleString("en")}`,
  aim,
  units: steps,
  run: async (subject) => {
    const said = await counting(subject, () => subject.toolLoop(steps), steps + 1, steps)
    equal(said, counted(steps), "answer")
  }
})

const deltas = (count: number, kind: Kind, chunks: Chunks): Workload => ({
  name: named(`a delta of ${count.toLocaleString("en")}`, kind) + (chunks === "all" ? ", one chunk" : ""),
  aim: aimOf(0.33, kind),
  units: count,
  run: async (subject) => {
    const heard = await counting(subject, () => subject.deltas(count, kind, chunks), 1, 0)
    equal(heard.deltas, count, "deltas")
    equal(heard.characters, count * delta.length, "characters")
  }
})

/** By hand ten handoffs are ten turns, and nothing is handed over: an agent asks once more than it hands over. */
const handoffs = (hops: number, aim: number): Workload => ({
  name: `a handoff of ${hops}`,
  aim,
  units: hops,
  run: async (subject) => {
    const requests = subject.handsOver ? hops + 1 : hops
    equal(await counting(subject, () => subject.handoffs(hops), requests, 0), answer, "answer")
  }
})

const concurrent = (runs: number, kind: Kind): Workload => ({
  name: named(`a run of ${runs.toLocaleString("en")} at once`, kind),
  aim: aimOf(1, kind),
  units: runs,
  run: async (subject) => {
    const said = await counting(subject, () => subject.concurrent(runs, kind), runs, 0)
    equal(said.length, runs, "answers")
    for (const text of said) equal(text, answer, "answer")
  }
})

/** Calls of a session in modes or in none. */
export interface Modes extends Omit<Workload, "run"> {
  readonly run: (subject: Calling) => Promise<void>
}

const modesAround = (name: string, steps: number, aim: number): Modes => ({
  name,
  aim,
  units: 10,
  run: async (subject) => {
    const before = { ...subject.calls }
    const said = await subject.run(10, steps)
    equal(subject.calls.model - before.model, 10 * (steps + 1), "calls of the model")
    equal(subject.calls.tool - before.tool, 10 * steps, "calls of the tool")
    equal(said.length, 10, "answers")
    for (const text of said) equal(text, subject.answer(steps), "answer")
  }
})

export const modes: ReadonlyArray<Modes> = [
  modesAround("a mode: enter, one call, leave", 0, 1.1),
  modesAround("a mode: enter, one call of 10 steps, leave", 10, 1.1)
]

/** A run behind 500 turns, in a context window or in none. */
export interface Windows extends Omit<Workload, "run"> {
  readonly run: (subject: Windowed) => Promise<void>
}

export const windows = (steps: number): Windows => ({
  name: `a step of ${steps} behind 500 turns`,
  aim: 1.1,
  units: steps,
  run: async (subject) => {
    const before = { ...subject.calls }
    const said = await subject.run(steps)
    equal(subject.calls.model - before.model, steps + 1, "calls of the model")
    equal(subject.calls.tool - before.tool, steps, "calls of the tool")
    const [least, most] = subject.messages(steps)
    const messages = Number(said.slice(said.lastIndexOf(" ")))
    equal(said, `${counted(steps)} ${messages}`, "answer")
    if (messages < least || messages > most) throw new Error(`${messages} messages, not from ${least} to ${most}`)
  }
})

/** A tool loop whose steps guardrails look at, or none do. */
export interface Guarded extends Omit<Workload, "run"> {
  readonly run: (subject: Looping) => Promise<void>
}

export const guarded = (steps: number): Guarded => ({
  name: `a step of ${steps} under ten guardrails`,
  aim: 1.1,
  units: steps,
  run: async (subject) => {
    const before = { ...subject.calls, looked: looked.count }
    equal(await subject.run(steps), counted(steps), "answer")
    equal(subject.calls.model - before.model, steps + 1, "calls of the model")
    equal(subject.calls.tool - before.tool, steps, "calls of the tool")
    equal(looked.count - before.looked, steps * subject.perStep, "looks of guardrails")
  }
})

export const mockCalls = {
  name: "a call of a mock model, of 100",
  units: 100,
  run: async (subject: Asking): Promise<void> => {
    const said = await subject(100)
    equal(said.length, 100, "answers")
    for (const text of said) equal(text, answer, "answer")
  }
}

export const workloads: ReadonlyArray<Workload> = [
  oneTurn("tool"),
  oneTurn("no tools"),
  toolLoop(10, 0.2),
  toolLoop(100, 0.2),
  toolLoop(1000, 0.4),
  handoffs(10, 0.5),
  deltas(2000, "tool", "each"),
  deltas(2000, "no tools", "each"),
  deltas(2000, "no tools", "all"),
  concurrent(1000, "tool"),
  concurrent(1000, "no tools")
]

/** The name of a workload's row over the AI SDK's interface. */
export const nativeName = (name: string): string => `${name}, native`

/** The largest ratio of Troupe to the AI SDK over the same object of a model that is good enough, by workload. */
export const nativeAims: Readonly<Record<string, number>> = {
  "one turn, no tools": 0.8,
  "a step of 10": 0.5,
  "a step of 100": 0.35,
  "a step of 1,000": 0.1,
  "a delta of 2,000, no tools": 0.2,
  "a run of 1,000 at once, no tools": 0.8
}

/** The same at a size that takes no time, to see that it works. */
export const tiny: ReadonlyArray<Workload> = [
  oneTurn("tool"),
  oneTurn("no tools"),
  toolLoop(3, 1),
  handoffs(3, 1),
  deltas(3, "tool", "each"),
  deltas(3, "no tools", "each"),
  deltas(3, "no tools", "all"),
  concurrent(3, "tool"),
  concurrent(3, "no tools")
]
