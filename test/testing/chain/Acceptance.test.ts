/**
 * The requirements of the specification of instruction chains, criterion by criterion, with its examples.
 */
import { assert, describe, it } from "@effect/vitest"
import { InstructionChain } from "troupe/testing"
import { assistant, chainOf, choose, marked, partsOf, say, system, textOf, tool, user } from "./request.ts"

const abc = user(chainOf(say("A"), say("B"), say("C")))

describe("1. Discovery of the chain", () => {
  const example = [
    user("Previous interaction..."),
    assistant("Previous response..."),
    user(
      "Start workflow\n<|instruction_start|>\n"
        + "{\"instruction_chain\": [{\"id\": \"step-1\", \"messages\": [{\"text\": \"1\"}]},"
        + " {\"id\": \"step-2\", \"messages\": [{\"text\": \"2\"}]}]}"
        + "\n<|instruction_end|>"
    ),
    assistant("First response")
  ]

  it("1.1 scans from the newest message to the oldest", () => {
    const choice = choose(example)
    assert.strictEqual(textOf(choice), "2")
    assert.deepStrictEqual(choice._tag === "Chosen" && choice.step, { index: 1, length: 2, message: 2, id: "step-2" })
  })

  it("1.2 uses the last chain of several", () => {
    const conversation = [abc, assistant("A"), user(chainOf(say("new")))]
    assert.strictEqual(textOf(choose(conversation)), "new")
    assert.strictEqual(textOf(choose([user(`${chainOf(say("old"))} and ${chainOf(say("new"))}`)])), "new")
    assert.strictEqual(textOf(choose([user(chainOf(say("old")), chainOf(say("new")), "?")])), "new")
  })

  it("1.3 parses and validates the chain of a user's message, and of no other", () => {
    for (const other of [system, assistant, tool]) {
      assert.strictEqual(textOf(choose([abc, other(chainOf(say("no")))])), other === assistant ? "B" : "A")
      assert.strictEqual(choose([user("Hello"), other(chainOf(say("no")))])._tag, "Absent")
    }
  })

  it("1.4 leaves a conversation without a chain to the fallback", () => {
    assert.deepStrictEqual(choose([user("Hello")]), {
      _tag: "Absent",
      reason: "no message of the user carries an instruction chain",
      warnings: []
    })
    assert.strictEqual(choose([])._tag, "Absent")
  })
})

describe("2. Counting of the model's turns", () => {
  it("2.1 counts those after the chain", () => {
    assert.strictEqual(textOf(choose([user("Hi"), assistant("Hi"), user("And?"), assistant("So"), abc])), "A")
    assert.strictEqual(textOf(choose([abc, assistant("A"), user("go on")])), "B")
  })

  it("2.2 counts several calls at once as one turn, also where a client sends each as a message", () => {
    assert.strictEqual(textOf(choose([abc, assistant(), tool("1"), tool("2")])), "B")
    assert.strictEqual(
      textOf(choose([abc, assistant("I'll look"), assistant(), assistant(), tool("1"), tool("2")])),
      "B"
    )
    assert.strictEqual(textOf(choose([abc, assistant(), system("note"), assistant(), tool("1")])), "B")
  })

  it("2.3 counts messages of the assistant alone", () => {
    assert.strictEqual(textOf(choose([abc, user("x"), tool("x"), system("x"), user()])), "A")
    assert.strictEqual(textOf(choose([abc, tool(), assistant(""), tool(), user("x"), tool(), user("y")])), "B")
  })

  it("2.4 answers turn n with step n", () => {
    const steps = Array.from({ length: 200 }, (_, index) => say(String(index)))
    const conversation = [user(chainOf(...steps))]
    for (let turn = 0; turn < 200; turn++) {
      assert.strictEqual(textOf(choose(conversation)), String(turn))
      conversation.push(assistant("…"), turn % 2 === 0 ? tool("…") : user("…"))
    }
  })
})

describe("3. The step of that number", () => {
  it("3.1 to 3.3 answer as the example flow has it", () => {
    const conversation = [abc]
    const flow = ["A", "B", "C", "Exhausted", "Exhausted"].map((expected) => {
      const choice = textOf(choose(conversation))
      conversation.push(assistant(expected), tool("…"))
      return choice
    })
    assert.deepStrictEqual(flow, ["A", "B", "C", "Exhausted", "Exhausted"])
  })

  it("3.4 answers as the step says", () => {
    const steps = [
      { id: "step-1", id_message: "initial-analysis", messages: [{ text_message: { length: 50 } }] },
      {
        id: "step-2",
        id_message: "tool-execution",
        messages: [{ tool_call: [{ name: "analyze_data", args: { data: "sample" } }] }]
      },
      { id: "step-3", id_message: "summary", messages: [{ text_message: { length: 100 } }] }
    ]
    const conversation = [user(chainOf(...steps))]
    assert.strictEqual(textOf(choose(conversation)).split(" ").length, 50)
    conversation.push(assistant("…"), user("…"))
    assert.deepStrictEqual(partsOf(choose(conversation)), [
      { type: "tool-call", name: "analyze_data", params: { data: "sample" } }
    ])
    conversation.push(assistant(), tool("…"))
    assert.strictEqual(textOf(choose(conversation)).split(" ").length, 100)
  })
})

describe("4. The format", () => {
  it("4.1 and 4.2 keep the order of an array", () => {
    assert.deepStrictEqual(InstructionChain.parse(marked("{\"instruction_chain\":{\"0\":{}}}"))._tag, "Failure")
    assert.strictEqual(textOf(choose([abc, assistant("A"), user(), assistant("B"), user()])), "C")
  })

  it("4.3 skips a step that lacks what it needs, with a warning, and shifts no other", () => {
    const conversation = [user(chainOf(say("A"), { id: "empty" }, 7, say("D")))]
    assert.strictEqual(textOf(choose(conversation)), "A")
    conversation.push(assistant("A"), user())
    const warnings = [
      "message 0: instruction_chain[1]: a step needs messages, reasoning, an error, a cut or a hang",
      "message 0: instruction_chain[2]: Expected an object"
    ]
    assert.deepStrictEqual(choose(conversation), {
      _tag: "Skipped",
      reason: "step 2 of the instruction chain in message 0 is invalid: "
        + "instruction_chain[1]: a step needs messages, reasoning, an error, a cut or a hang",
      warnings
    })
    conversation.push(assistant("fallback"), user())
    assert.strictEqual(choose(conversation)._tag, "Skipped")
    conversation.push(assistant("fallback"), user())
    assert.strictEqual(textOf(choose(conversation)), "D")
    assert.deepStrictEqual(choose(conversation).warnings, warnings)
  })

  it("4.4 leaves an empty chain to the fallback, and no older one takes over", () => {
    assert.deepStrictEqual(choose([abc, assistant("A"), user(chainOf())]), {
      _tag: "Exhausted",
      reason: "the instruction chain in message 2 has no steps",
      warnings: []
    })
  })
})

describe("5. The end", () => {
  it("5.1 to 5.4 leave every request past it to the fallback, with the reason, until there is a new chain", () => {
    const conversation = [user(chainOf(say("A")))]
    for (let turn = 1; turn < 5; turn++) {
      conversation.push(assistant("A"), user("more"))
      assert.deepStrictEqual(choose(conversation), {
        _tag: "Exhausted",
        reason: `the instruction chain in message 0 is exhausted: ${
          turn === 1 ? "1 turn" : `${turn} turns`
        } after it, 1 in it`,
        warnings: []
      })
    }
    conversation.push(assistant("A"), user(chainOf(say("again"))))
    assert.strictEqual(textOf(choose(conversation)), "again")
  })
})

describe("6. What is malformed", () => {
  const broken: Readonly<Record<string, string>> = {
    "{\"instruction_chain\":[}": "not JSON",
    "": "not JSON",
    "[]": "not an object",
    "null": "not an object",
    "7": "not an object",
    "{\"instruction_chain\":\"A\"}": "instruction_chain: Expected an array",
    "{}": "a step needs"
  }

  it("6.1 and 6.2 fall back with a warning, and no older chain takes over", () => {
    for (const [json, reason] of Object.entries(broken)) {
      const choice = choose([abc, assistant("A"), user(marked(json))])
      if (choice._tag !== "Malformed") return assert.fail(`${json} is ${choice._tag}`)
      assert.isTrue(
        choice.reason.startsWith(`the instruction chain in message 2 is malformed: ${reason}`),
        choice.reason
      )
      assert.deepStrictEqual(choice.warnings, [choice.reason])
    }
  })

  it("6.2 falls back where a chain isn't closed", () => {
    const choice = choose([abc, user("<|instruction_start|>{\"instruction_chain\":[")])
    assert.strictEqual(choice._tag, "Malformed")
    assert.strictEqual(
      choice.warnings[0],
      "the instruction chain in message 1 is malformed: <|instruction_start|> without <|instruction_end|>"
    )
  })

  it("6.3 begins at step 0 where nothing can be counted", () => {
    assert.strictEqual(textOf(choose([abc, user(), tool(), system()])), "A")
  })

  it("6.4 bears messages with nothing in them", () => {
    assert.strictEqual(choose([user(), assistant(), tool(), user("", "")])._tag, "Absent")
    assert.strictEqual(textOf(choose([user(""), assistant(), abc, assistant(), user()])), "B")
  })
})

describe("7. The older format", () => {
  const single = user(marked(JSON.stringify({ id_message: "old", messages: [{ text: "once" }] })))

  it("7.1 runs an instruction without a chain", () => {
    assert.strictEqual(textOf(choose([single])), "once")
  })

  it("7.2 doesn't count", () => {
    const conversation = [single]
    for (let turn = 0; turn < 4; turn++) {
      assert.strictEqual(textOf(choose(conversation)), "once")
      conversation.push(assistant("once"), user("again"))
    }
  })

  it("7.3 and 7.4 prefer the chain where both are there", () => {
    const both = { messages: [{ text: "old" }], instruction_chain: [say("new")] }
    const conversation = [user(marked(JSON.stringify(both)))]
    assert.strictEqual(textOf(choose(conversation)), "new")
    conversation.push(assistant("new"), user())
    assert.strictEqual(textOf(choose(conversation)), "Exhausted")
    assert.strictEqual(textOf(choose([user(marked(JSON.stringify({ ...both, instruction_chain: [] })))])), "Exhausted")
  })
})

describe("The scenarios", () => {
  const run = (...steps: ReadonlyArray<unknown>) => {
    const conversation = [user(chainOf(...steps))]
    return [...steps, undefined].map(() => {
      const parts = partsOf(choose(conversation))
      const isCall = typeof parts !== "string" && parts.some(({ type }) => type === "tool-call")
      conversation.push(assistant("…"), isCall ? tool("…") : user("…"))
      return parts
    })
  }
  const words = (parts: ReturnType<typeof partsOf> | undefined): ReadonlyArray<unknown> =>
    parts === undefined || typeof parts === "string"
      ? [parts ?? "nothing"]
      : parts.flatMap((part): ReadonlyArray<unknown> =>
        part.type === "text" || part.type === "reasoning"
          ? [part.type, part.text.split(" ").length]
          : part.type === "tool-call"
          ? [part.type, part.name]
          : []
      )

  it("1: a workflow of three steps", () => {
    const answers = run(
      { id: "analyze", messages: [{ text_message: { length: 30 } }] },
      { id: "process", messages: [{ tool_call: [{ name: "process_data", args: {} }] }] },
      { id: "summarize", messages: [{ text_message: { length: 50 } }] }
    )
    assert.deepStrictEqual(answers.map(words), [["text", 30], ["tool-call", "process_data"], ["text", 50], [
      "Exhausted"
    ]])
  })

  it("2: tools with reasoning", () => {
    const answers = run(
      { id: "fetch", reasoning: { length: 20 }, messages: [{ tool_call: [{ name: "fetch_data", args: {} }] }] },
      { id: "validate", messages: [{ tool_call: [{ name: "validate", args: {} }] }] },
      { id: "report", messages: [{ text_message: { length: 100 } }] }
    )
    assert.deepStrictEqual(answers.map(words), [
      ["reasoning", 20, "tool-call", "fetch_data"],
      ["tool-call", "validate"],
      ["text", 100],
      ["Exhausted"]
    ])
  })
})
