/**
 * A model that asks another one and writes down what it was asked and what came of it.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Request } from "../../agent/definition/AgentDefinition.ts"
import { brokenOff } from "../../agent/perform/ask/Attempts.ts"
import * as ModelPort from "../../agent/perform/ask/ModelPort.ts"
import * as Answer from "../../domain/ModelAnswer.ts"
import * as NativeModel from "../../model/NativeModel.ts"
import * as Asked from "./Asked.ts"
import * as Parts from "./Parts.ts"
import * as Place from "./Place.ts"
import type { Ending, Recorder } from "./Recorder.ts"

type Options = Asked.Options

/** A request to the other model. Its tools are known only when it is sent, so its type names none. */
interface PassedOn extends Omit<Request, "toolkit" | "tools" | "toolChoice"> {
  readonly prompt: Prompt.Prompt
  readonly toolkit: Toolkit.WithHandler<{}>
  readonly toolChoice: LanguageModel.ToolChoice<never>
}

/** Returns options with which the other model sends its provider the same request, and returns calls as the provider wrote them. */
const passedOn = ({ prompt, toolChoice, tools }: Options): PassedOn => ({
  prompt,
  toolCallValidation: "deferred",
  disableToolCallResolution: true,
  toolkit: {
    tools: Object.fromEntries(tools.map((tool) => [tool.name, tool])),
    handle: () => Effect.die(new Error("Nobody answers calls here"))
  },
  toolChoice: tools.length === 0 ? "auto" : toolChoice as LanguageModel.ToolChoice<never>
})

type Content = Effect.Effect<ReadonlyArray<Answer.Incoming>, AiError.AiError>

const generateText = (model: LanguageModel.LanguageModel, options: Options): Content =>
  Effect.map(model.generateText(passedOn(options)), ({ content }) => content)

/** Asks for an object, and encodes it by the schema of the request: the provider may have used a schema that it derived from that one. */
const generateObject = (
  model: LanguageModel.LanguageModel,
  options: Options,
  { objectName, schema }: Extract<Options["responseFormat"], { readonly type: "json" }>
): Content => {
  // The caller provides the services that the schema needs.
  const wanted = schema as Schema.Codec<unknown, Record<string, unknown>>
  const encode = Schema.encodeUnknownEffect(Schema.fromJsonString(wanted))
  return Effect.flatMap(
    model.generateObject({ ...passedOn(options), objectName, schema: wanted }),
    ({ content, value }) =>
      Effect.map(Effect.orDie(encode(value)), (text) => {
        const rest = content.filter((part) => part.type !== "text")
        return [{ type: "text", text, metadata: {} } as Answer.Incoming, ...rest]
      })
  )
}

const generate = (model: LanguageModel.LanguageModel, options: Options): Content =>
  options.responseFormat.type === "json"
    ? generateObject(model, options, options.responseFormat)
    : generateText(model, options)

const endingOf = (cause: Cause.Cause<AiError.AiError>): Ending => {
  const error = Cause.findError(cause)
  if (Result.isSuccess(error)) return { _tag: "Failed", error: error.success }
  return Cause.hasDies(cause) ? { _tag: "Died", defect: Cause.squash(cause) } : { _tag: "Interrupted" }
}

/** Reads who asks and what is asked, and returns a function that records how the request ended. */
const begin = (recorder: Recorder, fiber: Fiber.Fiber<unknown, unknown>, options: Options) => {
  if (fiber.getRef(Place.IsPart)) return () => Effect.void
  const place = Place.current(fiber, 0)
  const asked = Asked.fromOptions(options, recorder.change)
  return (ending: Ending, heard: Answer.Answer["parts"] = []) => recorder.model(place, asked, ending, heard)
}

const whole = (model: LanguageModel.LanguageModel, recorder: Recorder) => (options: Options) =>
  Effect.withFiber<Array<Response.PartEncoded>, AiError.AiError>((fiber) => {
    const write = begin(recorder, fiber, options)
    return generate(model, options).pipe(
      Effect.provideService(Place.IsPart, true),
      Effect.onExit((exit) =>
        write(Exit.isSuccess(exit) ? { _tag: "Answered", answer: Answer.fromParts(exit.value) } : endingOf(exit.cause))
      ),
      Effect.map((parts) => parts.map((part) => Parts.encode(part) as Response.PartEncoded))
    )
  })

const streamed = (model: LanguageModel.LanguageModel, recorder: Recorder) => (options: Options) =>
  Stream.unwrap(Effect.withFiber((fiber) => {
    const write = begin(recorder, fiber, options)
    const arriving = Answer.begin()
    let ending: Ending | undefined
    const stream = model.streamText(passedOn(options))
    return Effect.succeed(stream.pipe(
      Stream.provideService(Place.IsPart, true),
      Stream.map((part) => {
        if (part.type === "error") ending ??= { _tag: "Failed", error: brokenOff(part.error) }
        Answer.add(arriving, part)
        return Parts.encode(part) as Response.StreamPartEncoded
      }),
      Stream.onEnd(Effect.sync(() => {
        ending ??= { _tag: "Answered", answer: Answer.finish(arriving) }
      })),
      Stream.onExit((exit) => {
        ending ??= Exit.isSuccess(exit) ? { _tag: "Interrupted" } : endingOf(exit.cause)
        return write(ending, ending._tag === "Answered" ? [] : Answer.finish(arriving).parts)
      })
    ))
  }))

/** Finds the native way of the other model, for each request anew, because the model's methods may have been replaced. */
const innerOf = (model: LanguageModel.LanguageModel, fiber: Fiber.Fiber<unknown, unknown>) =>
  NativeModel.of(model, fiber.context as Context.Context<never>)

/** Records on the native way of the other model, and by `whole` and `streamed` if the model has lost that way. */
const nativeOf = (
  model: LanguageModel.LanguageModel,
  { names }: NativeModel.NativeModel,
  recorder: Recorder
): NativeModel.NativeModel => ({
  names,
  generateText: (request) =>
    Effect.withFiber((fiber) => {
      const inner = innerOf(model, fiber)
      if (inner === undefined) return whole(model, recorder)(request)
      const write = begin(recorder, fiber, request)
      return inner.generateText(request).pipe(
        Effect.flatMap((parts) =>
          Effect.map(ModelPort.readWhole(parts, passedOn(request)), (read) => ({ parts, read }))
        ),
        Effect.provideService(Place.IsPart, true),
        Effect.onExit((exit) =>
          write(
            Exit.isSuccess(exit)
              ? { _tag: "Answered", answer: Answer.fromParts(exit.value.read) }
              : endingOf(exit.cause)
          )
        ),
        Effect.map(({ parts }) => parts)
      )
    }),
  streamText: (request, take) =>
    Effect.withFiber((fiber) => {
      const inner = innerOf(model, fiber)
      if (inner === undefined) {
        return Stream.runForEachArray(streamed(model, recorder)(request), (parts) => take(parts) ?? Effect.void)
      }
      const write = begin(recorder, fiber, request)
      const arriving = Answer.begin()
      let ending: Ending | undefined
      const hear = (parts: ReadonlyArray<Answer.Incoming>) => {
        for (const part of parts) {
          if (part.type === "error") ending ??= { _tag: "Failed", error: brokenOff(part.error) }
          Answer.add(arriving, part)
        }
      }
      const taking = inner.streamText(request, (parts) => {
        const read = ModelPort.readPieces(parts, passedOn(request), (read) => {
          hear(read)
          return take(parts)
        })
        return read
      })
      return taking.pipe(
        Effect.provideService(Place.IsPart, true),
        Effect.onExit((exit) => {
          ending ??= Exit.isSuccess(exit)
            ? { _tag: "Answered", answer: Answer.finish(arriving) }
            : endingOf(exit.cause)
          return write(ending, ending._tag === "Answered" ? [] : Answer.finish(arriving).parts)
        })
      )
    })
})

/** Makes a model that asks another and writes a tape. */
export const make = (
  model: LanguageModel.LanguageModel,
  recorder: Recorder
): Effect.Effect<LanguageModel.LanguageModel> => {
  const provider = {
    generateText: whole(model, recorder),
    streamText: streamed(model, recorder),
    supportsSystemMessagesInHistory: model.supportsSystemMessagesInHistory
  }
  return Effect.flatMap(Effect.context<never>(), (context) => {
    const native = NativeModel.of(model, context)
    return native === undefined
      ? LanguageModel.make(provider)
      : NativeModel.make({ ...provider, native: nativeOf(model, native, recorder) })
  })
}
