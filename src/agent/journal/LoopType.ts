/**
 * What one agent's loop is while it runs, and what it shares with the loops of the agents that it calls.
 *
 * @since 0.1.0
 */
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import type { AgentState, Call, Turn, User } from "../../domain/StateSchema.ts"
import { untold } from "../../domain/Takeover.ts"
import type { RequestUsage } from "../../domain/Usage.ts"
import type { Enterable } from "../../modes/Host.ts"
import type { AgentTool, Definition, OwnModel, Plan, Roster } from "../definition/AgentDefinition.ts"
import * as Sent from "../perform/ask/Sent.ts"
import type { Found } from "../perform/call/Handlers.ts"
import { type Live, make as makeLive } from "../perform/mode/Live.ts"

/** Fields that `tell` fills in. */
export type Filled = "run" | "path" | "calls" | "step" | "sequence" | "at"

type OmitFilled<Event> = Event extends AgentEvent ? Omit<Event, Filled> : never

/** What happened, before it has its place and time. */
export type Happening = OmitFilled<AgentEvent>

/** How a call ended, before it is told. */
export type Settlement = Omit<Extract<Happening, { readonly _tag: "ToolCallSettled" }>, "_tag">

/** Runs the agent that answers a call. Gives its state when it stopped; its typed failures are in there. */
type RunChild = (
  loop: Loop,
  call: Call,
  entry: AgentTool,
  params: unknown
) => Effect.Effect<AgentState, never, unknown>

/** Lets a mode, on its way in or out, talk to the agent of a loop. Gives the state with the answer. */
type Talk = (loop: Loop, input: User["parts"]) => Effect.Effect<AgentState, unknown, unknown>

/**
 * What a run shares with the runs of the agents that it calls.
 *
 * `flush` waits until everybody has seen what was told; it does nothing when nobody looks, and needn't be run unless somebody
 * `isBehind`. `runChild`, `talk` and `hostOf` are what the loop is run by, for those who are run by it.
 */
export interface Root {
  readonly clock: Clock.Clock
  readonly takenIds: Set<string>
  readonly deliver: (event: AgentEvent, state?: AgentState) => void
  readonly flush: Effect.Effect<void>
  readonly isBehind: () => boolean
  readonly isObserved: boolean
  readonly isStreaming: boolean
  readonly recordsContent: boolean
  readonly runChild: RunChild
  readonly talk: Talk
  readonly hostOf: (loop: Loop) => Enterable
  sequence: number
}

/**
 * The loop of a run: one agent is in control at a time, of those in the roster.
 *
 * `asking` counts the models of agents below it that are asked at this time, and `heard` holds the turns of users that the
 * guardrails of the agent in control have let pass.
 */
export interface Loop {
  readonly root: Root
  readonly parent: Loop | undefined
  readonly live: Live
  roster: Roster
  definition: Definition
  path: readonly [string, ...Array<string>]
  readonly calls: ReadonlyArray<string>
  readonly open: Open
  readonly sent: Sent.Sent
  heard: WeakSet<Turn> | undefined
  readonly handlers: Map<string, Found>
  plan: Plan | undefined
  models: Models | undefined
  state: AgentState
  answered: AgentState | undefined
  step: number
  asking: number
  get host(): Enterable
}

/** The models that were built in a run, kept until its end, by what they were built from. */
export interface Models {
  readonly scope: Scope.Closeable
  readonly built: Map<OwnModel, Built>
}

/** A model that was built: as a service, and as the plan behind it where there is one. */
export interface Built {
  readonly context: Context.Context<never>
  readonly plan: Plan | undefined
}

/**
 * What has started and not yet ended, so that it can be ended whatever happens. `arrived` is what an answer used that guardrails look
 * at.
 */
interface Open {
  run: boolean
  step: boolean
  attempt: number | undefined
  arrived: { readonly usage: RequestUsage; readonly model?: string } | undefined
  handoff: HandoffRequest | undefined
  readonly calls: Map<string, OpenCall>
}

/** A call that was started: when, and how it ended if it has, but isn't told yet. */
export interface OpenCall {
  readonly name: string
  readonly startedAt: number
  settlement: Settlement | undefined
}

const pathOf = (parent: Loop | undefined, { name }: Definition): Loop["path"] =>
  parent === undefined ? [name] : [...parent.path, name]

const planOf = (parent: Loop | undefined, { model }: Definition): Plan | undefined =>
  model === undefined ? parent?.plan : undefined

/** A loop as it is made: of one hidden class for all, which a getter in an object literal would keep it from. */
class Made implements Loop {
  readonly root: Root
  readonly parent: Loop | undefined
  readonly live: Live
  roster: Roster
  definition: Definition
  path: Loop["path"]
  readonly calls: ReadonlyArray<string>
  heard: WeakSet<Turn> | undefined = undefined
  plan: Plan | undefined
  models: Models | undefined = undefined
  state: AgentState
  answered: AgentState | undefined = undefined
  step: number
  asking = 0
  readonly #note: string | undefined
  #open: Open | undefined = undefined
  #sent: Sent.Sent | undefined = undefined
  #host: Enterable | undefined = undefined
  #handlers: Map<string, Found> | undefined = undefined
  constructor(
    root: Root,
    parent: Loop | undefined,
    callId: string | undefined,
    roster: Roster,
    state: AgentState,
    live: Live
  ) {
    const definition = roster.agents.get(state.agent) ?? roster.first
    this.root = root
    this.parent = parent
    this.live = live
    this.roster = roster
    this.definition = definition
    this.path = pathOf(parent, definition)
    this.calls = parent === undefined || callId === undefined ? [] : [...parent.calls, callId]
    this.#note = untold(state)
    this.plan = planOf(parent, definition)
    this.state = state
    this.step = Math.max(0, state.run.iteration - 1)
  }
  // A loop that enters or leaves a mode by hand has no step, and sends nothing.
  get open(): Open {
    return this.#open ??= {
      run: false,
      step: false,
      attempt: undefined,
      arrived: undefined,
      handoff: undefined,
      calls: new Map()
    }
  }
  get sent(): Sent.Sent {
    return this.#sent ??= Sent.make(this.#note)
  }
  get handlers(): Map<string, Found> {
    return this.#handlers ??= new Map()
  }
  get host(): Enterable {
    return this.#host ??= this.root.hostOf(this)
  }
}

/** Makes the loop of a roster in a state. The agent that the state names is in control, if the roster has it. */
export const make = (
  root: Root,
  parent: Loop | undefined,
  callId: string | undefined,
  roster: Roster,
  state: AgentState,
  live: Live = makeLive(false)
): Loop => new Made(root, parent, callId, roster, state, live)

/** Lets a loop go on with another roster: agents of the same names that have more modes. */
export const putOnRoster = (self: Loop, roster: Roster): void => {
  self.roster = roster
  self.definition = roster.agents.get(self.definition.name) ?? self.definition
}

/** Puts another agent in control: the next event is its own. */
export const putInControl = (self: Loop, definition: Definition): void => {
  self.definition = definition
  self.path = pathOf(self.parent, definition)
  self.plan = planOf(self.parent, definition)
  self.handlers.clear()
  Sent.forgetWindow(self.sent)
}
