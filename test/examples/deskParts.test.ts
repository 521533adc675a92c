import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { Agent, type AgentEvent, AgentState, AgentStatus, Usage } from "troupe"
import { MockModel } from "troupe/testing"
import { desk, layer as tools } from "../../examples/desk/agents/desk.ts"
import { languageOf } from "../../examples/desk/model/languages.ts"
import { emailOf, ordersOf } from "../../examples/desk/model/message.ts"
import * as Model from "../../examples/desk/model/model.ts"
import { type Before, read } from "../../examples/desk/model/reading.ts"
import * as Options from "../../examples/desk/options.ts"
import { harmless, nothing, plain, show } from "../../examples/desk/terminal.ts"
import { assertLinear } from "../growth.ts"

const wished = (said: string, before?: Before) =>
  read(said, before).tasks.map(({ order, wish }) => order === undefined ? wish : `${wish} ${order}`)

describe("reading", () => {
  it("reads a wish and its order", () => {
    const cases: Readonly<Record<string, ReadonlyArray<string>>> = {
      "My lamp arrived broken, order 1042": ["claim 1042"],
      "I want to return order 1038, the kettle doesn’t work": ["claim 1038"],
      "Where are 1042 and 1043?": ["where 1042", "where 1043"],
      "1042 and 1043 are broken": ["claim 1042", "claim 1043"],
      "Cancel 1044 and tell me where 1043 is": ["cancel 1044", "where 1043"],
      "Where is #1043? And what are your opening hours?": ["where 1043", "hours"],
      "1042": ["status 1042"],
      "I don't want to cancel order 1044": ["status 1044"],
      "Is order 1044 cancelled?": ["status 1044"],
      "please have order 1044 cancelled": ["cancel 1044"],
      "what can you do?": ["greeting"],
      "how much is shipping?": ["shipping"],
      "Can I get an invoice for order 1043?": ["payment"],
      "Hello! Thanks, bye": ["thanks"],
      "Do you have lamps in stock?": ["product"],
      "lamp": ["product"],
      "I was here in 2026": ["unclear"],
      "where is the moon": ["unclear"],
      "where is the lamp": ["where"],
      "refund me 10000 euros": ["return"],
      "How do I return things?": ["returns"],
      "I was charged twice for order 1042": ["charge 1042"],
      "which warranty has the kettle?": ["terms"],
      "something cheaper?": ["recommend"],
      "Can I buy a kettle?": ["product"],
      "I want to buy a kettle": ["buy"],
      "I don't want to buy anything": ["unclear"],
      "Meine Lampe ist kaputt, Bestellung 1042": ["foreign"],
      "": ["unclear"]
    }
    for (const [said, tasks] of Object.entries(cases)) assert.deepStrictEqual(wished(said), tasks, said)
  })

  it("tells order numbers from years, prices and mail addresses", () => {
    assert.deepStrictEqual(ordersOf("order no. 7, #12, 1042 (2026-03-12), €1234, 1500€, a.1043@example.com, 1042"), [
      "7",
      "12",
      "1042"
    ])
  })

  it("takes a time that grows with a message and not with its square", () => {
    for (const piece of ["a", "1", "a.", "-", " ", "\n", "where ", "want "]) {
      assertLinear((length) => `x${piece.repeat(length)}`.slice(0, length), 620, read, JSON.stringify(piece))
    }
    assert.strictEqual(
      emailOf("write to x..mara+shop@mail.example.com, or to no@body"),
      "x..mara+shop@mail.example.com"
    )
  })

  it("takes what a message lacks from the exchange before", () => {
    const asked: Before = { reading: read("My lamp is broken"), answer: "Which order is it?", orders: [] }
    assert.deepStrictEqual(wished("1042", asked), ["claim 1042"])
    assert.deepStrictEqual(wished("no, thanks", asked), ["declined"])
    assert.isTrue(read("I don't know", asked).isAgain)

    const offered: Before = {
      reading: read("cancel 1042"),
      answer: "Shall I start a return instead?",
      orders: ["1042"]
    }
    assert.deepStrictEqual(wished("yes please", offered), ["return 1042"])
    assert.deepStrictEqual(wished("where is it?", offered), ["where 1042"])

    const answered: Before = { reading: read("where is 1043"), answer: "It is due on 18 March.", orders: ["1043"] }
    assert.deepStrictEqual(wished("cancel it", answered), ["cancel 1043"])
    assert.deepStrictEqual(wished("yes", answered), ["noted"])
  })

  it("knows languages by their words", () => {
    assert.strictEqual(languageOf("où est mon colis"), "fr")
    assert.strictEqual(languageOf("мой заказ"), "other")
    assert.strictEqual(languageOf("where is my order? it is not here"), undefined)
  })
})

const services = Layer.mergeAll(Model.layer, tools)

/** The answers of the desk in a conversation. */
const answers = (...inputs: readonly [string, ...Array<string>]) =>
  Agent.runMultiTurn(desk, inputs).pipe(
    Effect.map((state) => state.conversation.turns),
    Effect.map((turns) =>
      turns.flatMap((turn) =>
        turn._tag === "Assistant" && turn.parts.every((part) => part._tag === "Text")
          ? [turn.parts.map((part) => part._tag === "Text" ? part.text : "").join("")]
          : []
      )
    ),
    Effect.provide(services)
  )

describe("rules", () => {
  it.effect("know every status of an order", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, RegExp]> = [
        ["where is 1044", /ships on 17 March/],
        ["where is 1042", /was delivered on 12 March/],
        ["where is 1046", /was cancelled on 2 March/],
        ["where is 1040", /came back to us on 9 March/],
        ["cancel 1040", /came back to us/],
        ["cancel 1046", /cancelled already/],
        ["cancel 1045", /lost on its way/],
        ["return 1044", /Shall I cancel it instead\?$/],
        ["return 1043", /still on its way/],
        ["return order 1038", /label to mara@example\.com/],
        ["return the speaker of 1035", /30 days for returns ended on 11 February/],
        ["the mugs of 1035 are broken", /warranty of the Mist mug set ended on 11 February/],
        ["order 1044 is broken", /hasn't left us yet/],
        ["order 1043 is broken", /still on its way/],
        ["my kettle is broken, order 1042", /no kettle in order 1042/],
        ["order 1047 is broken", /Which one is it, the Fjord floor lamp or the Ember bulb pack\?$/],
        ["where is my refund for 1040", /returned on 9 March, and €48\.00 go back/],
        ["I was charged twice for 1042", /comes to €89\.00, and nothing of it has gone back/],
        ["order 7777 is broken", /can't find an order 7777/],
        ["is 1027 under warranty", /ended on 6 May 2025/],
        ["where is my parcel, nobody@example.com", /no orders of nobody@example\.com/],
        ["where is my clock, jonas@example.com", /due on 18 March/],
        ["where is my parcel, mara@example.com", /1038.*\n.*1042.*\n.*1048.*\nWhich one is it\?$/]
      ]
      for (const [said, answer] of cases) assert.match((yield* answers(said)).at(-1) ?? "", answer, said)
    }))

  it.effect("cancel and claim once", () =>
    Effect.gen(function*() {
      const said = yield* answers("cancel 1044", "cancel 1044 please", "1042 is broken", "I want to return 1042")
      assert.match(said[0]!, /€199\.00 go back/)
      assert.match(said[1]!, /cancelled already, since 16 March/)
      assert.match(said[2]!, /C-1042-1/)
      assert.match(said[3]!, /taken care of already, under C-1042-1/)
    }))

  it.effect("know what \"it\" is", () =>
    Effect.gen(function*() {
      const said = yield* answers("Do you have the Fjord lamp in stock?", "what does it cost?")
      assert.deepStrictEqual(said, [
        "Fjord floor lamp: €249.00, 3 in stock, with a warranty of 24 months.",
        "Fjord floor lamp: €249.00, 3 in stock, with a warranty of 24 months."
      ])
    }))

  it.effect("sell what there is, recommend what fits, and take \"it\" for what was spoken of", () =>
    Effect.gen(function*() {
      const said = yield* answers(
        "I want to buy a lamp",
        "the fjord one",
        "two more",
        "one more",
        "something cheaper?",
        "thanks",
        "I'll take it",
        "what are the prices of your chairs and rugs?",
        "recommend something under 20 euros",
        "do you have umbrellas?",
        "a toaster"
      )
      assert.match(said[0]!, /^We have 2 that fit:\n.*\n.*\nWhich one would you like\?$/)
      assert.match(said[1]!, /I've set the Fjord floor lamp aside .* B-1\. Pay €249\.00/)
      assert.match(said[2]!, /I've set 2 × Fjord floor lamp aside .* B-2\. Pay €498\.00/)
      assert.match(said[3]!, /Fjord floor lamp is sold out/)
      assert.match(said[4]!, /^I'd take the Aurora desk lamp: €89\.00/)
      assert.match(said[6]!, /aside .* B-3/)
      assert.match(said[7]!, /Loom office chair.*\n.*Hav wool rug/)
      assert.match(said[8]!, /^I'd take the Ember bulb pack/)
      assert.match(said[9]!, /nothing like "umbrellas"/)
      assert.match(said[10]!, /nothing like "toaster"/)
    }))

  it.effect("call no tool that isn't the agent's own", () =>
    Effect.gen(function*() {
      yield* Agent.runMultiTurn(desk, [
        "1042 is broken",
        "is 1035 under warranty?",
        "which warranty has the kettle?",
        "cancel 1044, and which lamps do you have?",
        "return 1038 and tell me when you are open",
        "I was charged twice, tom@example.com",
        "where is 1045?",
        "a refund please"
      ])
      for (const { request, response } of yield* MockModel.calls) {
        const called = (response?.parts ?? []).flatMap((part) => part.type === "tool-call" ? [part.name] : [])
        assert.includeMembers([...request.toolNames], called, request.agent)
      }
      const offeredTo = new Map((yield* MockModel.calls).map(({ request }) => [
        [request.agent, ...(request.state?.modes ?? []).map(({ name }) => name)].join(" in "),
        [...request.toolNames].sort()
      ]))
      assert.deepStrictEqual(Object.fromEntries(offeredTo), {
        triage: ["handoff_to_orders", "handoff_to_refunds", "handoff_to_sales"],
        refunds: [
          "enter_supervised_refund_mode",
          "find_order",
          "find_orders_of",
          "handoff_to_orders",
          "handoff_to_sales",
          "handoff_to_triage",
          "open_claim",
          "start_return"
        ],
        "refunds in supervised refund": ["exit_current_mode", "find_order", "open_claim"],
        orders: [
          "cancel_order",
          "find_order",
          "find_orders_of",
          "handoff_to_refunds",
          "handoff_to_sales",
          "handoff_to_triage",
          "track_parcel"
        ],
        sales: ["handoff_to_orders", "handoff_to_refunds", "handoff_to_triage", "search_products", "set_aside"]
      })
    }).pipe(Effect.provide(services)))

  it.effect("make the calls of several tasks side by side", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(desk, "Where are 1043 and 1045?").pipe(Effect.provide(services))
      assert.deepStrictEqual(
        state.conversation.turns.flatMap((turn) =>
          turn._tag === "Assistant" ? [turn.parts.filter((part) => part._tag === "Call").length] : []
        ),
        [1, 2, 2, 0]
      )
      assert.isAbove(Usage.exact(state.usage.input) ?? 0, 100)
    }))
})

const at = { path: ["triage"] as const, calls: [], run: "", step: 0, sequence: 0, at: 0 }
const call = { ...at, callId: "call_1", name: "find_order" }

/** What a terminal holds after some events. */
const shownAfter = (...events: ReadonlyArray<AgentEvent.AgentEvent>): string =>
  events.reduce(
    ({ shown, text }, event) => {
      const [next, added] = show(shown, event, plain)
      return { shown: next, text: text + added }
    },
    { shown: nothing, text: "" }
  ).text

describe("rendering", () => {
  it("ends a line of text before the next thing", () => {
    assert.strictEqual(
      shownAfter(
        { _tag: "TextDelta", ...at, delta: "One" },
        { _tag: "TextDelta", ...at, delta: " moment." },
        { _tag: "ToolCallStarted", ...call, params: { order: "1042" } },
        {
          _tag: "ToolCallSettled",
          ...call,
          outcome: "Failed",
          result: { _tag: "OrderNotFound", order: "1042" },
          duration: 1200
        }
      ),
      "triage: One moment.\n  → find_order(order: \"1042\")\n  ✗ find_order (failed, 1.2 s) OrderNotFound order: \"1042\"\n"
    )
  })

  it("names who speaks once, and who takes over", () => {
    const orders = { ...at, path: ["orders"] as const }
    const request = { target: "orders", reason: "where an order is", context: { order: "1043" } }
    assert.strictEqual(
      shownAfter(
        { _tag: "TextDelta", ...at, delta: "One moment:" },
        { _tag: "HandoffCompleted", ...at, request },
        { _tag: "TextDelta", ...orders, delta: "It is\n" },
        { _tag: "TextDelta", ...orders, delta: "on its way." },
        { _tag: "ModelResponded", ...orders, parts: [], usage: {}, finishReason: "stop" },
        { _tag: "TextDelta", ...orders, delta: "Really." }
      ),
      "triage: One moment:\n  ⇒ orders takes over from triage: where an order is (order: \"1043\")\n" +
        "orders: It is\non its way.\norders: Really."
    )
  })

  it("says what isn't known of tokens", () => {
    const state = AgentState.make("triage")
    const ended = (usage: Usage.Usage, status: AgentStatus.AgentStatus) =>
      shownAfter({ _tag: "RunCompleted", ...at, state: { ...state, status, run: { ...state.run, steps: 1, usage } } })
    const unknown = Usage.add(Usage.empty, {})
    assert.strictEqual(
      ended(unknown, AgentStatus.complete),
      "— triage: complete, 1 step, tokens: unknown in, unknown out\n"
    )
    assert.strictEqual(
      ended(Usage.add(unknown, { input: 7 }), AgentStatus.failed({ tag: "Oops", message: "", agent: "desk", step: 0 })),
      "— triage: failed: Oops, 1 step, tokens: at least 7 in, unknown out\n"
    )
  })

  it("lets no control character through but line breaks and tabs", () => {
    const all = Array.from({ length: 0x300 }, (_, code) => String.fromCharCode(code)).join("")
    assert.match(harmless(`${all}\u202e\u2066`), /^[^\p{Cc}\p{Bidi_Control}]*\t\n[^\p{Cc}\p{Bidi_Control}]*$/u)
    assert.strictEqual(harmless("\u001b[2J 👩‍🚀 é"), "␛[2J 👩‍🚀 é")
  })
})

describe("options", () => {
  const words = (...args: ReadonlyArray<string>) =>
    Result.map(Options.parse(args), (wish) => wish === "help" ? wish : wish.words)

  it("takes for words whatever isn't a flag", () => {
    assert.deepStrictEqual(words("a", "b", "--json", "c"), Result.succeed("a b c"))
    assert.deepStrictEqual(words("- my lamp, order 1042"), Result.succeed("- my lamp, order 1042"))
    assert.deepStrictEqual(words("--", "--lamp"), Result.succeed("--lamp"))
    assert.deepStrictEqual(words("--state", "a b", "c"), Result.succeed("c"))
    assert.deepStrictEqual(words("-h"), Result.succeed("help"))
    assert.deepStrictEqual(words(), Result.succeed(undefined))
  })

  it("names what is wrong", () => {
    const issue = (...args: ReadonlyArray<string>) => Result.getOrElse(words(...args), (wrong) => wrong.message)
    assert.strictEqual(issue("-x"), "Unknown option '-x'. Try --help.")
    assert.strictEqual(issue("--yes", "--no"), "--yes and --no exclude each other. Try --help.")
    assert.strictEqual(issue("--yes=3"), "Option '--yes' does not take an argument. Try --help.")
    assert.strictEqual(issue("--state"), "Option '--state <value>' argument missing. Try --help.")
    assert.strictEqual(issue(" "), "There is nothing to answer. Try --help.")
  })
})
