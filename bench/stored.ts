/**
 * What it takes to save a turn of a session, late in a conversation beside early in it.
 *
 * What a session of 1,000 turns saves is timed while it talks, and then saved again to an empty store. So what the turns themselves
 * take, which grows with the conversation, isn't timed.
 */
import { Effect } from "effect"
import { KeyValueStore } from "effect/persistence"
import { Agent, type AgentState, Session } from "../src/index.ts"
import * as model from "./effectModel.ts"
import { median } from "./rounds.ts"
import { type Calls, question, system } from "./script.ts"

type Document = Effect.Success<ReturnType<typeof Session.store>["open"]>

/** What each turn of a session saves. */
export type Saves = ReadonlyArray<ReadonlyArray<Parameters<Document["save"]>>>

/** What each turn of a session saved, and the milliseconds that this took in each while it talked. */
export interface Recorded {
  readonly saves: Saves
  readonly took: ReadonlyArray<number>
}

const id = "talk"

const makeStore = () => {
  const values = new Map<string, string>()
  return KeyValueStore.makeStringOnly({
    get: (key) => Effect.sync(() => values.get(key)),
    set: (key, value) => Effect.sync(() => void values.set(key, value)),
    remove: (key) => Effect.sync(() => void values.delete(key)),
    clear: Effect.sync(() => values.clear()),
    size: Effect.sync(() => values.size),
    keys: Effect.sync(() => [...values.keys()])
  })
}

/** Talks for so many turns, and gives what each saves. */
export const record = (turns: number): Promise<Recorded> => {
  const calls: Calls = { model: 0, tool: 0 }
  const saves: Array<Array<Parameters<Document["save"]>>> = []
  const took: Array<number> = []
  const { open } = Session.store(id)
  const recording = Effect.map(open, (document): Document => ({
    ...document,
    save: (...save) =>
      Effect.suspend(() => {
        saves.at(-1)?.push(save)
        const start = performance.now()
        return Effect.map(document.save(...save), () => {
          took[saves.length - 1]! += performance.now() - start
        })
      })
  }))
  return Effect.gen(function*() {
    const session = yield* Session.make(Agent.make("speaker", { instructions: system }), {
      store: { id, open: recording }
    })
    for (let turn = 0; turn < turns; turn++) {
      saves.push([])
      took.push(0)
      yield* session.call(question)
    }
    return { saves, took }
  }).pipe(
    Effect.scoped,
    Effect.provideService(KeyValueStore.KeyValueStore, makeStore()),
    Effect.runPromiseWith(model.services(model.oneTurn(calls), calls))
  )
}

/** Saves turns to an empty store, and gives the milliseconds that each took, and the state that can be read in the end. */
export const saveAgain = (
  saves: Saves
): Promise<{ readonly took: ReadonlyArray<number>; readonly state: AgentState.AgentState | undefined }> =>
  Effect.gen(function*() {
    const document = yield* Session.store(id).open
    const took: Array<number> = []
    for (const turn of saves) {
      const start = performance.now()
      yield* document.check
      for (const save of turn) yield* document.save(...save)
      took.push(performance.now() - start)
    }
    return { took, state: yield* Session.load(id) }
  }).pipe(Effect.scoped, Effect.provideService(KeyValueStore.KeyValueStore, makeStore()), Effect.runPromise)

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * Gives the milliseconds that a turn took to save: late and early, the median of 32 turns, and then the mean of all turns from 100
 * to 1,000 and from 10 to 100. A turn that begins a log, or in which garbage is collected, weighs in the means alone.
 */
export const compare = (took: ReadonlyArray<number>): readonly [number, number, number, number] => [
  median(took.slice(-32)),
  median(took.slice(4, 36)),
  mean(took.slice(100, 1000)),
  mean(took.slice(10, 100))
]
