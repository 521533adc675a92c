/**
 * Settings of the environment. One that can't be is refused with its name and an example of what can.
 *
 * Numbers are written in decimal digits and times with their unit, and nothing else: `1e3`, `0x10` or ` 5 ` is more likely a slip
 * than a setting.
 */
import { Config, Duration, Effect, Option, Schema } from "effect"

/** The environment says something that can't be. */
export class BadSetting extends Schema.TaggedError<BadSetting>()("BadSetting", {
  name: Schema.String,
  issue: Schema.String
}) {
  override get message(): string {
    return `${this.name} ${this.issue}`
  }
}

type Setting<A> = Effect.Effect<A, BadSetting | Config.ConfigError>

/**
 * What a variable says, if it is there. `needs` and `example` say what can stand in it; what stands there isn't repeated, for it may be a
 * secret.
 */
export const setting = <A>(
  name: string,
  needs: string,
  example: string,
  read: (text: string) => A | undefined
): Setting<Option.Option<A>> =>
  Effect.flatMap(Config.option(Config.String(name)), (text) => {
    if (Option.isNone(text)) return Effect.succeedNone
    const value = read(text.value)
    return value === undefined
      ? Effect.fail(new BadSetting({ name, issue: `needs ${needs}, such as ${name}=${example}` }))
      : Effect.succeedSome(value)
  })

const orElse = <A>(self: Setting<Option.Option<A>>, fallback: A): Setting<A> =>
  Effect.map(self, Option.getOrElse(() => fallback))

/** A text that says something. */
export const text = (name: string, needs: string, fallback: string): Setting<string> =>
  orElse(setting(name, needs, fallback, (text) => text.trim() === "" ? undefined : text), fallback)

/** A whole number within bounds. */
export const wholeNumber = (
  name: string,
  { fallback, maximum, minimum }: { readonly minimum: number; readonly maximum: number; readonly fallback: number }
): Setting<number> =>
  orElse(
    setting(name, `a whole number from ${minimum} to ${maximum}`, String(fallback), (text) => {
      const number = Number(text)
      return /^\d+$/.test(text) && number >= minimum && number <= maximum ? number : undefined
    }),
    fallback
  )

/** What timers can wait for. */
const longest = Duration.days(24)

/** A time, as `Duration` has it: a number and a unit. */
export const time = (
  name: string,
  example: string,
  minimum: Duration.Input = 0
): Setting<Option.Option<Duration.Duration>> => {
  const least = Duration.fromInputUnsafe(minimum)
  const from = Duration.isZero(least) ? "a time" : `a time of ${Duration.toMillis(least)} millis or more`
  return setting(name, `${from}, of 24 days at most`, `"${example}"`, (text) => {
    const time = /^\d+(?:\.\d+)?\s+[a-z]+$/.test(text) ? Duration.fromInput(text as Duration.Input) : Option.none()
    return Option.getOrUndefined(Option.filter(time, Duration.between({ minimum: least, maximum: longest })))
  })
}

/** A time of so much at least, which is the `usual` one where none is said. */
export const timeOr = (
  name: string,
  usual: `${number} ${Duration.Unit}`,
  minimum?: Duration.Input
): Setting<Duration.Duration> => orElse(time(name, usual, minimum), Duration.fromInputUnsafe(usual))
