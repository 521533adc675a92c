/**
 * Running one call: its handler under its policy, and whatever came of it as a result that a model can read.
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
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { kindOf, messageOf } from "../../../domain/Described.ts"
import { maxLevels } from "../../../domain/ForeignValue.ts"
import type { Settlement } from "../../../domain/Happening.ts"
import * as JsonValue from "../../../domain/JsonValue.ts"
import { fromOutput } from "../../../domain/PartCopy.ts"
import type { Call } from "../../../domain/StateSchema.ts"
import * as Underway from "../../../domain/Underway.ts"
import type { HandledTool } from "../../definition/AgentDefinition.ts"
import * as Codec from "../../definition/Codec.ts"
import { CurrentOverrides, type ToolHandler } from "../../definition/Overrides.ts"
import * as Loop from "../../journal/Loop.ts"
import * as Handlers from "./Handlers.ts"
import { shortened } from "./ResultLength.ts"

/**
 * What came of a call: its result, what the handler itself gave where that is what was settled, and the cause that ends the
 * run when its tool is fatal and failed.
 */
export interface CallResult {
  readonly settlement: Pick<Settlement, "outcome" | "result" | "modelOutput">
  readonly own?: Exit.Exit<unknown, unknown>
  readonly fatal?: Cause.Cause<unknown>
}

/** An attempt took longer than its tool's policy allows. */
class TimedOut extends Cause.TimeoutError {}

/** Says that a call failed, in words that the model reads. */
export const failed = (result: Schema.Json): CallResult => ({ settlement: { outcome: "Failed", result } })

const succeeded = (
  entry: HandledTool,
  value: unknown,
  encoded: Codec.CodecExit
): CallResult | Effect.Effect<CallResult> => {
  if (Exit.isFailure(encoded)) return refused(entry, encoded.cause)
  const result = JsonValue.within(encoded.value)
  if (result === undefined) {
    return failed(`The tool "${entry.tool.name}" gave a result that is nested more than ${maxLevels} levels deep.`)
  }
  const modelOutput = entry.tool.toModelOutput?.(value)
  return {
    settlement: {
      outcome: "Succeeded",
      result,
      ...(modelOutput === undefined ? undefined : { modelOutput: fromOutput(modelOutput) })
    },
    own: Exit.succeed(value)
  }
}

/** Says that a result doesn't fit its schema. What is wrong with it is for the log. */
const refused = ({ tool }: HandledTool, why: unknown): Effect.Effect<CallResult> =>
  Effect.as(
    Effect.logWarning(`The result of tool "${tool.name}" doesn't fit its schema`, why),
    failed(`The tool "${tool.name}" gave a result that doesn't fit its schema.`)
  )

const encodeSuccess = (entry: HandledTool, value: unknown) => {
  const encoded = Codec.run(entry.encodeSuccess, value)
  if (!Exit.isExit(encoded)) return Effect.flatMap(encoded, (exit) => asEffect(succeeded(entry, value, exit)))
  return asEffect(succeeded(entry, value, encoded))
}

const asEffect = <A>(value: A | Effect.Effect<A>): Effect.Effect<A> =>
  Effect.isEffect(value) ? value : Effect.succeed(value)

/**
 * Says what a handler's failure was, and ends the run with it if its tool is fatal.
 *
 * Any handler may fail with an `AiError` too. It is the tool's own if it fits what the tool declares, as one that asks a model does.
 */
const failedWith = (entry: HandledTool, error: unknown): Effect.Effect<CallResult, never, unknown> => {
  const { name } = entry.tool
  const own = (said: CallResult): CallResult => ({
    ...said,
    own: Exit.fail(error),
    ...(entry.isFatal ? { fatal: Cause.fail(error) } : undefined)
  })
  if (error instanceof TimedOut) return Effect.succeed(failed(`The tool "${name}" timed out.`))
  if (isOfToolkit(entry, error)) return Effect.succeed(failed(`The tool "${name}" failed: ${error.message}`))
  if (isOfClient(error)) return Effect.succeed(own(failed(`The tool "${name}" failed: ${error.message}`)))
  const answer = (encoded: Codec.CodecExit): CallResult => {
    if (Exit.isFailure(encoded)) {
      const said = failed(`The tool "${name}" failed: ${messageOf(error)}`)
      return AiError.isAiError(error) || AiError.isAiErrorReason(error) ? said : own(said)
    }
    return own(failed(JsonValue.fromUnknown(encoded.value)))
  }
  const encoded = Codec.run(entry.encodeFailure, error)
  return Exit.isExit(encoded) ? Effect.succeed(answer(encoded)) : Effect.map(encoded, answer)
}

/** Checks whether a call was started and hasn't come to its end. */
const isRunning = ({ finished, underway }: Loop.Loop, { id }: Call): boolean =>
  !finished.calls.has(id) && Underway.callStart(underway, id) !== undefined

/**
 * Tells a preliminary result. One that doesn't encode is left out, and so is one that comes after the last, or that guardrails on
 * results would have to look at.
 */
const tellProgress = (loop: Loop.Loop, call: Call, entry: HandledTool, result: unknown): Effect.Effect<void> => {
  if (loop.definition.guardrails.toolResult.length > 0) return Effect.void
  const tell = (encoded: Codec.CodecExit) => {
    if (Exit.isFailure(encoded) || !isRunning(loop, call)) return Effect.void
    Loop.emit(loop, {
      _tag: "ToolCallProgressed",
      callId: call.id,
      name: call.name,
      result: JsonValue.fromUnknown(encoded.value)
    })
    return loop.journal.flush
  }
  return Effect.suspend(() => {
    const encoded = Codec.run(entry.encodeSuccess, result)
    return Exit.isExit(encoded) ? tell(encoded) : Effect.flatMap(encoded, tell) as Effect.Effect<void>
  })
}

type Attempt = Effect.Effect<CallResult, unknown, unknown>

/** A provider's tool may have none, and then the provider should have run the call. For any other this is a defect. */
const withoutHandler = (tool: Tool.Any): Effect.Effect<CallResult> =>
  Tool.isProviderDefined(tool) && !tool.requiresHandler
    ? Effect.succeed(failed(`The tool "${tool.name}" is the provider's to run, and it didn't.`))
    : Effect.die(new Error(`No handler of tool "${tool.name}" was provided`))

const contextOf = (loop: Loop.Loop, call: Call, entry: HandledTool): Toolkit.HandlerContext<Tool.Any> => ({
  toolCallId: call.id,
  preliminary: (result) => tellProgress(loop, call, entry, result)
})

/** What TypeScript didn't see may give anything. */
const notAnEffect = ({ tool }: HandledTool, given: unknown): TypeError =>
  new TypeError(`The handler of tool "${tool.name}" gave no Effect but ${kindOf(given)}`)

/** One attempt at a call whose handler comes from the environment. */
const fromEnvironment = (loop: Loop.Loop, call: Call, entry: HandledTool, params: unknown): Attempt =>
  Effect.withFiber((fiber) => {
    const found = Handlers.find(loop, entry.tool, fiber.context)
    if (found === undefined) return withoutHandler(entry.tool)
    return Effect.suspend(() => {
      const answer: unknown = found.handler(params, contextOf(loop, call, entry))
      return Effect.isEffect(answer)
        ? answer as ReturnType<typeof found.handler>
        : Effect.die(notAnEffect(entry, answer))
    }).pipe(
      Effect.updateContext((services: Context.Context<never>) => Handlers.addServices(services, found)),
      Effect.flatMap((value) => encodeSuccess(entry, value))
    )
  })

/** Checks whether a toolkit with handlers of its own made an error: of parameters or a result, or of a reason that a handler gave. */
const isOfToolkit = ({ tool }: HandledTool, error: unknown): error is AiError.AiError =>
  AiError.isAiError(error) && error.module === "Toolkit" && error.method === `${tool.name}.handle`

/** Checks whether a client of an MCP server made an error, whose JSON holds all that the server sent. */
const isOfClient = (error: unknown): error is Error =>
  error instanceof Error && "_tag" in error && error._tag === "McpClientError"

/** Gives what a handler failed with, which its toolkit wraps if it was the reason of an `AiError`. */
const unwrapped = (entry: HandledTool, error: unknown): unknown =>
  isOfToolkit(entry, error) && !misfits.has(error.reason._tag) ? error.reason : error

const misfits: ReadonlySet<AiError.AiErrorReason["_tag"]> = new Set([
  "ToolParameterValidationError",
  "InvalidToolResultError",
  "ToolResultEncodingError"
])

/** What a toolkit says of a handler that gives no Effect isn't told apart from other type errors, and names no tool. */
const madeNoEffect = ({ tool }: HandledTool, cause: unknown): unknown =>
  cause instanceof TypeError
    ? new TypeError(`The handler of tool "${tool.name}" gave no Effect, or failed to make one: ${cause.message}`, {
      cause
    })
    : cause

/** The handler of a toolkit that has its own, and decodes parameters itself: not from JSON. */
const ownHandler =
  (entry: HandledTool, handle: NonNullable<HandledTool["handle"]>): ToolHandler =>
  (params, { preliminary, toolCallId }) =>
    Effect.suspend(() => entry.encodeParams(params)).pipe(
      Effect.flatMap((encoded) => handle(entry.tool.name, encoded as never, toolCallId)),
      Effect.catchDefect((defect) => Effect.die(madeNoEffect(entry, defect))),
      Stream.unwrap,
      Stream.tap((output) => output.preliminary ? preliminary(output.result as never) : Effect.void),
      Stream.runLast,
      Effect.flatMap(Option.match({
        onNone: () => Effect.die(new Error(`The handler of tool "${entry.tool.name}" gave no result`)),
        onSome: (output) => output.isFailure ? Effect.fail<unknown>(output.result) : Effect.succeed(output.result)
      })),
      Effect.mapError((error) => unwrapped(entry, error))
    )

/** One attempt at a call whose toolkit has its own handlers. */
const fromToolkit = (
  loop: Loop.Loop,
  call: Call,
  entry: HandledTool,
  params: unknown,
  handle: NonNullable<HandledTool["handle"]>
): Attempt =>
  Effect.flatMap(CurrentOverrides, (overrides) => {
    const own = ownHandler(entry, handle)
    const handler = overrides.handler?.(entry.tool, own) ?? own
    return Effect.suspend(() => handler(params, contextOf(loop, call, entry)))
  }).pipe(
    Effect.flatMap((value) => encodeSuccess(entry, value)),
    Effect.catchIf(isRefused, (error) => refused(entry, error.message))
  )

const isRefused = (error: unknown): error is AiError.AiError =>
  AiError.isAiError(error) && error.reason._tag === "ToolResultEncodingError"

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
    attempt = Effect.retry(attempt, {
      schedule: policy.retry,
      while: (error) => policy.idempotent === true || !(error instanceof TimedOut)
    })
  }
  const { maxLength } = policy
  if (maxLength === undefined) return Effect.catch(attempt, (error) => failedWith(entry, error))
  const shorten = (result: CallResult): CallResult => ({
    ...result,
    settlement: shortened(result.settlement, maxLength)
  })
  return Effect.catch(Effect.map(attempt, shorten), (error) => {
    const failure = failedWith(entry, error)
    // That it timed out are words of ours.
    return error instanceof TimedOut ? failure : Effect.map(failure, shorten)
  })
}
