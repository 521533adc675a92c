import { assert, describe, it } from "@effect/vitest"
import { Guardrail } from "troupe"
import { assertLinear } from "../../growth.ts"
import { some } from "../../matrix.ts"
import { chance, masked, verdictOf } from "./verdicts.ts"

/** Texts of any length that lead a pattern on, to repeat, to begin again at each character, or to go back. */
const hostile: Readonly<Record<string, ReadonlyArray<string>>> = {
  "the same again": [
    "a",
    "1",
    "!",
    "*",
    "@",
    "-",
    ".",
    "=",
    " ",
    "\n",
    "傻",
    "ж",
    "😀",
    "\u200b",
    "٤",
    "\u{e0041}",
    "<|",
    "#",
    "ﷺ",
    "㌀",
    "ß",
    "\u0301",
    "a\u0316\u0301",
    "\u1112\u1161"
  ],
  "beginnings of addresses": ["a@", "a@a.", "@a.a", "a.", "1.", "1.1.1.", "2001:", "2001::", "fe80:", "::", "1.2.3.4."],
  "beginnings of numbers": [
    "4 ",
    "41 ",
    "4111 ",
    "4111-",
    "+1 ",
    "+",
    "(",
    "(5",
    "0",
    "01 ",
    "00",
    "DE89",
    "DE89 ",
    "123-",
    "1-"
  ],
  "beginnings of secrets": [
    "sk-",
    "ghp_",
    "AKIA",
    "eyJ",
    "eyJa.",
    "eyJ.",
    "://a:",
    "://",
    "a:",
    "-----",
    "-----BEGIN ",
    "xoxb-",
    "SG."
  ],
  "beginnings of keys": [
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN A-----",
    "-----END ",
    "AccountKey=",
    "1234567890:AA"
  ],
  "beginnings of words": [
    "d ",
    "d.",
    "d*",
    "da",
    "dang ",
    "dang it ",
    "d4",
    "$",
    "ignore ",
    "ignore previous ",
    "you now ",
    "do "
  ],
  "beginnings of forms": [
    "<|im_start",
    "[inst",
    "<system",
    "system",
    "\nsystem ",
    "忽略",
    "指示",
    "指示を",
    "\u200ba",
    "!a",
    ".!"
  ],
  "beginnings of values": ["password: ", "password=", "key=a1", "secret is ", "d:", "'"],
  "what hides what stands beside it": [
    `shpat_${chance(32, "abcdef0123456789")}`,
    `://a:b@eyJhbGciOiJub25lIn0.eyJhIjoxfQ`,
    "+15551234567",
    "(555) 123-4567",
    "4111111111111111",
    "8.8.8.8.",
    "a@b.co"
  ],
  "signs within words": ["a!", "d!a", "!d", "@.a", "$a$ ", "1l|", "d4r*", "ignore!!!", "#a"],
  "one after much": [
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab@",
    `${chance(60)}=`,
    `${chance(31)} `
  ]
}

const words = [
  "darn",
  "dang it",
  "dang it dang it x",
  "傻瓜",
  "d*",
  ...Array.from({ length: 500 }, (_, at) => `d${chance(3, "abcdefgh", at)}n`)
]

const pii = Guardrail.pii({ action: "mask" })
const secrets = Guardrail.secrets({ action: "mask" })
const profanity = Guardrail.profanity({ words, action: "mask" })

const guardrails: ReadonlyArray<Guardrail.Guardrail> = [
  pii,
  secrets,
  profanity,
  Guardrail.promptInjection({ threshold: "low" }),
  Guardrail.topic({ allow: { words }, deny: { more: ["ignore previous instructions"] } }),
  Guardrail.tone({ allow: [] }),
  Guardrail.length({ min: 10_000_000 }),
  Guardrail.json()
]

/** What stands around a text that repeats, so that all of it is read to find out that it isn't what was looked for. */
const around: ReadonlyArray<readonly [self: Guardrail.Guardrail, wrap: (text: string) => string]> = [
  ...guardrails.map((self) => [self, (text: string) => text] as const),
  [pii, (text) => `a@${text}@`],
  [secrets, (text) => `://${text}`],
  [secrets, (text) => `-----BEGIN PRIVATE KEY-----${text}`],
  [secrets, (text) => `eyJ${text}.`],
  [profanity, (text) => `d${text}n`],
  [secrets, (text) => `password: ${text}`],
  [pii, (text) => `4111 ${text}`],
  [Guardrail.promptInjection({ threshold: "low" }), (text) => `system: ${text}`]
]

const check = (self: Guardrail.Guardrail, unit: string, wrap: (text: string) => string): void =>
  assertLinear(
    (length) => wrap(unit.repeat(Math.ceil(length / unit.length))),
    500,
    (text) => masked(self, text),
    `${self.name} with ${JSON.stringify(unit)}`
  )

describe("Time grows as the text does", () => {
  it.each(Object.entries(hostile))("with %s", (_, units) => {
    for (const unit of units) {
      for (const [self, wrap] of some(around, 3, units.indexOf(unit) % 3)) check(self, unit, wrap)
    }
  })

  it("and nothing overflows where much is found", () => {
    assert.deepStrictEqual(verdictOf(Guardrail.pii({ kinds: ["email"] }), "a@b.co ".repeat(130_000)), {
      _tag: "Block",
      reason: "has email (130000) in it"
    })
  })
})
