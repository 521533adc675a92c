import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Guardrail } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { masked, passes, verdictOf } from "./verdicts.ts"

const only = (kind: Guardrail.PiiKind) => Guardrail.pii({ kinds: [kind] })

/** Texts in which nothing but what stands in angle brackets is found, as a kind. */
const finds = (kind: Guardrail.PiiKind, texts: ReadonlyArray<string>): void => {
  const self = Guardrail.pii({ kinds: [kind], action: "mask" })
  for (const text of texts) {
    assert.strictEqual(masked(self, text.replace(/[«»]/g, "")), text.replace(/«[^»]*»/g, `[redacted ${kind}]`))
  }
}

describe("Personal data", () => {
  it("has e-mail addresses, of any script and in any place", () => {
    finds("email", [
      "«ada@example.com»",
      "Write to «ada.lovelace+lamps@mail.example.co.uk», please.",
      "<«o'brien@ex-ample.org»>, '«ada@example.com»'; mailto:«a_b%c@example.com»",
      "«jörg@müller.de» «почта@пример.рф» «ada@xn--mller-kva.de» «12345@163.com»",
      "«ada@example.com»—really, «ada@example.com»-ish",
      "«ada@example.com»@example.com",
      "«ａｄａ@example.com» «a\u200bda@example.com»",
      "«a@b.cod»\ude00«d@e.com» \ud83d«a@b.co»\ud83d 😀«a@b.co»😀"
    ])
    passes(
      only("email"),
      "ada@localhost, @ada, ada@, @example.com, a@b.c, ada @ example.com",
      "effect@4.1.0-beta.next, @scope/name@1.2.3-rc.one, icon@2x.png",
      "ada@example.c0m, ada@example.com1",
      "@@@@example.com"
    )
  })

  it("has telephone numbers with a country's code, as in North America, and in groups behind a 0", () => {
    finds("phone", [
      "«+1 555 123 4567», «+49301234567», «+44 (0)20 7946 0958».",
      "«555-123-4567» «(555) 123-4567» «555.123.4567» «1-800-555-1234»",
      "«030 1234567», «01 23 45 67 89»; «0171-1234567»/«0049 30 1234567»",
      "tel:«+15551234567»; «+44 20 7946 0958» 12345 6789",
      "電話«０３ １２３４ ５６７８»です",
      "«(030) 90 18 20», «(030) 901820», «(0 30) 90 18 20», «030/90 18 20», «030 / 901820», «0171/1234567»",
      "«01.23.45.67.89», «01 - 23 - 45 - 67 - 89», «030 - 90 18 20», «+49 (0) 30 901820», «+49 - 30 - 901820»",
      "«555 - 123 - 4567», «555/123-4567»",
      "«+15551234567»«+15551234567»«+15551234567»«+15551234567»«+15551234567»«+15551234567»"
    ])
    passes(
      only("phone"),
      "5551234567, 1700000000, 911, +12345, 555-1234",
      "2024-01-02 10:30, 01-02-2024, 12.03.2024, 12,345,678.90",
      "ISBN 978-3-16-148410-0, order 555-123-4567-89, +1555123456712345678",
      "x555-123-4567, DE88 3704 0044 0532 0130 00, 12 030 1234567",
      "021/815/08150, 01/02/2024, 01.02.2024 10:30, 0.1.2024.1234, (2024) 12 31, f(0123456), 01/02"
    )
  })

  it("has card numbers whose last digit is right, in the ranges of issuers", () => {
    finds("card", [
      "«4111 1111 1111 1111» «4111111111111111» «4111-1111-1111-1111» «4111.1111.1111.1111»",
      "Amex «378282246310005», «3782 822463 10005»; Diners «30569309025904», «3056 930902 5904»",
      "«5555555555554444» «2223003122003222» «6011111111111117» «3530111333300000» «6759649826438453»",
      "«4000 0000 0000 0000 006»",
      "card:«4111111111111111»; order_«4111111111111111», 卡号«4111111111111111»是",
      "«٤١١١ ١١١١ ١١١١ ١١١١» «４１１１１１１１１１１１１１１１» «4111‑1111‑1111‑1111» «41\u200b11 1111\u00a01111 1111»",
      "«𝟒𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏» «𑁪𑁧𑁧𑁧𑁧𑁧𑁧𑁧𑁧𑁧𑁧𑁧𑁧𑁧𑁧𑁧»",
      "«4111  1111  1111  1111» «4111 - 1111 - 1111 - 1111» «4111/1111/1111/1111» «4111\t1111\t1111\t1111»",
      "«4111\n1111\n1111\n1111» or «4111 1111\n1111 1111», «4111 1111 1111\r\n1111» 12/27 123",
      "Amex «3782 8224 6310 005» Diners «3056 9309 0259 04»"
    ])
    passes(
      only("card"),
      "order 4111111111111112, 4111 1111 1111 1112",
      "1234567812345670, 9111111111111111, 411111111111116",
      "41111111111111111111111, 0.4111111111111111, 4111111111111111.5",
      "1700000000000, 550e8400-e29b-41d4-a716-446655440000, a4111111111111111",
      "41 11 11 11 11 11 11 11, 4111 1111 1111, 4111\n\n\n\n\n1111 1111 1111",
      "4111\n1111\n1111\n1111\n2222",
      "Year 2020\n4111 1111\n1111 1111\n2222 3333",
      "4111  1111  1111  1111  1111",
      "3782 8224 6310 0051, 4111 - 1111 - 1111 - 1112"
    )
  })

  it("has US social security numbers but for those that aren't given out", () => {
    finds("ssn", [
      "SSN «123-45-6789», «123 45 6789».",
      "«899-99-9999» «001-01-0001» «123‐45‐6789»",
      "«123 - 45 - 6789», SSN-«123-45-6789»"
    ])
    passes(
      only("ssn"),
      "000-12-3456, 666-12-3456, 900-12-3456, 999-99-9999, 123-00-4567, 123-45-0000",
      "123456789, 123-45 6789, 12-123-45-6789, 123-45-6789-0, 1123-45-6789, 123-45-6789-A, 123-45-6789-ab7"
    )
  })

  it("has account numbers of their country's length with the right check digits", () => {
    finds("iban", [
      "«GB29 NWBK 6016 1331 9268 19», «DE89370400440532013000», «DE89-3704-0044-0532-0130-00».",
      "«gb29nwbk60161331926819» «MT84 MALT 0110 0001 2345 MTLC AST0 01S» «NO93 8601 1117 947»",
      "IBAN:«FR1420041010050500013M02606».",
      "«DE89 3704 0044\n0532 0130 00», «DE89  3704  0044  0532  0130  00», «DE89 3704 0044 0532\r\n0130 00»"
    ])
    passes(
      only("iban"),
      "GB29 NWBK 6016 1331 9268 18, GB92 NWBK 6016 1331 9268 19, DE8937040044053201300",
      "XX29 NWBK 6016 1331 9268 19, GB29 NWB K601 6133 1926 819, DE893704004405320130001",
      "is 12 monkeys, AT61 is a road"
    )
  })

  it("has addresses of hosts, not versions, times, or what every host calls itself", () => {
    finds("ip", [
      "«8.8.8.8»:53, «192.168.0.1»/24, «10.0.0.1»-«10.0.0.9», https://«1.2.3.4»/",
      "«2001:db8::1», [«2001:db8::2»]:80, «2001:0db8:85a3:0000:0000:8a2e:0370:7334», «fe80::1»%eth0, «2001:DB8::».",
      "«2001:db8::1.2.3.4» «fd12:3456:789a::1» driver «10.1.1.1»",
      "«64:ff9b::808:808», [«64:FF9B::8.8.8.8»]:80, «0064:ff9b:0:0:0:0:808:808», «064:ff9b:1::1»"
    ])
    passes(
      only("ip"),
      "version 1.2.3.4, v1.2.3.4, Version: 10.0.0.1, release 1.2.3.4, build=1.2.3.4",
      "127.0.0.1, 0.0.0.0, 255.255.255.255, ::1, ::",
      "1.2.3.4.5, 256.1.1.1, 01.2.3.4, 1.2.3, 1.2.3.4a",
      "12:30:45, aa:bb:cc:dd:ee:ff, std::vector, x[1::2], cafe::babe, 2024:05:06 10:11:12",
      "64:00, 64:ff, 64:ff:9b:00:11:22, 164:ff9b::1, 00064:ff9b::1, 64:ff9bc::1, 64:ff9b:1, 0x64:ff9b::1, a:64:ff9b::1",
      "2001:db8::1::2, ::1:2001:db8::1, 2001:db8:1, 2001:db8:1:2:3:4:5:6:7, 2001:db8::12345"
    )
  })

  it("is told apart: an address isn't a number in it, a card isn't an account", () => {
    const self = Guardrail.pii({ action: "mask" })
    assert.deepStrictEqual(
      [
        "555-123-4567@example.com",
        "ada@example.com 123-45-6789 8.8.8.8 +15551234567",
        "2001:db8::4111111111111111"
      ].map((text) => masked(self, text)),
      [
        "[redacted email]",
        "[redacted email] [redacted ssn] [redacted ip] [redacted phone]",
        "[redacted ip][redacted card]"
      ]
    )
  })

  it("is named and counted in the reason, but not quoted", () => {
    assert.deepStrictEqual(verdictOf(Guardrail.pii(), "a@b.co, 4111111111111111, c@d.co"), {
      _tag: "Block",
      reason: "has email (2), card in it"
    })
    assert.deepStrictEqual(verdictOf(Guardrail.pii(), "a@b.co(555) 123-4567"), {
      _tag: "Block",
      reason: "has email, phone in it"
    })
    assert.deepStrictEqual(verdictOf(Guardrail.pii({ action: "warn" }), "a@b.co"), {
      _tag: "Warn",
      reason: "has email in it"
    })
  })

  it("is of some kind", () => {
    assert.throws(() => Guardrail.pii({ kinds: [] }), /"kinds" of the guardrail "pii" is empty/)
  })

  it.effect("is masked in what the model sees, what a tool gets and gives, and what the state holds", () =>
    Effect.gen(function*() {
      const Find = Tool.make("find", {
        parameters: Schema.Struct({ query: Schema.String }),
        success: Schema.Struct({ owner: Schema.Struct({ mail: Schema.String }), count: Schema.Finite })
      })
      const Tools = Toolkit.make(Find)
      const self = [Guardrail.pii({ action: "mask" })]
      const desk = Agent.make("desk", {
        toolkit: Tools,
        guardrails: { input: self, output: self, toolCall: self, toolResult: self }
      })
      const queries: Array<string> = []
      const state = yield* Agent.run(desk, "I am ada@example.com.").pipe(
        Effect.provide(Tools.toLayer({
          find: ({ query }) => {
            queries.push(query)
            return Effect.succeed({ owner: { mail: "bob@example.com" }, count: 2 })
          }
        })),
        Effect.provide(MockModel.layer(MockModel.queue(
          MockResponse.toolCall("find", { query: "card 4111111111111111" }),
          "It belongs to bob@example.com."
        )))
      )
      assert.deepStrictEqual(queries, ["card [redacted card]"])
      assert.strictEqual(Conversation.lastUserText(state.conversation), "I am [redacted email].")
      assert.strictEqual(AgentState.text(state), "It belongs to [redacted email].")
      assert.notInclude(JSON.stringify(state), "example.com")
    }))
})
