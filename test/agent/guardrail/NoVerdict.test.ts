/**
 * Checks that give something else than a verdict, as untyped code can: nothing passes, and the run ends by a defect that names them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Guardrail, Handoff } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { model, ran, said } from "./looking.ts"

const Look = Tool.make("look", { parameters: Schema.Struct({ at: Schema.String }), success: Schema.String })
const Kit = Toolkit.make(Look)
const other = Agent.make("other")

/** What no verdict is, with how it is called. */
const others: ReadonlyArray<readonly [given: unknown, called: string]> = [
  [undefined, "undefined"],
  [null, "null"],
  [false, "false"],
  [true, "true"],
  [0, "a number"],
  ["Pass", "a string"],
  ["", "a string"],
  [() => Guardrail.pass, "a function"],
  [[Guardrail.pass], "a list"],
  [{}, "an object"],
  [{ _tag: "Blocked" }, `a "Blocked"`],
  [{ _tag: "pass" }, `a "pass"`],
  [{ _tag: "Block" }, `a "Block" that doesn't fit`],
  [{ _tag: "Warn", reason: 1 }, `a "Warn" that doesn't fit`],
  [{ _tag: "Retry", reason: "again" }, `a "Retry" that doesn't fit`],
  [{ _tag: "Replace", reason: "a name" }, `a "Replace" that doesn't fit`],
  [{ _tag: "Replace", value: "her" }, `a "Replace" that doesn't fit`],
  [{ _tag: "Replace", value: undefined, reason: "a name" }, `a "Replace" that doesn't fit`],
  [{ _tag: "Replace", value: 42, reason: "a name" }, `a "Replace" that doesn't fit`],
  [new Map([["_tag", "Pass"]]), "an object"],
  [Object.create(null), "an object"],
  [Promise.resolve(Guardrail.pass), "a Promise, and `Effect.promise` makes an effect of one"],
  [Promise.resolve(Guardrail.block("no")), "a Promise, and `Effect.promise` makes an effect of one"]
]

type Hostile = Guardrail.Guardrail

const giving = (given: unknown): Hostile => Guardrail.make("odd", () => given as Guardrail.Pass)
const givingLater = (given: unknown): Hostile =>
  Guardrail.make("odd", () => Effect.as(Effect.yieldNow, given as Guardrail.Pass))

const passing = Guardrail.make("passing", () => Guardrail.pass)
const blocking = Guardrail.make("blocking", () => Guardrail.block("no"))

/** Every way to put a guardrail that is odd among others that aren't. */
const ways: Readonly<Record<string, (odd: Hostile) => Hostile>> = {
  alone: (odd) => odd,
  all: (odd) => Guardrail.all(passing, odd, blocking),
  sequence: (odd) => Guardrail.sequence(passing, odd),
  any: (odd) => Guardrail.any(blocking, odd, passing),
  not: (odd) => Guardrail.not(odd),
  "not twice": (odd) => Guardrail.not(Guardrail.not(odd)),
  when: (odd) => Guardrail.when(() => true, odd),
  mapBlock: (odd) => Guardrail.mapBlock(odd, () => Guardrail.pass),
  "within each other": (odd) => Guardrail.not(Guardrail.any(Guardrail.all(odd), Guardrail.not(odd)))
}

const stages = ["input", "output", "toolCall", "toolResult", "handoff"] as const

const responseAt = (stage: typeof stages[number]): MockResponse.Input =>
  stage === "handoff"
    ? MockResponse.toolCall("handoff_to_other", { reason: "because" })
    : stage === "output"
    ? "Hello."
    : MockResponse.toolCall("look", { at: "me" })

/** Runs an agent with a guardrail at a stage, and gives the defect that ends the run. */
const defectOf = (self: Guardrail.Any, stage: typeof stages[number], name: string) =>
  Effect.gen(function*() {
    const agent = Agent.make("a", {
      toolkit: Kit,
      handoffs: [Handoff.to(other)],
      guardrails: { [stage]: [self] } as { readonly input: [] }
    })
    const { events, exit, state } = yield* ran(Agent.run(agent, "Hi"))
    assert.deepStrictEqual(said(events), [`${stage}: ${name} Interrupted`])
    assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    assert.strictEqual(state.status._tag === "Failed" && state.status.error.tag, "Defect")
    return Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  }).pipe(
    Effect.provide([Kit.toLayer({ look: ({ at }) => Effect.succeed(`${at} seen`) }), model(responseAt(stage))])
  )

describe("A check that gives no verdict", () => {
  for (const [given, called] of others) {
    it.effect(`is a defect of the run that names it: ${called}`, () =>
      Effect.gen(function*() {
        for (const self of [giving(given), givingLater(given)]) {
          const defect = yield* defectOf(self, "input", "odd")
          assert.instanceOf(defect, Guardrail.NoVerdict)
          assert.strictEqual((defect as Error).message, `Guardrail "odd" returned no verdict: it returned ${called}`)
        }
      }))
  }

  for (const [way, around] of Object.entries(ways)) {
    it.effect(`lets nothing pass, at every stage: ${way}`, () =>
      Effect.gen(function*() {
        for (const stage of stages) {
          for (const given of [false, undefined, Promise.resolve(Guardrail.pass), { _tag: "Blocked" }]) {
            for (const self of [around(giving(given)), around(givingLater(given))]) {
              const defect = yield* defectOf(self, stage, self.name)
              assert.isTrue(defect instanceof Guardrail.NoVerdict && defect.guardrail === "odd")
            }
          }
        }
      }))
  }

  it.effect("is one that a guardrail made for a stage has, too, and one beside the model", () =>
    Effect.gen(function*() {
      for (const stage of stages) {
        const self = Guardrail.make("odd", () => "Pass" as never, { on: stage as "toolCall" })
        assert.instanceOf(yield* defectOf(self, stage, "odd"), Guardrail.NoVerdict)
      }
      const beside = Guardrail.make("odd", () => false as never, { mode: "parallel" })
      assert.instanceOf(yield* defectOf(beside, "input", "odd"), Guardrail.NoVerdict)
    }))

  it.effect("doesn't pass by `onError`: it hasn't failed", () =>
    Effect.gen(function*() {
      const self = Guardrail.make("odd", () => Effect.succeed(false as never), { onError: "pass", timeout: "1 second" })
      assert.instanceOf(yield* defectOf(self, "output", "odd"), Guardrail.NoVerdict)
    }))

  it.effect("isn't quoted: it may hold what was looked at", () =>
    Effect.gen(function*() {
      const defect = yield* defectOf(Guardrail.make("odd", (text) => text as never), "input", "odd")
      assert.notInclude(String(defect), "Hi")
    }))
})

describe("What breaks down in a guardrail", () => {
  const broken = (): never => {
    throw new Error("out of order")
  }
  const breaking: Readonly<Record<string, Hostile>> = {
    "a check that throws": Guardrail.make("odd", broken),
    "a check whose effect throws": Guardrail.make("odd", () => Effect.sync(broken)),
    "a check whose effect dies": Guardrail.make("odd", () => Effect.die(new Error("out of order"))),
    "a predicate": Guardrail.when(broken, Guardrail.make("odd", () => Guardrail.pass)),
    "what makes something else of a block": Guardrail.mapBlock(
      Guardrail.make("odd", () => Guardrail.block("no")),
      broken
    ),
    "a grounding without sources": Guardrail.grounded(broken, { name: "odd" }) as Hostile
  }

  for (const [what, self] of Object.entries(breaking)) {
    it.effect(`is named: ${what}`, () =>
      Effect.gen(function*() {
        const defect = yield* defectOf(self, "output", "odd")
        assert.isTrue(defect instanceof Guardrail.NoVerdict)
        assert.strictEqual(
          (defect as Error).message,
          `Guardrail "odd" returned no verdict: it threw: out of order`
        )
        assert.strictEqual(((defect as Error).cause as Error).message, "out of order")
      }))
  }

  it.effect("is also a predicate that tells neither, and what makes no verdict of a block", () =>
    Effect.gen(function*() {
      for (const tells of [undefined, 0, "", Promise.resolve(false), {}]) {
        const self = Guardrail.when(() => tells as boolean, Guardrail.make("odd", () => Guardrail.pass))
        const defect = yield* defectOf(self, "input", "odd")
        assert.match(String((defect as Error).message), /^Guardrail "odd" returned no verdict: its predicate returned /)
      }
      for (const made of [undefined, true, { _tag: "Blocked" }, Guardrail.replace(1, "one")]) {
        const self = Guardrail.mapBlock(Guardrail.make("odd", () => Guardrail.block("no")), () => made as never)
        assert.instanceOf(yield* defectOf(self, "input", "odd"), Guardrail.NoVerdict)
      }
    }))

  it.effect("isn't an interruption: a run that is interrupted is that alone", () =>
    Effect.gen(function*() {
      const self = Guardrail.make("slow", () => Effect.interrupt)
      const { exit } = yield* ran(Agent.run(Agent.make("a", { guardrails: { input: [self] } }), "Hi"))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue("Hello.")))))
})

describe("What a guardrail puts in the place of something", () => {
  const odd: ReadonlyArray<unknown> = [undefined, () => 1, new Date(0), Number.NaN, { at: undefined }, 1n]
  for (const stage of ["toolCall", "toolResult", "handoff"] as const) {
    it.effect(`must be able to stand there: ${stage}`, () =>
      Effect.gen(function*() {
        for (const value of stage === "handoff" ? [...odd, {}, { target: "other", reason: 1 }] : odd) {
          const self = Guardrail.make("odd", () => Guardrail.replace(value as never, "odd"), { on: stage })
          const agent = Agent.make("a", {
            toolkit: Kit,
            handoffs: [Handoff.to(other)],
            guardrails: { [stage]: [self] } as { readonly toolCall: [] }
          })
          const { events } = yield* ran(Agent.run(agent, "Hi")).pipe(
            Effect.provide([
              Kit.toLayer({ look: ({ at }) => Effect.succeed(`${at} seen`) }),
              model(responseAt(stage), "Well.")
            ])
          )
          assert.match(said(events)[0] ?? "", /: odd Block \(its replacement doesn't fit: it isn't /)
        }
      }))
  }
})
