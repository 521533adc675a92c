/**
 * What triage says itself, and what anybody at the desk says to small talk.
 */
import { Result } from "effect"
import { languageOf, sorryIn } from "./languages.ts"
import { always, type Rule } from "./rule.ts"
import type { SmallTalk, TriageWish } from "./wishes.ts"

const can =
  "I can find your parcel, cancel or return an order, take care of something that is broken, and tell you what we have."

export const rules: Readonly<Record<TriageWish, Rule>> = {
  greeting: always(`Hello! ${can} What is it about?`),
  hours: always(
    "We answer here day and night. Our shop at Hafenstraße 8 in Lübeck is open from Monday to Friday, 9:00 to 18:00, and on Saturday until 14:00."
  ),
  human: always(
    "Of course. Write to help@halden.example, or call +49 451 555 0142 from Monday to Friday, 9:00 to 18:00. If you tell me what it is about, I may be able to settle it right here."
  ),
  foreign: ({ words }) => Result.succeed(sorryIn(languageOf(words))),
  unclear: always(`I'm not sure what you mean. ${can} If it is about an order, its number helps, such as 1042.`)
}

export const smallTalk: Readonly<Record<SmallTalk, Rule>> = {
  complaint: always("I'm sorry for the trouble. Tell me what went wrong and with which order, and I'll see to it."),
  thanks: always("You're welcome! If anything else comes up, I'm here."),
  bye: always("Thank you for writing, and have a good day!"),
  noted: always("All right. If anything else comes up, I'm here."),
  declined: always("All right, I'll leave it as it is. If anything else comes up, I'm here.")
}
