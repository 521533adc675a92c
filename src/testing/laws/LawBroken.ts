/**
 * How laws are checked, and what is said of one that is broken.
 *
 * @since 0.1.0
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { format } from "effect/Formatter"
import * as Schema from "effect/Schema"
import type { AgentEvent } from "../../domain/AgentEvent.ts"

/** A broken law, how it is broken, and the events of the run. */
export interface Breach {
  readonly law: string
  readonly issue: string
  readonly events: ReadonlyArray<AgentEvent>
}

/** Makes a breach. It has no `events` if nothing was run. */
export const breach = (law: string, issue: string, events: Breach["events"] = []): Breach => ({ law, issue, events })

/**
 * Error for a law that is broken.
 *
 * `subject` names what was checked, `law` is the law in words, and `issue` says how it is broken. `script` is what the models said in the
 * smallest run that was found to break it, and `events` are the events of that run except deltas; both are empty if nothing was run. Pass
 * `replay` as the option to begin a check of the same subject with that run; it is empty if the check couldn't make enough random values.
 *
 * @category errors
 * @since 0.1.0
 */
export class LawBroken extends Schema.TaggedError<LawBroken>("troupe/testing/Laws/LawBroken")("LawBroken", {
  subject: Schema.String,
  law: Schema.String,
  issue: Schema.String,
  script: Schema.Array(Schema.String),
  events: Schema.Array(Schema.String),
  replay: Schema.String
}) {
  override get message(): string {
    const list = (title: string, lines: ReadonlyArray<string>) =>
      lines.length === 0 ? [] : [title, ...lines.map((line, index) => `  ${index + 1}. ${line}`)]
    return [
      `${this.subject} breaks a law: ${this.law}`,
      `  ${this.issue}`,
      ...list("What the models said:", this.script),
      ...list("What happened:", this.events),
      `Replay: ${this.replay}`
    ].join("\n")
  }
}

/**
 * Options of all laws.
 *
 * **Details**
 *
 * - `runs` is the number of random runs or values, 25 by default.
 * - `seed`: the same seed makes the same runs. By default each check makes different runs.
 * - `replay` is that of a `LawBroken`: its run is checked first. If it breaks no law any more, random runs follow. Any other text dies
 *   with a `TypeError`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly runs?: number
  readonly seed?: string | number
  readonly replay?: string
}

const said = (event: AgentEvent): ReadonlyArray<string> => {
  const who = event.path.join("/")
  if (event._tag === "ModelCallFailed") return [`${who} fails: ${event.tag}`]
  if (event._tag !== "ModelResponded") return []
  return [[
    who,
    ...event.parts.flatMap((part) =>
      part._tag === "Text" && part.text !== ""
        ? [`says ${JSON.stringify(part.text)}`]
        : part._tag === "Call"
        ? [`calls ${part.name} ${JSON.stringify(part.params)}`]
        : []
    )
  ].join(" ")]
}

const told = (event: AgentEvent): ReadonlyArray<string> =>
  event._tag.endsWith("Delta")
    ? []
    : ["callId" in event ? `${event._tag} of "${event.callId}"` : event._tag]

const ends = "the check comes to its end"

/** The real clock. A `TestClock` around the check would never end a sleep in it, because nobody adjusts it meanwhile. */
const clock = Clock.Clock.defaultValue()

/**
 * Fails with the first breach that is found among random values, shrunk. If the value of `replay` breaks no law any more, random values
 * are checked.
 */
export const check = <A>(
  subject: string,
  arbitrary: Arbitrary.Arbitrary<A>,
  find: (value: A) => Effect.Effect<Breach | undefined>,
  { replay, ...options }: Options
): Effect.Effect<void, LawBroken> => {
  const { runs = 25, seed } = options
  if (replay === "") return check(subject, arbitrary, find, options)
  const checked = Arbitrary.checkEffect(
    arbitrary,
    (value) =>
      Effect.flatMap(
        Effect.catchDefect(
          Effect.provideService(Effect.suspend(() => find(value)), Clock.Clock, clock),
          (defect) => Effect.succeed(breach(ends, String(defect)))
        ),
        (breach) => breach === undefined ? Effect.succeed(true) : Effect.fail(breach)
      ),
    {
      runs,
      ...(seed === undefined ? undefined : { seed }),
      ...(replay === undefined ? undefined : { replay })
    }
  )
  // The check catches defects of runs. So if it dies with a replay, the replay can't be read.
  const played = replay === undefined ?
    checked :
    Effect.catchDefect(
      checked,
      (cause) =>
        Effect.die(
          new TypeError(`The option "replay" is ${format(replay)}, not the "replay" of a LawBroken`, { cause })
        )
    )
  return Effect.flatMap(played, (result) => {
    if (result._tag === "Passed") return Effect.void
    if (result._tag === "ReplayMismatch") return check(subject, arbitrary, find, options)
    const { events, issue, law } = result._tag === "Falsified" && result.failure._tag !== "ReturnedFalse"
      ? result.failure.error
      : breach(ends, result._tag)
    return Effect.fail(
      new LawBroken({
        subject,
        law,
        issue,
        script: events.flatMap(said),
        events: events.flatMap(told),
        replay: result._tag === "Falsified" ? result.replay : ""
      })
    )
  })
}
