import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { Agent, type AgentEvent, AgentState, Conversation } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { deepFreeze, problems } from "../domain/legal.ts"
import { times } from "../matrix.ts"
import { imbalances } from "./balanced.ts"
import * as Bank from "./fixtures/bank.ts"
import { callOf, ofTag, told, toldOf, watch } from "./watch.ts"

const { all, toolCall } = MockResponse

class Refused extends Schema.TaggedError<Refused>("test/Refused")("Refused", { why: Schema.String }) {}

const Amount = Schema.Struct({ cents: Schema.Int, at: Schema.Date })

const throughText = (state: AgentState.AgentState): AgentState.AgentState =>
  Result.getOrThrow(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))))

const approve = (state: AgentState.AgentState, ...ids: ReadonlyArray<string>): AgentState.AgentState =>
  ids.reduce((state, id) => Result.getOrThrow(AgentState.approve(state, id)), state)

const waiting = (state: AgentState.AgentState): ReadonlyArray<string> =>
  AgentState.pendingApprovals(state).map(({ callId }) => callId)

/** A run's state, of events that are as they should be, from a state that stays as it was. */
const stateOf = (
  events: ReadonlyArray<AgentEvent.AgentEvent>,
  before: AgentState.AgentState
): AgentState.AgentState => {
  assert.deepStrictEqual(imbalances(events), [])
  const after = events.reduce(AgentState.reduce, before)
  assert.deepStrictEqual(problems(after.conversation), [])
  const end = events[events.length - 1]
  if (end === undefined) assert.strictEqual(before.status._tag, "Complete")
  else assert.deepStrictEqual("state" in end ? end.state : undefined, after)
  return after
}

const params = { cents: 500, at: "2024-02-29T00:00:00.000Z" }

describe("needsApproval", () => {
  it.effect("is a constant, or a function of the parameters, the call and the conversation, with an Effect or not", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const see = (name: string, { cents, at }: typeof Amount.Type, context: Tool.NeedsApprovalContext) => {
        seen.push([name, cents, at.getUTCFullYear(), context.toolCallId, context.messages.map(({ role }) => role)])
        return cents > 100
      }
      const success = Schema.String
      const Kit = Toolkit.make(
        Tool.make("always", { success, needsApproval: true }),
        Tool.make("never", { success, needsApproval: false }),
        Tool.make("sync", { parameters: Amount, success, needsApproval: (p, context) => see("sync", p, context) }),
        Tool.make("effect", {
          parameters: Amount,
          success,
          needsApproval: (p, context) => Effect.andThen(Effect.yieldNow, Effect.sync(() => see("effect", p, context)))
        })
      )
      const agent = Agent.make("a", { toolkit: Kit, instructions: "Be careful." })
      const calls = [
        toolCall("always", {}, { id: "always" }),
        toolCall("never", {}, { id: "never" }),
        toolCall("sync", params, { id: "much" }),
        toolCall("sync", { ...params, cents: 1 }, { id: "little" }),
        toolCall("effect", params, { id: "more" }),
        toolCall("effect", { ...params, cents: 2 }, { id: "less" }),
        toolCall("sync", { cents: "lots" }, { id: "wrong" }),
        toolCall("none", {}, { id: "unknown" })
      ]
      const ran: Array<string> = []
      const handler = (_: unknown, { toolCallId = "" }) => Effect.sync(() => String(ran.push(toolCallId)))
      const { events } = yield* watch(Agent.run(agent, "Pay")).pipe(Effect.provide([
        MockModel.layer(MockModel.queue(all("Paying.", ...calls))),
        Kit.toLayer({ always: handler, never: handler, sync: handler, effect: handler })
      ]))
      const state = stateOf(events, AgentState.make("a"))
      assert.deepStrictEqual(seen, [
        ["sync", 500, 2024, "much", ["user"]],
        ["sync", 1, 2024, "little", ["user"]],
        ["effect", 500, 2024, "more", ["user"]],
        ["effect", 2, 2024, "less", ["user"]]
      ])
      assert.deepStrictEqual(ran, ["never", "little", "less"])
      assert.deepStrictEqual(waiting(state), ["always", "much", "more"])
      assert.deepStrictEqual(
        ofTag(events, "ApprovalRequested").map((event) => [event.callId, event.name, event.params]),
        [
          ["always", "always", {}],
          ["much", "sync", params],
          ["more", "effect", params]
        ]
      )
      assert.deepStrictEqual(
        ofTag(events, "ToolCallSettled").map((event) => [event.callId, event.outcome]),
        [["never", "Succeeded"], ["little", "Succeeded"], ["less", "Succeeded"], ["wrong", "Failed"], [
          "unknown",
          "Failed"
        ]]
      )
      assert.strictEqual(events[events.length - 1]?._tag, "RunCompleted")
      assert.strictEqual(state.status._tag, "WaitingForTools")
      assert.strictEqual(AgentState.next(state)._tag, "Await")
    }))

  it.effect("that dies is a defect, and nothing of the turn has run", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const Kit = Toolkit.make(
        Tool.make("free"),
        Tool.make("odd", {
          needsApproval: () => {
            throw new Error("undecided")
          }
        })
      )
      const run = () => Effect.sync(() => void ran.push("ran"))
      const calls = all(toolCall("free", {}), toolCall("none", {}, { id: "none" }), toolCall("odd", {}))
      const { events, exit } = yield* watch(Agent.run(Agent.make("a", { toolkit: Kit }), "Go")).pipe(
        Effect.provide([MockModel.layer(MockModel.queue(calls)), Kit.toLayer({ free: run, odd: run })])
      )
      assert.strictEqual(Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "", "Error: undecided")
      const state = stateOf(events, AgentState.make("a"))
      assert.deepStrictEqual(ran, [])
      assert.deepStrictEqual(Conversation.openCalls(state.conversation), [])
      const none = callOf(state, "none")?.state
      assert.match(none?._tag === "Settled" ? String(none.result) : "", /^There is no tool "none"/)
    }))
})

const Charge = Tool.make("charge", { success: Schema.String, failure: Refused, needsApproval: true })
const Look = Tool.make("look", { success: Schema.String })
const Till = Toolkit.make(Charge, Look)
const teller = Agent.make("teller", { toolkit: Till })

/** A teller that charges three times and looks once, in a world that keeps what was done in it. */
const world = () => {
  const ran: Array<string> = []
  const run = (_: unknown, { toolCallId = "" }) => Effect.sync(() => String(ran.push(toolCallId)))
  const calls = ["a", "b", "c"].map((id) => toolCall("charge", {}, { id }))
  const model = MockModel.layer(
    MockModel.make((request) =>
      request.messages.some((message) => message.role === "assistant")
        ? `You said: ${request.lastUserText}`
        : all(...calls, toolCall("look", {}, { id: "look" }))
    )
  )
  return { ran, layer: [model, Till.toLayer({ charge: run, look: run })] as const }
}

describe("A call that awaits approval", () => {
  it.effect("is shown with the agents and calls that lead to it, its name and its parameters", () =>
    Effect.gen(function*() {
      const bank = Bank.make(true)
      const state = yield* Agent.run(bank.head, "Go").pipe(Effect.provide(Bank.environment(bank, [])))
      const shown = (path: ReadonlyArray<string>, calls: ReadonlyArray<string>, callId: string) => ({
        path,
        calls,
        callId,
        name: "sign",
        params: { what: callId }
      })
      const expected = [
        shown(["head"], [], "head-1"),
        shown(["head", "branch", "vault"], ["to-branch", "to-vault"], "vault-1"),
        shown(["head", "branch", "vault"], ["to-branch", "to-vault"], "vault-2"),
        shown(["head", "branch"], ["to-branch"], "branch-2")
      ]
      assert.deepStrictEqual(AgentState.pendingApprovals(state), expected as never)
      assert.deepStrictEqual(AgentState.pendingApprovals(throughText(state)), expected as never)
      const denied = AgentState.deny(state, "to-branch", "not now")
      assert.strictEqual(Result.isFailure(denied) ? denied.failure.found : "", "Delegated")
    }))

  it.effect("is approved one by one, with the run going on in between, and nothing is run before or twice", () =>
    Effect.gen(function*() {
      const { layer, ran } = world()
      yield* Effect.gen(function*() {
        let state = yield* Agent.run(teller, "Pay")
        assert.deepStrictEqual(ran, ["look"])
        for (const [index, id] of ["b", "a", "c"].entries()) {
          const before = deepFreeze(throughText(approve(state, id)))
          assert.deepStrictEqual(
            waiting(before),
            ["a", "b", "c"].filter((other) => !["b", "a", "c"].slice(0, index + 1).includes(other))
          )
          const { events } = yield* watch(Agent.resume(teller, before))
          state = stateOf(events, before)
          assert.deepStrictEqual(ran, ["look", "b", "a", "c"].slice(0, index + 2))
          assert.strictEqual(state.status._tag, index === 2 ? "Complete" : "WaitingForTools")
          assert.strictEqual((yield* MockModel.calls).length, index === 2 ? 2 : 1)
        }
        assert.deepStrictEqual((yield* told).map(({ id, result }) => [id, result]), [
          ["a", "3"],
          ["b", "2"],
          ["c", "4"],
          ["look", "1"]
        ])
      }).pipe(Effect.provide([...layer]))
    }))

  it.effect("goes on waiting when the run goes on without an answer, any number of times", () =>
    Effect.gen(function*() {
      const { layer, ran } = world()
      yield* Effect.gen(function*() {
        const state = yield* Agent.run(teller, "Pay")
        assert.deepStrictEqual(yield* Agent.resume(teller, state), state)
        assert.deepStrictEqual(yield* Agent.resume(teller, throughText(state)), state)
        assert.deepStrictEqual(yield* Agent.step(teller, state), state)
        assert.deepStrictEqual(ran, ["look"])
        assert.strictEqual((yield* MockModel.calls).length, 1)
      }).pipe(Effect.provide([...layer]))
    }))

  it.effect("takes the same answer twice, and no other, and no answer for calls that don't wait", () =>
    Effect.gen(function*() {
      const { layer } = world()
      yield* Effect.gen(function*() {
        const state = deepFreeze(yield* Agent.run(teller, "Pay"))
        const approved = approve(state, "a")
        assert.deepStrictEqual(approve(approved, "a", "a"), approved)
        const denied = Result.getOrThrow(AgentState.deny(state, "a", "too much"))
        assert.deepStrictEqual(AgentState.deny(denied, "a", "changed my mind"), Result.succeed(denied))
        const fails = (result: Result.Result<unknown, AgentState.NotAwaitingApproval>) =>
          Result.isFailure(result) ? [result.failure._tag, result.failure.callId, result.failure.found] : []
        assert.deepStrictEqual(fails(AgentState.deny(approved, "a", "no")), ["NotAwaitingApproval", "a", "Approved"])
        assert.deepStrictEqual(fails(AgentState.approve(denied, "a")), ["NotAwaitingApproval", "a", "Settled"])
        assert.deepStrictEqual(fails(AgentState.approve(state, "look")), ["NotAwaitingApproval", "look", "Settled"])
        assert.deepStrictEqual(fails(AgentState.approve(state, "")), ["NotAwaitingApproval", "", "Unknown"])
        assert.deepStrictEqual(fails(AgentState.approve(state, "toString")), [
          "NotAwaitingApproval",
          "toString",
          "Unknown"
        ])
        assert.deepStrictEqual(fails(AgentState.deny(state, "x", "no")), ["NotAwaitingApproval", "x", "Unknown"])
        const done = yield* Agent.resume(teller, approve(state, "a", "b", "c"))
        assert.deepStrictEqual(fails(AgentState.approve(done, "a")), ["NotAwaitingApproval", "a", "Settled"])
      }).pipe(Effect.provide([...layer]))
    }))

  it.effect("is denied for a reason, which the model reads, and isn't run", () =>
    Effect.gen(function*() {
      const { layer, ran } = world()
      yield* Effect.gen(function*() {
        const state = yield* Agent.run(teller, "Pay")
        const denied = Result.getOrThrow(AgentState.deny(approve(state, "a", "c"), "b", "\"No\" means no.\n"))
        yield* Agent.resume(teller, denied)
        assert.deepStrictEqual(ran, ["look", "a", "c"])
        assert.deepStrictEqual(yield* told, [
          { id: "a", isFailure: false, result: "2" },
          { id: "b", isFailure: true, result: "This call was denied: \"No\" means no.\n" },
          { id: "c", isFailure: false, result: "3" },
          { id: "look", isFailure: false, result: "1" }
        ])
      }).pipe(Effect.provide([...layer]))
    }))

  it.effect("is denied like all others: the model is asked at once", () =>
    Effect.gen(function*() {
      const { layer, ran } = world()
      yield* Effect.gen(function*() {
        const state = yield* Agent.run(teller, "Pay")
        const denied = ["c", "a", "b"].reduce((state, id) => Result.getOrThrow(AgentState.deny(state, id, "no")), state)
        assert.strictEqual(denied.status._tag, "InProgress")
        assert.strictEqual((yield* Agent.resume(teller, denied)).status._tag, "Complete")
        assert.deepStrictEqual(ran, ["look"])
      }).pipe(Effect.provide([...layer]))
    }))

  it.effect("doesn't keep the user from writing: the words wait, and are sent after the results", () =>
    Effect.gen(function*() {
      const { layer, ran } = world()
      yield* Effect.gen(function*() {
        const first = yield* Agent.run(teller, "Pay")
        const second = yield* Agent.continueConversation(teller, first, "Hurry!")
        assert.deepStrictEqual([second.status._tag, waiting(second), ran], ["WaitingForTools", ["a", "b", "c"], [
          "look"
        ]])
        const third = yield* Agent.continueConversation(teller, throughText(approve(second, "b")), "Please!")
        assert.deepStrictEqual([third.status._tag, waiting(third), ran], ["WaitingForTools", ["a", "c"], ["look", "b"]])
        assert.strictEqual((yield* MockModel.calls).length, 1)
        const denied = Result.getOrThrow(AgentState.deny(approve(third, "a"), "c", "no"))
        const last = yield* Agent.resume(teller, denied)
        assert.strictEqual(AgentState.text(last), "You said: Please!")
        assert.deepStrictEqual(problems(last.conversation), [])
        const [, call] = yield* MockModel.calls
        const sent = call?.request.messages ?? []
        assert.deepStrictEqual(sent.map(({ role }) => role), ["user", "assistant", "tool", "user", "user"])
        const results = sent.flatMap((message) => message.role === "tool" ? message.content : [])
        assert.deepStrictEqual(results.map((part) => part.type === "tool-result" ? part.id : ""), [
          "a",
          "b",
          "c",
          "look"
        ])
        const words = sent.flatMap((message) => message.role === "user" ? message.content : [])
        assert.deepStrictEqual(words.map((part) => part.type === "text" ? part.text : ""), ["Pay", "Hurry!", "Please!"])
      }).pipe(Effect.provide([...layer]))
    }))

  it.effect("ends the run, where it is approved, fatal, and fails", () =>
    Effect.gen(function*() {
      const fatal = Agent.make("teller", { toolkit: Till, fatal: ["charge"] })
      const { layer } = world()
      const broke = Till.toLayer({
        charge: () => Effect.fail(new Refused({ why: "broke" })),
        look: () => Effect.succeed("")
      })
      const state = yield* Effect.provide(Agent.run(fatal, "Pay"), [...layer])
      const error = yield* Effect.flip(Agent.resume(fatal, approve(state, "b"))).pipe(Effect.provide([...layer, broke]))
      assert.deepStrictEqual(error, new Refused({ why: "broke" }))
      const failed = yield* Agent.settle(fatal, approve(state, "b")).pipe(Effect.provide([...layer, broke]))
      assert.deepStrictEqual([failed.status._tag, waiting(failed)], ["Failed", ["a", "c"]])
      const reopened = AgentState.reopen(approve(failed, "a", "c"))
      const done = yield* Effect.provide(Agent.resume(fatal, reopened), [...layer])
      assert.strictEqual(done.status._tag, "Complete")
    }))

  it.effect("of a tool that the agent has no longer is told before anything is run", () =>
    Effect.gen(function*() {
      const { layer, ran } = world()
      yield* Effect.gen(function*() {
        const state = approve(yield* Agent.run(teller, "Pay"), "a")
        const changed = Agent.make("teller", { toolkit: Toolkit.make(Look) })
        const error = yield* Effect.flip(Agent.resume(changed, state))
        assert.strictEqual(error.reason._tag === "AgentMismatch" ? error.reason.wanted : "", "charge")
        const again = yield* Agent.resume(teller, AgentState.reopen(error.state))
        assert.deepStrictEqual([again.status._tag, ran], ["WaitingForTools", ["look", "a"]])
      }).pipe(Effect.provide([...layer]))
    }))
})

/** What somebody answers in one sitting: some of the calls that wait, in some order. */
const Round = Schema.Struct({
  picks: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(4)
  ),
  repeats: Schema.Boolean
})
const Verdicts = Schema.Struct(
  Object.fromEntries(Bank.signed.map((id) => [id, Schema.Literals([true, true, false])]))
) as unknown as Schema.Codec<{ readonly [id: string]: boolean }>

const answer = (state: AgentState.AgentState, verdicts: { readonly [id: string]: boolean }, id: string) =>
  Result.getOrThrow(verdicts[id] === true ? AgentState.approve(state, id) : AgentState.deny(state, id, `not ${id}`))

/** Plays the bank to its end, each sitting in another world than the one before. */
const playBank = Effect.fnUntraced(
  function*(verdicts: { readonly [id: string]: boolean }, rounds: ReadonlyArray<typeof Round.Type>) {
    const ran: Array<string> = []
    const sit = Effect.fnUntraced(function*(state: AgentState.AgentState | undefined) {
      const bank = Bank.make(true)
      const { events } = yield* watch(
        state === undefined ? Agent.run(bank.head, "Go") : Agent.resume(bank.head, deepFreeze(throughText(state)))
      ).pipe(Effect.provide(Bank.environment(bank, ran)))
      return stateOf(events, state ?? AgentState.make("head"))
    })
    let state = yield* sit(undefined)
    for (let sitting = 0; AgentState.pendingApprovals(state).length > 0; sitting++) {
      const round = rounds[sitting % rounds.length]
      const ids = waiting(state)
      const chosen = round === undefined ? ids : round.picks.map((pick) => ids[pick % ids.length] ?? "")
      state = chosen.reduce((state, id) => answer(state, verdicts, id), state)
      state = yield* sit(state)
      if (round?.repeats === true) state = yield* sit(state)
    }
    return { state, ran }
  }
)

describe("Approvals at any depth", () => {
  it.effect.prop(
    "come to the same in any order and number of sittings, and each tool has run once",
    [Verdicts, Schema.Array(Round).check(Schema.isMinLength(1), Schema.isMaxLength(6))],
    ([verdicts, rounds]) =>
      Effect.gen(function*() {
        const expected = yield* playBank(verdicts, [])
        const actual = yield* playBank(verdicts, rounds)
        assert.deepStrictEqual(actual.state, expected.state)
        assert.deepStrictEqual(actual.ran.toSorted(), expected.ran.toSorted())
        const approved = Bank.signed.filter((id) => verdicts[id])
        assert.deepStrictEqual(actual.ran.toSorted(), [...approved, ...Bank.free].toSorted())
        assert.strictEqual(actual.state.status._tag, "Complete")
      }),
    { arbitrary: { runs: times(40, 16) } }
  )

  it.effect("granted one by one come to what a run comes to that nobody has to approve", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const bank = Bank.make(false)
      const free = yield* Agent.run(bank.head, "Go").pipe(Effect.provide(Bank.environment(bank, ran)))
      const every = Object.fromEntries(Bank.signed.map((id) => [id, true]))
      const granted = yield* playBank(every, [{ picks: [0], repeats: false }])
      assert.deepStrictEqual(granted.state, free)
      assert.deepStrictEqual(granted.ran.toSorted(), ran.toSorted())
    }))

  it.effect("are answered in other processes", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const bank = Bank.make(true)
      const first = yield* Agent.run(bank.head, "Go").pipe(Effect.provide(Bank.environment(bank, ran)))
      let state = JSON.stringify(AgentState.toJson(first))
      const answers = { "vault-2": null, "head-1": "not you", "vault-1": null }
      for (const answered of [answers, { "vault-4": null, "branch-2": null }]) {
        const output = yield* Effect.callback<string, Error>((resume) => {
          const child = execFile(
            process.execPath,
            ["--conditions=@troupe/source", join(import.meta.dirname, "fixtures", "resume.ts")],
            (error, stdout, stderr) => resume(error === null ? Effect.succeed(stdout) : Effect.fail(new Error(stderr)))
          )
          child.stdin?.end(JSON.stringify({ state, answers: answered }))
        })
        const after: { readonly state: string; readonly ran: ReadonlyArray<string> } = JSON.parse(output)
        state = after.state
        ran.push(...after.ran)
      }
      const last = Result.getOrThrow(AgentState.fromJson(state))
      assert.deepStrictEqual(waiting(last), ["head-3", "head-4"])
      assert.deepStrictEqual(
        ran.toSorted(),
        ["branch-1", "branch-2", "head-2", "vault-1", "vault-2", "vault-3", "vault-4"]
      )
      const done = yield* Agent.resume(bank.head, approve(last, "head-4", "head-3")).pipe(
        Effect.provide(Bank.environment(bank, ran))
      )
      assert.strictEqual(
        AgentState.text(done),
        "head read head-3: \"head-3 done\"; head-4: \"head-4 done\""
      )
    }), 20_000)
})

describe("The words of a denial", () => {
  it.effect("reach the model of the agent whose call it was, three deep", () =>
    Effect.gen(function*() {
      const bank = Bank.make(true)
      yield* Effect.gen(function*() {
        const state = yield* Agent.run(bank.head, "Go")
        const denied = Result.getOrThrow(AgentState.deny(approve(state, "vault-2"), "vault-1", "it is night"))
        yield* Agent.resume(bank.head, denied)
        assert.strictEqual(yield* toldOf("vault-1"), "This call was denied: it is night")
        assert.strictEqual(yield* toldOf("vault-2"), "vault-2 done")
      }).pipe(Effect.provide(Bank.environment(bank, [])))
    }))
})

describe("An agent as a tool", () => {
  it.effect("asks for approval by what it is given", () =>
    Effect.gen(function*() {
      const clerk = Agent.asTool(Agent.make("clerk"), { needsApproval: ({ task }) => task.includes("refund") })
      const head = Agent.make("head", { agents: [clerk] })
      const state = yield* Agent.run(head, "Go").pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
        head: MockModel.queue(MockResponse.all(
          MockResponse.toolCall("clerk", { task: "greet" }),
          MockResponse.toolCall("clerk", { task: "refund" })
        )),
        clerk: MockModel.queue("Done.")
      }))))
      assert.deepStrictEqual(AgentState.pendingApprovals(state).map(({ name, params }) => [name, params]), [
        ["clerk", { task: "refund" }]
      ])
    }))
})
