/**
 * A handoff: the offer to a model that another agent take the conversation over.
 *
 * The model sees a tool `handoff_to_<name>`. Its call ends the turn of the agent: the other calls of the turn are settled
 * first, then the target goes on with its own instructions, tools, model and limits. The first handoff of a turn wins.
 *
 * A handoff is a value that belongs to the agent that may hand over. Use it where control is to stay with the other agent;
 * where it is to come back with an answer, call the agent as a tool (`Agent.asTool`).
 *
 * **Example** (Triage)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentState, Handoff } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const refunds = Agent.make("refunds", { description: "Refunds and returns", instructions: "Settle refunds." })
 * const triage = Agent.make("triage", {
 *   instructions: "Send the customer to the right desk.",
 *   handoffs: [Handoff.to(refunds, { reason: "Refund and return requests" })]
 * })
 *
 * const program = Effect.gen(function*() {
 *   const state = yield* Agent.run(triage, "I want my money back.")
 *   return [state.agent, AgentState.text(state)]
 * }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
 *   triage: MockModel.queue(MockResponse.toolCall("handoff_to_refunds", { reason: "wants a refund" })),
 *   refunds: MockModel.queue("Your refund is on its way.")
 * }))))
 *
 * await Effect.runPromise(program) // => ["refunds", "Your refund is on its way."]
 * ```
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Option from "effect/Option"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { HandoffRequest } from "../domain/AgentStatus.ts"
import type { AgentState, Conversation } from "../domain/StateSchema.ts"
import { acknowledge, takeOver } from "../domain/Takeover.ts"
import * as History from "./History.ts"
import { InvalidName } from "../domain/InvalidName.ts"
import type * as Runnable from "./Runnable.ts"

export { full, type History, lastTurns, lastUser, none, summary } from "./History.ts"

const TypeId = "~troupe/handoff/Handoff"

/**
 * Parameters of a handoff, when none are given: why, and anything that the target should know.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  reason: Schema.optionalKey(Schema.String.annotate({ description: "Why you hand over" })),
  context: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Json).annotate({ description: "What the other agent should know" })
  )
})

/** Parameters of a handoff, when none are given. */
export interface Parameters extends Schema.Schema.Type<typeof Parameters> {}

/**
 * A handoff: `Params` is what the model gives it, `Output` what the target's answers decode to, `E` what a run may fail
 * with by it, and `R` what a run needs for it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handoff<
  out Target extends string,
  out Params = Parameters,
  out Output = never,
  out E = never,
  out R = never,
  out ToolName extends string = `handoff_to_${Target}`
> extends Pipeable {
  readonly [TypeId]: Internals & Variance<Params, Output, E, R>
  readonly target: Target
  readonly toolName: ToolName
  readonly preserveContext: boolean
  readonly transferSystemMessage: boolean
}

interface Internals {
  readonly tool: Tool.Any
  readonly agent: (() => Runnable.Any) | undefined
  readonly isLazy: boolean
  readonly history: History.History<unknown, unknown>
  readonly when: ((state: AgentState) => boolean) | undefined
  readonly decode: (params: Schema.Json) => Result.Result<unknown, Schema.SchemaError>
  readonly isDefault: boolean
}

interface Variance<out Params, out Output, out E, out R> {
  readonly _Params?: () => Params
  readonly _Output?: () => Output
  readonly _E?: () => E
  readonly _R?: () => R
}

/** Any handoff. */
export type Any = Handoff<string, unknown, unknown, unknown, unknown, string>

/** Any handoff, without what it says in its type, so that inference takes that from the handoff. */
export interface AnyOffer {
  readonly [TypeId]: Internals
  readonly target: string
}

/** What the answers of a handoff's target decode to. */
export type Output<H> = H extends Handoff<string, unknown, infer Output, unknown, unknown, string> ? Output : never
/** What a run may fail with by a handoff. */
export type Error<H> = H extends Handoff<string, unknown, unknown, infer E, unknown, string> ? E : never
/** What a run needs for a handoff. */
export type Services<H> = H extends Handoff<string, unknown, unknown, unknown, infer R, string> ? R : never

/**
 * How a handoff is offered, and what crosses; everything is optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<Params, Encoded, HistoryE, HistoryR, ToolName extends string = string> {
  /** When to hand over, for the model. */
  readonly reason?: string | undefined
  /** What the target is for, for the model; the target's own description by default. */
  readonly description?: string | undefined
  /** Name of the tool that the model sees; `handoff_to_<name>` by default. */
  readonly toolName?: ToolName | undefined
  /** What the model gives with the handoff; `Parameters` by default. The target reads it by `Handoff.received`. */
  readonly parameters?: Schema.Codec<Params, Encoded> | undefined
  /** Whether the whole conversation crosses, or the last user turn alone; the whole by default. */
  readonly preserveContext?: boolean | undefined
  /** Whether the state's `systemMessage` crosses; it doesn't by default. */
  readonly transferSystemMessage?: boolean | undefined
  /** What crosses instead of what `preserveContext` says. */
  readonly history?:
    | History.History<HistoryE, HistoryR>
    | History.Custom<HistoryE, HistoryR>["change"]
    | undefined
  /** Whether the tool is offered, asked before each request to the model; it always is by default. */
  readonly when?: ((state: AgentState) => boolean) | undefined
}

/**
 * Gives the name of the tool by which a model hands over to an agent of a name.
 *
 * Characters that providers refuse in names of tools become `_`.
 *
 * @category getters
 * @since 0.1.0
 */
export const toolNameOf = (target: string): string =>
  `handoff_to_${target.replace(/[^a-zA-Z0-9_-]/g, "_")}`.slice(0, 64)

const Proto = {
  pipe() {
    return pipeArguments(this, arguments)
  },
  toJSON(this: Any) {
    return { _id: "Handoff", target: this.target, toolName: this.toolName }
  }
}

/** Models write `null` for what they leave out. */
const withoutNulls = (params: Schema.Json): Schema.Json =>
  Predicate.isObject(params) && !Array.isArray(params)
    ? Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null)) as Schema.Json
    : params ?? {}

/** Handoffs share these, so that their tools are decoded alike. */
const ParametersJson = Schema.toCodecJson(Parameters) as Schema.Codec<unknown, unknown>
const decodeParameters = Schema.decodeUnknownResult(ParametersJson)

const sentence = (text: string | undefined): ReadonlyArray<string> =>
  text === undefined || text.trim() === "" ? [] : [/[.!?]$/.test(text.trim()) ? text.trim() : `${text.trim()}.`]

type AnyOptions = Options<unknown, unknown, unknown, unknown> | undefined

const make = (
  target: string,
  agent: (() => Runnable.Any) | undefined,
  isLazy: boolean,
  ownDescription: string | undefined,
  options: AnyOptions
): Any => {
  const preserveContext = options?.preserveContext ?? true
  const toolName = options?.toolName ?? toolNameOf(target)
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(toolName)) throw new InvalidName({ what: "tool", name: toolName })
  const isDefault = options?.parameters === undefined
  const parameters = options?.parameters === undefined
    ? ParametersJson
    : Schema.toCodecJson(options.parameters as Schema.Codec<unknown, unknown>)
  const decode = isDefault ? decodeParameters : Schema.decodeUnknownResult(parameters)
  const { history } = options ?? {}
  const internals: Internals = {
    tool: Tool.make(toolName, {
      description: [
        `Hands the conversation over to agent "${target}".`,
        ...sentence(options?.reason),
        ...sentence(options?.description ?? ownDescription)
      ].join(" "),
      parameters,
      success: Schema.Unknown
    }) as Tool.Any,
    agent,
    isLazy,
    history: typeof history === "function"
      ? { _tag: "Custom", change: history }
      : history ?? (preserveContext ? History.full : History.lastUser),
    when: options?.when,
    decode: (params) => decode(isDefault ? withoutNulls(params) : params),
    isDefault
  }
  return Object.assign(Object.create(Proto), {
    [TypeId]: internals,
    target,
    toolName,
    preserveContext,
    transferSystemMessage: options?.transferSystemMessage ?? false
  })
}

/**
 * Offers that another agent take over.
 *
 * The target is an agent, or the name of one that the run reaches in another way: as a member of its `Group`, or by the
 * handoff of somebody else. By name agents can hand over to each other in circles. A name that isn't there fails the run
 * with `HandoffTargetNotFound`, which says the names that are. Throws `InvalidName` where providers would refuse `toolName`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const to = <
  const Target extends string,
  Output = never,
  E = never,
  R = never,
  Params = Parameters,
  Encoded = unknown,
  HistoryE = never,
  HistoryR = never,
  const ToolName extends string = `handoff_to_${Target}`
>(
  agent: Target | Runnable.Member<Target, Output, E, R>,
  options?: Options<Params, Encoded, HistoryE, HistoryR, ToolName>
): Handoff<Target, Params, Output, E | HistoryE, R | HistoryR, ToolName> =>
  (typeof agent === "string"
    ? make(agent, undefined, false, undefined, options as AnyOptions)
    : make(agent.name, () => agent, false, agent.description, options as AnyOptions)) as never

/**
 * Offers that an agent take over which is defined later: the target is looked up when a run first needs it.
 *
 * Agents that name each other this way need their types written down, as TypeScript can't infer a circle.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suspend = <
  const Target extends string,
  Output,
  E,
  R,
  Params = Parameters,
  Encoded = unknown,
  HistoryE = never,
  HistoryR = never,
  const ToolName extends string = `handoff_to_${Target}`
>(
  target: Target,
  agent: () => Runnable.Member<NoInfer<Target>, Output, E, R>,
  options?: Options<Params, Encoded, HistoryE, HistoryR, ToolName>
): Handoff<Target, Params, Output, E | HistoryE, R | HistoryR, ToolName> =>
  make(target, agent, true, undefined, options as AnyOptions) as never

/**
 * Checks whether something is a handoff.
 *
 * @category guards
 * @since 0.1.0
 */
export const isHandoff = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/** Gives what a handoff keeps for those that carry it out. */
export const internalsOf = (self: AnyOffer): Internals => self[TypeId]

/** Gives the request that a call makes, where its parameters decode. */
export const requestOf = (
  self: AnyOffer & Pick<Any, "toolName">,
  call: { readonly id: string; readonly params: Schema.Json }
): Result.Result<HandoffRequest, Schema.SchemaError> =>
  Result.map(self[TypeId].decode(call.params), (decoded) => {
    const { context, reason }: { readonly context?: Schema.Json; readonly reason?: string } = self[TypeId].isDefault
      ? decoded as Parameters
      : { context: call.params }
    return {
      target: self.target,
      callId: call.id,
      tool: self.toolName,
      ...(reason === undefined ? undefined : { reason }),
      ...(context === undefined ? undefined : { context })
    }
  })

/**
 * Gives the state of the agent that takes over, as a function of the state that hands over.
 *
 * The call that asked is settled as `HandedOff`. What crosses is what the handoff says; where that takes an effect
 * (`summary`, or a function of one's own) it is the whole conversation, unless `crossing` gives what the effect made.
 *
 * @category combinators
 * @since 0.1.0
 */
export const buildHandoffState = (
  source: AgentState,
  handoff: AnyOffer & Pick<Any, "transferSystemMessage">,
  request: HandoffRequest,
  crossing?: Conversation
): AgentState => {
  const conversation = crossing ??
    History.select(handoff[TypeId].history, acknowledge(source.conversation, request))
  return takeOver(source, {
    request,
    ...(conversation === undefined ? undefined : { conversation }),
    ...(handoff.transferSystemMessage && source.systemMessage !== undefined
      ? { systemMessage: source.systemMessage }
      : undefined)
  }, source.run.startedAt)
}

/**
 * Gives what the agent in control was handed with this handoff, decoded; none where it got control in another way, by
 * another tool, or by a policy's decision.
 *
 * Instructions of a target read their parameters by it. The handoff can't be made of the target then, whose instructions
 * name the handoff: make it of the target's name.
 *
 * @category getters
 * @since 0.1.0
 */
export const received: {
  <Params>(self: Handoff<string, Params, unknown, unknown, unknown, string>, state: AgentState): Option.Option<Params>
} = (self: Any, state: AgentState): Option.Option<never> => {
  const { handoff } = state
  if (handoff === undefined || state.agent !== self.target || handoff.tool !== self.toolName) return Option.none()
  const { decode, isDefault } = self[TypeId]
  const params = isDefault
    ? {
      ...(handoff.reason === undefined ? undefined : { reason: handoff.reason }),
      ...(handoff.context === undefined ? undefined : { context: handoff.context })
    }
    : handoff.context ?? null
  return Result.getSuccess(decode(params)) as Option.Option<never>
}
