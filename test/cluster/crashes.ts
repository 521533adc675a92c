/**
 * Deaths of the process that has a conversation: before and after each write, one after the other, and processes that freeze and come back
 * when others have gone on. Every scenario is the same messages, delivered until they are answered; what is checked is in `problemsOf`.
 */
import { Context, Deferred, Duration, Effect, Exit, Layer, Result, Scope } from "effect"
import { AgentState } from "troupe"
import { ConversationStore } from "troupe/cluster"
import { MockModel } from "troupe/testing"
import * as Activation from "../../src/cluster/Activation.ts"
import type { Answer } from "../../src/cluster/Answer.ts"
import * as Kept from "../../src/cluster/Kept.ts"
import { Messages } from "../../src/cluster/Messages.ts"
import { type Executed, handlers, makeDesk, script } from "./desk.ts"

/** How a process ends at one of its writes. A frozen one comes back when others have answered everything. */
export interface Death {
  readonly at: number
  readonly how: "before" | "after" | "frozen"
}

/** What is taken away to see that it is needed. */
export type Mutation = "marks" | "keys" | "epoch"

export interface Scenario {
  readonly deaths: ReadonlyArray<Death>
  /** The message that is cancelled, and after how many writes of the first process. */
  readonly cancel?: { readonly key: string; readonly at: number } | undefined
  readonly mutation?: Mutation | undefined
}

type Store = ConversationStore.Service

const id = "desk/1"

const messages: ReadonlyArray<
  readonly [key: string, send: (to: Messages, key: string) => Effect.Effect<Answer, unknown>]
> = [
  ["m1", (to, key) => to.say(key, [{ _tag: "Text", text: "Bill it" }])],
  ["a8", (to, key) => to.approve(key, "r8", undefined)],
  ["a5", (to, key) => to.approve(key, "r5", undefined)],
  ["m2", (to, key) => to.say(key, [{ _tag: "Text", text: "More" }])]
]

/** A process: it is stopped where it stands, and goes on when it is thawed, if it ever is. */
interface Process {
  isStopped: boolean
  writes: number
  readonly stopped: Deferred.Deferred<void>
  readonly thaw: Deferred.Deferred<void>
}

interface World {
  readonly store: Store
  readonly scenario: Scenario
  readonly executed: Array<Executed>
  readonly answers: Map<string, Answer | "refused">
  readonly frozen: Array<Process>
  isCancelled: boolean | undefined
}

const mutated = (store: Store, mutation: Mutation | undefined): Store =>
  mutation === "keys"
    ? { ...store, find: () => Effect.succeed({ isTaken: false, answer: undefined }) }
    : store

/** The store as a process sees it. */
const storeOf = (
  { scenario, store }: World,
  process: Process,
  death: Death | undefined,
  onWrite: Effect.Effect<void>
): Store => {
  const alive = Effect.suspend(() => process.isStopped ? Deferred.await(process.thaw) : Effect.void)
  const stop = Effect.suspend(() => {
    process.isStopped = true
    Deferred.doneUnsafe(process.stopped, Effect.void)
    return Deferred.await(process.thaw)
  })
  const write = <A, E>(self: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.andThen(
      alive,
      Effect.suspend(() => {
        const isHere = death !== undefined && process.writes++ === death.at
        if (!isHere) return Effect.tap(self, () => onWrite)
        return death.how === "after" ? Effect.tap(self, () => stop) : Effect.andThen(stop, self)
      })
    )
  const seen = mutated(store, scenario.mutation)
  return {
    claim: (id) => write(seen.claim(id)),
    append: (entry) => write(seen.append(entry)),
    saveSnapshot: (...args) => write(seen.saveSnapshot(...args)),
    shorten: (...args) => write(seen.shorten(...args)),
    find: (...args) => Effect.andThen(alive, seen.find(...args)),
    read: (...args) => Effect.andThen(alive, seen.read(...args)),
    create: (...args) => write(seen.create(...args)),
    remove: (...args) => write(seen.remove(...args))
  }
}

const desks = { careful: makeDesk(), careless: makeDesk({ isCareless: true }) }

/** Lets a process live until it is stopped or has answered everything. */
const live = (world: World, death: Death | undefined, isFirst: boolean) =>
  Effect.gen(function*() {
    const { answers, executed, frozen, scenario } = world
    const process: Process = {
      isStopped: false,
      writes: 0,
      stopped: Deferred.makeUnsafe(),
      thaw: Deferred.makeUnsafe()
    }
    let to: Messages | undefined
    let writes = 0
    const { cancel } = scenario
    const cancelling = Effect.suspend(() =>
      cancel === undefined || to === undefined ? Effect.void : Effect.matchEffect(to.cancel(cancel.key), {
        onFailure: () => Effect.void,
        onSuccess: (isCancelled) => Effect.sync(() => world.isCancelled ??= isCancelled)
      })
    )
    const onWrite = Effect.suspend(() =>
      isFirst && cancel !== undefined && writes++ === cancel.at
        ? Effect.asVoid(Effect.forkDetach(cancelling))
        : Effect.void
    )
    const store = storeOf(world, process, death, onWrite)
    const log = (did: Executed) =>
      Effect.suspend(() => process.isStopped ? Deferred.await(process.thaw) : Effect.void).pipe(
        Effect.andThen(Effect.sync(() => void executed.push(did)))
      )
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(Layer.merge(MockModel.layer(script), handlers(log)), scope)
    const working = Effect.gen(function*() {
      const activation = yield* Activation.make({
        id,
        agent: scenario.mutation === "marks" ? desks.careless : desks.careful,
        store,
        migrate: undefined,
        isLeaving: () => Deferred.isDoneUnsafe(process.thaw),
        patience: Duration.zero,
        snapshotAfter: scenario.deaths.length % 2 === 0 ? undefined : 4000
      })
      to = new Messages(activation, store, id)
      // A cancellation that was asked for is delivered until it is answered, too.
      if (!isFirst && world.isCancelled === undefined) yield* cancelling
      for (const [key, send] of messages) {
        if (answers.has(key)) continue
        const answer = yield* Effect.orElseSucceed(send(to, key), () => "refused" as const)
        if (!process.isStopped) answers.set(key, answer)
      }
    }).pipe(Effect.provideContext(context), Effect.provideService(Scope.Scope, scope))
    const done = yield* Deferred.make<void>()
    yield* Effect.forkDetach(
      Effect.flatMap(Effect.exit(working), (exit) => Deferred.done(done, Exit.asVoid(exit as Exit.Exit<void>)))
    )
    yield* Effect.raceFirst(Deferred.await(done), Deferred.await(process.stopped))
    if (process.isStopped && death?.how === "frozen") frozen.push(process)
    return { isStopped: process.isStopped, writes: process.writes }
  })

const allCalls = (state: AgentState.AgentState) =>
  state.conversation.turns.flatMap((turn) =>
    turn._tag === "Assistant" ? turn.parts.flatMap((part) => part._tag === "Call" ? [part] : []) : []
  )

/** Reads the whole log from its beginning. */
const logOf = (store: Store) =>
  Effect.map(
    store.read(id, 0, 100_000),
    (entries) => entries.map(({ text }) => Result.getOrThrow(Kept.entryFromText(text)))
  )

/** Says what is wrong at the end of a scenario. */
const problemsOf = Effect.fnUntraced(function*(world: World, state: AgentState.AgentState) {
  const { answers, executed, scenario, store } = world
  const problems: Array<string> = []
  const log = yield* logOf(store)
  const events = log.flatMap(({ events }) => events)
  const settled = events.filter((event) => event._tag === "ToolCallSettled")
  const unknown = [...answers.values()].flatMap((answer) => answer === "refused" ? [] : answer.unknown)
  for (const [key] of messages) {
    const answer = answers.get(key)
    const isCancelled = scenario.cancel?.key === key && world.isCancelled === true
    if (answer === undefined) problems.push(`${key} isn't answered`)
    else if (answer === "refused" && scenario.cancel === undefined) problems.push(`${key} is refused`)
    else if (isCancelled && answer !== "refused" && answer.status !== "Cancelled") {
      problems.push(`${key} isn't cancelled`)
    }
  }
  const inputs = state.conversation.turns.filter((turn) => turn._tag === "User").length
  const isLessFor = scenario.cancel !== undefined
  if (isLessFor ? inputs > 2 : inputs !== 2) problems.push(`${inputs} inputs`)
  if (!isLessFor && state.status._tag !== "Complete") problems.push(`ends as ${state.status._tag}`)
  for (const tool of ["charge", "refund"]) {
    for (const { n } of executed.filter((one) => one.tool === tool && one.phase === "start")) {
      const of = (phase: string) =>
        executed.filter((one) => one.tool === tool && one.n === n && one.phase === phase).length
      if (of("start") > 1) problems.push(`${tool} ${n} was started ${of("start")} times`)
    }
  }
  for (const event of settled) {
    const same = settled.filter(({ callId }) => callId === event.callId)
    if (same.length > 1) problems.push(`${event.callId} is settled ${same.length} times`)
    const isMarked = event.name === "charge" || event.name === "refund"
    const n = Number(/\d+$/.exec(event.callId)?.[0])
    const ends = executed.filter((one) => one.tool === event.name && one.n === n && one.phase === "end").length
    if (isMarked && event.outcome === "Succeeded" && ends !== 1) {
      problems.push(`${event.callId} succeeded and ended ${ends} times`)
    }
    const starts = executed.filter((one) => one.tool === event.name && one.n === n).length
    if (
      isMarked && event.outcome === "Interrupted" && starts > 0 &&
      !unknown.some(({ callId }) => callId === event.callId)
    ) {
      problems.push(`${event.callId} was interrupted, and no answer says that it is unknown`)
    }
    if (!isMarked && !isLessFor && event.outcome !== "Succeeded" && event.outcome !== "HandedOff") {
      problems.push(`${event.callId} is ${event.outcome}`)
    }
  }
  const isEnd = ({ _tag, calls }: { readonly _tag: string; readonly calls: ReadonlyArray<string> }) =>
    calls.length === 0 && (_tag === "RunCompleted" || _tag === "RunFailed")
  if (log.some(({ answered, events }) => answered === undefined && events.some(isEnd))) {
    problems.push("a run ended without an answer to its message")
  }
  const kept = log.reduce((kept, entry) => Kept.take(kept, entry), Kept.begin(AgentState.make("triage")))
  if (JSON.stringify(AgentState.toJson(kept.state)) !== JSON.stringify(AgentState.toJson(state))) {
    problems.push("the state isn't the fold of its log")
  }
  if (kept.underway !== undefined) problems.push("something is under way at the end")
  if (allCalls(state).some(({ state }) => state._tag !== "Settled") && !isLessFor) problems.push("a call is open")
  return [...new Set(problems)]
})

/** Plays a scenario, and gives what is wrong, or nothing if its processes have fewer writes. */
export const play = (scenario: Scenario, store: Store) =>
  Effect.gen(function*() {
    const world: World = { store, scenario, executed: [], answers: new Map(), frozen: [], isCancelled: undefined }
    for (const [index, death] of scenario.deaths.entries()) {
      const { isStopped } = yield* live(world, death, index === 0)
      if (!isStopped) break
    }
    yield* live(world, undefined, scenario.deaths.length === 0)
    const before = world.executed.length
    const kept = yield* logOf(store)
    for (const process of world.frozen) {
      process.isStopped = false
      yield* Deferred.succeed(process.thaw, undefined)
      for (let turn = 0; turn < 50; turn++) yield* Effect.yieldNow
    }
    const problems: Array<string> = []
    if (world.executed.length > before) {
      // A process may freeze between the mark of a start and the start: nobody else starts that call, and it is told as unknown.
      const unknown = kept.flatMap(({ events }) =>
        events.flatMap((event) =>
          event._tag === "ToolCallSettled" && event.outcome === "Interrupted" ? [event.callId] : []
        )
      )
      const late = world.executed.slice(before).filter(({ n, phase, tool }) =>
        phase === "start" && tool !== "look" && !unknown.some((callId) => callId === `${tool[0]}${n}`)
      )
      if (late.length > 0) problems.push(`${late.length} handlers were started by a process that was replaced`)
    }
    if ((yield* logOf(store)).length !== kept.length) problems.push("a process that was replaced has written")
    const found = Effect.gen(function*() {
      const entries = yield* logOf(store)
      const state = entries.reduce((kept, entry) => Kept.take(kept, entry), Kept.begin(AgentState.make("triage"))).state
      const { snapshot } = yield* store.claim(id)
      if (snapshot !== undefined) Result.getOrThrow(Kept.fromText(snapshot.text))
      return yield* problemsOf(world, state)
    })
    const broken = Effect.catchDefect(found, (defect) => Effect.succeed([`the log is broken: ${String(defect)}`]))
    return [...problems, ...(yield* broken)]
  })

/** How many writes a process makes that lives through everything. */
export const countWrites = (store: Store) =>
  Effect.gen(function*() {
    const world: World = {
      store,
      scenario: { deaths: [] },
      executed: [],
      answers: new Map(),
      frozen: [],
      isCancelled: undefined
    }
    return (yield* live(world, { at: Number.POSITIVE_INFINITY, how: "before" }, true)).writes
  })

/** An empty store in memory. With the mutation, it doesn't ask for the epoch. */
export const emptyStore = (mutation?: Mutation): Effect.Effect<Store, never, Scope.Scope> =>
  Effect.map(Layer.build(Layer.fresh(ConversationStore.layerMemory)), (context) => {
    const store = Context.get(context, ConversationStore.ConversationStore)
    if (mutation !== "epoch") return store
    const last = new Map<string, { epoch: number; revision: number }>()
    const without: Store = {
      ...store,
      claim: (id) =>
        Effect.map(store.claim(id), (claimed) => {
          const revision = claimed.entries.at(-1)?.revision ?? claimed.snapshot?.revision ?? 0
          last.set(id, { epoch: claimed.epoch, revision })
          return claimed
        }),
      append: (entry) =>
        Effect.suspend(() => {
          const now = last.get(entry.id)!
          now.revision++
          return store.append({ ...entry, epoch: now.epoch, revision: now.revision })
        })
    }
    return without
  })

const hows = ["before", "after", "frozen"] as const

/** The scenarios of one death, or one in a hundred of those with two, by a number. */
export const scenarioOf = (n: number, writes: number): Scenario => {
  // A generator of its own: the same number is the same scenario everywhere.
  let seed = (n + 1) * 2654435761 >>> 0
  const next = (below: number) => {
    seed ^= seed << 13
    seed ^= seed >>> 17
    seed ^= seed << 5
    return (seed >>> 0) % below
  }
  if (n < writes * 3) return { deaths: [{ at: Math.floor(n / 3), how: hows[n % 3]! }] }
  const deaths = Array.from({ length: 1 + next(3) }, () => ({ at: next(writes), how: hows[next(3)]! }))
  const key = messages[next(messages.length)]![0]
  return { deaths, cancel: next(3) === 0 ? { key, at: next(writes) } : undefined }
}
