/**
 * Who is mentioned in a text, as `@name`.
 *
 * @since 0.1.0
 */
import { pattern } from "../../domain/Lazy.ts"
import { lastText, type Transcript } from "./Transcript.ts"

const wordCharacter = pattern("[\\p{L}\\p{N}_]")

const isWordCharacter = (character: string | undefined): boolean =>
  character !== undefined && wordCharacter().test(character)

/** Returns the last place where a text mentions a name, or -1. */
const lastMention = (text: string, name: string): number => {
  const mention = `@${name}`
  let at = text.lastIndexOf(mention)
  while (at >= 0 && (isWordCharacter(text[at - 1]) || isWordCharacter(text[at + mention.length]))) {
    at = at === 0 ? -1 : text.lastIndexOf(mention, at - 1)
  }
  return at
}

/** Returns which of some names the last text mentions last. The speaker's own name is ignored. */
export const findMention = <Name extends string>(
  transcript: Transcript<Name>,
  names: ReadonlyArray<Name>
): Name | undefined => {
  const text = lastText(transcript)
  const last = transcript.at(-1)
  const speaker = last?._tag === "Agent" ? last.speaker : undefined
  let found: { readonly name: Name; readonly at: number } | undefined
  for (const name of names) {
    const at = name === speaker ? -1 : lastMention(text, name)
    const isFurther = found === undefined || at > found.at || (at === found.at && name.length > found.name.length)
    if (at >= 0 && isFurther) found = { name, at }
  }
  return found?.name
}
