/**
 * Runs one call: its handler under the tool's policy, and the outcome as a result that a model can read.
 *
 * Failures are results: only a fatal tool's own typed error ends a run, and a defect stays one.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { messageOf } from "../../../domain/Described.ts"
import { timedOut } from "../../../domain/FailedCall.ts"
import { maxLevels } from "../../../domain/ForeignValue.ts"
import type { Settlement } from "../../../domain/Happening.ts"
import * as JsonValue from "../../../domain/JsonValue.ts"
import { fromOutput } from "../../../domain/PartCopy.ts"
import type { Call } from "../../../domain/StateSchema.ts"
import * as Underway from "../../../domain/Underway.ts"
import * as Wanted from "../../../domain/Wanted.ts"
import type { HandledTool } from "../../definition/AgentDefinition.ts"
import { CurrentOverrides } from "../../definition/Overrides.ts"
import * as StandIn from "../../definition/StandIn.ts"
import * as Loop from "../../journal/Loop.ts"
import { retrying } from "../Retrying.ts"
import * as Handlers from "./Handlers.ts"
import { isMisfit, isOfToolkit, ownHandler } from "./OwnHandler.ts"
import { shortened } from "./ResultLength.ts"

/**
 * The outcome of a call: its result, the handler's own value if the result comes from it, and the cause that ends the run if a fatal tool
 * failed.
 */
export interface CallResult {
  readonly settlement: Pick<Settlement, "outcome" | "result" | "modelOutput">
  readonly own?: Exit.Exit<unknown, unknown>
  readonly fatal?: Cause.Cause<unknown>
}

/** An attempt took longer than its tool's policy allows. */
class TimedOut extends Cause.TimeoutError {}

/** Makes the outcome of a failed call, with the words that the model reads. */
export const failed = (result: Schema.Json): CallResult => ({ settlement: { outcome: "Failed", result } })

/** Makes the outcome of a call that succeeded, with what the model reads. */
export const succeeded = ({ tool }: HandledTool, value: unknown, encoded: unknown): CallResult => {
  const result = JsonValue.within(encoded)
  if (result === undefined) {
    return failed(`The result of tool "${tool.name}" is nested more than ${maxLevels} levels deep.`)
  }
  const modelOutput = tool.toModelOutput?.(value)
  return {
    settlement: {
      outcome: "Succeeded",
      result,
      ...(modelOutput === undefined
        ? undefined
        : { modelOutput: fromOutput(`\`toModelOutput\` of tool "${tool.name}"`, modelOutput) })
    },
    own: Exit.succeed(value)
  }
}

/** The defect of a handler whose Effect succeeded with a Promise or another Effect, which nobody awaited or ran. */
const noResult = ({ tool }: HandledTool, given: unknown): TypeError =>
  Wanted.mustReturn(`The Effect of the handler of tool "${tool.name}"`, "result", given)

/**
 * Fails a call whose result doesn't fit its schema. The issue quotes the result, so it is only logged, and that only if content is recorded
 * and no guardrails judge results.
 */
export const refused = (
  { definition, journal }: Loop.Loop,
  { tool }: HandledTool,
  why: unknown
): Effect.Effect<CallResult> => {
  const said = `The result of tool "${tool.name}" doesn't fit its schema`
  const isJudged = definition.guardrails.toolResult.length > 0
  return Effect.as(
    isJudged
      ? Effect.logWarning(said)
      : journal.recordsContent
      ? Effect.logWarning(said, why)
      : Effect.logWarning(`${said}; Agent.RecordContent logs why`),
    failed(`${said}.`)
  )
}

/** Checks whether a schema accepts an `Exit`, and not only because it accepts anything. */
const takesExits = ({ successSchema }: HandledTool["tool"], exit: unknown): boolean => {
  const is = Schema.is(successSchema)
  return is(exit) && !is(Object.create({}))
}

/** Checks whether a handler succeeded with a Promise or an Effect, which nobody awaited or ran. `Effect.succeed` makes an `Exit`. */
const isUnrun = ({ tool }: HandledTool, value: unknown): boolean =>
  Wanted.isUnrun(value) || (Exit.isExit(value) && !takesExits(tool, value))

const encodeSuccess = (loop: Loop.Loop, entry: HandledTool, value: unknown) =>
  isUnrun(entry, value) ?
    Effect.die(noResult(entry, value)) :
    Effect.matchCauseEffectEager(entry.encodeSuccess(value), {
      onFailure: (cause) => refused(loop, entry, cause),
      onSuccess: (encoded) => Effect.succeed(succeeded(entry, value, encoded))
    })

/**
 * Makes the outcome of a handler's failure, which ends the run if the tool is fatal.
 *
 * Any handler may fail with an `AiError` too. That counts as the tool's own error if the tool's failure schema accepts it.
 */
const failedWith = (entry: HandledTool, error: unknown): Effect.Effect<CallResult, never, unknown> => {
  const { name } = entry.tool
  const own = (said: CallResult): CallResult => ({
    ...said,
    own: Exit.fail(error),
    ...(entry.isFatal ? { fatal: Cause.fail(error) } : undefined)
  })
  if (error instanceof TimedOut) return Effect.succeed(failed(timedOut(name)))
  if (isOfToolkit(entry, error)) return Effect.succeed(failed(`The tool "${name}" failed: ${error.message}`))
  if (isOfClient(error)) return Effect.succeed(own(failed(`The tool "${name}" failed: ${error.message}`)))
  return Effect.matchCauseEager(entry.encodeFailure(error), {
    onFailure: () => {
      const said = failed(`The tool "${name}" failed: ${messageOf(error)}`)
      return AiError.isAiError(error) || AiError.isAiErrorReason(error) ? said : own(said)
    },
    onSuccess: (encoded) => own(failed(JsonValue.fromUnknown(encoded)))
  })
}

/** Checks whether a call was started and hasn't ended. */
const isRunning = ({ finished, underway }: Loop.Loop, { id }: Call): boolean =>
  !finished.calls.has(id) && Underway.callStart(underway, id) !== undefined

/**
 * Emits a preliminary result. It is left out if it doesn't encode, if the call has ended, or if guardrails on results would have to judge
 * it.
 */
const tellProgress = (loop: Loop.Loop, call: Call, entry: HandledTool, result: unknown): Effect.Effect<void> => {
  if (loop.definition.guardrails.toolResult.length > 0) return Effect.void
  const tell = (encoded: unknown): Effect.Effect<void> => {
    if (!isRunning(loop, call)) return Effect.void
    const { id: callId, name } = call
    Loop.emit(loop, { _tag: "ToolCallProgressed", callId, name, result: JsonValue.fromUnknown(encoded) })
    return loop.journal.flush
  }
  return Effect.suspend(() =>
    Effect.matchCauseEffectEager(entry.encodeSuccess(result), { onFailure: () => Effect.void, onSuccess: tell })
  ) as Effect.Effect<void>
}

type Attempt = Effect.Effect<CallResult, unknown, unknown>

/** A provider's tool may have no handler, because the provider should have run the call. For any other tool this is a defect. */
const withoutHandler = (tool: Tool.Any): Effect.Effect<CallResult> =>
  Tool.isProviderDefined(tool) && !tool.requiresHandler
    ? Effect.succeed(failed(`The tool "${tool.name}" is the provider's to run, and it didn't.`))
    : Effect.die(new Error(`No handler of tool "${tool.name}" was provided`))

const contextOf = (loop: Loop.Loop, call: Call, entry: HandledTool): Toolkit.HandlerContext<Tool.Any> => ({
  toolCallId: call.id,
  preliminary: (result) => tellProgress(loop, call, entry, result)
})

/** An untyped handler may return anything. */
const notAnEffect = ({ tool }: HandledTool, given: unknown): TypeError =>
  Wanted.mustReturn(`The handler of tool "${tool.name}"`, "Effect", given)

/** One attempt at a call whose handler comes from the environment. */
const fromEnvironment = (loop: Loop.Loop, call: Call, entry: HandledTool, params: unknown): Attempt =>
  Effect.withFiber((fiber) => {
    const found = Handlers.find(loop, entry.tool, fiber.context)
    if (found === undefined) return withoutHandler(entry.tool)
    return Effect.suspend(() => {
      const answer: unknown = found.handler(params, contextOf(loop, call, entry))
      return Effect.isEffect(answer)
        // A handler's Effect has the type of its tool, which `kindOf` can't check.
        ? answer as ReturnType<typeof found.handler>
        : Effect.die(notAnEffect(entry, answer))
    }).pipe(
      Effect.updateContext((services: Context.Context<never>) => Handlers.addServices(services, found)),
      Effect.flatMap((value) => encodeSuccess(loop, entry, value))
    )
  })

/** Checks whether an error comes from a client of an MCP server. Its JSON holds everything that the server sent. */
const isOfClient = (error: unknown): error is Error =>
  error instanceof Error && "_tag" in error && error._tag === "McpClientError"

/** One attempt at a call whose toolkit has its own handlers. */
const fromToolkit = (
  loop: Loop.Loop,
  call: Call,
  entry: HandledTool,
  params: unknown,
  handle: NonNullable<HandledTool["handle"]>
): Attempt =>
  Effect.withFiber((fiber) => {
    const own = StandIn.find(fiber.context, entry.tool) ?? ownHandler(entry, handle)
    const handler = fiber.getRef(CurrentOverrides).handler?.(entry.tool, own) ?? own
    return Effect.suspend(() => handler(params, contextOf(loop, call, entry)))
  }).pipe(
    Effect.flatMap((value) => encodeSuccess(loop, entry, value)),
    Effect.catchIf(isMisfit, (error): Effect.Effect<CallResult> => {
      const { toolResult } = error.reason
      return isUnrun(entry, toolResult) ? Effect.die(noResult(entry, toolResult)) : refused(loop, entry, error.message)
    })
  )

/** Runs a call under its tool's policy. It never fails; a defect passes through. */
export const run = (
  loop: Loop.Loop,
  call: Call,
  entry: HandledTool,
  params: unknown
): Effect.Effect<CallResult, never, unknown> => {
  const { policy } = entry
  let attempt = entry.handle === undefined
    ? fromEnvironment(loop, call, entry, params)
    : fromToolkit(loop, call, entry, params, entry.handle)
  if (policy.timeout !== undefined) {
    attempt = Effect.timeoutOrElse(attempt, {
      duration: policy.timeout,
      orElse: () => Effect.fail(new TimedOut())
    })
  }
  if (policy.retry !== undefined) {
    const isFor = (error: unknown): boolean => policy.idempotent === true || !(error instanceof TimedOut)
    attempt = retrying(attempt, policy.retry, isFor)
  }
  const { maxLength } = policy
  if (maxLength === undefined) return Effect.catch(attempt, (error) => failedWith(entry, error))
  const shorten = (result: CallResult): CallResult => ({
    ...result,
    settlement: shortened(result.settlement, maxLength)
  })
  return Effect.catch(Effect.map(attempt, shorten), (error) => {
    const failure = failedWith(entry, error)
    // The words for a time-out are Troupe's own.
    return error instanceof TimedOut ? failure : Effect.map(failure, shorten)
  })
}
