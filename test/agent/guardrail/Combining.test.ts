import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Agent, Guardrail } from "troupe"
import { internalsOf } from "../../../src/agent/definition/guardrail/GuardrailType.ts"
import { model, ran, said, turns } from "./looking.ts"

type Verdict = Guardrail.Verdict<string>

/** A guardrail that says the same of everything, at once or later, and takes down what it was asked about. */
const saying = (name: string, verdict: Verdict | ((text: string) => Verdict), asked: Array<string> = []) => {
  const judge = (text: string): Verdict => {
    asked.push(`${name} ${text}`)
    return typeof verdict === "function" ? verdict(text) : verdict
  }
  return {
    atOnce: Guardrail.make(name, judge),
    later: Guardrail.make(name, (text) => Effect.as(Effect.yieldNow, text).pipe(Effect.map(judge)))
  }
}

const verdictOf = (self: Guardrail.Guardrail<"text", string, unknown>, text = "text") => {
  const judged = internalsOf(self).judge(text as never, {} as never)
  return Effect.isEffect(judged) ? judged as Effect.Effect<Guardrail.Verdict<unknown>> : Effect.succeed(judged)
}

const upper = (text: string) => Guardrail.replace(text.toUpperCase(), "small")
const shout = (text: string) => Guardrail.replace(`${text}!`, "quiet")
const broken = Guardrail.make("broken", () => Effect.fail("out of order"))

describe.each(["atOnce", "later"] as const)("Guardrails that know their verdict %s", (when) => {
  const make = (...args: Parameters<typeof saying>) => saying(...args)[when]
  const passing = (asked?: Array<string>) => make("passing", Guardrail.pass, asked)
  const warning = (asked?: Array<string>) => make("warning", Guardrail.warn("odd"), asked)
  const blocking = (asked?: Array<string>) => make("blocking", Guardrail.block("bad"), asked)
  const worse = (asked?: Array<string>) => make("worse", Guardrail.block("worse than that"), asked)
  const retrying = (asked?: Array<string>) => make("retrying", Guardrail.retry("say it otherwise"), asked)

  describe("all", () => {
    it.effect("passes if each passes, and says what each warns of", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* verdictOf(Guardrail.all()), Guardrail.pass)
        assert.deepStrictEqual(yield* verdictOf(Guardrail.all(passing(), passing())), Guardrail.pass)
        assert.deepStrictEqual(
          yield* verdictOf(Guardrail.all(warning(), passing(), make("other", Guardrail.warn("long")))),
          Guardrail.warn("odd; long")
        )
      }))

    it.effect("gives one refusal as it is, and several with their names: every one is asked about the same", () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        assert.deepStrictEqual(yield* verdictOf(Guardrail.all(passing(asked), blocking(asked), warning(asked))), {
          ...Guardrail.block("bad"),
          guardrail: "blocking"
        })
        assert.deepStrictEqual(
          yield* verdictOf(Guardrail.all(make("upper", upper, asked), blocking(asked), worse(asked))),
          Guardrail.block("blocking: bad; worse: worse than that")
        )
        assert.deepStrictEqual(asked, [
          "passing text",
          "blocking text",
          "warning text",
          "upper text",
          "blocking text",
          "worse text"
        ])
        assert.deepStrictEqual(
          yield* verdictOf(Guardrail.all(passing(), retrying())),
          Guardrail.retry("say it otherwise")
        )
        assert.deepStrictEqual(
          yield* verdictOf(Guardrail.all(retrying(), make("other", Guardrail.retry("and shorter")))),
          Guardrail.retry("say it otherwise; and shorter")
        )
        assert.deepStrictEqual(
          yield* verdictOf(Guardrail.all(retrying(), blocking())),
          Guardrail.block("say it otherwise; blocking: bad")
        )
      }))

    it.effect("replaces one after the other what several replace", () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        assert.deepStrictEqual(
          yield* verdictOf(Guardrail.all(warning(), make("upper", upper, asked), passing())),
          Guardrail.replace("TEXT", "odd; small")
        )
        assert.deepStrictEqual(asked, ["upper text"])
        assert.deepStrictEqual(
          yield* verdictOf(Guardrail.all(make("upper", upper), warning(), make("shout", shout))),
          Guardrail.replace("TEXT!", "odd; small; quiet")
        )
        const short = make("short", (text) =>
          text.endsWith("!") ? Guardrail.block("loud") : Guardrail.replace(text, "short"))
        assert.deepStrictEqual(
          yield* verdictOf(Guardrail.all(make("shout", shout), short)),
          { ...Guardrail.block("loud"), guardrail: "short" }
        )
      }))
  })

  describe("sequence", () => {
    it.effect("asks each about what the one before it passed on, and stops at the first that refuses", () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        const sequence = Guardrail.sequence(
          make("upper", upper, asked),
          warning(asked),
          make("shout", shout, asked),
          passing(asked)
        )
        assert.deepStrictEqual(yield* verdictOf(sequence), Guardrail.replace("TEXT!", "small; odd; quiet"))
        assert.deepStrictEqual(asked, ["upper text", "warning TEXT", "shout TEXT", "passing TEXT!"])
        asked.length = 0
        assert.deepStrictEqual(
          yield* verdictOf(Guardrail.sequence(make("upper", upper, asked), blocking(asked), passing(asked))),
          { ...Guardrail.block("bad"), guardrail: "blocking" }
        )
        assert.deepStrictEqual(asked, ["upper text", "blocking TEXT"])
        assert.deepStrictEqual(yield* verdictOf(Guardrail.sequence()), Guardrail.pass)
      }))
  })

  describe("any", () => {
    it.effect("asks until one lets it pass, and refuses what all refuse, with their names", () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        assert.deepStrictEqual(
          yield* verdictOf(Guardrail.any(blocking(asked), make("upper", upper, asked), passing(asked))),
          Guardrail.replace("TEXT", "small")
        )
        assert.deepStrictEqual(asked, ["blocking text", "upper text"])
        assert.deepStrictEqual(
          yield* verdictOf(Guardrail.any(blocking(), worse())),
          Guardrail.block("blocking: bad; worse: worse than that")
        )
        assert.deepStrictEqual(yield* verdictOf(Guardrail.any(blocking())), {
          ...Guardrail.block("bad"),
          guardrail: "blocking"
        })
      }))
  })

  describe("not", () => {
    it.effect("blocks what another lets pass, and lets pass what that refuses", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* verdictOf(Guardrail.not(blocking())), Guardrail.pass)
        assert.deepStrictEqual(yield* verdictOf(Guardrail.not(retrying())), Guardrail.pass)
        assert.deepStrictEqual(
          yield* verdictOf(Guardrail.not(passing())),
          Guardrail.block(`"passing" let it pass`)
        )
        assert.deepStrictEqual(yield* verdictOf(Guardrail.not(warning(), "no")), Guardrail.block("no"))
        assert.deepStrictEqual(yield* verdictOf(Guardrail.not(Guardrail.not(passing()))), Guardrail.pass)
        assert.strictEqual(Guardrail.not(passing()).name, "not(passing)")
      }))
  })

  describe("when", () => {
    it.effect("asks only about what a predicate holds for", () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        const long = Guardrail.when((text) => text.length > 4, blocking(asked))
        assert.deepStrictEqual(yield* verdictOf(long), Guardrail.pass)
        assert.deepStrictEqual(asked, [])
        assert.deepStrictEqual(yield* verdictOf(long, "longer"), Guardrail.block("bad"))
        assert.strictEqual(long.name, "blocking")
      }))
  })

  describe("mapBlock", () => {
    it.effect("makes something else of a block, and leaves all else alone", () =>
      Effect.gen(function*() {
        const told = Guardrail.mapBlock(({ reason }) => Guardrail.retry(`That is ${reason}.`))
        assert.deepStrictEqual(yield* verdictOf(told(blocking())), Guardrail.retry("That is bad."))
        assert.deepStrictEqual(yield* verdictOf(told(warning())), Guardrail.warn("odd"))
        assert.deepStrictEqual(yield* verdictOf(told(retrying())), Guardrail.retry("say it otherwise"))
        assert.strictEqual(told(blocking()).name, "blocking")
      }))

    it.effect("knows which of several it was, and still says so where it blocks", () =>
      Effect.gen(function*() {
        const seen: Array<string | undefined> = []
        const mapped = Guardrail.mapBlock(Guardrail.all(passing(), blocking()), (block) => {
          seen.push(block.guardrail)
          return Guardrail.block("worded otherwise")
        })
        assert.deepStrictEqual(yield* verdictOf(mapped), {
          ...Guardrail.block("worded otherwise"),
          guardrail: "blocking"
        })
        assert.deepStrictEqual(seen, ["blocking"])
      }))
  })
})

describe("Guardrails made of guardrails", () => {
  it("aren't any of none: nothing could pass", () => {
    // @ts-expect-error
    assert.throws(() => Guardrail.any(), Guardrail.NoGuardrails)
  })

  it("are named after what they are made of, and look where that looks", () => {
    const call = Guardrail.make("call", () => Guardrail.pass, { on: "toolCall" })
    const input = Guardrail.make("input", () => Guardrail.pass, { on: "input", mode: "parallel" })
    const other = Guardrail.make("other", () => Guardrail.pass, { on: "input" })
    assert.strictEqual(Guardrail.all(call, Guardrail.any(call)).name, "all(call, any(call))")
    assert.strictEqual(Guardrail.sequence(call).name, "sequence(call)")
    assert.strictEqual(internalsOf(Guardrail.not(call)).on, "toolCall")
    assert.strictEqual(internalsOf(Guardrail.all(call)).on, "toolCall")
    assert.isTrue(internalsOf(Guardrail.all(input)).isParallel)
    assert.isTrue(internalsOf(Guardrail.not(input)).isParallel)
    assert.isFalse(internalsOf(Guardrail.all(input, other)).isParallel)
    assert.isFalse(internalsOf(Guardrail.all()).isParallel)
  })

  it.effect("say as one who blocks in the error, and as themselves in the events", () =>
    Effect.gen(function*() {
      const blocking = Guardrail.make("blocking", () => Guardrail.block("bad"))
      const passing = Guardrail.make("passing", () => Guardrail.pass)
      const agent = Agent.make("a", { guardrails: { input: [Guardrail.all(passing, Guardrail.sequence(blocking))] } })
      const { error, events } = yield* ran(Agent.run(agent, "Hello")).pipe(Effect.provide(model()))
      assert.isTrue(error?.reason._tag === "GuardrailBlocked" && error.reason.guardrail === "blocking")
      assert.deepStrictEqual(said(events), ["input: all(passing, sequence(blocking)) Block (bad)"])
    }))

  it.effect("are asked at once by all, and one after the other by sequence and any", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const slow = (name: string, verdict: Verdict) =>
        Guardrail.make(name, () =>
          Effect.gen(function*() {
            log.push(`+${name}`)
            yield* Effect.sleep("1 second")
            log.push(`-${name}`)
            return verdict
          }))
      const one = slow("one", Guardrail.block("bad"))
      const two = slow("two", Guardrail.pass)
      const logOf = (self: Guardrail.Guardrail<"text", string, unknown>) =>
        Effect.gen(function*() {
          log.length = 0
          const fiber = yield* Effect.forkChild(verdictOf(self))
          yield* TestClock.adjust("10 seconds")
          yield* Fiber.join(fiber)
          return [...log]
        })
      assert.deepStrictEqual(yield* logOf(Guardrail.all(one, two)), ["+one", "+two", "-one", "-two"])
      assert.deepStrictEqual(yield* logOf(Guardrail.any(one, two)), ["+one", "-one", "+two", "-two"])
      assert.deepStrictEqual(yield* logOf(Guardrail.sequence(two, one)), ["+two", "-two", "+one", "-one"])
      assert.deepStrictEqual(yield* logOf(Guardrail.sequence(one, two)), ["+one", "-one"])
    }))
})

describe("A guardrail that failed itself", () => {
  it.effect("let nothing pass and refused nothing, whatever it is part of", () =>
    Effect.gen(function*() {
      const blocked = { ...Guardrail.block("the guardrail failed: out of order"), isFailure: true as const }
      const passing = Guardrail.make("passing", () => Guardrail.pass)
      const refusing = Guardrail.make("refusing", () => Guardrail.block("bad"))
      assert.deepStrictEqual(yield* verdictOf(broken), blocked)
      assert.deepStrictEqual(yield* verdictOf(Guardrail.not(broken)), { ...blocked, guardrail: "broken" })
      assert.deepStrictEqual(yield* verdictOf(Guardrail.not(Guardrail.not(broken))), {
        ...blocked,
        guardrail: "broken"
      })
      assert.deepStrictEqual(yield* verdictOf(Guardrail.all(passing, broken)), { ...blocked, guardrail: "broken" })
      assert.deepStrictEqual(yield* verdictOf(Guardrail.any(broken, passing)), Guardrail.pass)
      const both = {
        ...Guardrail.block("refusing: bad; broken: the guardrail failed: out of order"),
        isFailure: true as const
      }
      assert.deepStrictEqual(yield* verdictOf(Guardrail.any(refusing, broken)), both)
      assert.deepStrictEqual(yield* verdictOf(Guardrail.not(Guardrail.any(refusing, broken))), {
        ...both,
        guardrail: "any(refusing, broken)"
      })
    }))

  it.effect("isn't taken for a refusal once its block is worded otherwise", () =>
    Effect.gen(function*() {
      const worded = Guardrail.mapBlock(broken, () => Guardrail.block("no"))
      assert.deepStrictEqual(yield* verdictOf(Guardrail.not(worded)), {
        ...Guardrail.block("no"),
        guardrail: "broken",
        isFailure: true
      })
      assert.deepStrictEqual(
        yield* verdictOf(Guardrail.not(Guardrail.mapBlock(broken, () => Guardrail.warn("no matter")))),
        Guardrail.block(`"broken" let it pass`)
      )
    }))
})

describe("A guardrail", () => {
  it("has a name", () => {
    assert.throws(() => Guardrail.make("", () => Guardrail.pass), Agent.InvalidName)
    const named = Guardrail.make("named", () => Guardrail.pass)
    assert.deepStrictEqual(JSON.parse(JSON.stringify(named)), { _id: "Guardrail", name: "named" })
    assert.isTrue(Guardrail.isGuardrail(named))
    assert.isFalse(Guardrail.isGuardrail({ name: "named" }))
    assert.isFalse(Guardrail.isGuardrail("named"))
  })

  it.effect("is asked in its order with others, each about what the one before it passed on", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const guardrails = [
        saying("upper", upper, asked).atOnce,
        saying("warning", Guardrail.warn("odd"), asked).later,
        saying("shout", shout, asked).later,
        saying("passing", Guardrail.pass, asked).atOnce
      ]
      const agent = Agent.make("a", { guardrails: { input: guardrails } })
      const { events, state } = yield* ran(Agent.run(agent, "hello")).pipe(Effect.provide(model("Hi")))
      assert.deepStrictEqual(asked, ["upper hello", "warning HELLO", "shout HELLO", "passing HELLO!"])
      assert.deepStrictEqual(said(events), [
        "input: upper Replace (small)",
        "input: warning Warn (odd)",
        "input: shout Replace (quiet)",
        "input: passing Pass"
      ])
      assert.deepStrictEqual(turns(state), ["User: HELLO!", "a: Hi"])
      asked.length = 0
      const blocking = saying("blocking", Guardrail.block("bad"), asked).later
      const strict = Agent.make("a", { guardrails: { input: [guardrails[0]!, blocking, guardrails[2]!] } })
      yield* ran(Agent.run(strict, "hello")).pipe(Effect.provide(model()))
      assert.deepStrictEqual(asked, ["upper hello", "blocking HELLO"])
    }))

  it.effect("doesn't wait for one that comes after it", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const log: Array<string> = []
      const first = Guardrail.make("first", () => {
        log.push("first")
        return Guardrail.pass
      })
      const second = Guardrail.make("second", () => Effect.as(Deferred.await(gate), Guardrail.pass))
      const agent = Agent.make("a", { guardrails: { input: [first, second] } })
      const fiber = yield* Effect.forkChild(Agent.run(agent, "Hi").pipe(Effect.provide(model("Hi"))))
      yield* Effect.yieldNow
      assert.deepStrictEqual(log, ["first"])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(fiber)
    }))
})
