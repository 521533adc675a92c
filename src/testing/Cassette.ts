/**
 * Recordings of agents: the answers of models and the results of tools, on a tape that replays without either.
 *
 * 1. A tape is a log of events, a JSON line each, as `Agent.observe` sees them. Whatever reads events reads tapes.
 * 2. A request is found by its content and the path of its agent. Ids of calls, times and metadata of parts are ignored, and agents that
 *    run in parallel aren't mixed up.
 * 3. A request that isn't on the tape is a defect with a readable difference. `orFail` makes it a failure.
 * 4. A tape has no times and nothing that `redact` removes. Of failures it has no headers, no query strings of URLs, and no API keys that
 *    can be recognized. Texts, parameters, results and sources are recorded as they are, unless `redact` changes them.
 *
 * **Example** (Recording a run, and playing it without the model and the tool)
 *
 * ```ts
 * import { NodeFileSystem } from "@effect/platform-node"
 * import { Effect, FileSystem, Layer, Schema } from "effect"
 * import { Tool, Toolkit } from "effect/ai"
 * import { Agent, AgentState } from "troupe"
 * import { Cassette, MockModel, MockResponse } from "troupe/testing"
 *
 * const Weather = Toolkit.make(
 *   Tool.make("get_weather", { parameters: Schema.Struct({ city: Schema.String }), success: Schema.Finite })
 * )
 * const agent = Agent.make("weather", { toolkit: Weather })
 * const ask = Agent.run(agent, "How warm is Paris?").pipe(Effect.map(AgentState.text))
 *
 * // In your program these are a provider's model and the tools themselves.
 * const model = MockModel.layer(MockModel.queue(
 *   MockResponse.toolCall("get_weather", { city: "Paris" }),
 *   "It is 22 °C."
 * ))
 * const tools = Weather.toLayer({ get_weather: () => Effect.succeed(22) })
 *
 * const program = Effect.gen(function*() {
 *   const files = yield* FileSystem.FileSystem
 *   const path = `${yield* files.makeTempDirectoryScoped()}/paris.jsonl`
 *
 *   const recorder = Cassette.layer(path, { mode: "record" }).pipe(Layer.provide(model))
 *   const first = yield* ask.pipe(Effect.provide(Cassette.toolkit(Weather, tools).pipe(Layer.provideMerge(recorder))))
 *
 *   const player = Cassette.layer(path, { mode: "replay" })
 *   const again = yield* ask.pipe(
 *     Effect.tap(Cassette.assertDrained),
 *     Effect.provide(Cassette.toolkit(Weather).pipe(Layer.provideMerge(player)))
 *   )
 *   const events = (yield* files.readFileString(path)).trim().split("\n").map((line) => JSON.parse(line)._tag)
 *   return { first, again, events }
 * })
 *
 * const result = await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)))
 *
 * result.first // => "It is 22 °C."
 * result.again // => "It is 22 °C."
 * result.events.slice(0, 4)
 * // => ["ModelCallStarted", "ModelResponded", "ToolCallStarted", "ToolCallSettled"]
 * ```
 *
 * @since 0.1.0
 */
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { format } from "effect/Formatter"
import * as Layer from "effect/Layer"
import type { PlatformError } from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { CurrentOverrides, type Overrides, type ToolHandler } from "../agent/definition/Overrides.ts"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import { listOf } from "../domain/Described.ts"
import {
  CassetteConflict,
  CassetteDrift,
  CassetteExhausted,
  CassetteLeftOver,
  type InvalidTape
} from "./cassette/CassetteError.ts"
import * as Entry from "./cassette/Entry.ts"
import * as Line from "./cassette/Line.ts"
import * as OwnParts from "./cassette/OwnParts.ts"
import { Player } from "./cassette/Player.ts"
import { Recorder } from "./cassette/Recorder.ts"
import * as Recording from "./cassette/Recording.ts"
import * as Redact from "./cassette/Redact.ts"
import * as Replaying from "./cassette/Replaying.ts"
import * as TapeFile from "./cassette/TapeFile.ts"
import * as Tools from "./cassette/Tools.ts"

export {
  CassetteConflict,
  CassetteDrift,
  CassetteExhausted,
  CassetteLeftOver,
  InvalidTape
} from "./cassette/CassetteError.ts"
export type { Redact } from "./cassette/Redact.ts"

/**
 * Whether a tape is written or played. With `"auto"`, the default, it is played if the file exists, and otherwise written.
 *
 * @category models
 * @since 0.1.0
 */
export type Mode = "record" | "replay" | "auto"

const modes: ReadonlyArray<unknown> = ["record", "replay", "auto"] satisfies ReadonlyArray<Mode>

/**
 * How a tape is read and written.
 *
 * **Details**
 *
 * - `redact` is applied to texts before they are written, and to a request before it is compared; by default nothing is removed. Names of
 *   agents and tools and ids of calls stay. A function must leave its own result unchanged. Use it also for texts that differ each time,
 *   such as the date in a system message.
 * - `ownHandlers` says whether handlers that an agent's toolkit brings itself are recorded and played, `true` by default. If it is `false`,
 *   they run in a replay too.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly redact?: Redact.Redact
  readonly ownHandlers?: boolean
}

/** What a tape is doing. */
type Service =
  | { readonly mode: "record"; readonly recorder: Recorder }
  | { readonly mode: "replay"; readonly player: Player; readonly change: Redact.Change }

/**
 * The tape that is written or played.
 *
 * @category services
 * @since 0.1.0
 */
export class Cassette extends Context.Service<Cassette, Service>()("troupe/testing/Cassette") {}

type Provided = Context.Context<LanguageModel.LanguageModel | Cassette>

const provided = (model: LanguageModel.LanguageModel, service: Service, overrides: Overrides): Provided =>
  Context.make(LanguageModel.LanguageModel, model).pipe(
    Context.add(Cassette, service),
    Context.add(CurrentOverrides, overrides)
  )

const replay = (tape: string, lines: ReadonlyArray<Line.Line>, { ownHandlers = true, redact }: Options = {}) => {
  const change = Redact.toFunction(redact)
  const player = new Player(tape, Entry.fromLines(lines, change))
  return Effect.map(
    Replaying.make(player, change),
    (model) =>
      provided(model, { mode: "replay", player, change }, OwnParts.replayed(model, player, change, ownHandlers))
  )
}

const read = Effect.fnUntraced(function*(path: string, options: Options | undefined) {
  const files = yield* FileSystem.FileSystem
  const lines = yield* Effect.fromResult(Line.read(yield* files.readFileString(path), path))
  return yield* replay(path, lines, options)
})

const record = Effect.fnUntraced(function*(path: string, { ownHandlers = true, redact }: Options = {}) {
  const model = yield* LanguageModel.LanguageModel
  const change = Redact.toFunction(redact)
  const file = yield* TapeFile.open(path)
  const encoder = new TextEncoder()
  const recorder = new Recorder(change, (text) => Effect.orDie(file.writeAll(encoder.encode(text))))
  return provided(
    yield* Recording.make(model, recorder),
    { mode: "record", recorder },
    yield* OwnParts.recorded(recorder, ownHandlers)
  )
})

/** What a layer needs beside files: a model, unless it only plays. */
type Needed<M extends Mode> = "replay" extends M ? M extends "replay" ? never : LanguageModel.LanguageModel
  : LanguageModel.LanguageModel

/**
 * Provides a language model that records what another answers, or that answers as the tape in a file says.
 *
 * **When to use**
 *
 * Use `"auto"`, the default, and keep tapes beside your tests: without the file a test asks the model and writes the file, and with it no
 * model is asked. Delete the file to record again.
 *
 * **Details**
 *
 * - `"record"` and `"auto"` take the model from the environment, `"replay"` needs none. Handlers of tools from the environment are recorded
 *   only by `toolkit`.
 * - The layer fails with `InvalidTape` if a line of the file isn't an event, and with a `PlatformError` if the file can't be read or
 *   created, for example if there is none in `"replay"`.
 * - A request that differs from those on the tape dies with `CassetteDrift`, and one too many with `CassetteExhausted`.
 * - A tape is written beside its place and moved there when the layer is closed. If this recording was interrupted, or another one wrote
 *   the tape meanwhile, this recording is kept as `….recording`. In the second case closing dies with `CassetteConflict`.
 * - Failures of the model are played as the same `AiError` without headers. A request that was interrupted never gets an answer.
 * - A tape can be played streamed or not, however it was recorded.
 * - Models that agents, modes and context windows have themselves, `ExecutionPlan`s too, are on the same tape, and so are, unless
 *   `ownHandlers` is `false`, the handlers that toolkits bring. In a replay none of these is built or run.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <const M extends Mode = "auto">(
  path: string,
  options?: Options & { readonly mode?: M }
): Layer.Layer<
  LanguageModel.LanguageModel | Cassette,
  PlatformError | InvalidTape,
  FileSystem.FileSystem | Needed<M>
> =>
  Layer.effectContext(Effect.gen(function*() {
    const mode = options?.mode ?? "auto"
    // An invalid mode must not overwrite a tape.
    if (!modes.includes(mode)) {
      const known = listOf(modes.map(String))
      return yield* Effect.die(
        new TypeError(`The mode of the tape "${path}" is ${format(mode)}, and must be one of ${known}`)
      )
    }
    const isPlayed = mode === "auto" ? yield* (yield* FileSystem.FileSystem).exists(path) : mode === "replay"
    return yield* isPlayed ? read(path, options) : record(path, options)
  }) as Effect.Effect<Provided, PlatformError | InvalidTape, FileSystem.FileSystem | Needed<M> | Scope.Scope>)

/**
 * Provides a language model that answers as the events of runs say. The events needn't have been recorded as a tape.
 *
 * **When to use**
 *
 * Use to play the events that `Agent.observe` or `Agent.stream` emitted, for example of a run in production that went wrong. `layer` plays
 * a file of such events, one as JSON in each line.
 *
 * **Details**
 *
 * Events don't say which system message and tools a model was sent, so only the messages of the conversation are compared. If the events
 * don't say what a run began with, the answers of each agent are played in their order. A failure is played as an `AiError` with the tag
 * and the message of its event, so it is retried if the recorded one was. Its other fields are read from the message, so it has no HTTP
 * response, and only a `RateLimitError` says how long to wait. If the tag isn't that of a reason, for example `GuardrailBlocked`, the
 * failure is played as an `InvalidRequestError`, or as an `UnknownError` if the attempt may have used tokens. A request that differs dies
 * with `CassetteDrift`, and one too many with `CassetteExhausted`: they name the tape by `name`, `"events"` by default. The layer fails
 * with the error of the stream.
 *
 * **Example** (Playing what was seen)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, type AgentEvent, AgentState } from "troupe"
 * import { Cassette, MockModel } from "troupe/testing"
 *
 * const agent = Agent.make("friend")
 * const seen: Array<AgentEvent.AgentEvent> = []
 *
 * const first = Agent.run(agent, "Who are you?").pipe(
 *   Agent.observe((event) => Effect.sync(() => seen.push(event))),
 *   Effect.provide(MockModel.layer(MockModel.queue("A friend.")))
 * )
 * await Effect.runPromise(first)
 *
 * const again = Agent.run(agent, "Who are you?").pipe(
 *   Effect.map(AgentState.text),
 *   Effect.provide(Cassette.fromEvents(seen))
 * )
 * await Effect.runPromise(again) // => "A friend."
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const fromEvents = <E = never, R = never>(
  events: Iterable<AgentEvent> | Stream.Stream<AgentEvent, E, R>,
  options?: Options & { readonly name?: string }
): Layer.Layer<LanguageModel.LanguageModel | Cassette, E, Exclude<R, Scope.Scope>> =>
  Layer.effectContext(
    Effect.flatMap(
      Stream.isStream(events) ? Stream.runCollect(events) : Effect.sync(() => Array.from(events)),
      (events) => replay(options?.name ?? "events", events.map((event): Line.Line => ({ event, beside: {} })), options)
    )
  )

type Handlers<T extends Record<string, Tool.Any>> = Context.Context<Tool.HandlersFor<T>>

/** Makes the handlers of a toolkit. */
const handlersOf = <T extends Record<string, Tool.Any>>(
  toolkit: Toolkit.Toolkit<T>,
  make: (tool: Tool.Any) => ToolHandler | undefined
): Effect.Effect<Handlers<T>> => {
  const handlers = Object.entries(toolkit.tools).flatMap(([name, tool]) => {
    const handler = make(tool)
    return handler === undefined ? [] : [[name, handler]]
  })
  return toolkit.toHandlers(Object.fromEntries(handlers) as Toolkit.HandlersFrom<T>) as Effect.Effect<Handlers<T>>
}

/**
 * Provides handlers for a toolkit: while a tape is recorded, your `handlers`, whose results are recorded; in a replay, handlers that return
 * what the tape says.
 *
 * **Details**
 *
 * `handlers` is built only while a tape is recorded. Without it the toolkit can only be played: while a tape is recorded, the layer dies.
 *
 * A call is found by the path of its agent, the name of its tool and its parameters. One that differs dies with `CassetteDrift`, and one
 * too many with `CassetteExhausted`. A result goes through the schemas of the tool. Preliminary results, failures and defects are played,
 * too. A call that was interrupted never returns. If a handler asks a model or runs an agent, nothing of that is recorded, because a replay
 * doesn't run the handler.
 *
 * Handlers that an agent's toolkit brings itself don't come from the environment: `layer` records and plays them without this function.
 *
 * @category layers
 * @since 0.1.0
 */
export const toolkit = <T extends Record<string, Tool.Any>, E = never, R = never>(
  toolkit: Toolkit.Toolkit<T>,
  handlers?: Layer.Layer<Tool.HandlersFor<T>, E, R>
): Layer.Layer<Tool.HandlersFor<T>, E, R | Cassette> =>
  Layer.effectContext(Effect.gen(function*() {
    const service = yield* Cassette
    if (service.mode === "replay") {
      return yield* handlersOf(toolkit, (tool) => Tools.replayed(tool, service.player, service.change))
    }
    if (handlers === undefined) {
      const names = Object.keys(toolkit.tools).join(", ")
      return yield* Effect.die(new Error(`No handlers to record were given to Cassette.toolkit for ${names}`))
    }
    const real = yield* Layer.build(handlers)
    return yield* handlersOf(toolkit, (tool) => {
      const handler = real.mapUnsafe.get(tool.id) as Tool.Handler<string> | undefined
      return handler === undefined ? undefined : Tools.recorded(tool, handler, service.recorder)
    })
  }))

/**
 * Dies with `CassetteLeftOver` unless everything on the tape was asked for.
 *
 * Calls of tools whose handlers aren't played don't count, nor do interrupted requests and calls. While a tape is recorded, nothing is left
 * over.
 *
 * @category assertions
 * @since 0.1.0
 */
export const assertDrained: Effect.Effect<void, never, Cassette> = Effect.flatMap(Cassette, (service) => {
  if (service.mode === "record") return Effect.void
  const left = service.player.left()
  return left.length === 0 ? Effect.void : Effect.die(new CassetteLeftOver({ tape: service.player.tape, left }))
})

type CassetteError = CassetteConflict | CassetteDrift | CassetteExhausted | CassetteLeftOver

const isOurs = (u: unknown): u is CassetteError =>
  u instanceof CassetteDrift || u instanceof CassetteExhausted || u instanceof CassetteLeftOver ||
  u instanceof CassetteConflict

/**
 * Turns a defect of a tape into a failure: `CassetteDrift`, `CassetteExhausted`, `CassetteLeftOver` or `CassetteConflict`.
 *
 * **Example** (What was asked differs from what was recorded)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, type AgentEvent } from "troupe"
 * import { Cassette, MockModel } from "troupe/testing"
 *
 * const agent = Agent.make("friend")
 * const seen: Array<AgentEvent.AgentEvent> = []
 *
 * await Effect.runPromise(Agent.run(agent, "Who are you?").pipe(
 *   Agent.observe((event) => Effect.sync(() => seen.push(event))),
 *   Effect.provide(MockModel.layer(MockModel.queue("A friend.")))
 * ))
 *
 * const program = Agent.run(agent, "Who am I?").pipe(
 *   Cassette.orFail,
 *   Effect.as(""),
 *   Effect.catchTag("CassetteDrift", (error) => Effect.succeed(error.diff)),
 *   Effect.provide(Cassette.fromEvents(seen))
 * )
 * const diff = await Effect.runPromise(program)
 * diff.split("\n").slice(3) // => ["-user: Who are you?", "+user: Who am I?"]
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const orFail = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E | CassetteError, R> =>
  Effect.catchCause(self, (cause): Effect.Effect<never, E | CassetteError> => {
    const ours = cause.reasons.flatMap((reason) =>
      Cause.isDieReason(reason) && isOurs(reason.defect) ? [reason.defect] : []
    )
    return ours[0] === undefined ? Effect.failCause(cause) : Effect.fail(ours[0])
  })
