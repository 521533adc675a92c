/**
 * Halden's support desk: real agents over what you write, triage and three specialists. Their model is embedded, so that
 * it needs no key and no network, unless the environment configures a real one.
 *
 *     npm start -- "My lamp arrived broken, order 1042"
 *     npm start
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Option, Pull, Schema, Scope, Stdio, Stream } from "effect"
import { AgentEvent } from "troupe"
import { layer as tools } from "./agents/desk.ts"
import { configured } from "./model/configured.ts"
import * as Options from "./options.ts"
import * as Session from "./session.ts"
import * as Terminal from "./terminal.ts"

const toJson = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(AgentEvent.AgentEvent)))

/** How long the desk takes for a word, where somebody watches. */
const pace = "20 millis"

/** Writes, and waits until it is written. */
const write = (stream: NodeJS.WriteStream, text: string): Effect.Effect<void> =>
  text === "" ? Effect.void : Effect.callback((resume) => {
    stream.write(text, () => resume(Effect.void))
  })

/** The lines of standard input, one after the other. */
const lines = Effect.fnUntraced(function*({ stdin }: Stdio.Stdio) {
  yield* Effect.addFinalizer(() => Effect.sync(() => process.stdin.destroy()))
  const waiting: Array<string> = []
  const pull = yield* Stream.toPull(stdin.pipe(Stream.decodeText, Stream.splitLines))
  return Effect.gen(function*() {
    if (waiting.length === 0) waiting.push(...(yield* pull))
    return Option.fromUndefinedOr(waiting.shift())
  }).pipe(Pull.catchDone(() => Effect.succeedNone), Effect.orDie)
})

/** A room at the terminal, or where standard input and output go instead. */
const room = ({ json }: Options.Options) =>
  Layer.effect(
    Session.Room,
    Effect.gen(function*() {
      const stdio = yield* Stdio.Stdio
      const isSeen = yield* stdio.stdoutIsTerminal
      const isAttended = (yield* stdio.stdinIsTerminal) && isSeen && !json
      const isPlain = process.env["NO_COLOR"] || process.env["TERM"] === "dumb"
      const style = isSeen && !isPlain ? Terminal.coloured : Terminal.plain
      const scope = yield* Effect.scope
      const nextLine = yield* Effect.cached(Scope.provide(lines(stdio), scope))
      let shown = Terminal.nothing
      return {
        isAttended,
        see: (event) => {
          if (json) return write(process.stdout, `${toJson(event)}\n`)
          const [next, text] = Terminal.show(shown, event, style)
          shown = next
          const written = write(process.stdout, text)
          return isSeen && event._tag === "TextDelta" ? Effect.delay(written, pace) : written
        },
        tell: (line) => write(json ? process.stderr : process.stdout, `${Terminal.harmless(line)}\n`),
        warn: (line) => write(process.stderr, `desk: ${Terminal.harmless(line)}\n`),
        ask: Effect.fnUntraced(function*(prompt) {
          if (isAttended) yield* write(process.stdout, style.strong(prompt))
          const line = yield* (yield* nextLine).pipe(
            Effect.onInterrupt(() => isAttended ? write(process.stdout, "\n") : Effect.void)
          )
          if (isAttended && Option.isNone(line)) yield* write(process.stdout, "\n")
          if (!isAttended && !json && Option.isSome(line)) {
            yield* write(process.stdout, `${prompt}${Terminal.harmless(line.value)}\n`)
          }
          return line
        })
      }
    })
  )

const main = Effect.gen(function*() {
  const stdio = yield* Stdio.Stdio
  const options = yield* Effect.fromResult(Options.parse(yield* stdio.args))
  if (options === "help") return yield* write(process.stdout, Options.help)
  const model = yield* configured
  const state = yield* Effect.gen(function*() {
    const { tell } = yield* Session.Room
    if (Option.isSome(model.line)) yield* tell(model.line.value)
    return yield* Session.hold(options, model.explain)
  }).pipe(Effect.provide([room(options), model.layer, tools]))
  if (state.status._tag === "Failed") process.exitCode = 1
})

// Whoever reads the output may leave before its end. Output that can't be written is a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit()
  process.stderr.write(`desk: ${error.message}\n`, () => process.exit(1))
})

main.pipe(
  Effect.scoped,
  Effect.tapError((error) => write(process.stderr, `desk: ${Terminal.harmless(error.message)}\n`)),
  Effect.tapDefect((defect) => write(process.stderr, `desk: broke down: ${String(defect)}\n`)),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
