/**
 * Handlers that a toolkit has: it decodes parameters and runs the handler itself.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import type * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { HandledTool } from "../../definition/AgentDefinition.ts"
import type { ToolHandler } from "../../definition/Overrides.ts"

/**
 * Checks whether an error was made by a toolkit with handlers: because parameters or a result don't fit, or because a handler failed with
 * the reason of an `AiError`.
 */
export const isOfToolkit = ({ tool }: HandledTool, error: unknown): error is AiError.AiError =>
  AiError.isAiError(error) && error.module === "Toolkit" && error.method === `${tool.name}.handle`

/** Checks whether an error says that a result doesn't fit its schema. */
export const isMisfit = (
  error: unknown
): error is AiError.AiError & { readonly reason: AiError.ToolResultEncodingError } =>
  AiError.isAiError(error) && error.reason._tag === "ToolResultEncodingError"

/** Returns the error of a handler. If a handler fails with the reason of an `AiError`, its toolkit wraps the reason. */
const unwrapped = (entry: HandledTool, error: unknown): unknown =>
  isOfToolkit(entry, error) && !misfits.has(error.reason._tag) ? error.reason : error

const misfits: ReadonlySet<AiError.AiErrorReason["_tag"]> = new Set([
  "ToolParameterValidationError",
  "InvalidToolResultError",
  "ToolResultEncodingError"
])

/** Names the tool in a type error. A toolkit throws one if a handler returns no Effect, and doesn't name the tool. */
const madeNoEffect = ({ tool }: HandledTool, cause: unknown): unknown =>
  cause instanceof TypeError
    ? new TypeError(`The handler of tool "${tool.name}" returned no Effect, or threw: ${cause.message}`, {
      cause
    })
    : cause

type Output = Tool.HandlerResult<Tool.Any>
type Outputs = Stream.Stream<Output, unknown, unknown>

/** Waits until a fiber dies, and then dies itself. */
const brokenDown = ({ tool }: HandledTool, fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<never> =>
  Effect.callback((resume) => {
    const remove = fiber.addObserver((exit) => {
      if (Exit.isSuccess(exit) || !Cause.hasDies(exit.cause)) return
      const message = `The handler of tool "${tool.name}" must return an Effect that continues with Effects`
      resume(Effect.die(new TypeError(message, { cause: Cause.squash(exit.cause) })))
    })
    return Effect.sync(remove)
  })

/** A fiber of Effect knows its children, though its type doesn't say so. */
type Parent = { readonly children?: () => ReadonlySet<Fiber.Fiber<unknown, unknown>> }

/**
 * Starts a handler and reads its results.
 *
 * The toolkit runs the handler in a fiber that ends the stream of results. If the handler returns something else than an Effect that has a
 * `pipe`, such as an `Option`, that fiber dies and the stream never ends. So this fails once the fiber has died.
 */
const reading = <A>(
  entry: HandledTool,
  starting: Effect.Effect<Outputs, unknown, unknown>,
  read: (outputs: Outputs) => Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown, unknown> =>
  Effect.withFiber((fiber) => {
    const children = (fiber as Parent).children?.() ?? new Set()
    const others = new Set(children)
    return Effect.flatMap(starting, (outputs) => {
      const handling = [...children].find((child) => !others.has(child))
      return handling === undefined ? read(outputs) : Effect.raceFirst(read(outputs), brokenDown(entry, handling))
    })
  })

/** Makes the handler of a tool whose toolkit has the handlers. The toolkit decodes parameters from their encoded form, not from JSON. */
export const ownHandler =
  (entry: HandledTool, handle: NonNullable<HandledTool["handle"]>): ToolHandler =>
  (params, { preliminary, toolCallId }) =>
    reading(
      entry,
      Effect.suspend(() => entry.encodeParams(params)).pipe(
        // The handler's parameters are typed by its toolkit, and these are encoded by its tool's own schema.
        Effect.flatMap((encoded) => handle(entry.tool.name, encoded as never, toolCallId)),
        Effect.catchDefect((defect) => Effect.die(madeNoEffect(entry, defect)))
      ),
      (outputs) =>
        Stream.runLast(
          // The type of the result is that of the tool, which isn't known here.
          Stream.tap(outputs, (output) => output.preliminary ? preliminary(output.result as never) : Effect.void)
        )
    ).pipe(
      Effect.flatMap(Option.match({
        onNone: () => Effect.die(new Error(`The handler of tool "${entry.tool.name}" returned no result`)),
        onSome: (output) => output.isFailure ? Effect.fail<unknown>(output.result) : Effect.succeed(output.result)
      })),
      Effect.mapError((error) => unwrapped(entry, error))
    )
