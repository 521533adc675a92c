import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { Prompt } from "effect/ai"
import { AgentState, Conversation } from "troupe"
import { assertLinear } from "../growth.ts"
import { times } from "../matrix.ts"
import { settled } from "./arbitraries.ts"
import { callsIn, deepFreeze, problems } from "./legal.ts"
import { prompt } from "./prompts.ts"

const text = (text: string) => Prompt.textPart({ text })

const call = (id: string, name = "search", providerExecuted = false) =>
  Prompt.toolCallPart({ id, name, params: { q: id }, providerExecuted })

const result = (id: string, result: unknown, name = "search", providerExecuted = false) =>
  Prompt.toolResultPart({ id, name, isFailure: false, result, providerExecuted })

const request = (approvalId: string, toolCallId: string) => Prompt.toolApprovalRequestPart({ approvalId, toolCallId })

const response = (approvalId: string, approved: boolean, reason?: string) =>
  Prompt.toolApprovalResponsePart(reason === undefined ? { approvalId, approved } : { approvalId, approved, reason })

const system = (content: string) => Prompt.systemMessage({ content })
const user = (...content: ReadonlyArray<Prompt.UserMessagePart>) => Prompt.userMessage({ content })
const assistant = (...content: ReadonlyArray<Prompt.AssistantMessagePart>) => Prompt.assistantMessage({ content })
const tool = (...content: ReadonlyArray<Prompt.ToolMessagePart>) => Prompt.toolMessage({ content })

/** Imports messages and checks the laws that hold for all prompts. */
const read = (...messages: ReadonlyArray<Prompt.Message>) => {
  const imported = Conversation.fromPrompt(Prompt.fromMessages(deepFreeze(messages)))
  assert.deepStrictEqual(problems(imported.conversation), [])
  return imported
}

const statesOf = (conversation: Conversation.Conversation): ReadonlyArray<readonly [string, Conversation.CallState]> =>
  callsIn(conversation).map(({ id, state }) => [id, state])

const succeeded = (result: Schema.Json): Conversation.Settled => ({ _tag: "Settled", outcome: "Succeeded", result })

const interrupted: Conversation.Settled = {
  _tag: "Settled",
  outcome: "Interrupted",
  result: "The history that this call comes from has no result of it."
}

const encode = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(Schema.Array(Conversation.Repair))))

const promptOf = (conversation: Conversation.Conversation) =>
  Result.getOrThrow(Conversation.toPrompt(conversation)).content

/** Settles what is open, so that there is a prompt. */
const closed = (conversation: Conversation.Conversation) =>
  Conversation.openCalls(conversation).reduce(
    (self, call) => Conversation.updateCall(self, call.id, { _tag: "Settled", outcome: "Denied", result: "no" }),
    conversation
  )

describe("Conversation.fromPrompt", () => {
  it.prop("gives back what toPrompt made, without a repair", [settled], ([conversation]) => {
    const made = Result.getOrThrow(Conversation.toPrompt(conversation))
    const imported = Conversation.fromPrompt(made)
    assert.deepStrictEqual(imported.repairs, [])
    assert.strictEqual(imported.systemMessage, undefined)
    assert.deepStrictEqual(promptOf(imported.conversation), made.content)
    const behindSystem = Conversation.fromPrompt(Prompt.setSystem(made, "Be brief."))
    assert.deepStrictEqual(behindSystem, { ...imported, systemMessage: "Be brief." })
  })

  it.prop("gives back the answers to a provider's requests", [settled], ([conversation]) => {
    const turns = conversation.turns.map((turn) =>
      turn._tag !== "Assistant" ? turn : {
        ...turn,
        parts: turn.parts.map((part) =>
          part._tag === "Call" && part.providerExecuted === true ? { ...part, approvalId: `ap-${part.id}` } : part
        )
      }
    )
    const made = Result.getOrThrow(Conversation.toPrompt({ turns }))
    const imported = Conversation.fromPrompt(made)
    assert.deepStrictEqual(imported.repairs, [])
    assert.deepStrictEqual(promptOf(imported.conversation), made.content)
  })

  it.prop("makes a legal conversation of any prompt", [prompt], ([{ prompt }]) => {
    const { conversation } = Conversation.fromPrompt(prompt)
    assert.deepStrictEqual(problems(conversation), [])
  }, { arbitrary: { runs: times(300, 100) } })

  it.prop("loses nothing that was said", [prompt], ([{ prompt, said }]) => {
    const { conversation, repairs, systemMessage } = Conversation.fromPrompt(prompt)
    const state = AgentState.make("importer", { conversation })
    const kept = `${JSON.stringify(AgentState.toJson(state))} ${encode(repairs)} ${systemMessage}`
    for (let n = 0; n < said; n++) assert.include(kept, `said-${n}.`)
  }, { arbitrary: { runs: times(300, 100) } })

  it.prop("says nothing twice", [prompt], ([{ prompt, said }]) => {
    const { conversation, repairs } = Conversation.fromPrompt(prompt)
    const state = AgentState.make("importer", { conversation })
    const moved = repairs.filter((repair) => repair._tag !== "SystemMessageMoved")
    const kept = `${JSON.stringify(AgentState.toJson(state))} ${encode(moved)}`
    for (let n = 0; n < said; n++) assert.isAtMost(kept.split(`said-${n}.`).length, 2)
  })

  it.prop("has nothing left to repair in what it made", [prompt], ([{ prompt }]) => {
    const once = Result.getOrThrow(Conversation.toPrompt(closed(Conversation.fromPrompt(prompt).conversation)))
    const twice = Conversation.fromPrompt(once)
    assert.deepStrictEqual(twice.repairs, [])
    assert.deepStrictEqual(promptOf(twice.conversation), once.content)
  }, { arbitrary: { runs: times(300, 100) } })

  it.prop("tells its repairs in the order of the messages", [prompt], ([{ prompt }]) => {
    const messages = Conversation.fromPrompt(prompt).repairs.map((repair) => repair.message)
    assert.deepStrictEqual(messages, messages.toSorted((one, other) => one - other))
    for (const message of messages) assert.isBelow(message, prompt.content.length)
  })

  it("changes nothing of an empty prompt", () => {
    assert.deepStrictEqual(Conversation.fromPrompt(Prompt.empty), { conversation: { turns: [] }, repairs: [] })
  })

  it("names what an untyped program gives in the place of a prompt", () => {
    const messages = [{ role: "user", content: "Hello" }]
    const issueOf = (given: unknown): string => {
      const read = Result.try({
        try: () => Conversation.fromPrompt(given as Prompt.Prompt),
        catch: String
      })
      return Result.isFailure(read) ? read.failure : "none"
    }
    const make = "`Prompt.make` makes a prompt of a text or a list of messages"
    for (const given of [undefined, {}, messages, "Hello"]) {
      assert.strictEqual(issueOf(given), `TypeError: \`Conversation.fromPrompt\` got no prompt: ${make}`)
    }
    const wrong = [null, { role: "developer", content: [] }, { role: "assistant" }, { role: "user", content: "Hello" }]
    for (const message of [...wrong, { role: "tool", content: [undefined] }]) {
      assert.strictEqual(
        issueOf({ content: [user(text("Hello")), message] }),
        `TypeError: Message 1 of a prompt isn't a message: ${make}`
      )
    }
  })

  it("names the assistant's turns by the given agent", () => {
    const prompt = Prompt.fromMessages([assistant(text("Hello."))])
    assert.deepStrictEqual(Conversation.fromPrompt(prompt).conversation.turns, [{
      _tag: "Assistant",
      agent: "assistant",
      parts: [Conversation.text("Hello.")],
      usage: {},
      finishReason: "unknown"
    }])
    const { conversation } = Conversation.fromPrompt(prompt, { agent: "triage" })
    assert.strictEqual(Conversation.byAgent(conversation, "triage").length, 1)
  })

  describe("system messages", () => {
    it("takes one at the beginning as it is", () => {
      const { conversation, repairs, systemMessage } = read(system("Be brief."), user(text("Hi")))
      assert.strictEqual(systemMessage, "Be brief.")
      assert.deepStrictEqual(repairs, [])
      assert.strictEqual(Conversation.count(conversation), 1)
    })

    it("joins several, and reports all but one at the beginning", () => {
      const { repairs, systemMessage } = read(system("One."), system("Two."), user(text("Hi")), system("Three."))
      assert.strictEqual(systemMessage, "One.\n\nTwo.\n\nThree.")
      assert.deepStrictEqual(repairs, [
        { _tag: "SystemMessageMoved", message: 1, text: "Two." },
        { _tag: "SystemMessageMoved", message: 3, text: "Three." }
      ])
    })

    it("reports one that isn't at the beginning", () => {
      assert.deepStrictEqual(read(user(text("Hi")), system("Late.")).repairs, [
        { _tag: "SystemMessageMoved", message: 1, text: "Late." }
      ])
    })
  })

  describe("results", () => {
    it("takes those of several tool messages in a row, in the order of the calls", () => {
      const { conversation, repairs } = read(
        assistant(call("a"), call("b")),
        tool(result("a", 1)),
        tool(result("b", 2))
      )
      assert.deepStrictEqual(repairs, [])
      assert.deepStrictEqual(statesOf(conversation), [["a", succeeded(1)], ["b", succeeded(2)]])
    })

    it("puts those out of order into the order of the calls", () => {
      const { conversation, repairs } = read(assistant(call("a"), call("b")), tool(result("b", 2), result("a", 1)))
      assert.deepStrictEqual(repairs, [{ _tag: "ResultMoved", message: 1, id: "b" }])
      assert.deepStrictEqual(statesOf(conversation), [["a", succeeded(1)], ["b", succeeded(2)]])
    })

    it.each<[string, number, ReadonlyArray<Prompt.Message>]>([
      ["before its call", 0, [tool(result("a", 1)), assistant(call("a"))]],
      ["behind a user's words", 2, [assistant(call("a")), user(text("Well?")), tool(result("a", 1))]],
      ["behind another answer", 2, [assistant(call("a")), assistant(text("Hm.")), tool(result("a", 1))]],
      ["in the message of its call", 0, [assistant(call("a"), result("a", 1))]],
      ["before it, in its message", 0, [assistant(result("a", 1), call("a"))]],
      ["in a user's message", 1, [
        assistant(call("a")),
        Prompt.userMessage({
          content: [result("a", 1)] as ReadonlyArray<Prompt.Part> as ReadonlyArray<Prompt.TextPart>
        })
      ]]
    ])("brings a result home from %s", (_where, message, messages) => {
      const { conversation, repairs } = read(...messages)
      assert.deepStrictEqual(repairs, [{ _tag: "ResultMoved", message, id: "a" }])
      assert.deepStrictEqual(statesOf(conversation), [["a", succeeded(1)]])
    })

    it("carries a result without a call in its repair", () => {
      const { conversation, repairs } = read(
        user(text("Hi")),
        tool(Prompt.toolResultPart({
          id: "a",
          name: "search",
          isFailure: true,
          result: { found: 1 },
          modelOutput: [text("one")],
          providerExecuted: false,
          options: { openai: { cached: true } }
        }))
      )
      assert.strictEqual(Conversation.count(conversation), 1)
      assert.deepStrictEqual(repairs, [{
        _tag: "OrphanedResultDropped",
        message: 1,
        id: "a",
        name: "search",
        isFailure: true,
        result: { found: 1 },
        modelOutput: [text("one")],
        metadata: { openai: { cached: true } }
      }])
    })

    it("carries a second result in its repair, and keeps the first", () => {
      const { conversation, repairs } = read(assistant(call("a")), tool(result("a", 1), result("a", 2)))
      assert.deepStrictEqual(statesOf(conversation), [["a", succeeded(1)]])
      assert.deepStrictEqual(repairs, [
        { _tag: "DoubledResultDropped", message: 1, id: "a", name: "search", isFailure: false, result: 2 }
      ])
    })

    it("settles a call without one as interrupted, the last one too", () => {
      const { conversation, repairs } = read(assistant(call("a")), user(text("Go on")), assistant(call("b")))
      assert.deepStrictEqual(statesOf(conversation), [["a", interrupted], ["b", interrupted]])
      assert.deepStrictEqual(repairs, [
        { _tag: "MissingResultSettled", message: 0, id: "a" },
        { _tag: "MissingResultSettled", message: 2, id: "b" }
      ])
    })

    it("keeps the name of the call and tells the other", () => {
      const { conversation, repairs } = read(assistant(call("a")), tool(result("a", 1, "find")))
      assert.deepStrictEqual(statesOf(conversation), [["a", succeeded(1)]])
      assert.deepStrictEqual(repairs, [
        { _tag: "ResultNameReplaced", message: 1, id: "a", name: "find", replacement: "search" }
      ])
    })

    it("keeps whether it failed, what the model reads, and what the provider attached", () => {
      const { conversation, repairs } = read(
        assistant(call("a")),
        tool(Prompt.toolResultPart({
          id: "a",
          name: "search",
          isFailure: true,
          result: "no",
          modelOutput: [text("It failed.")],
          providerExecuted: false,
          options: { openai: { itemId: "1" } }
        }))
      )
      assert.deepStrictEqual(repairs, [])
      assert.deepStrictEqual(statesOf(conversation), [["a", {
        _tag: "Settled",
        outcome: "Failed",
        result: "no",
        modelOutput: [text("It failed.")],
        metadata: { openai: { itemId: "1" } }
      }]])
    })
  })

  describe("ids", () => {
    it("gives each call its own, over turns, and pairs each result with the nearest call before it", () => {
      const { conversation, repairs } = read(
        assistant(call("a")),
        tool(result("a", 1)),
        assistant(call("a")),
        tool(result("a", 2)),
        assistant(call("a")),
        tool(result("a", 3))
      )
      assert.deepStrictEqual(statesOf(conversation), [["a", succeeded(1)], ["a-2", succeeded(2)], [
        "a-3",
        succeeded(3)
      ]])
      assert.deepStrictEqual(repairs, [
        { _tag: "CallIdReplaced", message: 2, id: "a", replacement: "a-2" },
        { _tag: "CallIdReplaced", message: 4, id: "a", replacement: "a-3" }
      ])
    })

    it("takes as long as there are calls, though all have one id", () => {
      assertLinear(
        (count) =>
          Prompt.fromMessages(
            Array.from({ length: count }, (_, at) => [assistant(call("")), tool(result("", at))]).flat()
          ),
        1000,
        Conversation.fromPrompt
      )
    })

    it("takes as long as there are calls in one message, with requests, answers and results, though all have one id", () => {
      const of = (count: number, parts: (at: number) => ReadonlyArray<Prompt.AssistantMessagePart>) =>
        assistant(...Array.from({ length: count }, (_, at) => parts(at)).flat())
      const histories: ReadonlyArray<(count: number) => ReadonlyArray<Prompt.Message>> = [
        (count) => [of(count, () => [call("a")]), tool(...Array.from({ length: count }, (_, at) => result("a", at)))],
        (count) => [
          of(count, (at) => [call("a", at % 2 === 0 ? "one" : "two")]),
          tool(...Array.from({ length: count }, (_, at) => result("a", at, at < count / 2 ? "two" : "one")))
        ],
        (count) => [
          of(count, () => [call("a"), request("q", "a")]),
          tool(...Array.from({ length: count }, () => response("q", true)))
        ],
        (count) => [of(count, () => [call("a")]), of(count, () => [request("q", "a")])],
        (
          count
        ) => [
          of(count, () => [call("a", "web", true)]),
          tool(...Array.from({ length: count }, () => response("q", true)))
        ]
      ]
      for (const [at, history] of histories.entries()) {
        assertLinear((count) => Prompt.fromMessages(history(count)), 1000, Conversation.fromPrompt, `history ${at}`)
      }
    })

    it("tells calls of one id in one message apart by name, then by order", () => {
      const { conversation, repairs } = read(
        assistant(call("a", "search"), call("a", "send"), call("a", "send")),
        tool(result("a", 2, "send"), result("a", 3, "send"), result("a", 1, "search"))
      )
      assert.deepStrictEqual(statesOf(conversation), [["a", succeeded(1)], ["a-2", succeeded(2)], [
        "a-3",
        succeeded(3)
      ]])
      assert.deepStrictEqual(repairs.map((repair) => [repair._tag, "id" in repair && repair.id]), [
        ["CallIdReplaced", "a"],
        ["CallIdReplaced", "a"],
        ["ResultMoved", "a-2"],
        ["ResultMoved", "a-3"]
      ])
    })

    it("gives the answer to a repeated id to the turn before it, not to an older one that waits", () => {
      const { conversation } = read(
        assistant(call("a")),
        user(text("Again")),
        assistant(call("a")),
        tool(result("a", 2))
      )
      assert.deepStrictEqual(statesOf(conversation), [["a", interrupted], ["a-2", succeeded(2)]])
    })

    it("leaves a result behind its call to that call, though another came too early", () => {
      const { conversation, repairs } = read(tool(result("a", 1)), assistant(call("a")), tool(result("a", 2)))
      assert.deepStrictEqual(statesOf(conversation), [["a", succeeded(2)]])
      assert.deepStrictEqual(repairs.map((repair) => [repair._tag, repair.message]), [["DoubledResultDropped", 0]])
    })

    it("replaces empty ones and pairs them like others", () => {
      const { conversation, repairs } = read(
        assistant(call("", "search"), call("", "send")),
        tool(result("", 1, "search"), result("", 2, "send"))
      )
      assert.deepStrictEqual(statesOf(conversation), [["call", succeeded(1)], ["call-2", succeeded(2)]])
      assert.deepStrictEqual(repairs, [
        { _tag: "CallIdReplaced", message: 0, id: "", replacement: "call" },
        { _tag: "CallIdReplaced", message: 0, id: "", replacement: "call-2" }
      ])
    })
  })

  describe("tools that the provider ran", () => {
    it("keeps their results in the turn", () => {
      const { conversation, repairs } = read(
        assistant(call("p", "web", true), result("p", 1, "web", true), call("a")),
        tool(result("a", 2))
      )
      assert.deepStrictEqual(repairs, [])
      assert.deepStrictEqual(callsIn(conversation).map((call) => call.providerExecuted), [true, undefined])
    })

    it("brings a result home that stands in a tool message", () => {
      const { repairs } = read(assistant(call("p", "web", true)), tool(result("p", 1, "web", true)))
      assert.deepStrictEqual(repairs, [{ _tag: "ResultMoved", message: 1, id: "p" }])
    })

    it("brings a result home that stands behind other words", () => {
      const { repairs } = read(assistant(call("p", "web", true), text("Hm."), result("p", 1, "web", true)))
      assert.deepStrictEqual(repairs, [{ _tag: "ResultMoved", message: 0, id: "p" }])
    })

    it("believes the one of call and result that says so", () => {
      const { conversation, repairs } = read(assistant(call("p", "web"), result("p", 1, "web", true)))
      assert.deepStrictEqual(repairs, [{ _tag: "ProviderExecutionAssumed", message: 0, id: "p" }])
      assert.deepStrictEqual(callsIn(conversation).map((call) => call.providerExecuted), [true])
    })

    describe("and asked to approve", () => {
      const theirs = call("p", "mcp.search", true)
      const asked = assistant(text("Let me see."), theirs, request("q", "p"))
      const callIn = (...messages: ReadonlyArray<Prompt.Message>) => {
        const { conversation, repairs } = read(...messages)
        return { call: callsIn(conversation)[0], conversation, repairs }
      }

      it("wait in the last turn, to be answered like those of a run", () => {
        const { call, conversation, repairs } = callIn(user(text("Search")), asked)
        assert.deepStrictEqual(repairs, [])
        assert.deepStrictEqual(call, {
          _tag: "Call",
          id: "p",
          name: "mcp.search",
          params: { q: "p" },
          providerExecuted: true,
          approvalId: "q",
          state: { _tag: "AwaitingApproval" }
        })
        const state = AgentState.make("a", { conversation })
        assert.strictEqual(state.status._tag, "WaitingForTools")
        const denied = Result.getOrThrow(AgentState.deny(state, "p", "not now"))
        assert.deepStrictEqual(promptOf(denied.conversation).slice(1), [
          assistant(text("Let me see."), theirs),
          tool(response("q", false, "not now"))
        ])
      })

      it.each<[string, Prompt.ToolApprovalResponsePart, Conversation.Settled]>([
        ["approved", response("q", true), { _tag: "Settled", outcome: "Succeeded", result: "Approved" }],
        ["denied", response("q", false), { _tag: "Settled", outcome: "Denied", result: null }],
        ["denied for a reason", response("q", false, "no"), { _tag: "Settled", outcome: "Denied", result: "no" }]
      ])("keep the answer for the provider, in any turn: %s", (_what, answer, state) => {
        for (const later of [[], [assistant(text("Done."))]]) {
          const { call, conversation, repairs } = callIn(user(text("Search")), asked, tool(answer), ...later)
          assert.deepStrictEqual(repairs, [])
          assert.deepStrictEqual([call?.approvalId, call?.state], ["q", state])
          const sent = promptOf(conversation)
          assert.deepStrictEqual(sent[2], tool(answer))
          const again = read(...sent)
          assert.deepStrictEqual(again.repairs, [])
          assert.deepStrictEqual(again.conversation, conversation)
        }
      })

      it("are told not to run where nobody answered in their turn", () => {
        const { call, conversation, repairs } = callIn(user(text("Search")), asked, assistant(text("Done.")))
        assert.deepStrictEqual(repairs, [{ _tag: "MissingResultSettled", message: 1, id: "p" }])
        assert.deepStrictEqual([call?.approvalId, call?.state], ["q", interrupted])
        assert.deepStrictEqual(promptOf(conversation)[2], tool(response("q", false, String(interrupted.result))))
      })

      it("get each their own answer, though no request is sent again", () => {
        const { conversation, repairs } = read(
          user(text("Search")),
          assistant(
            call("p", "web", true),
            result("p", 1, "web", true),
            call("r", "mcp", true),
            call("a"),
            call("s", "mcp", true)
          ),
          tool(response("q1", true), result("a", 2), response("q2", false, "no")),
          assistant(call("t", "mcp", true)),
          tool(response("q3", true), response("nobody", true))
        )
        assert.deepStrictEqual(
          callsIn(conversation).map(({ approvalId, id, state }) => [
            id,
            approvalId,
            state._tag === "Settled" ? state.outcome : state._tag
          ]),
          [
            ["p", undefined, "Succeeded"],
            ["r", "q1", "Succeeded"],
            ["a", undefined, "Succeeded"],
            ["s", "q2", "Denied"],
            ["t", "q3", "Succeeded"]
          ]
        )
        assert.deepStrictEqual(repairs, [
          { _tag: "ApprovalResponseDropped", message: 4, approvalId: "nobody", approved: true }
        ])
      })

      it("drop a reason to approve, and all requests but the one that was answered", () => {
        const { call: kept, repairs } = callIn(
          assistant(call("p", "mcp", true), request("q", "p"), request("r", "p")),
          tool(response("r", true, "It is fine"))
        )
        assert.strictEqual(kept?.approvalId, "r")
        assert.deepStrictEqual(repairs, [
          { _tag: "ApprovalRequestDropped", message: 0, approvalId: "q", id: "p" },
          { _tag: "ApprovalReasonDropped", message: 1, id: "p", reason: "It is fine" }
        ])
      })

      it("are history where they have their result", () => {
        const { call: kept, repairs } = callIn(
          assistant(call("p", "mcp", true), request("q", "p"), result("p", 1, "mcp", true)),
          tool(response("q", true))
        )
        assert.deepStrictEqual([kept?.approvalId, kept?.state], [undefined, succeeded(1)])
        assert.deepStrictEqual(repairs.map((repair) => repair._tag), [
          "ApprovalRequestDropped",
          "ResultMoved",
          "ApprovalResponseDropped"
        ])
      })
    })
  })

  describe("approvals", () => {
    it("keeps a call of the last turn open that waits for one", () => {
      const { conversation, repairs } = read(assistant(call("a"), request("q", "a")), user(text("Wait")))
      assert.deepStrictEqual(statesOf(conversation), [["a", { _tag: "AwaitingApproval" }]])
      assert.deepStrictEqual(repairs, [])
    })

    it("keeps a call of the last turn open that was approved", () => {
      const { conversation, repairs } = read(
        assistant(call("a"), request("q", "a")),
        tool(response("q", true, "It is fine"))
      )
      assert.deepStrictEqual(statesOf(conversation), [["a", { _tag: "Approved" }]])
      assert.deepStrictEqual(repairs, [
        { _tag: "ApprovalReasonDropped", message: 1, id: "a", reason: "It is fine" }
      ])
    })

    it("settles a denied one in any turn", () => {
      const { conversation, repairs } = read(
        assistant(call("a"), request("q", "a")),
        tool(response("q", false, "too dear")),
        assistant(call("b"), request("r", "b")),
        tool(response("r", false))
      )
      assert.deepStrictEqual(statesOf(conversation), [
        ["a", { _tag: "Settled", outcome: "Denied", result: "This call was denied: too dear" }],
        ["b", { _tag: "Settled", outcome: "Denied", result: "This call was denied." }]
      ])
      assert.deepStrictEqual(repairs, [])
    })

    it.each([[true], [false]])("doesn't wait in an earlier turn, answered: %s", (isAnswered) => {
      const { conversation, repairs } = read(
        assistant(call("a"), request("q", "a")),
        tool(...(isAnswered ? [response("q", true)] : [])),
        assistant(text("Done."))
      )
      assert.deepStrictEqual(statesOf(conversation), [["a", interrupted]])
      assert.deepStrictEqual(repairs.filter((repair) => repair._tag !== "EmptyMessageDropped"), [
        { _tag: "ApprovalRequestDropped", message: 0, approvalId: "q", id: "a" },
        { _tag: "MissingResultSettled", message: 0, id: "a" },
        ...(isAnswered
          ? [{ _tag: "ApprovalResponseDropped" as const, message: 1, approvalId: "q", approved: true }]
          : [])
      ])
    })

    it("is history where the call has its result", () => {
      const { conversation, repairs } = read(
        assistant(call("a"), request("q", "a")),
        tool(response("q", true, "ok"), result("a", 1))
      )
      assert.deepStrictEqual(statesOf(conversation), [["a", succeeded(1)]])
      assert.deepStrictEqual(repairs, [
        { _tag: "ApprovalRequestDropped", message: 0, approvalId: "q", id: "a" },
        { _tag: "ApprovalResponseDropped", message: 1, approvalId: "q", approved: true, reason: "ok" }
      ])
    })

    it("is reported where there is no such call, and no such request", () => {
      assert.deepStrictEqual(read(assistant(request("q", "a")), tool(response("r", false, "no"))).repairs, [
        { _tag: "ApprovalRequestDropped", message: 0, approvalId: "q", id: "a" },
        { _tag: "ApprovalResponseDropped", message: 1, approvalId: "r", approved: false, reason: "no" }
      ])
    })

    it("counts the request that was answered, then the first", () => {
      const { conversation, repairs } = read(
        assistant(call("a"), request("q", "a"), request("r", "a"), request("s", "a")),
        tool(response("r", true), response("s", false, "no"))
      )
      assert.deepStrictEqual(statesOf(conversation), [["a", { _tag: "Approved" }]])
      assert.deepStrictEqual(repairs, [
        { _tag: "ApprovalRequestDropped", message: 0, approvalId: "q", id: "a" },
        { _tag: "ApprovalRequestDropped", message: 0, approvalId: "s", id: "a" },
        { _tag: "ApprovalResponseDropped", message: 1, approvalId: "s", approved: false, reason: "no" }
      ])
    })

    const denied: Conversation.Settled = {
      _tag: "Settled",
      outcome: "Denied",
      result: "This call was denied: no"
    }

    it.each([[true], [false]])(
      "gives each call of an id its own request, in order; each behind its call: %s",
      (isBehind) => {
        const { conversation } = read(
          isBehind
            ? assistant(call("a"), request("q", "a"), call("a"), request("r", "a"))
            : assistant(call("a"), call("a"), request("q", "a"), request("r", "a")),
          tool(response("q", true), response("r", false, "no"))
        )
        assert.deepStrictEqual(statesOf(conversation), [["a", { _tag: "Approved" }], ["a-2", denied]])
      }
    )

    it("approves no call of several that have one id if nobody knows which of them somebody saw", () => {
      const { conversation, repairs } = read(
        assistant(call("a"), call("a"), request("q", "a")),
        tool(response("q", true, "fine"), result("a", 1))
      )
      assert.deepStrictEqual(statesOf(conversation), [["a", succeeded(1)], ["a-2", { _tag: "AwaitingApproval" }]])
      assert.deepStrictEqual(repairs, [
        { _tag: "CallIdReplaced", message: 0, id: "a", replacement: "a-2" },
        { _tag: "ApprovalResponseDropped", message: 1, approvalId: "q", approved: true, reason: "fine" }
      ])
      assert.deepStrictEqual(
        statesOf(read(assistant(call("a"), request("q", "a"), call("a")), tool(response("q", true))).conversation),
        [["a", { _tag: "Approved" }], ["a-2", interrupted]]
      )
    })

    it("counts the first answer", () => {
      const { conversation, repairs } = read(
        assistant(call("a"), request("q", "a")),
        tool(response("q", false, "no"), response("q", true))
      )
      assert.deepStrictEqual(statesOf(conversation), [
        ["a", { _tag: "Settled", outcome: "Denied", result: "This call was denied: no" }]
      ])
      assert.deepStrictEqual(repairs, [
        { _tag: "ApprovalResponseDropped", message: 1, approvalId: "q", approved: true }
      ])
    })
  })

  describe("messages", () => {
    it("keeps those of one role in a row apart", () => {
      const { conversation, repairs } = read(
        user(text("1")),
        user(text("2")),
        assistant(text("3")),
        assistant(text("4"))
      )
      assert.deepStrictEqual(repairs, [])
      assert.deepStrictEqual(conversation.turns.map(Conversation.textOf), ["1", "2", "3", "4"])
    })

    it("leaves out empty ones", () => {
      const { conversation, repairs } = read(user(), assistant(), tool())
      assert.deepStrictEqual(conversation.turns, [])
      assert.deepStrictEqual(repairs, [
        { _tag: "EmptyMessageDropped", message: 0, role: "user" },
        { _tag: "EmptyMessageDropped", message: 1, role: "assistant" },
        { _tag: "EmptyMessageDropped", message: 2, role: "tool" }
      ])
    })

    it("carries the options of a whole message in a repair, and keeps those of parts", () => {
      const { conversation, repairs } = read(Prompt.userMessage({
        content: [Prompt.textPart({ text: "Hi", options: { anthropic: { cache: 1 } } })],
        options: { anthropic: { cache: 2 } }
      }))
      assert.deepStrictEqual(conversation.turns, [
        { _tag: "User", parts: [Conversation.text("Hi", { anthropic: { cache: 1 } })] }
      ])
      assert.deepStrictEqual(repairs, [
        { _tag: "MessageOptionsDropped", message: 0, options: { anthropic: { cache: 2 } } }
      ])
    })

    it("keeps files as they are, and reasoning with its signature", () => {
      const bytes = new Uint8Array([1, 2])
      const url = new URL("https://example.com/a.png")
      const { conversation, repairs } = Conversation.fromPrompt(Prompt.fromMessages([
        user(Prompt.filePart({ mediaType: "image/png", data: url, fileName: "a.png" })),
        assistant(
          Prompt.reasoningPart({ text: "Hm.", options: { anthropic: { signature: "s" } } }),
          Prompt.filePart({ mediaType: "image/png", data: bytes, fileName: undefined })
        )
      ]))
      assert.deepStrictEqual(repairs, [])
      assert.deepStrictEqual(conversation.turns.map((turn) => "parts" in turn ? turn.parts : []), [
        [{ _tag: "File", mediaType: "image/png", data: url, fileName: "a.png" }],
        [
          { _tag: "Reasoning", text: "Hm.", metadata: { anthropic: { signature: "s" } } },
          { _tag: "File", mediaType: "image/png", data: bytes }
        ]
      ])
    })

    it("carries parts in a repair that can't stand where they are", () => {
      const part = Prompt.reasoningPart({ text: "Hm." })
      const parts: ReadonlyArray<Prompt.Part> = [part]
      const { conversation, repairs } = read(
        Prompt.toolMessage({ content: parts as ReadonlyArray<Prompt.ToolResultPart> })
      )
      assert.deepStrictEqual(conversation.turns, [])
      assert.deepStrictEqual(repairs, [{ _tag: "PartDropped", message: 0, part: { ...part } }])
    })
  })

  describe("values", () => {
    const paramsOf = (params: unknown): readonly [params: unknown, changes: ReadonlyArray<unknown>] => {
      const { conversation, repairs } = Conversation.fromPrompt(Prompt.fromMessages([
        assistant(Prompt.toolCallPart({ id: "a", name: "search", params, providerExecuted: false })),
        tool(result("a", null))
      ]))
      return [
        callsIn(conversation)[0]?.params,
        repairs.flatMap((repair): ReadonlyArray<unknown> => "changes" in repair ? repair.changes : [repair])
      ]
    }

    const cyclic: Record<string, unknown> = { name: "me" }
    cyclic.child = { parent: cyclic }

    it.each<[string, unknown, unknown, string]>([
      ["a bigint", { n: 12n }, { n: "12" }, "bigint"],
      ["no number", { n: Number.NaN }, { n: "NaN" }, "number"],
      ["a symbol", { n: Symbol("s") }, { n: "Symbol(s)" }, "symbol"],
      ["a function", { n: function named() {} }, { n: "function named" }, "function"],
      ["a date", { n: new Date(0) }, { n: "1970-01-01T00:00:00.000Z" }, "Date"],
      ["no date", { n: new Date(Number.NaN) }, { n: "Invalid Date" }, "Date"],
      ["a URL", { n: new URL("https://example.com/") }, { n: "https://example.com/" }, "URL"],
      ["bytes", { n: new Uint8Array([104, 105]) }, { n: "aGk=" }, "Uint8Array"],
      ["a set", { n: new Set([1]) }, { n: [1] }, "Set"],
      ["an error", { n: new TypeError("bad") }, { n: { name: "TypeError", message: "bad" } }, "TypeError"],
      ["nothing in a field", { n: undefined }, {}, "undefined"]
    ])("makes %s JSON and tells where it was", (_what, params, json, was) => {
      assert.deepStrictEqual(paramsOf(params), [json, [{ path: ["n"], was }]])
    })

    it("makes no parameters at all an empty object: providers want one", () => {
      assert.deepStrictEqual(paramsOf(undefined), [{}, [{ path: [], was: "undefined" }]])
    })

    it("cuts a cycle where it closes", () => {
      assert.deepStrictEqual(paramsOf(cyclic), [
        { name: "me", child: { parent: "[cycle]" } },
        [{ path: ["child", "parent"], was: "cycle" }]
      ])
    })

    it("keeps what is shared, which is no cycle", () => {
      const shared = { deep: 1 }
      assert.deepStrictEqual(paramsOf([shared, shared, undefined]), [
        [{ deep: 1 }, { deep: 1 }, null],
        [{ path: [2], was: "undefined" }]
      ])
    })

    it("survives what can't be read", () => {
      const unreadable = {
        get n() {
          throw new Error("no")
        }
      }
      assert.deepStrictEqual(paramsOf({ unreadable }), [
        { unreadable: "[unreadable]" },
        [{ path: ["unreadable"], was: "unreadable" }]
      ])
    })

    it("keeps a key that names the prototype a key", () => {
      const [json] = paramsOf({ ...JSON.parse(`{ "__proto__": { "admin": true } }`), n: 1n })
      assert.strictEqual(JSON.stringify(json), `{"__proto__":{"admin":true},"n":"1"}`)
    })

    it("copies JSON, so that the prompt's owner can't change the conversation", () => {
      const params = { deep: [1, { a: null }] }
      assert.deepStrictEqual(paramsOf(params)[0], params)
      assert.notStrictEqual(paramsOf(params)[0], params)
      const bytes = new Uint8Array([1, 2])
      const address = new URL("https://example.com/a")
      const content = [
        Prompt.filePart({ mediaType: "image/png", data: bytes }),
        Prompt.filePart({ mediaType: "image/png", data: address })
      ]
      const { conversation } = Conversation.fromPrompt(Prompt.fromMessages([Prompt.userMessage({ content })]))
      bytes[0] = 9
      address.pathname = "/b"
      const [turn] = conversation.turns
      assert.deepStrictEqual(
        turn?._tag === "User" && turn.parts.map((part) => part._tag === "File" && part.data),
        [new Uint8Array([1, 2]), new URL("https://example.com/a")]
      )
    })

    it("ends what is nested too deeply at 500 levels", () => {
      const nested = (levels: number): unknown => levels === 0 ? "bottom" : { in: nested(levels - 1) }
      assert.strictEqual(JSON.stringify(paramsOf(nested(500))[0]), JSON.stringify(nested(500)))
      const [json] = paramsOf(nested(5_000))
      assert.strictEqual(JSON.stringify(json), JSON.stringify(nested(500)).replace("bottom", "[nested too deeply]"))
    })

    it("reports results, metadata and the call they belong to", () => {
      const vague: unknown = { openai: { missing: undefined } }
      const { repairs } = Conversation.fromPrompt(Prompt.fromMessages([
        assistant(call("a")),
        tool(Prompt.toolResultPart({
          id: "a",
          name: "search",
          isFailure: false,
          result: 1n,
          providerExecuted: false,
          options: vague as Prompt.ProviderOptions
        }))
      ]))
      assert.deepStrictEqual(repairs, [
        { _tag: "ValueMadeJson", message: 1, id: "a", field: "result", changes: [{ path: [], was: "bigint" }] },
        {
          _tag: "ValueMadeJson",
          message: 1,
          id: "a",
          field: "metadata",
          changes: [{ path: ["missing"], was: "undefined" }]
        }
      ])
    })
  })
})
