/**
 * Deaths of the process that has a conversation: at each write, one after the other, and processes that freeze and come back when others
 * have gone on. Every scenario is the same messages, delivered until they are answered; what is checked is in `problems.ts`.
 */
import { Cause, Deferred, Duration, Effect, Exit, Fiber, Layer, Result, Scope } from "effect"
import { MockModel } from "troupe/testing"
import * as Activation from "../../../src/cluster/Activation.ts"
import type { Answer } from "../../../src/cluster/Answer.ts"
import { Journal } from "../../../src/cluster/Journal.ts"
import * as Kept from "../../../src/cluster/Kept.ts"
import { Messages } from "../../../src/cluster/Messages.ts"
import { arrived, type Executed, handlers, makeDesk, messages, script, startsOnce } from "../desk.ts"
import { fold, logOf, problemsOf } from "./problems.ts"
import type { Death, Scenario } from "./scenarios.ts"
import { alive, makeProcess, mutated, type Process, type Store, storeOf } from "./stores.ts"

interface World {
  readonly id: string
  readonly store: Store
  readonly scenario: Scenario
  readonly executed: Array<Executed>
  readonly answers: Map<string, Answer | "refused">
  readonly problems: Array<string>
  readonly frozen: Array<Process>
  isCancelled: boolean | undefined
}

const desks = { careful: makeDesk(), careless: makeDesk({ isCareless: true }) }

const send = (to: Messages, message: typeof messages[number]): Effect.Effect<Answer, unknown> => {
  const { key } = message
  if ("says" in message) return to.say(key, [{ _tag: "Text", text: message.says }])
  if ("gives" in message) return to.giveResult(key, message.gives, arrived, false)
  return "approves" in message ? to.approve(key, message.approves, undefined) : to.deny(key, message.denies, "No.")
}

/** Takes an answer, which is the same for all who get it. */
const told = ({ answers, problems }: World, key: string, answer: Answer | "refused") => {
  const known = answers.get(key)
  if (known === undefined) answers.set(key, answer)
  else if (JSON.stringify(known) !== JSON.stringify(answer)) problems.push(`${key} has two answers`)
}

/** Lets a process live until it is stopped or has answered everything. */
const live = (world: World, death: Death | undefined, isFirst: boolean) =>
  Effect.gen(function*() {
    const { answers, executed, frozen, id, scenario } = world
    const process = makeProcess()
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
    const store = storeOf(world.store, process, death, onWrite)
    const log = (did: Executed) => Effect.andThen(alive(process), Effect.sync(() => void executed.push(did)))
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(Layer.merge(MockModel.layer(script), handlers(log)), scope)
    const working = Effect.gen(function*() {
      const activation = yield* Activation.make({
        id,
        agent: scenario.mutation === "marks" ? desks.careless : desks.careful,
        store,
        migrate: undefined,
        isLeaving: () => process.isLeaving,
        patience: Duration.zero,
        snapshotAfter: scenario.deaths.length % 2 === 0 ? undefined : 4000
      })
      to = new Messages(activation, store, id)
      // A cancellation that was asked for is delivered until it is answered, too.
      if (!isFirst && world.isCancelled === undefined) yield* cancelling
      for (const message of messages) {
        if (answers.has(message.key)) continue
        told(world, message.key, yield* Effect.orElseSucceed(send(to, message), () => "refused" as const))
      }
    }).pipe(Effect.provideContext(context), Effect.provideService(Scope.Scope, scope))
    const running = yield* Effect.forkDetach(working)
    running.addObserver((exit) => {
      const isOver = Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)
      Deferred.doneUnsafe(process.done, isOver ? Exit.void : Exit.failCause(exit.cause))
    })
    const taken = Deferred.await(process.taken).pipe(
      Effect.andThen(Fiber.interrupt(running)),
      Effect.andThen(Scope.close(scope, Exit.void))
    )
    yield* Effect.raceAllFirst([Deferred.await(process.done), Deferred.await(process.stopped), taken])
    if (process.isStopped && death?.how === "frozen") frozen.push(process)
    return { isOver: answers.size === messages.length, writes: process.writes }
  })

/** Lets the frozen processes go on, and says what they did that they shouldn't have. */
const thaw = Effect.fnUntraced(function*({ executed, frozen, id, store }: World) {
  const problems: Array<string> = []
  const before = executed.length
  const kept = yield* logOf(store, id)
  for (const process of frozen) {
    process.isStopped = false
    process.isLeaving = true
    yield* Deferred.succeed(process.thaw, undefined)
    const ended = yield* Effect.timeoutOption(Deferred.await(process.done), "10 seconds")
    if (ended._tag === "None") problems.push("a process that was replaced doesn't leave")
  }
  // A process may freeze between the mark of a start and the start: nobody else starts that call, and it is told as unknown.
  const unknown = kept.flatMap(({ events }) =>
    events.flatMap((event) =>
      event._tag === "ToolCallSettled" && event.outcome === "Interrupted"
        ? [`${event.name} ${event.callId.slice(1)}`]
        : []
    )
  )
  const late = executed.slice(before).filter(({ n, phase, tool }) =>
    phase === "start" && startsOnce.includes(tool) && !unknown.includes(`${tool} ${n}`)
  )
  if (late.length > 0) problems.push(`${late.length} handlers were started by a process that was replaced`)
  if ((yield* logOf(store, id)).length !== kept.length) problems.push("a process that was replaced has written")
  return problems
})

/** Lets journals be open for as long as the scope, though they are closed. */
const neverClosed = Effect.acquireRelease(
  Effect.sync(() => {
    const { close } = Journal.prototype
    Journal.prototype.close = () => {}
    return close
  }),
  (close) => Effect.sync(() => void (Journal.prototype.close = close))
)

const worldOf = (scenario: Scenario, store: Store, id: string): World => ({
  id,
  store: mutated(store, scenario.mutation),
  scenario,
  executed: [],
  answers: new Map(),
  problems: [],
  frozen: [],
  isCancelled: undefined
})

/** Plays a scenario in a conversation of its own, and gives what is wrong. */
export const play = (scenario: Scenario, store: Store, id: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function*() {
    const world = worldOf(scenario, store, id)
    if (scenario.mutation === "closing") yield* neverClosed
    for (const [index, death] of scenario.deaths.entries()) {
      const { isOver } = yield* live(world, death, index === 0)
      if (isOver) break
    }
    yield* live(world, undefined, scenario.deaths.length === 0)
    const ofFrozen = yield* thaw(world)
    const found = Effect.gen(function*() {
      const log = yield* logOf(world.store, id)
      const { snapshot } = yield* Effect.orDie(store.claim(id))
      if (snapshot !== undefined) Result.getOrThrow(Kept.fromText(snapshot.text))
      const { answers, executed, isCancelled } = world
      const { cancel } = scenario
      return problemsOf(log, fold(log).state, {
        executed,
        answers,
        cancel: cancel === undefined ? undefined : { key: cancel.key, isInTime: isCancelled === true }
      })
    })
    const broken = Effect.catchDefect(found, (defect) => Effect.succeed([`the log is broken: ${String(defect)}`]))
    const problems = [...world.problems, ...ofFrozen, ...(yield* broken)]
    yield* Effect.orDie(store.remove(id))
    return problems
  }).pipe(Effect.scoped)

/** Counts the writes of a process that lives through everything. */
export const countWrites = (store: Store): Effect.Effect<number> =>
  Effect.gen(function*() {
    const world = worldOf({ deaths: [] }, store, "desk/writes")
    const { writes } = yield* live(world, { at: Number.POSITIVE_INFINITY, how: "before" }, true)
    yield* Effect.orDie(store.remove("desk/writes"))
    return writes
  })
