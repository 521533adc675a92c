/**
 * What can be asked and changed from within a mode: its name, its place, its values, the conversation that it sees.
 *
 * Values are JSON. What is read comes from the innermost mode that has it, and what is written stays in the innermost mode.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Adjustment } from "../domain/Adjustment.ts"
import type { AgentState } from "../domain/AgentState.ts"
import type * as Conversation from "../domain/Conversation.ts"
import { hasView, type Isolation } from "../domain/Isolation.ts"
import * as JsonValue from "../domain/JsonValue.ts"
import * as ModeStack from "../domain/ModeStack.ts"
import type { ModeTransition } from "../domain/ModeTransition.ts"
import type { UserPart } from "../domain/Part.ts"
import { merge, type Settings } from "../domain/Settings.ts"
import type { ModeFrame } from "../domain/StateSchema.ts"
import * as Wanted from "../domain/Wanted.ts"
import { type CallError, use } from "./Host.ts"
import { because, type ModeError, NoMode, NoView } from "./ModeError.ts"
import type { Definition } from "./ModeType.ts"

const read = <A, E = never>(
  operation: string,
  f: (state: AgentState) => Effect.Effect<A, E>
): Effect.Effect<A, E | ModeError> => use(operation, ({ state }) => Effect.flatMap(state, f))

/** Reads what only a mode has. */
const inMode = <A, E = never>(
  operation: string,
  f: (state: AgentState, frame: ModeFrame) => Effect.Effect<A, E>
): Effect.Effect<A, E | ModeError> =>
  read(operation, (state): Effect.Effect<A, E | ModeError> => {
    const frame = ModeStack.top(state)
    return frame === undefined ? Effect.fail(because(new NoMode({ operation }))) : f(state, frame)
  })

const adjust = (operation: string, adjustment: Adjustment): Effect.Effect<void, ModeError> =>
  use(operation, (host) => host.adjust(operation, adjustment))

/**
 * The name of the innermost mode, or `undefined` outside of any.
 *
 * @category getters
 * @since 0.1.0
 */
export const name: Effect.Effect<string | undefined, ModeError> = read(
  "Mode.name",
  (state) => Effect.succeed(ModeStack.top(state)?.name)
)

/**
 * The names of the modes that are entered, the innermost last.
 *
 * @category getters
 * @since 0.1.0
 */
export const stack: Effect.Effect<ReadonlyArray<string>, ModeError> = read(
  "Mode.stack",
  (state) => Effect.succeed(ModeStack.names(state))
)

/**
 * Checks whether a mode is entered, at any height.
 *
 * @category getters
 * @since 0.1.0
 */
export const isIn = (name: string): Effect.Effect<boolean, ModeError> =>
  read("Mode.isIn", (state) => Effect.succeed(ModeStack.names(state).includes(name)))

/**
 * The names of the last 100 modes that were entered in the conversation, in order, those that were left included. One whose set-up
 * failed isn't among them.
 *
 * @category getters
 * @since 0.1.0
 */
export const history: Effect.Effect<ReadonlyArray<string>, ModeError> = read(
  "Mode.history",
  ({ modeHistory }) => Effect.succeed(modeHistory ?? [])
)

/**
 * The name of the mode that was entered before the innermost one, whether it was left since or is around that. Outside of any mode it
 * is the one that was entered last. `undefined` where there was none.
 *
 * @category getters
 * @since 0.1.0
 */
export const previous: Effect.Effect<string | undefined, ModeError> = read(
  "Mode.previous",
  (state) => Effect.succeed(ModeStack.previous(state))
)

/**
 * What a mode is called and is for. It has a `toolName` if the agent's model can enter it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Listed {
  readonly name: string
  readonly description?: string
  readonly isolation: Isolation
  readonly toolName?: string
}

const listed = ({ description, isInvokable, isolation, name, toolName }: Definition): Listed => ({
  name,
  ...(description === undefined ? undefined : { description }),
  isolation,
  ...(isInvokable ? { toolName } : undefined)
})

/**
 * The modes that the agent in control has, in the order in which it was given them, and those used alone that are entered.
 *
 * @category getters
 * @since 0.1.0
 */
export const list: Effect.Effect<ReadonlyArray<Listed>, ModeError> = use(
  "Mode.list",
  ({ modes }) => Effect.map(modes, (modes) => modes.map(listed))
)

/**
 * How long the innermost mode has been entered, by `Clock`. Fails with `NoMode` outside of any.
 *
 * @category getters
 * @since 0.1.0
 */
export const duration: Effect.Effect<Duration.Duration, ModeError> = inMode(
  "Mode.duration",
  (_, { enteredAt }) => Effect.map(Clock.currentTimeMillis, (now) => Duration.millis(Math.max(0, now - enteredAt)))
)

/**
 * All values that can be read here, those of inner modes before those of outer ones. Fails with `NoMode` outside of any mode.
 *
 * @category getters
 * @since 0.1.0
 */
export const all: Effect.Effect<{ readonly [key: string]: Schema.Json }, ModeError> = inMode(
  "Mode.all",
  (state) => Effect.succeed(ModeStack.values(state))
)

/**
 * Gives a value: the innermost mode's that has it, or `undefined`. Parameters are the first values of a mode.
 *
 * A mode of isolation `fork` reads nothing from outside. Fails with `NoMode` outside of any mode.
 *
 * @category getters
 * @since 0.1.0
 */
export const get = (key: string): Effect.Effect<Schema.Json | undefined, ModeError> =>
  inMode("Mode.get", (state) => Effect.succeed(ModeStack.value(state, key)))

/**
 * Sets a value of the innermost mode: it hides an outer one until the mode is left. Fails with `NoMode` outside of any mode.
 *
 * The value is copied, and what isn't JSON becomes what says most about it. In a set-up that resumes, a value that its mode has
 * already stays: `update` changes it there.
 *
 * @category combinators
 * @since 0.1.0
 */
export const set = (key: string, value: Schema.Json): Effect.Effect<void, ModeError> => put("Mode.set", key, value)

const put = (operation: string, key: string, value: Schema.Json): Effect.Effect<void, ModeError> =>
  inMode(operation, () => adjust(operation, { _tag: "ValueSet", key, value: JsonValue.frozen(value) }))

/**
 * Sets a value of the innermost mode to what a function makes of the one that can be read. Fails with `NoMode` outside of any
 * mode.
 *
 * @category combinators
 * @since 0.1.0
 */
export const update = (
  key: string,
  f: (value: Schema.Json | undefined) => Schema.Json
): Effect.Effect<void, ModeError> => Effect.flatMap(get(key), (value) => put("Mode.update", key, f(value)))

/**
 * Cuts or edits what the innermost mode sees of the conversation, calls that are open aside. Leaving the mode brings back
 * what was there, with all that was said since behind it.
 *
 * Fails with `NoView` where the mode's isolation is neither `thread` nor `fork`, and with `NoMode` outside of any mode.
 *
 * @category combinators
 * @since 0.1.0
 */
export const updateView = (
  f: (conversation: Conversation.Conversation) => Conversation.Conversation
): Effect.Effect<void, ModeError> =>
  inMode("Mode.updateView", (state, { isolation, name }) => {
    if (!hasView(isolation)) return Effect.fail(because(new NoView({ mode: name, isolation })))
    const turns = state.conversation.turns.slice(0, ModeStack.viewed(state))
    return adjust("Mode.updateView", {
      _tag: "ViewChanged",
      turns: Wanted.conversation("What changes the view of a mode", f({ turns })).turns
    })
  })

/**
 * Changes settings of the agent: which tools it offers, which of them its model must or may use, which of its models is asked.
 * What isn't given stays as it is.
 *
 * Leaving a mode of isolation `config` or `fork` restores what was set before. Fails with `UnknownSetting` where the agent
 * doesn't have a tool or a model.
 *
 * @category combinators
 * @since 0.1.0
 */
export const configure = (settings: Settings): Effect.Effect<void, ModeError> =>
  read(
    "Mode.configure",
    (state) => adjust("Mode.configure", { _tag: "SettingsChanged", settings: merge(state.settings, settings) })
  )

/**
 * Asks for a move between modes. The latest wins, and is taken before the next request to the model: in a run once the calls
 * of the step are settled, otherwise with the next call.
 *
 * Fails with `UnknownMode`, `LessIsolated`, `ParamsRejected` or `NoMode` where the move isn't possible.
 *
 * @category combinators
 * @since 0.1.0
 */
export const schedule = (transition: ModeTransition): Effect.Effect<void, ModeError> =>
  use("Mode.schedule", (host) => host.schedule(transition))

/**
 * Talks to the agent from a mode's set-up or clean-up, and gives the state with the answer.
 *
 * No move is taken meanwhile, and no other agent takes over. Fails with `StepUnderWay` from within a tool, and with
 * `Unavailable` in a finalizer where its mode stays entered and only its resources are let go of: at the end of a run, and of a
 * session that is stored.
 *
 * @category combinators
 * @since 0.1.0
 */
export const call = (input: string | ReadonlyArray<UserPart>): Effect.Effect<AgentState, CallError> =>
  use("Mode.call", (host) => host.call(input))
