import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { AgentEvent, AgentState, Conversation } from "troupe"
import { times } from "../matrix.ts"
import { below, conversation } from "./arbitraries.ts"
import { problems } from "./legal.ts"

const {
  ConversationSummarized,
  HandoffCompleted,
  HandoffRequested,
  ModeEntered,
  ModeEntering,
  ModeExited,
  StateAdjusted
} = AgentEvent.AgentEvent.cases

const here = { path: ["a"], calls: [], step: 0, sequence: 0, at: 0 } as const

const talk = Conversation.make([
  Conversation.user("1"),
  Conversation.assistant("a", "2"),
  Conversation.user("3"),
  Conversation.assistant("a", "4"),
  Conversation.user("5")
])

const summarized = (
  self: AgentState.AgentState,
  upTo: number,
  except: ReadonlyArray<number> = [],
  text = `first ${upTo}`
) => AgentState.reduce(self, ConversationSummarized.make({ ...here, text, upTo, except, duration: 0 }))

const start = AgentState.make("a", { conversation: talk })
const upTos = ({ conversation }: AgentState.AgentState) => (conversation.summaries ?? []).map(({ upTo }) => upTo)

describe("Conversation.pin", () => {
  it("marks a turn, and takes the mark off", () => {
    const pinned = Conversation.pin(talk, 1)
    assert.deepStrictEqual(pinned.turns[1], { ...talk.turns[1]!, pinned: true })
    assert.deepStrictEqual(pinned.turns.with(1, talk.turns[1]!), talk.turns)
    assert.deepStrictEqual(Conversation.unpin(1)(pinned), talk)
    assert.strictEqual(Conversation.pin(1)(pinned), pinned)
    assert.strictEqual(Conversation.unpin(talk, 1), talk)
  })

  it("pins nothing where there is no such turn", () => {
    for (const place of [-1, 5, 0.5, Number.NaN]) {
      assert.strictEqual(Conversation.pin(talk, place), talk)
      assert.strictEqual(Conversation.unpin(talk, place), talk)
    }
  })

  it("makes no difference between conversations, and is brought back from a fork", () => {
    const fork = Conversation.appendUser(Conversation.pin(talk, 0), "6")
    assert.strictEqual(Conversation.diff(talk, fork).common, 5)
    assert.deepStrictEqual(Result.getOrThrow(Conversation.merge(talk, fork)), fork)
    const open = Conversation.append(talk, Conversation.assistant("a", [Conversation.call("c", "go", {})]))
    const settled = Conversation.updateCall(Conversation.pin(open, 5), "c", {
      _tag: "Settled",
      outcome: "Succeeded",
      result: 1
    })
    for (const [left, right] of [[open, settled], [settled, open]] as const) {
      assert.deepStrictEqual(Result.getOrThrow(Conversation.merge(left, right)), settled)
    }
  })

  it.prop("leaves any conversation legal", [conversation, below(8)], ([self, index]) => {
    const pinned = Conversation.pin(self, index)
    assert.deepStrictEqual(problems(pinned), [])
    assert.strictEqual(pinned.turns[index]?.pinned, index < self.turns.length ? true : undefined)
  }, { arbitrary: { runs: times(30, 12) } })
})

describe("A summary", () => {
  it("stands beside the turns, and is followed by those that stand for more", () => {
    const once = summarized(start, 3, [0])
    assert.deepStrictEqual(once.conversation.turns, talk.turns)
    assert.deepStrictEqual(once.conversation.summaries, [{ text: "first 3", upTo: 3, except: [0] }])
    assert.deepStrictEqual(upTos(summarized(once, 4)), [3, 4])
    assert.strictEqual(summarized(once, 3, [0]), once)
    assert.strictEqual(summarized(once, 4, [0, 1]), once)
    assert.strictEqual(summarized(once, 2), once)
    assert.deepStrictEqual(upTos(summarized(once, 3)), [3, 3])
  })

  it("isn't taken where it has no words, or stands for no turns or such as aren't there", () => {
    assert.strictEqual(summarized(start, 3, [], " \n"), start)
    assert.strictEqual(summarized(start, 0), start)
    assert.strictEqual(summarized(start, 2, [0, 1]), start)
    assert.strictEqual(summarized(start, 6), start)
    assert.strictEqual(summarized(start, 3, [3]), start)
    assert.strictEqual(summarized(start, 3, [1, 0]), start)
  })

  it("is refused in a document for the same reasons", () => {
    const document = JSON.stringify(AgentState.toJson(summarized(start, 3)))
    assert.deepStrictEqual(Result.getOrThrow(AgentState.fromJson(document)), summarized(start, 3))
    const error = Result.getOrThrow(Result.flip(AgentState.fromJson(document.replace("\"upTo\":3", "\"upTo\":6"))))
    assert.strictEqual(error._tag, "MalformedState")
    if (error._tag === "MalformedState") assert.deepStrictEqual(error.path, ["conversation", "summaries", 0])
  })

  it("stays while the conversation goes on, and as far as a fork goes", () => {
    const { conversation } = summarized(summarized(start, 2), 4)
    const further = Conversation.append(
      conversation,
      Conversation.assistant("a", [Conversation.call("c", "go", {})])
    )
    const settled = Conversation.updateCall(further, "c", { _tag: "Settled", outcome: "Succeeded", result: 1 })
    for (const each of [further, settled, Conversation.append(further, Conversation.assistant("a", "7"))]) {
      assert.deepStrictEqual(each.summaries, conversation.summaries)
    }
    assert.deepStrictEqual(Conversation.pin(conversation, 0).summaries, conversation.summaries)
    assert.deepStrictEqual(Conversation.fork(conversation, 3).summaries?.map(({ upTo }) => upTo), [2])
    assert.strictEqual(Conversation.fork(conversation, 1).summaries, undefined)
    assert.deepStrictEqual(upTos(AgentState.forkAt(AgentState.make("a", { conversation }), 3)), [2])
  })

  it("comes back with a fork that is merged, and stays where the original went on", () => {
    const fork = summarized(AgentState.make("a", { conversation: Conversation.appendUser(talk, "6") }), 4).conversation
    assert.deepStrictEqual(Result.getOrThrow(Conversation.merge(talk, fork)), fork)
    const { conversation } = summarized(start, 2)
    const merged = Conversation.merge(Conversation.appendUser(conversation, "7"), fork, { onDiverged: "append" })
    assert.deepStrictEqual(Result.getOrThrow(merged).summaries, conversation.summaries)
  })

  it("goes where its turns do: out of what is cut", () => {
    const { conversation } = summarized(start, 2)
    assert.strictEqual(Conversation.truncate(conversation, 3).summaries, undefined)
    assert.strictEqual(Conversation.filter(conversation, ({ _tag }) => _tag === "User").summaries, undefined)
    assert.strictEqual(Conversation.make(conversation.turns).summaries, undefined)
  })

  it("goes where a guardrail put something else in the place of a turn that it stands for", () => {
    const { GuardrailSettled } = AgentEvent.AgentEvent.cases
    const replaced = (self: AgentState.AgentState, turn: number) =>
      AgentState.reduce(
        self,
        GuardrailSettled.make({
          ...here,
          guardrail: "pii",
          stage: "input",
          verdict: "Replace",
          started: 0,
          duration: 0,
          replaced: { turn, input: [Conversation.text("…")] }
        })
      )
    const self = summarized(summarized(start, 2), 4, [2])
    assert.deepStrictEqual(upTos(replaced(self, 4)), [2, 4])
    assert.deepStrictEqual(upTos(replaced(self, 2)), [2, 4])
    assert.deepStrictEqual(upTos(replaced(self, 0)), [])
    assert.deepStrictEqual(upTos(replaced(summarized(start, 4), 2)), [])
  })

  const handedOver = (self: AgentState.AgentState, conversation?: Conversation.Conversation) => {
    const request = { target: "b" }
    const asked = AgentState.reduce(self, HandoffRequested.make({ ...here, request }))
    return AgentState.reduce(
      asked,
      HandoffCompleted.make({ ...here, request, ...(conversation === undefined ? undefined : { conversation }) })
    )
  }

  it("crosses a handoff with the whole conversation, and with nothing less", () => {
    const self = summarized(start, 2)
    assert.deepStrictEqual(upTos(handedOver(self)), [2])
    assert.deepStrictEqual(upTos(handedOver(self, { turns: talk.turns.slice(2) })), [])
  })

  const mode = { name: "m", stack: ["m"], params: {} }
  const entered = (self: AgentState.AgentState, isolation: "thread" | "fork") =>
    AgentState.reduce(
      AgentState.reduce(self, ModeEntering.make({ ...here, ...mode, isolation })),
      ModeEntered.make({ ...here, ...mode, duration: 0 })
    )
  const left = (self: AgentState.AgentState) =>
    AgentState.reduce(self, ModeExited.make({ ...here, ...mode, duration: 0 }))
  const viewed = (self: AgentState.AgentState, turns: ReadonlyArray<Conversation.Turn>) =>
    AgentState.reduce(self, StateAdjusted.make({ ...here, adjustment: { _tag: "ViewChanged", turns } }))
  const said = (self: AgentState.AgentState, text: string) => AgentState.ask(self, text, 0)

  it("made in a fork goes with what the fork leaves behind", () => {
    const inside = said(entered(summarized(start, 2), "fork"), "6")
    assert.deepStrictEqual(upTos(summarized(inside, 4)), [2, 4])
    assert.deepStrictEqual(upTos(left(summarized(inside, 4))), [2, 4])
    assert.deepStrictEqual(upTos(left(summarized(inside, 6))), [2])
  })

  it("is out of sight where a mode has a view of its own, and back when that is left", () => {
    const view = viewed(entered(summarized(start, 4), "thread"), talk.turns.slice(2))
    assert.deepStrictEqual(upTos(view), [])
    const again = summarized(said(view, "6"), 2)
    assert.deepStrictEqual(upTos(again), [2])
    const twice = viewed(again, [])
    assert.deepStrictEqual(upTos(twice), [])
    for (const inside of [again, twice]) {
      assert.deepStrictEqual(left(inside).conversation, {
        turns: [...talk.turns, Conversation.user("6")],
        summaries: [{ text: "first 4", upTo: 4, except: [] }]
      })
    }
    const stored = Result.getOrThrow(AgentState.fromJson(JSON.stringify(AgentState.toJson(view))))
    assert.deepStrictEqual(stored, view)
  })
})
