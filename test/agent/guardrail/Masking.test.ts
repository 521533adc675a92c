import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Guardrail } from "troupe"
import { chance, masked, verdictOf } from "./verdicts.ts"

/** Pieces that are found, that nearly are, and that stand next to such things: put together without a gap, they hide each other. */
const pieces = [
  ["ada@example.com", "@", "a@b.co", "a@b.", "xn--", "co", ".", "-", "+"],
  ["4111111111111111", "4111 1111 1111 1111", "378282246310005", "4111", " ", "41"],
  ["123-45-6789", "000-12-3456", "555-123-4567", "+15551234567", "(555) ", "0171-1234567", "0"],
  ["GB29 NWBK 6016 1331 9268 19", "DE89370400440532013000", "GB29"],
  ["8.8.8.8", "1.2.3.4.5", "2001:db8::1", "2001:db8::", "fe80:", ":", "version "],
  [
    `ghp_${chance(36)}`,
    `sk-${chance(48)}`,
    `AKIA${chance(16, "ABCDEFGH")}`,
    chance(40),
    "sk-",
    "eyJ",
    "://a:b@",
    "="
  ],
  ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----"],
  [
    "darn",
    "d",
    "a",
    "r",
    "n",
    "d.a.r.n",
    "d4rn",
    "heck",
    "dang",
    "it",
    "daaarn",
    "d*rn",
    "傻瓜",
    "傻",
    "*",
    "!",
    "$"
  ],
  [
    "\u200b",
    "\ufe0f",
    "😀",
    "\ud83d",
    "\ude00",
    "é",
    "e\u0301",
    "ａ",
    "４",
    "٤",
    "𝟒",
    "‑",
    "\u00a0",
    "\n",
    "x",
    "[redacted card]"
  ]
].flat()

const Text = Schema.Array(Schema.Literals(pieces)).check(Schema.isMaxLength(14))

const words = ["darn", "heck", "dang it", "it dang", "傻瓜", "dan"]

const masks: Readonly<Record<string, readonly [self: Guardrail.Guardrail, placeholder: RegExp]>> = {
  "personal data": [Guardrail.pii({ action: "mask" }), /\[redacted (?:card|email|iban|ip|phone|ssn)\]/],
  "one kind of personal data": [Guardrail.pii({ kinds: ["ip"], action: "mask" }), /\[redacted ip\]/],
  secrets: [Guardrail.secrets({ action: "mask" }), /\[redacted \w+ secret\]/],
  profanity: [Guardrail.profanity({ words, action: "mask" }), /\*\*\*/]
}

/** Halves of a surrogate pair. */
const halves = /\p{Surrogate}/u

/** Whether a text is another with something in the place of some pieces of it: the rest stands there in its order. */
const isRest = (text: string, rest: ReadonlyArray<string>): boolean => {
  if (rest.length === 1) return text === rest[0]
  let at = rest[0]!.length
  if (!text.startsWith(rest[0]!)) return false
  for (const piece of rest.slice(1, -1)) {
    const found = text.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return text.length - rest.at(-1)!.length >= at && text.endsWith(rest.at(-1)!)
}

describe.each(Object.entries(masks))("Masking %s", (_, [self, placeholder]) => {
  it.prop("leaves nothing to be found, and what isn't masked as it was", [Text], ([pieces]) => {
    const text = pieces.join("")
    const once = masked(self, text)
    assert.deepStrictEqual(verdictOf(self, once), { _tag: "Pass" })
    assert.isTrue(isRest(text, once.split(placeholder)) || text.includes("*"), once)
    if (verdictOf(self, text)._tag === "Pass") assert.strictEqual(once, text)
    if (!halves.test(text)) assert.notMatch(once, halves)
  }, { arbitrary: { runs: 300 } })
})

it.prop("What blocks and what is masked is the same", [Text], ([pieces]) => {
  const text = pieces.join("")
  const isFound = (action: "block" | "mask" | "warn") => verdictOf(Guardrail.pii({ action }), text)._tag !== "Pass"
  assert.deepStrictEqual([isFound("mask"), isFound("warn")], [isFound("block"), isFound("block")])
}, { arbitrary: { runs: 50 } })
