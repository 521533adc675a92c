import { assert, describe, it } from "@effect/vitest"
import { cuss } from "cuss"
import { cuss as french } from "cuss/fr"
import { Guardrail } from "troupe"
import { masked, passes } from "./verdicts.ts"

/** Words of a package that says how likely each is meant so: 2 where it hardly means anything else. */
const by = (words: Readonly<Record<string, number>>) =>
  Guardrail.profanity({ words: Object.keys(words).filter((word) => words[word] === 2), action: "mask" })

describe("Profanity, by the list of a package", () => {
  it("is found as it is, and disguised", () => {
    assert.strictEqual(
      masked(by(cuss), "What a load of bullshit, bullsh1t, b-u-l-l-s-h-i-t, Bullshiiiit, BULLSH*T."),
      "What a load of ***, ***, ***, ***, ***."
    )
    assert.strictEqual(masked(by(french), "Quelle connerie, C0NNERIE !"), "Quelle ***, *** !")
  })

  it("isn't in ordinary texts", () => {
    passes(
      by(cuss),
      "We assess classic cocktails in Scunthorpe, Penistone and Sussex; the analyst passed the buttress.",
      "Hello, the lamp that I bought last week is broken. Could you send me a new one, please?",
      "He shot 3 photos of a cockatoo and a shiitake, and titled one \"Grape harvest in Essex\"."
    )
  })
})
