/**
 * What a program in a mode can read and change: the mode's name, place and values, and the conversation that it sees.
 *
 * Values are JSON. A value is read from the innermost mode that has it, and written to the innermost mode.
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
import type { SettingsChange } from "../domain/Settings.ts"
import type { ModeFrame } from "../domain/StateSchema.ts"
import * as Wanted from "../domain/Wanted.ts"
import { type CallError, configuring, use } from "./Host.ts"
import { because, type ModeError, NoMode, NoView } from "./ModeError.ts"
import type { Definition } from "./ModeType.ts"

const read = <A, E = never>(
  operation: string,
  f: (state: AgentState) => Effect.Effect<A, E>
): Effect.Effect<A, E | ModeError> => use(operation, ({ state }) => Effect.flatMap(state, f))

/** Calls a function with the innermost mode, or fails if none is entered. */
const withFrame =
  <A, E>(operation: string, f: (state: AgentState, frame: ModeFrame) => Effect.Effect<A, E>) =>
  (state: AgentState): Effect.Effect<A, E | ModeError> => {
    const frame = ModeStack.top(state)
    return frame === undefined ? Effect.fail(because(new NoMode({ operation }))) : f(state, frame)
  }

/** Reads something that exists only in a mode. */
const inMode = <A, E = never>(
  operation: string,
  f: (state: AgentState, frame: ModeFrame) => Effect.Effect<A, E>
): Effect.Effect<A, E | ModeError> => read(operation, withFrame(operation, f))

/** Changes something that exists only in a mode. */
const adjustMode = (
  operation: string,
  f: (state: AgentState, frame: ModeFrame) => Effect.Effect<Adjustment, ModeError>
): Effect.Effect<void, ModeError> => use(operation, (host) => host.adjust(operation, withFrame(operation, f)))

/**
 * The name of the innermost mode, or `undefined` outside of any. Fails with `NoConversation` if there is neither a session nor a run.
 *
 * @category getters
 * @since 0.1.0
 */
export const name: Effect.Effect<string | undefined, ModeError> = read(
  "Mode.name",
  (state) => Effect.succeed(ModeStack.top(state)?.name)
)

/**
 * The names of the modes that are entered, the innermost last. Fails with `NoConversation` if there is neither a session nor a run.
 *
 * @category getters
 * @since 0.1.0
 */
export const stack: Effect.Effect<ReadonlyArray<string>, ModeError> = read(
  "Mode.stack",
  (state) => Effect.succeed(ModeStack.names(state))
)

/**
 * Checks whether a mode is entered, at any height. Fails with `NoConversation` if there is neither a session nor a run.
 *
 * @category getters
 * @since 0.1.0
 */
export const isIn = (name: string): Effect.Effect<boolean, ModeError> =>
  read("Mode.isIn", (state) => Effect.succeed(ModeStack.names(state).includes(name)))

/**
 * The names of the last 100 modes that were entered in the conversation, in order, including those that were left. A mode whose set-up
 * failed isn't included.
 *
 * Fails with `NoConversation` if there is neither a session nor a run.
 *
 * @category getters
 * @since 0.1.0
 */
export const history: Effect.Effect<ReadonlyArray<string>, ModeError> = read(
  "Mode.history",
  ({ modeHistory }) => Effect.succeed(modeHistory ?? [])
)

/**
 * The name of the mode that was entered before the innermost one, whether it was left since or not. Outside of any mode it is the mode that
 * was entered last. `undefined` if there was none.
 *
 * Fails with `NoConversation` if there is neither a session nor a run.
 *
 * @category getters
 * @since 0.1.0
 */
export const previous: Effect.Effect<string | undefined, ModeError> = read(
  "Mode.previous",
  (state) => Effect.succeed(ModeStack.previous(state))
)

/**
 * A mode's name and description. It has a `toolName` if the agent's model can enter it.
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
 * The modes of the agent in control, in the order of its definition, then those of the session, then the modes that are entered although
 * neither of them lists them.
 *
 * Fails with `NoConversation` if there is neither a session nor a run.
 *
 * @category getters
 * @since 0.1.0
 */
export const list: Effect.Effect<ReadonlyArray<Listed>, ModeError> = use(
  "Mode.list",
  ({ modes }) => Effect.map(modes, (modes) => modes.map(listed))
)

/**
 * How long the innermost mode has been entered, by `Clock`.
 *
 * Fails with `NoMode` outside of any mode, and with `NoConversation` if there is neither a session nor a run.
 *
 * @category getters
 * @since 0.1.0
 */
export const duration: Effect.Effect<Duration.Duration, ModeError> = inMode(
  "Mode.duration",
  (_, { enteredAt }) => Effect.map(Clock.currentTimeMillis, (now) => Duration.millis(Math.max(0, now - enteredAt)))
)

/**
 * All values that can be read here. An inner mode's value hides an outer one's.
 *
 * Fails with `NoMode` outside of any mode, and with `NoConversation` if there is neither a session nor a run.
 *
 * @category getters
 * @since 0.1.0
 */
export const all: Effect.Effect<{ readonly [key: string]: Schema.Json }, ModeError> = inMode(
  "Mode.all",
  (state) => Effect.succeed(ModeStack.values(state))
)

/**
 * Returns a value from the innermost mode that has it, or `undefined`. Parameters are the first values of a mode.
 *
 * A mode of isolation `fork` reads nothing from outside. Fails with `NoMode` outside of any mode, and with `NoConversation` if there is
 * neither a session nor a run.
 *
 * @category getters
 * @since 0.1.0
 */
export const get = (key: string): Effect.Effect<Schema.Json | undefined, ModeError> =>
  inMode("Mode.get", (state) => Effect.succeed(ModeStack.value(state, key)))

/**
 * Sets a value of the innermost mode: it hides an outer one until the mode is left.
 *
 * The value is copied as JSON; parts that aren't JSON become the text or data that says most about them. In a resumed set-up, a value that
 * the mode already has isn't changed: use `update` for that.
 *
 * Fails with `NoMode` outside of any mode, with `NoConversation` if there is neither a session nor a run, and with `Unavailable` if the
 * conversation can't be changed now.
 *
 * @category combinators
 * @since 0.1.0
 */
export const set = (key: string, value: Schema.Json): Effect.Effect<void, ModeError> =>
  put("Mode.set", key, () => Wanted.valueGiven("`value` of `Mode.set`", value))

const put = (
  operation: string,
  key: string,
  valueIn: (state: AgentState) => Schema.Json
): Effect.Effect<void, ModeError> =>
  adjustMode(operation, (state) =>
    Effect.succeed({
      _tag: "ValueSet",
      key: Wanted.textGiven(`The key of \`${operation}\``, key),
      value: JsonValue.frozen(valueIn(state))
    }))

/**
 * Sets a value of the innermost mode to the result of a function of the current value, which may be that of an outer mode, or `undefined`.
 * It fails as `set` does.
 *
 * @category combinators
 * @since 0.1.0
 */
export const update = (
  key: string,
  f: (value: Schema.Json | undefined) => Schema.Json
): Effect.Effect<void, ModeError> =>
  put(
    "Mode.update",
    key,
    (state) => Wanted.valueAtOnce("The function of `Mode.update`", f(ModeStack.value(state, key)))
  )

/**
 * Cuts or edits the turns that the innermost mode sees. A turn with open calls and all turns after it aren't passed to the function and
 * stay as they are. Leaving the mode restores the original turns. In a `thread`, everything that was said since follows them; a `fork`
 * drops it.
 *
 * Fails with `NoView` if the mode's isolation is neither `thread` nor `fork`, and otherwise as `set` does.
 *
 * @category combinators
 * @since 0.1.0
 */
export const updateView = (
  f: (conversation: Conversation.Conversation) => Conversation.Conversation
): Effect.Effect<void, ModeError> =>
  adjustMode("Mode.updateView", (state, { isolation, name }) => {
    if (!hasView(isolation)) return Effect.fail(because(new NoView({ mode: name, isolation })))
    const turns = state.conversation.turns.slice(0, ModeStack.viewed(state))
    return Effect.succeed({
      _tag: "ViewChanged",
      turns: Wanted.conversation("The function of `Mode.updateView`", f({ turns })).turns
    })
  })

/**
 * Changes conversation settings: which tools the agent offers, which of them its model must or may use, which model is asked. What isn't
 * given stays as it is; what is `undefined` returns to the agent's own. All of them are dropped when another agent takes
 * over. A choice that forces a call holds for the first request after an input only.
 *
 * Leaving a mode of isolation `config` or `fork` restores what was set before; outside of any mode the change stays.
 *
 * Fails with `UnknownSetting` if the agent doesn't have a tool or a model of that name, with `NoConversation` if there is neither a session
 * nor a run, and with `Unavailable` if the conversation can't be changed now.
 *
 * @category combinators
 * @since 0.1.0
 */
export const configure = (settings: SettingsChange): Effect.Effect<void, ModeError> =>
  use("Mode.configure", (host) => host.adjust("Mode.configure", configuring(settings)))

/**
 * Requests a move between modes. The latest request wins, and is carried out before the next request to the model: in a run once the calls
 * of the step are settled, otherwise by the session's next call.
 *
 * Fails with `UnknownMode`, `LessIsolated`, `ParamsRejected` or `NoMode` if the move isn't possible, with `NoConversation` if there is
 * neither a session nor a run, and with `Unavailable` if the conversation can't be changed now.
 *
 * @category combinators
 * @since 0.1.0
 */
export const schedule = (transition: ModeTransition): Effect.Effect<void, ModeError> =>
  use("Mode.schedule", (host) => host.schedule(transition))

/**
 * Talks to the agent from a mode's set-up or clean-up, and returns the state with the answer.
 *
 * Meanwhile no move is carried out, and no other agent takes over. It fails as a run does; an error of the agent's own is in an `OwnError`.
 *
 * Fails with `StepUnderWay` in a tool's handler and most other callbacks, and with `NoConversation` if there is neither a session nor a
 * run. Fails with `Unavailable` in a finalizer if the mode stays entered and only its resources are released: at the end of a run, and of a
 * stored session.
 *
 * @category combinators
 * @since 0.1.0
 */
export const call = (input: string | ReadonlyArray<UserPart>): Effect.Effect<AgentState, CallError> =>
  use("Mode.call", (host) => host.call(input))
