/** Runners of one cluster in one process: each can die where it stands, and the next one takes over. */
import { Context, Deferred, Effect, Exit, Layer, Scope } from "effect"
import {
  MessageStorage,
  RunnerHealth,
  Runners,
  RunnerStorage,
  Sharding,
  ShardingConfig,
  TestRunner
} from "effect/cluster"
import { Conversation, ConversationStore } from "troupe/cluster"

type Store = ConversationStore.Service

/** What entities need of a cluster. */
type Cluster = Sharding.Sharding | MessageStorage.MessageStorage | ConversationStore.ConversationStore

/** A cluster in memory with one runner that has these entities. */
export const withRunner = <E, R, E2, R2>(
  entities: Layer.Layer<never, E, R>,
  needs: Layer.Layer<R2, E2>,
  store = ConversationStore.layerMemory
) =>
  entities.pipe(
    Layer.provide(needs),
    Layer.provideMerge(Layer.merge(TestRunner.layer, store))
  )

/** A store in memory, some functions of which are replaced. */
export const changedStore = (
  change: (store: Store) => Partial<Store>
): Layer.Layer<ConversationStore.ConversationStore> =>
  Layer.effect(
    ConversationStore.ConversationStore,
    Effect.map(ConversationStore.ConversationStore, (store): Store => ({ ...store, ...change(store) }))
  ).pipe(Layer.provide(ConversationStore.layerMemory))

/** A store in which the first who looks for an answer once something has begun hears of it when it has ended. */
export const slowToLook = (at: {
  readonly began: Deferred.Deferred<void>
  readonly looked: Deferred.Deferred<void>
  readonly ended: Deferred.Deferred<void>
}) =>
  changedStore((store) => ({
    find: (id, key) =>
      Effect.tap(store.find(id, key), () =>
        Deferred.isDoneUnsafe(at.began) && !Deferred.isDoneUnsafe(at.looked)
          ? Effect.andThen(Deferred.succeed(at.looked, undefined), Deferred.await(at.ended))
          : Effect.void)
  }))

/** A store that its process has no more: what it asks for never comes. */
const mortal = (store: Store, isDead: () => boolean, gone: Deferred.Deferred<void>): Store => {
  const alive = Effect.suspend(() =>
    isDead() ? Effect.andThen(Deferred.await(gone), Effect.die("The process is dead")) : Effect.void
  )
  const living = <A, E>(self: Effect.Effect<A, E>) => Effect.andThen(alive, self).pipe(Effect.tap(alive))
  return {
    claim: (id) => living(store.claim(id)),
    append: (entry) => living(store.append(entry)),
    saveSnapshot: (...args) => living(store.saveSnapshot(...args)),
    shorten: (...args) => living(store.shorten(...args)),
    find: (...args) => living(store.find(...args)),
    read: (...args) => living(store.read(...args)),
    create: (...args) => living(store.create(...args)),
    remove: (...args) => living(store.remove(...args))
  }
}

/** The messages of a cluster, as a process has them: a dead one takes none from the others. */
const mortalMessages = (
  storage: Context.Context<MessageStorage.MessageStorage>,
  isDead: () => boolean,
  gone: Deferred.Deferred<void>
): Context.Context<MessageStorage.MessageStorage> => {
  const messages = Context.get(storage, MessageStorage.MessageStorage)
  const mortal = Object.entries(messages).map(([name, value]: [string, unknown]) => [
    name,
    typeof value !== "function" ? value : (...args: ReadonlyArray<unknown>) =>
      Effect.suspend(() =>
        isDead()
          ? Effect.andThen(Deferred.await(gone), Effect.interrupt)
          : Reflect.apply(value, messages, args) as Effect.Effect<unknown>
      )
  ])
  return Context.add(storage, MessageStorage.MessageStorage, Object.fromEntries(mortal) as typeof messages)
}

/** A runner: what is provided by it talks to the cluster over it. */
interface Runner {
  readonly provide: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Sharding.Sharding>>
  /** Stops everything in it where it stands: nothing of that is kept or answered any more. */
  readonly die: Effect.Effect<void>
  /** Ends it as a signal would that lets it end in order. */
  readonly end: Effect.Effect<void>
}

/** Makes a cluster in memory, and gives what starts a runner of it. */
export const makeCluster = Effect.gen(function*() {
  const storage = yield* Layer.build(Layer.provide(MessageStorage.layerMemory, ShardingConfig.layer()))
  const stored = yield* Layer.build(ConversationStore.layerMemory)
  const store = Context.get(stored, ConversationStore.ConversationStore)
  const start = <E, R extends Cluster | R2, E2, R2>(entities: Layer.Layer<never, E, R>, needs: Layer.Layer<R2, E2>) =>
    Effect.gen(function*() {
      let isDead = false
      const gone = yield* Deferred.make<void>()
      const scope = yield* Scope.make()
      const cluster = Sharding.layer.pipe(
        Layer.provideMerge(Runners.layerNoop),
        Layer.provideMerge(Layer.succeedContext(mortalMessages(storage, () => isDead, gone))),
        Layer.provide([RunnerStorage.layerMemory, RunnerHealth.layerNoop]),
        Layer.provide(ShardingConfig.layer({ ...Conversation.sharding(), entityTerminationTimeout: 0 }))
      )
      const layer = (entities as Layer.Layer<never, E, Cluster | R2>).pipe(
        Layer.provide(Layer.succeed(ConversationStore.ConversationStore, mortal(store, () => isDead, gone))),
        Layer.provide(needs),
        Layer.provideMerge(cluster)
      )
      const context = yield* Layer.buildWithScope(layer, scope)
      yield* Effect.addFinalizer(() => Effect.andThen(Deferred.succeed(gone, undefined), Scope.close(scope, Exit.void)))
      const runner: Runner = {
        provide: (self) => Effect.provideContext(self, context) as never,
        die: Effect.sync(() => {
          isDead = true
        }),
        end: Scope.close(scope, Exit.void)
      }
      return runner
    })
  return { start, store }
})
