import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Data, Effect, Exit, Result, Schema } from "effect"
import { AiError } from "effect/ai"
import { Conversation, Handoff, HandoffPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { below, conversation, oneOf } from "../domain/arbitraries.ts"
import { callsIn, problems } from "../domain/legal.ts"
import { answered } from "./states.ts"

class Lost extends Data.TaggedError("Lost")<{}> {}

const crossing = { from: "a", to: "b", request: { target: "b" } }

const summarize = ({ turns }: Conversation.Conversation) => Effect.succeed(`${turns.length} turns`)

const long = Conversation.make([
  Conversation.user("one"),
  Conversation.assistant("a", "two"),
  Conversation.user("three"),
  Conversation.assistant("a", "four"),
  Conversation.user("five")
])

const texts = ({ turns }: Conversation.Conversation) => turns.map(Conversation.textOf)

const settled = (conversation: Conversation.Conversation) =>
  callsIn(conversation).every((call) => call.state._tag === "Settled")

const crossed = <E, R>(
  options: HandoffPolicy.CompactingOptions<E, R, HandoffPolicy.OnFailure>,
  conversation: Conversation.Conversation,
  request: { readonly target: string; readonly callId?: string } = crossing.request
) => {
  const policy = HandoffPolicy.compacting(HandoffPolicy.explicit("b"), options)
  const [transform] = HandoffPolicy.internalsOf(policy).transforms
  return transform!.apply(conversation, { ...crossing, request }) as Effect.Effect<Conversation.Conversation, E>
}

describe("HandoffPolicy.compacting", () => {
  it.effect("puts a summary before the last turns", () =>
    Effect.gen(function*() {
      const { turns } = yield* crossed({ over: { turns: 4 }, keep: 2, summarize }, long)
      assert.deepStrictEqual(turns, [{ _tag: "Summary", text: "3 turns", of: 3 }, ...long.turns.slice(3)])
    }))

  it.effect("lets a model write the summary, or says that it failed", () =>
    Effect.gen(function*() {
      const options = { over: { turns: 4 }, keep: 2 }
      const instructions = "Shorten it."
      const byModel = (...responses: ReadonlyArray<MockResponse.Input>) =>
        Effect.gen(function*() {
          const summarize = Handoff.summarizeByModel({ instructions })
          const policy = HandoffPolicy.compacting(HandoffPolicy.explicit("b"), {
            ...options,
            summarize,
            onFailure: "fail"
          })
          const exit = yield* Effect.exit(HandoffPolicy.transform(policy, long, crossing))
          return { exit, calls: yield* MockModel.calls }
        }).pipe(Effect.provide(MockModel.layer(MockModel.queue(...responses))))
      const { calls, exit } = yield* byModel("so far")
      assert.deepStrictEqual(
        exit,
        Exit.succeed(Conversation.make([{ _tag: "Summary", text: "so far", of: 3 }, ...long.turns.slice(3)]))
      )
      assert.deepStrictEqual(
        calls.map(({ request }) => [request.system, request.lastUserText.split("\n").map((line) => JSON.parse(line))]),
        [
          [instructions, [{ user: ["one"] }, { a: ["two"] }, { user: ["three"] }]]
        ]
      )
      const empty = yield* byModel("")
      assert.isTrue(Exit.isFailure(empty.exit) && String(empty.exit).includes("EmptySummary"))
      const failed = yield* byModel(MockResponse.fail(new AiError.InternalProviderError({ description: "no" })))
      assert.isTrue(Exit.isFailure(failed.exit) && String(failed.exit).includes("AiError"))
    }))

  it.effect("keeps pinned turns and what the user asked as they are, wherever they stand", () =>
    Effect.gen(function*() {
      const answered = Conversation.make([
        ...Conversation.pin(long, 1).turns,
        Conversation.assistant("a", "six"),
        { _tag: "User", parts: [Conversation.text("seven")], mode: "research" },
        Conversation.assistant("a", "eight")
      ])
      const seen: Array<ReadonlyArray<string>> = []
      const watching = (before: Conversation.Conversation) => Effect.sync(() => `${seen.push(texts(before))}`)
      for (const keep of [0, 1]) {
        const { turns } = yield* crossed({ over: { turns: 4 }, keep, summarize: watching }, answered)
        assert.deepStrictEqual(turns.slice(0, 3), [
          { _tag: "Summary", text: `${keep + 1}`, of: 6 - keep },
          { ...long.turns[1]!, pinned: true },
          long.turns[4]!
        ])
        assert.lengthOf(turns, keep + 3)
      }
      assert.deepStrictEqual(seen[0], ["one", "three", "four", "six", "seven", "eight"])
      const kept = Conversation.pin(Conversation.make([Conversation.user("one"), Conversation.user("two")]), 0)
      assert.strictEqual(yield* crossed({ over: { turns: 1 }, keep: 0, summarize }, kept), kept)
    }))

  it.effect("leaves a conversation alone that isn't over its threshold", () =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const counting = ({ turns }: Conversation.Conversation) => Effect.sync(() => `${asked.push(turns.length)}`)
      for (const over of [{ turns: 5 }, { tokens: 100 }, { turns: 5, tokens: 100 }]) {
        assert.strictEqual(yield* crossed({ over, keep: 1, summarize: counting }, long), long)
      }
      assert.deepStrictEqual(asked, [])
      yield* crossed({ over: { turns: 4, tokens: 100 }, keep: 1, summarize: counting }, long)
      assert.deepStrictEqual(asked, [4])
    }))

  it.effect("estimates tokens by the bytes of all that is sent, calls and results too", () =>
    Effect.gen(function*() {
      const isOver = (tokens: number, ...turns: ReadonlyArray<Conversation.Turn>) => {
        const conversation = Conversation.make([...turns, Conversation.user("And?")])
        const effect = crossed({ over: { tokens: tokens + 1 }, keep: 1, summarize }, conversation)
        return Effect.map(effect, (compacted) => compacted !== conversation)
      }
      assert.isFalse(yield* isOver(10, Conversation.user("x".repeat(40))))
      assert.isTrue(yield* isOver(10, Conversation.user("x".repeat(41))))
      assert.isTrue(yield* isOver(10, Conversation.user("人".repeat(14))))
      assert.isTrue(
        yield* isOver(100, Conversation.assistant("a", [Conversation.call("1", "go", { q: "x".repeat(400) })]))
      )
      assert.isTrue(
        yield* isOver(
          100,
          Conversation.assistant("a", [
            Conversation.call("1", "go", {}, { _tag: "Settled", outcome: "Succeeded", result: "x".repeat(400) })
          ])
        )
      )
      const file = { _tag: "File", mediaType: "image/png", data: "x".repeat(100_000) } as const
      assert.isFalse(yield* isOver(1_000, Conversation.user([file])))
      assert.isTrue(yield* isOver(1_999, Conversation.user([file, file])))
    }))

  it.effect("counts what an earlier summary stood for, and never summarizes summaries alone", () =>
    Effect.gen(function*() {
      const before: Conversation.Summary = { _tag: "Summary", text: "before", of: 7 }
      const [first] = (yield* crossed(
        { over: { turns: 1 }, keep: 1, summarize },
        Conversation.make([before, ...long.turns])
      )).turns
      assert.deepStrictEqual(first, { _tag: "Summary", text: "5 turns", of: 11 })
      const short = Conversation.make([before, Conversation.user("now")])
      assert.strictEqual(yield* crossed({ over: { turns: 1 }, keep: 1, summarize }, short), short)
    }))

  it.effect("keeps the call that asked for the handoff, settled as handed over", () =>
    Effect.gen(function*() {
      const asking = Conversation.append(
        long,
        Conversation.assistant("a", [
          Conversation.call("call-1", "handoff_to_b", {}),
          Conversation.call("call-2", "go", {})
        ])
      )
      const seen: Array<Conversation.Conversation> = []
      const watching = (before: Conversation.Conversation) => Effect.sync(() => `${seen.push(before)} parts`)
      const request = { target: "b", callId: "call-1" }
      for (const keep of [0, 1, 3]) {
        const options = { over: { turns: 1 }, keep, summarize: watching }
        const compacted = yield* crossed(options, asking, request)
        assert.deepStrictEqual(compacted.turns.at(keep === 3 ? -2 : 1), long.turns[4]!)
        assert.lengthOf(compacted.turns, [2, 3, 3, 4][keep]!)
        assert.deepStrictEqual(
          callsIn(compacted).map(({ state }) => state._tag === "Settled" ? state.outcome : state._tag),
          keep === 0 ? [] : ["HandedOff", "Interrupted"]
        )
      }
      assert.isTrue(seen.every((before) => Result.isSuccess(Conversation.toPrompt(before))))
    }))

  it.effect("doesn't let an empty summary delete what it stands for", () =>
    Effect.gen(function*() {
      for (const text of ["", " \n\t"]) {
        const options = { over: { turns: 1 }, keep: 1, summarize: () => Effect.succeed(text) }
        const error = yield* Effect.flip(crossed(options, long))
        assert.instanceOf(error, HandoffPolicy.EmptySummary)
        const policy = HandoffPolicy.compacting(HandoffPolicy.explicit("b"), options)
        assert.strictEqual(yield* HandoffPolicy.transform(policy, long, crossing), long)
      }
    }))

  it.effect("runs after the policy's own transforms, and keeps what they made when it fails", () =>
    Effect.gen(function*() {
      const redacted = HandoffPolicy.mapConversation(Conversation.appendUser("redacted"))
      const options = { over: { turns: 5 }, keep: 2 }
      const policy = HandoffPolicy.compacting(redacted, { ...options, summarize })
      assert.deepStrictEqual(texts(yield* HandoffPolicy.transform(policy, long, crossing)), [
        "4 turns",
        "five",
        "redacted"
      ])
      const failing = redacted.pipe(HandoffPolicy.compacting({ ...options, summarize: () => Effect.fail(new Lost()) }))
      assert.deepStrictEqual(
        texts(yield* HandoffPolicy.transform(failing, long, crossing)),
        [...texts(long), "redacted"]
      )
      const strict = redacted.pipe(
        HandoffPolicy.compacting({ ...options, summarize: () => Effect.fail(new Lost()), onFailure: "fail" })
      )
      const error = yield* Effect.flip(HandoffPolicy.transform(strict, long, crossing))
      assert.strictEqual(error._tag, "Lost")
    }))

  it("offers and decides as the policy that it compacts for", () => {
    const inner = HandoffPolicy.manager("lead", ["writer"])
    const policy = HandoffPolicy.compacting(inner, { over: { turns: 1 }, keep: 1, summarize })
    const [outside, inside] = [HandoffPolicy.internalsOf(policy), HandoffPolicy.internalsOf(inner)]
    assert.deepStrictEqual(outside.names, inside.names)
    assert.deepStrictEqual(outside.offers, inside.offers)
    assert.lengthOf(HandoffPolicy.offeredTo(policy, "lead"), 1)
    assert.strictEqual(outside.decide(answered(["lead", "writer"]))?.target, "lead")
  })

  it.effect.prop("leaves any conversation legal, its last turns there, and no call open", {
    conversation,
    keep: below(6),
    turns: below(6),
    text: oneOf(Arbitrary.schema(Schema.String), Arbitrary.schema(Schema.NonEmptyString))
  }, ({ conversation, keep, text, turns }) =>
    Effect.gen(function*() {
      const options = { over: { turns }, keep, summarize: () => Effect.succeed(text) }
      const policy = HandoffPolicy.compacting(HandoffPolicy.explicit("b"), options)
      const compacted = yield* HandoffPolicy.transform(policy, conversation, crossing)
      assert.deepStrictEqual(problems(compacted), [])
      if (compacted === conversation) return
      const [summary, ...kept] = compacted.turns
      assert.isTrue(summary?._tag === "Summary" && summary.text.trim() !== "" && summary.of >= 0)
      assert.isTrue(settled(compacted))
      const said = conversation.turns.filter((turn) => turn._tag === "User" && Conversation.toMessages(turn).length > 0)
      const asked = said.findLast((turn) => turn._tag === "User" && turn.mode === undefined) ?? said.at(-1)
      const last = conversation.turns.filter((turn, index, { length }) =>
        index >= length - keep || turn.pinned === true || turn === asked
      )
      assert.deepStrictEqual(kept.map(Conversation.textOf), last.map(Conversation.textOf))
      assert.deepStrictEqual(Conversation.callIds({ turns: kept }), Conversation.callIds({ turns: last }))
      assert.isAbove(conversation.turns.length, turns)
    }))
})
