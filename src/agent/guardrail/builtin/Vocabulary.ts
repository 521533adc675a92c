/**
 * Guardrails on the words of a text.
 *
 * @since 0.1.0
 */
import type { Guardrail } from "../../definition/guardrail/GuardrailType.ts"
import { block, pass, type Verdict } from "../../definition/guardrail/Verdict.ts"
import { on, type Work } from "../../perform/guard/Work.ts"
import { type Tone, tones, tonesOf } from "../detect/Tone.ts"
import { hasMoreWords, isFindable, wordDetector } from "../detect/Words.ts"
import { InvalidOption, listOption, membersOf, oneOf, optionOf } from "../InvalidOption.ts"
import { make } from "../MakeGuardrail.ts"
import { type Action, guard } from "./Found.ts"

/**
 * Finds words of a list, and blocks the text, masks the words as `***`, or warns.
 *
 * Bring the list yourself, or take it from a package: Troupe has none. Words are found whole ("Scunthorpe" passes), in any case, with or
 * without accents, in letters that only look like theirs, and disguised: `w0rd`, `w.o.r.d`, `w!o!r!d`, `wooord`, `w*rd`. Expressions of
 * several words are found with spaces, hyphens or apostrophes between them. An entry that ends with an asterisk is found at the beginning of
 * longer words. Words of scripts without spaces (Chinese, Japanese, Thai) are found anywhere, and entries with other signs (`at&t`, an
 * emoji) as they are written.
 *
 * `action` is `"block"` by default. Throws `InvalidOption` for an empty list, and for an empty word.
 *
 * @category built-in
 * @since 0.1.0
 */
export const profanity = (
  options: { readonly words: Iterable<string>; readonly action?: Action | undefined }
): Guardrail =>
  guard(
    "profanity",
    wordDetector([["profanity", wordsOption("profanity", "words", options.words)]], true),
    options.action,
    () => "***"
  )

const wordsOption = (guardrail: string, option: string, words: Iterable<string>): ReadonlyArray<string> =>
  membersOf(guardrail, option, words).map((word) =>
    optionOf(guardrail, option, word, isFindable, "words that each have a letter, a digit or a sign")
  )

/** Topics with the words that show them. */
type Topics = Readonly<Record<string, ReadonlyArray<string>>>

const hasTopics = (topics: Topics): boolean => Object.keys(topics).length > 0

const detectorOf = (option: string, topics: Topics | undefined) =>
  topics &&
  wordDetector(
    Object.entries(optionOf("topic", option, topics, hasTopics, "a record of topics")).map(([name, words]) =>
      [name, wordsOption("topic", `${option}.${name}`, words)] as const
    )
  )

const namesOf = (names: Iterable<string>): string => [...new Set(names)].join(", ")

/** A text with so few words may name no topic: "Yes, please." */
const fewWords = 5

/**
 * Blocks a text that has a word of a topic in `deny`. If `allow` is given, a text of more than five words is also blocked if it has no word
 * of a topic in `allow`.
 *
 * Topics are recognized by their words alone, found as by `profanity` but not in disguise. An asterisk at the end of a word stands for its other
 * forms (`"refund*"`). Use `judge` for the meaning of a text.
 *
 * Throws `InvalidOption` if neither is given, one has no topics, or a topic has no words or an empty one.
 *
 * **Example** (A desk that gives no advice on health)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Guardrail } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const desk = Agent.make("desk", {
 *   guardrails: { input: [Guardrail.topic({ deny: { health: ["diagnos*", "symptom*", "side effects"] } })] }
 * })
 *
 * const program = Agent.run(desk, "What are these symptoms?").pipe(
 *   Effect.catchReason("AgentError", "GuardrailBlocked", ({ reason }) => Effect.succeed(reason)),
 *   Effect.provide(MockModel.layer(MockModel.queue()))
 * )
 *
 * await Effect.runPromise(program) // => "is about health"
 * ```
 *
 * @category built-in
 * @since 0.1.0
 */
export const topic = (
  options: { readonly allow?: Topics | undefined; readonly deny?: Topics | undefined }
): Guardrail => {
  const allowed = detectorOf("allow", options.allow)
  const denied = detectorOf("deny", options.deny)
  if (allowed === undefined && denied === undefined) {
    throw new InvalidOption({
      guardrail: "topic",
      option: "deny",
      value: undefined,
      expected: `a record of topics, and "allow" isn't given either`
    })
  }
  const look = function*(text: string): Work<Verdict<string>> {
    const found = denied === undefined ? [] : yield* denied(text)
    if (found.length > 0) return block(`is about ${namesOf(found.map(({ kind }) => kind))}`)
    if (allowed === undefined || !hasMoreWords(text, fewWords)) return pass
    return (yield* allowed(text)).length > 0
      ? pass
      : block(`isn't about ${namesOf(Object.keys(options.allow ?? {}))}`)
  }
  return make("topic", (text) => on(text, look))
}

/**
 * Blocks a text in a tone that isn't allowed.
 *
 * Tones are recognized by English words: `casual` ("hey", "gonna"), `friendly` ("hello", "happy to"), `formal` ("hereby", "pursuant"),
 * `professional` ("please", "regards"); and by exclamation marks at the end of at least every third sentence: `excited`. A text may have
 * several tones, and all of them must be allowed; a text without a sign of any passes. Use `judge` to find out whether a text is polite.
 *
 * Throws `InvalidOption` if `allow` isn't a list, and for a tone that doesn't exist.
 *
 * @category built-in
 * @since 0.1.0
 */
export const tone = (options: { readonly allow: ReadonlyArray<Tone> }): Guardrail => {
  const allowed = listOption("tone", "allow", options.allow).map((one) => oneOf("tone", "allow", one, tones))
  const look = function*(text: string): Work<Verdict<string>> {
    const wrong = (yield* tonesOf(text)).filter((one) => !allowed.includes(one))
    return wrong.length === 0 ? pass : block(`sounds ${wrong.join(", ")}`)
  }
  return make("tone", (text) => on(text, look))
}
