import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import { AgentEvent, AgentState, AgentStatus, Conversation } from "troupe"
import { below, state } from "./arbitraries.ts"
import { callsIn, deepFreeze, places, problems } from "./legal.ts"

const call = (id: string, state: Conversation.CallState = { _tag: "AwaitingApproval" }): Conversation.Call => ({
  _tag: "Call",
  id,
  name: `tool of ${id}`,
  params: { of: id },
  state
})

const agent = (name: string, ...calls: ReadonlyArray<Conversation.Call>): AgentState.AgentState =>
  deepFreeze({
    ...AgentState.make(name),
    status: AgentStatus.waitingForTools,
    conversation: Conversation.make([
      { _tag: "Assistant", agent: name, parts: calls, usage: {}, finishReason: "tool-calls" }
    ])
  })

const asks = (id: string, child: AgentState.AgentState): Conversation.Call => call(id, { _tag: "Delegated", child })

/** `desk` asks `billing`, which asks `bank`; each has a call that waits, and `desk` a second one behind. */
const desk = agent(
  "desk",
  call("first"),
  asks("to-billing", agent("billing", asks("to-bank", agent("bank", call("deep"), call("done", { _tag: "Pending" }))))),
  call("last")
)

const get = <A, E>(result: Result.Result<A, E>): A => Result.getOrThrow(result)
const errorOf = <A, E>(result: Result.Result<A, E>): E => Result.getOrThrow(Result.flip(result))

const stateOf = (self: AgentState.AgentState, id: string): Conversation.CallState | undefined =>
  places(self).flatMap((place) => callsIn(place.state.conversation)).find((call) => call.id === id)?.state

const ids = (self: AgentState.AgentState) => AgentState.pendingApprovals(self).map((pending) => pending.callId)

type Answer = (self: AgentState.AgentState) => Result.Result<AgentState.AgentState, AgentState.NotAwaitingApproval>

/** An answer to each call that waits, and an order to give them in. */
const answers = Arbitrary.array(
  Arbitrary.all({
    isApproved: Arbitrary.schema(Schema.Boolean),
    isGiven: Arbitrary.schema(Schema.Boolean),
    place: below(20)
  }),
  { minLength: 12, maxLength: 12 }
)

describe("pendingApprovals", () => {
  it("finds calls at any depth, with the agents and the calls that lead there", () => {
    assert.deepStrictEqual(AgentState.pendingApprovals(desk), [
      { path: ["desk"], calls: [], callId: "first", name: "tool of first", params: { of: "first" } },
      {
        path: ["desk", "billing", "bank"],
        calls: ["to-billing", "to-bank"],
        callId: "deep",
        name: "tool of deep",
        params: { of: "deep" }
      },
      { path: ["desk"], calls: [], callId: "last", name: "tool of last", params: { of: "last" } }
    ])
  })

  it.prop("finds every call that waits, and no other", [state], ([state]) => {
    const waiting = places(state).flatMap((place) =>
      callsIn(place.state.conversation).flatMap((call) => call.state._tag === "AwaitingApproval" ? [call.id] : [])
    )
    assert.deepStrictEqual(ids(state).toSorted(), waiting.toSorted())
  })
})

describe("approve and deny", () => {
  it("resolve one call and leave all others as they are", () => {
    const approved = get(AgentState.approve(desk, "deep"))
    assert.deepStrictEqual(stateOf(approved, "deep"), { _tag: "Approved" })
    assert.deepStrictEqual(ids(approved), ["first", "last"])
    const denied = get(AgentState.deny(desk, "last", "too dear"))
    assert.deepStrictEqual(stateOf(denied, "last"), {
      _tag: "Settled",
      outcome: "Denied",
      result: "This call was denied: too dear"
    })
    assert.deepStrictEqual(ids(denied), ["first", "deep"])
  })

  it("let the called agent speak once it waits for nothing more", () => {
    const bank = (self: AgentState.AgentState) =>
      places(self).find((place) => place.state.agent === "bank")?.state.status
    const alone = agent("desk", asks("to-bank", agent("bank", call("a"), call("b"))))
    const once = get(AgentState.deny(alone, "a", "no"))
    assert.deepStrictEqual(bank(once), AgentStatus.waitingForTools)
    assert.deepStrictEqual(AgentState.next(once), { _tag: "Await" })
    const twice = get(AgentState.deny(once, "b", "no"))
    assert.deepStrictEqual(bank(twice), AgentStatus.inProgress)
    assert.deepStrictEqual(twice.status, AgentStatus.waitingForTools)
    assert.deepStrictEqual(AgentState.next(twice), { _tag: "RunCalls", callIds: ["to-bank"] })
  })

  it("change nothing the second time", () => {
    for (const answer of [AgentState.approve("deep"), AgentState.deny("deep", "no")] satisfies ReadonlyArray<Answer>) {
      const once = get(answer(desk))
      assert.strictEqual(get(answer(once)), once)
    }
    const denied = get(AgentState.deny(desk, "deep", "no"))
    assert.strictEqual(get(AgentState.deny(denied, "deep", "a better reason")), denied)
  })

  it.prop("give the same in any order, for any calls, any number of times", [state, answers], ([state, answers]) => {
    const given = AgentState.pendingApprovals(state).flatMap((pending, index) => {
      const answer = answers[index % answers.length]
      if (answer === undefined || !answer.isGiven) return []
      const give: Answer = answer.isApproved
        ? AgentState.approve(pending.callId)
        : AgentState.deny(pending.callId, "no")
      return [{ give, place: answer.place }]
    })
    const all = (order: ReadonlyArray<{ readonly give: Answer }>) =>
      order.reduce((self, { give }) => deepFreeze(get(give(self))), state)
    const answered = all(given)
    assert.deepStrictEqual(problems(answered.conversation), [])
    assert.deepStrictEqual(ids(answered).length, ids(state).length - given.length)
    assert.deepStrictEqual(all(given.toReversed()), answered)
    assert.deepStrictEqual(all(given.toSorted((one, other) => one.place - other.place)), answered)
    assert.deepStrictEqual(all([...given, ...given]), answered)
  })

  it.prop("leave a state alone that doesn't wait for the call", [state], ([state]) => {
    const others = places(state).flatMap((place) => callsIn(place.state.conversation)).filter((call) =>
      call.state._tag !== "AwaitingApproval"
    )
    for (const { asked, id, params, state: { _tag: found } } of others) {
      const result = AgentState.approve(state, id, asked === undefined ? undefined : { params })
      if (found === "Approved") assert.strictEqual(get(result), state)
      else assert.strictEqual(errorOf(result).found, found)
    }
  })

  it("don't take back what was answered", () => {
    const approved = get(AgentState.approve(desk, "first"))
    assert.strictEqual(
      errorOf(AgentState.deny(approved, "first", "after all")).message,
      `Call "first" doesn't await approval, it is Approved; awaiting approval: "deep", "last"`
    )
    const denied = get(AgentState.deny(desk, "first", "no"))
    assert.strictEqual(
      errorOf(AgentState.approve(denied, "first")).message,
      `Call "first" doesn't await approval, it is Settled; awaiting approval: "deep", "last"`
    )
  })

  it("say that a provider runs a call only while it waits", () => {
    const other = { params: { of: "another" } }
    const waiting = agent("desk", { ...call("theirs"), approvalId: "ap" }, call("own"))
    const found = (self: AgentState.AgentState) => {
      const { awaiting, found } = errorOf(AgentState.approve(self, "theirs", other))
      return [found, awaiting]
    }
    assert.deepStrictEqual(found(waiting), ["RunByProvider", ["theirs"]])
    assert.deepStrictEqual(found(get(AgentState.approve(waiting, "theirs"))), ["Approved", ["own"]])
    assert.deepStrictEqual(found(get(AgentState.deny(waiting, "theirs", "no"))), ["Settled", ["own"]])
  })

  it("name the id that no call has, and those that there are", () => {
    const error = errorOf(AgentState.approve(desk, "fist"))
    assert.strictEqual(error._tag, "NotAwaitingApproval")
    assert.strictEqual(error.message, `No call has the id "fist"; awaiting approval: "first", "deep", "last"`)
    assert.strictEqual(
      errorOf(AgentState.deny(AgentState.make("desk"), "first", "no")).message,
      `No call has the id "first"; awaiting approval: none`
    )
    assert.strictEqual(
      errorOf(AgentState.approve(desk, "to-bank")).message,
      `Call "to-bank" doesn't await approval, it is Delegated; awaiting approval: "first", "deep", "last"`
    )
    assert.strictEqual(errorOf(AgentState.approve(desk, "done")).found, "Pending")
  })

  it("answer one call even where two agents use the same id", () => {
    const twins = agent("desk", asks("a", agent("one", call("same"))), asks("b", agent("two", call("same"))))
    for (const answer of [AgentState.approve("same"), AgentState.deny("same", "no")] satisfies ReadonlyArray<Answer>) {
      const once = get(answer(twins))
      assert.deepStrictEqual(AgentState.pendingApprovals(once).map((pending) => pending.path), [["desk", "two"]])
      assert.strictEqual(get(answer(once)), once)
    }
  })

  it("are the events that say so, at any depth, in a run that has ended too", () => {
    const of = (callId: string) => {
      const pending = AgentState.pendingApprovals(desk).find((pending) => pending.callId === callId)!
      return { path: pending.path, calls: pending.calls, callId, name: pending.name, step: 3, sequence: 9, at: 7 }
    }
    const { CallApproved, CallDenied } = AgentEvent.AgentEvent.cases
    const failed = {
      ...desk,
      status: AgentStatus.failed({ tag: "StepLimitReached", message: "", agent: "desk", step: 1 })
    }
    for (const state of [desk, failed]) {
      for (const id of ["first", "deep", "last"]) {
        assert.deepStrictEqual(
          AgentState.reduce(state, CallApproved.make(of(id))),
          get(AgentState.approve(state, id))
        )
        const params = { other: id }
        assert.deepStrictEqual(
          AgentState.reduce(state, CallApproved.make({ ...of(id), params })),
          get(AgentState.approve(state, id, { params }))
        )
        assert.deepStrictEqual(
          AgentState.reduce(state, CallDenied.make({ ...of(id), reason: "no" })),
          get(AgentState.deny(state, id, "no"))
        )
      }
      const approved = get(AgentState.approve(state, "first"))
      const again = CallApproved.make({ ...of("first"), params: { other: 1 } })
      assert.strictEqual(AgentState.reduce(approved, again), approved)
      assert.strictEqual(AgentState.reduce(approved, CallDenied.make({ ...of("first"), reason: "no" })), approved)
    }
  })

  it("leave a run that failed failed, until it is reopened", () => {
    const failed = {
      ...desk,
      status: AgentStatus.failed({ tag: "StepLimitReached", message: "", agent: "desk", step: 1 })
    }
    const approved = get(AgentState.approve(failed, "first"))
    assert.strictEqual(approved.status, failed.status)
    assert.deepStrictEqual(AgentState.next(AgentState.reopen(approved)), {
      _tag: "RunCalls",
      callIds: ["first", "to-billing"]
    })
  })
})

describe("approve with other parameters", () => {
  const callOf = (self: AgentState.AgentState, id: string): Conversation.Call =>
    places(self).flatMap((place) => callsIn(place.state.conversation)).find((call) => call.id === id)!

  it("runs the call with those, and keeps what the model had asked for", () => {
    const given = { of: "deep", amount: [40] }
    const approved = get(AgentState.approve("deep", { params: given })(desk))
    given.amount.push(400)
    assert.deepStrictEqual(callOf(approved, "deep"), {
      _tag: "Call",
      id: "deep",
      name: "tool of deep",
      params: { of: "deep", amount: [40] },
      asked: { of: "deep" },
      state: { _tag: "Approved" }
    })
    assert.isTrue(Object.isFrozen((callOf(approved, "deep").params as typeof given).amount))
    assert.deepStrictEqual(ids(approved), ["first", "last"])
  })

  it("is what the model reads, and what it had asked for isn't", () => {
    const approved = get(AgentState.approve(agent("desk", call("a")), "a", { params: { of: "b" } }))
    const settled = Conversation.updateCall(approved.conversation, "a", {
      _tag: "Settled",
      outcome: "Succeeded",
      result: "done"
    })
    const sent = JSON.stringify(get(Conversation.toPrompt(settled)))
    assert.include(sent, `"params":{"of":"b"}`)
    assert.notInclude(sent, `{"of":"a"}`)
  })

  it("isn't an approval with a Promise that nobody awaited", () => {
    const params = Promise.resolve({ of: "first" }) as never
    assert.throws(
      () => AgentState.approve(desk, "first", { params }),
      "`params` of `approve` must be a value, not a Promise"
    )
  })

  it("is a plain approval where they are what the model had asked for", () => {
    assert.deepStrictEqual(
      get(AgentState.approve(desk, "deep", { params: { of: "deep" } })),
      get(AgentState.approve(desk, "deep"))
    )
  })

  it("is the same answer with the same parameters alone", () => {
    for (const params of [{ of: "b" }, null]) {
      const edited = get(AgentState.approve(desk, "first", { params }))
      assert.strictEqual(get(AgentState.approve(edited, "first", { params: structuredClone(params) })), edited)
      for (const options of [undefined, {}, { params: { of: "first" } }, { params: { of: "c" } }]) {
        assert.strictEqual(errorOf(AgentState.approve(edited, "first", options)).found, "Approved")
      }
      assert.strictEqual(errorOf(AgentState.deny(edited, "first", "no")).found, "Approved")
    }
    const plain = get(AgentState.approve(desk, "first"))
    assert.strictEqual(get(AgentState.approve(plain, "first", { params: { of: "first" } })), plain)
    assert.strictEqual(errorOf(AgentState.approve(plain, "first", { params: { of: "b" } })).found, "Approved")
  })

  it("asks the agent before anything is changed, and only of what is new", () => {
    const read: Array<unknown> = []
    const reader: AgentState.ReadsParams = {
      [AgentState.ReadParams]: (state, { calls, name }, params) => {
        read.push([AgentState.at(state, calls)?.agent, name, params])
        return params === 7 ? Result.fail("Expected an object") : Result.succeed(params)
      }
    }
    const error = errorOf(AgentState.approve(desk, "deep", { params: 7, agent: reader }))
    assert.deepInclude(error, { _tag: "ParamsRejected", callId: "deep", tool: "tool of deep" })
    assert.strictEqual(
      error.message,
      `Call "deep" can't be approved with these parameters of tool "tool of deep": Expected an object`
    )
    const edited = get(AgentState.approve(desk, "deep", { params: { amount: 1 }, agent: reader }))
    assert.deepStrictEqual(edited, get(AgentState.approve(desk, "deep", { params: { amount: 1 } })))
    assert.strictEqual(get(AgentState.approve(edited, "deep", { params: { amount: 1 }, agent: reader })), edited)
    assert.isTrue(Result.isSuccess(AgentState.approve(desk, "deep", { params: { of: "deep" }, agent: reader })))
    assert.strictEqual(
      errorOf(AgentState.approve(desk, "none", { params: 7, agent: reader }))._tag,
      "NotAwaitingApproval"
    )
    assert.deepStrictEqual(read, [["bank", "tool of deep", 7], ["bank", "tool of deep", { amount: 1 }]])
  })

  it("is kept by JSON in every status, and by what settles the call", () => {
    const edited = get(AgentState.approve(desk, "deep", { params: null }))
    const error = { tag: "Defect", message: "", agent: "desk", step: 0 }
    const statuses = [edited.status, AgentStatus.failed(error), AgentStatus.handoffRequested({ target: "other" })]
    for (const status of statuses) {
      const state = { ...edited, status }
      assert.deepStrictEqual(get(AgentState.fromJson(JSON.stringify(AgentState.toJson(state)))), state)
    }
    const alone = get(AgentState.approve(agent("desk", call("a")), "a", { params: null }))
    const settled = Conversation.updateCall(alone.conversation, "a", {
      _tag: "Settled",
      outcome: "Succeeded",
      result: "done"
    })
    for (const status of [AgentStatus.inProgress, AgentStatus.complete]) {
      const state = { ...alone, conversation: settled, status }
      assert.deepStrictEqual(callOf(state, "a").asked, { of: "a" })
      assert.deepStrictEqual(get(AgentState.fromJson(JSON.stringify(AgentState.toJson(state)))), state)
    }
  })

  it("is the same call in a fork that it is merged with", () => {
    const asked = agent("desk", call("a")).conversation
    const { conversation } = get(AgentState.approve(agent("desk", call("a")), "a", { params: { of: "b" } }))
    const done = { _tag: "Settled", outcome: "Succeeded", result: "done" } as const
    const fork = Conversation.appendUser(Conversation.updateCall(conversation, "a", done), "Thanks")
    assert.deepStrictEqual(get(Conversation.merge(asked, fork)), fork)
    assert.deepStrictEqual(get(Conversation.merge(fork, asked)), fork)
    const other = Conversation.updateCall(asked, "a", { ...done, result: "undone" })
    assert.isTrue(Result.isFailure(Conversation.merge(Conversation.appendUser(other, "No"), fork)))
  })
})
