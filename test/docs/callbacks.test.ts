/** What the table of `docs/observers.md` says of operations in callbacks is what happens, in each callback and on each ground. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { Attempts, type grounds, ofConversation, ofSession, program, warmUp } from "../agent/callbacks.ts"
import { some } from "../matrix.ts"
import { codes, rows } from "./tables.ts"

type Ground = typeof grounds[number]

beforeAll(warmUp)

/** Where the callbacks of a row come up. */
interface Where {
  readonly grounds: ReadonlyArray<Ground>
  readonly places: ReadonlyArray<string>
}

/** The callbacks of each row, by a word of it. */
const callbacks: Readonly<Record<string, Where>> = {
  "finalizers of a mode": {
    grounds: ["run", "session", "stored session"],
    places: ["set-up of m", "clean-up of m", "finalizer of m", "recovery of alone"]
  },
  handlers: {
    grounds: ["run", "session"],
    places: [
      "handler",
      "handler of a called agent",
      "needsApproval",
      "instructions",
      "guardrail on input",
      "guardrail on output",
      "guardrail on toolCall",
      "guardrail on toolResult",
      "guardrail on handoff",
      "model",
      "summarizer",
      "history",
      "transform"
    ]
  },
  observers: {
    grounds: ["run", "session"],
    places: [
      "RunStarted",
      "StepStarted",
      "StateAdjusted",
      "ModeTransitionRequested",
      "ToolCallSettled",
      "HandoffCompleted",
      "RunCompleted",
      "RunInterrupted"
    ].map((tag) => `observer of ${tag}`)
  },
  stores: { grounds: ["stored session"], places: ["store"] },
  pickers: { grounds: ["run", "session"], places: ["picker"] }
}

/** The operations of each column behind the first. */
const columns = [
  /^SystemPrompt\.(append|prepend|section|remove)$|^Mode\.(set|update|updateView|configure|schedule)$/,
  /^Mode\.(call|enter|within)$/,
  /^session\.(call|invoke|enterMode|schedule|configure)$/,
  /^session\.(resume|approve|deny|giveResult|giveFailure|pin|unpin|exitMode)$/
]

/** What an operation also fails with where it is allowed: nothing of that name is there, or there is no mode. */
const ofTheProgram = ["NoMode", "UnknownMode", "ToolNotFound", "TransitionCycle"]

const operations = [...Object.entries(ofConversation), ...Object.entries(ofSession)]

/** How an operation ended: "yes", or with which reason it failed. */
const outcomeOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "yes"
  const error = Cause.squash(exit.cause) as { readonly reason?: { readonly _tag: string } }
  return error.reason?._tag ?? String(error)
}

/** Has a callback ask for the operations of a column, and returns how each ended. */
const outcomes = (ground: Ground, place: string, column: RegExp) =>
  Effect.gen(function*() {
    const asked = operations.filter(([name]) => column.test(name) && !(ground === "run" && name.startsWith("session.")))
    const attempts = new Attempts(place, asked)
    const fiber = yield* Effect.forkDetach(program(ground, attempts))
    for (let turn = 0; turn < 20_000 && fiber.pollUnsafe() === undefined; turn++) yield* Effect.yieldNow
    for (const each of [fiber, ...attempts.fibers]) each.interruptUnsafe()
    if (asked.length > 0) assert.isAbove(attempts.times, 0, `${place} comes up`)
    return attempts.ended.map(([, exit]) => outcomeOf(exit))
  })

const wordsOf = (cell: string): ReadonlyArray<string> => [
  ...(/^yes\b/.test(cell) ? ["yes"] : []),
  ...codes(cell).filter((code) => !["StateAdjusted", "ModeTransitionRequested"].includes(code))
]

const table = rows("docs/observers.md", "callback")

describe("docs/observers.md", () => {
  it.effect.each(Object.entries(callbacks))(
    "says what may be done in %s",
    ([word, { grounds, places }]) =>
      Effect.gen(function*() {
        const row = table.find(([callback]) => callback!.includes(word))
        assert.isDefined(row, word)
        for (const [at, column] of columns.entries()) {
          const seen = new Set<string>()
          for (const ground of grounds) {
            // The many callbacks of a row allow the same, so a part of them shows it.
            const played = places.length > 10 ? some(places, 3, at % 3) : places
            for (const place of played.filter((place) => ground !== "run" || !place.endsWith("of alone"))) {
              for (const outcome of yield* outcomes(ground, place, column)) seen.add(outcome)
            }
          }
          assert.sameMembers(
            [...seen].filter((outcome) => !ofTheProgram.includes(outcome)),
            [...wordsOf(row![at + 1]!)],
            `${row!.where}, column ${at + 1}`
          )
        }
      }),
    60_000
  )

  it("has no other callback", () => {
    assert.lengthOf(table, Object.keys(callbacks).length, table.where)
  })
})
