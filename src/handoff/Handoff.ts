/**
 * A handoff: the offer to a model that another agent take the conversation over.
 *
 * The model sees a tool `handoff_to_<name>`. Its call ends the turn of the agent: the other calls of the turn are settled first, then the
 * target continues with its own instructions, tools, limits, and model if it has one. Of several handoffs in a turn, the first valid one
 * that guardrails let pass wins; the calls of the others fail.
 *
 * A handoff is a value that belongs to the agent that may hand over. Use it if control should stay with the other agent. If control should
 * come back with an answer, call the agent as a tool (`Agent.asTool`).
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
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { textNamed, toolNamed } from "../domain/InvalidName.ts"
import * as JsonValue from "../domain/JsonValue.ts"
import { lazy } from "../domain/Lazy.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import * as ToolName from "../domain/ToolName.ts"
import * as Wanted from "../domain/Wanted.ts"
import { type Any, fromInternals, type Handoff, type Internals, Parameters } from "./HandoffType.ts"
import * as History from "./History.ts"
import * as Runnable from "./Runnable.ts"

export { buildHandoffState, cross, paramsOf, received, requestOf, type TakeoverOptions } from "./HandoffState.ts"
export {
  type Any,
  type AnyOffer,
  type Error,
  type Handoff,
  internalsOf,
  isHandoff,
  type Output,
  Parameters,
  type Services
} from "./HandoffType.ts"
export { full, type History, lastTurns, lastUser, none, summary } from "./History.ts"
export { MissingAgent } from "./Runnable.ts"
export { summarizeByModel, type SummarizeOptions } from "./SummaryByModel.ts"

/**
 * How a handoff is offered, and what crosses; everything is optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<Params, Encoded, HistoryE, HistoryR, ToolName extends string = string> {
  /** When to hand over, for the model, in the tool's description; none by default. */
  readonly reason?: string | undefined
  /** What the target is for, for the model; by default the target's own description. */
  readonly description?: string | undefined
  /** Name of the tool that the model sees; by default `handoff_to_<name>`, as `toolNameOf` returns it. */
  readonly toolName?: ToolName | undefined
  /** Schema of what the model writes with the handoff; `Parameters` by default. `Handoff.received` returns it decoded. */
  readonly parameters?: Schema.Codec<Params, Encoded> | undefined
  /** Whether the whole conversation crosses, or the last user turn alone; the whole by default. */
  readonly preserveContext?: boolean | undefined
  /** Whether the state's `systemMessage` crosses; it doesn't by default. */
  readonly transferSystemMessage?: boolean | undefined
  /** Whether modes that the target has too stay entered, up to the first that it lacks; `false` by default: all are left. */
  readonly carryModes?: boolean | undefined
  /**
   * What crosses; by default what `preserveContext` says. A function gets the conversation, in which the handoff's call is settled, and
   * returns an Effect of the one that crosses. If the Effect fails, the run fails with its error.
   */
  readonly history?: History.History<HistoryE, HistoryR> | History.Custom<HistoryE, HistoryR>["change"] | undefined
  /** Whether the tool is offered in a state, asked before each request; always by default. A call of it fails if it wasn't offered. */
  readonly when?: ((state: AgentState) => boolean) | undefined
}

/**
 * Returns the name of the tool by which a model hands over to the agent with this name.
 *
 * Letters lose their accents, and spaces and signs become `_`. If more is lost, as in other scripts, or the name is too long, the tool's
 * name ends in a hash of the agent's name.
 *
 * @category getters
 * @since 0.1.0
 */
export const toolNameOf = (target: string): string => ToolName.from("handoff_to_", target)

/** Models write `null` for keys that they leave out. */
const withoutNulls = (params: Schema.Json): Schema.Json =>
  Predicate.isObject(params) && !Array.isArray(params)
    ? Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null)) as Schema.Json
    : params ?? {}

const decoderOf = (whose: string, parameters: Schema.Codec<unknown, unknown>) =>
  Wanted.atOnce(whose, Schema.decodeUnknownResult(Schema.toCodecJson(parameters)))

/** What handoffs with default parameters share. These parameters are JSON, and decoding copies them, so encoding has nothing to do. */
const shared = lazy(() => {
  const parameters = Parameters as Schema.Codec<unknown, unknown>
  return {
    parameters,
    decode: decoderOf("The default schema of a handoff", parameters),
    encode: (decoded: unknown) => Result.succeed(decoded as Schema.Json)
  }
})

const codecOf = (whose: string, parameters: Schema.Codec<unknown, unknown>) => {
  const encode = Wanted.atOnce(whose, Schema.encodeUnknownResult(Schema.toCodecJson(parameters)))
  return {
    parameters,
    decode: decoderOf(whose, parameters),
    encode: (decoded: unknown) => Result.map(encode(decoded), JsonValue.fromUnknown)
  }
}

const sentence = (text: string | undefined): ReadonlyArray<string> =>
  text === undefined || text.trim() === "" ? [] : [/[.!?]$/.test(text.trim()) ? text.trim() : `${text.trim()}.`]

type AnyOptions = Options<unknown, unknown, unknown, unknown> | undefined

const make = (
  target: string,
  agent: (() => Runnable.Any) | undefined,
  isLazy: boolean,
  ownDescription: string | undefined,
  options: AnyOptions = {}
): Any => {
  const { history, preserveContext = true, transferSystemMessage = false } = options
  const toolName = toolNamed(options.toolName ?? toolNameOf(textNamed("agent", target)))
  const isDefault = options.parameters === undefined
  const description = options.description ?? ownDescription
  const { decode, encode, parameters } = options.parameters === undefined ?
    shared()
    : codecOf(`The schema \`parameters\` of handoff "${toolName}"`, options.parameters)
  const internals: Internals = {
    tool: Tool.make(toolName, {
      description: [
        `Hands the conversation over to agent "${target}".`,
        ...sentence(options.reason),
        ...sentence(description)
      ].join(" "),
      parameters,
      success: Schema.Unknown
    }) as Tool.Any,
    agent,
    isLazy,
    history: typeof history === "function"
      ? { _tag: "Custom", change: history }
      : history ?? (preserveContext ? History.full : History.lastUser),
    when: options.when,
    carryModes: options.carryModes ?? false,
    encode,
    decode: (params) => decode(JsonValue.fromUnknown(isDefault ? withoutNulls(params) : params)),
    isDefault,
    describedBy: description === undefined ? (own) => make(target, agent, isLazy, own, options) : undefined
  }
  return fromInternals({ target, toolName, preserveContext, transferSystemMessage }, internals)
}

/**
 * Offers that another agent take over.
 *
 * The target is an agent, or the name of one that the run reaches in another way: as a member of its `Group`, or by another agent's
 * handoff. By name, agents can hand over to each other in circles. An unknown name fails the run with `HandoffTargetNotFound`, which lists
 * the known names; in a group without `suspend`, `Group.make` throws `UnknownMember` for it. Throws `Agent.InvalidName` if providers would
 * refuse `toolName`, and `MissingAgent` if the agent is `undefined`.
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
  // The types above say what the untyped internals take, fail with and need.
  (typeof agent === "string"
    ? make(agent, undefined, false, undefined, options as AnyOptions)
    : make(
      Runnable.given(agent, "Handoff.to").name,
      () => agent,
      false,
      agent.description,
      options as AnyOptions
    )) as never

/**
 * Offers a handoff to an agent that is defined later: the target is looked up before the first run that can reach the offering agent.
 *
 * Agents that name each other this way need their types written down, as TypeScript can't infer a circle. Throws `Agent.InvalidName` if
 * providers would refuse `toolName`. An agent that doesn't fit the others, such as one whose name is taken, is a defect of the first run, of
 * `Session.make`, or of the layer of a conversation on a cluster.
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
  // The types above say what the untyped internals take, fail with and need.
  make(target, agent, true, undefined, options as AnyOptions) as never
