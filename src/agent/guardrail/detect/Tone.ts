/**
 * The tones of a text, by English words and by exclamation marks.
 *
 * @since 0.1.0
 */
import * as Struct from "effect/Struct"
import { lazy } from "../../../domain/Lazy.ts"
import type { Work } from "../../perform/guard/Work.ts"
import { wordDetector } from "./Words.ts"

/**
 * A tone. A text may have several tones, or none.
 *
 * @category models
 * @since 0.1.0
 */
export type Tone = "casual" | "excited" | "formal" | "friendly" | "professional"

/** Every tone. */
export const tones: ReadonlyArray<Tone> = ["casual", "excited", "formal", "friendly", "professional"]

const words: Readonly<Record<Exclude<Tone, "excited">, string>> = {
  casual:
    "hey,yeah,yep,yup,nope,nah,cool,awesome,dude,bro,gonna,wanna,gotta,gimme,kinda,sorta,dunno,lol,lmao,omg,btw,imho," +
    "no worries,what's up,you guys,super easy,no biggie",
  friendly: "hi,hello,welcome,thanks,cheers,glad to,happy to,nice to,lovely,hope you,have a great,have a nice",
  formal:
    "furthermore,moreover,consequently,therefore,hereby,herewith,herein,hereafter,thereof,whereas,notwithstanding,pursuant," +
    "thus,hence,henceforth,aforementioned,shall,in accordance with",
  professional:
    "please,kindly,regards,sincerely,thank you,appreciate,apologise,apologize,apologies,best wishes,at your convenience," +
    "dear customer,do not hesitate"
}

const detector = lazy(() => wordDetector(Struct.keys(words).map((tone) => [tone, words[tone].split(",")] as const)))

const ends = ".!?…。！？"

/** Checks whether at least one in three sentences ends with an exclamation mark. */
const isExcited = (text: string): boolean => {
  let [sentences, exclamations] = [0, 0]
  for (let at = 0; at < text.length;) {
    let isExclaimed = false
    const start = at
    for (; at < text.length && ends.includes(text[at]!); at++) isExclaimed ||= text[at] === "!" || text[at] === "！"
    if (at > start) sentences++
    else at++
    if (isExclaimed) exclamations++
  }
  return exclamations > 0 && exclamations * 3 >= sentences
}

/** Returns the tones of a text, in the order of their names. */
export function* tonesOf(text: string): Work<ReadonlyArray<Tone>> {
  const found = yield* detector()(text)
  const sounds = new Set<Tone>(found.map(({ kind }) => kind))
  if (isExcited(text)) sounds.add("excited")
  return [...sounds].sort()
}
