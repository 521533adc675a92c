import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Guardrail } from "troupe"
import { blocks, masked, passes, verdictOf } from "./verdicts.ts"

describe("Profanity", () => {
  const words = ["darn", "heck", "dang it", "Spaß", "傻瓜", "アホ", "blast*", "чёрт", "ox", "dang it all", "瓜傻"]
  const self = Guardrail.profanity({ words, action: "mask" })

  /** Texts in which nothing but what stands in angle brackets is found. */
  const finds = (...texts: ReadonlyArray<string>): void => {
    for (const text of texts) {
      assert.strictEqual(masked(self, text.replace(/[«»]/g, "")), text.replace(/«[^»]*»/g, "***"))
    }
  }

  it("is whole words of the list, in any case, and beside any punctuation", () => {
    finds("«Darn»! «HECK», («darn») **«darn»** \"«heck»\" «darn»'s «darn»-«heck»_«darn»/«heck».", "«darn»")
    passes(self, "Check darning, darned, sheck, dar n, Pheckham; dang, it", "", "***")
  })

  it("is expressions of several words, with what joins words between them", () => {
    finds("«Dang it», «dang-it», «dang  it», «DANG_IT», «dang it all» of it.")
    passes(self, "Dang. It rains, dang, it", "dang", "it")
  })

  it("is the beginning of words where the list says so", () => {
    finds("«Blasted» «blasting» «blast»")
    passes(self, "sandblast")
  })

  it("is found in scripts without spaces, and in others by whole words", () => {
    finds("你这个«傻瓜»啊", "«傻瓜»傻", "この«ｱﾎ»やろう", "«Чёрт»! «черт».", "«SPASS», «spaß», «SPASSSS»")
    passes(self, "чёртик, Spaßes, Spas")
  })

  it("is seen through accents, letters that look alike, and invisible characters", () => {
    finds("«dárn» «DÄRN» «dаrn» «ｄａｒｎ» «𝓱𝓮𝓬𝓴» «da\u200brn» «h\u0301eck»")
  })

  it("is seen through digits, signs, repetition, gaps and stars", () => {
    finds("«d4rn» «d@rn»! «h3ck» «hеck» «daaaarn» «d.a.r.n», «h e c k», «h-e-c-k» «d*rn» «h**k» «h#ck».")
    finds("«b1asted» «bl4st3d» @«darn» $$«darn»$$ +«d4rn»+ «$pa$$»")
    finds("#«darn»#«heck» |«darn»|x| «d!a!r!n» a b c «d.a.r.n» «d*a*r*n» «bbblllaaassstttt» not|«darn», «⒟⒜⒭⒩»")
    passes(self, "444 $$$ d4n dan d***, he**o d**, h*, 4*5=20 a.b.c.d, U.S.A. h.e.", "darrn", "h e c, o x")
  })

  it("is masked, warned of or blocked, and never quoted", () => {
    assert.deepStrictEqual(verdictOf(Guardrail.profanity({ words }), "Darn, heck!"), {
      _tag: "Block",
      reason: "has profanity (2) in it"
    })
    assert.deepStrictEqual(verdictOf(Guardrail.profanity({ words: new Set(words), action: "warn" }), "Darn!"), {
      _tag: "Warn",
      reason: "has profanity in it"
    })
  })

  it("finds the words of its list as they are listed, whatever they are made of", () => {
    const odd = [
      "sh!t",
      "a$$",
      "@rse",
      "f*ck",
      "🖕",
      "at&t",
      "c++",
      "8==D",
      "p0rn",
      "$$$",
      "e.g.",
      "don't",
      "a  b",
      "ok*k*",
      "1"
    ]
    for (const word of odd) {
      for (const isAmong of [false, true]) {
        const self = Guardrail.profanity({ words: isAmong ? odd : [word], action: "mask" })
        for (const text of [word, word.toUpperCase(), `x ${word.replace(/\*$/, "")}, y`]) {
          assert.include(masked(self, text), "***", `${word} in ${text}`)
        }
        assert.strictEqual(verdictOf(Guardrail.topic({ deny: { odd: [word] } }), `Oh, ${word}?`)._tag, "Block", word)
      }
    }
    const self = Guardrail.profanity({ words: ["sh!t", "a$$", "at&t", "c++"] })
    passes(self, "c, at, t, class, cat&tom, glass, shirt, ash it")
    for (const text of ["shit", "sh1t", "$h!t", "ass", "@ss", "AT&T's"]) {
      assert.strictEqual(verdictOf(self, text)._tag, "Block")
    }
  })

  it.prop(
    "finds every listed word in itself",
    [Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(8))],
    ([word]) => {
      try {
        Guardrail.profanity({ words: [word] })
      } catch (error) {
        assert.instanceOf(error, Guardrail.InvalidOption)
        return
      }
      assert.strictEqual(verdictOf(Guardrail.profanity({ words: [word] }), word)._tag, "Block")
      assert.strictEqual(verdictOf(Guardrail.topic({ deny: { it: [word] } }), word)._tag, "Block")
    },
    { arbitrary: { runs: 500 } }
  )

  it("needs a list", () => {
    assert.throws(() => Guardrail.profanity({ words: [] }), /"words" of the guardrail "profanity" is empty/)
  })
})

describe("A topic", () => {
  const topics = { health: ["diagnos*", "side effects"], law: ["lawsuit", "sue"] }

  it("is denied by its words, and all that were found are named", () => {
    blocks(Guardrail.topic({ deny: topics }), {
      "What is your Diagnosis?": "is about health",
      "I'll sue you for the side-effects.": "is about law, health"
    })
    passes(
      Guardrail.topic({ deny: topics }),
      "The suit has no side. Effects: none. Issue, pursue, law.",
      "d1agnosis",
      ""
    )
  })

  it("is allowed by its words, and a few words need none", () => {
    blocks(Guardrail.topic({ allow: topics }), { "What is the weather like today?": "isn't about health, law" })
    passes(
      Guardrail.topic({ allow: topics }),
      "Could you tell me the diagnosis, please?",
      "Yes, please do that now.",
      "Hi"
    )
  })

  it("may be both", () => {
    const { health, law } = topics
    blocks(Guardrail.topic({ allow: { health }, deny: { law } }), {
      "Do I sue for this diagnosis or not?": "is about law",
      "What is the weather like today?": "isn't about health"
    })
  })

  it("has words", () => {
    assert.throws(() => Guardrail.topic({}), /"deny" of the guardrail "topic" is undefined, not a record of topics/)
    assert.throws(() => Guardrail.topic({ deny: { health: [] } }), /"deny.health" of the guardrail "topic" is empty/)
  })
})

describe("A tone", () => {
  const professional = Guardrail.tone({ allow: ["professional"] })

  it("must be allowed, each that a text has", () => {
    blocks(professional, {
      "Hey, gonna fix it.": "sounds casual",
      "Hello, happy to help.": "sounds friendly",
      "The parties shall hereby agree.": "sounds formal",
      "It ships today! It does.": "sounds excited",
      "Please wait, dude.\nThanks!": "sounds casual, excited, friendly"
    })
    passes(Guardrail.tone({ allow: ["professional", "friendly"] }), "Hello, thank you for your order. Kind regards.")
    blocks(Guardrail.tone({ allow: [] }), { "Please wait.": "sounds professional" })
  })

  it("passes where there is none, as in JSON", () => {
    passes(
      professional,
      "",
      "Your order has left our house.",
      "{\"status\":\"shipped\",\"days\":2}",
      "It is here. It is whole. It is yours. It works!",
      "They, coolant, a hint, this, thusly, heyday"
    )
  })
})
