import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, FileSystem, Layer, Logger, PlatformError, Schema } from "effect"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Agent, AgentEvent, Trace } from "troupe"
import { missing, read as readDiagram } from "../mermaid.ts"
import { conversation } from "./fixtures/conversation.ts"

const fixtures = join(import.meta.dirname, "fixtures")
const golden = (name: string) => readFileSync(join(fixtures, name), "utf8")

/** Text that has ended a fence, a code span, a line, a statement or a block of somebody's. */
const nasties = [
  "`",
  "```",
  "````json",
  "~~~~",
  "\n",
  "\r",
  "\r\n",
  "\n\n",
  "\n```\n",
  "\n    ",
  "\n# Step 9",
  "\n- ",
  "\n> ",
  "\n---\n",
  "<!--",
  "<script>",
  "<br/>",
  "</pre>",
  "&amp;",
  "[a]: b",
  "|",
  "\\",
  "\\n",
  "*",
  "_",
  " ",
  "\t",
  "\u0000",
  "\u0085",
  "\u2028",
  "\u001b[31m",
  "\ud800",
  "\udc00",
  "😀",
  "é",
  "ﬂ°°35¶ß",
  "#",
  "#35;",
  ";",
  ":",
  "%%",
  "%%{init: {}}%%",
  "end",
  "END",
  " end ",
  "style",
  "classDef",
  "wrap:",
  "nowrap:",
  "$$x$$",
  "@{",
  "\"",
  "'",
  "{",
  "}",
  "(",
  ")",
  ",",
  "+",
  "-",
  "->>",
  "--x",
  "as",
  "participant",
  "Note over",
  "loop",
  "__proto__"
] as const

const Nasty = Schema.Array(Schema.Union([Schema.Literals(nasties), Schema.String])).pipe(
  Schema.check(Schema.isMaxLength(8))
)

const Events = Schema.Array(AgentEvent.AgentEvent)
const many = { arbitrary: { runs: 12 }, timeout: 60_000 }

/**
 * What Markdown makes of a document, by the rules of CommonMark for fences and code spans: one entry for each line that
 * is markup, with its code spans emptied, and one for each fence. Fails where a fence is left open.
 */
const skeleton = (markdown: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let open: string | undefined
  for (const line of markdown.split(/\r\n?|\n/)) {
    if (open !== undefined) {
      const close = /^ {0,3}(`{3,})[ \t]*$/.exec(line)?.[1]
      if (close !== undefined && close.length >= open.length) open = undefined
      continue
    }
    const fence = /^ {0,3}(`{3,})([^`]*)$/.exec(line)
    if (fence !== null) {
      open = fence[1]
      found.push(`fence ${fence[2]}`)
    } else {
      found.push(line.replace(/(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)/g, "code").replace(/\d+ more characters/, "n more"))
    }
  }
  assert.isUndefined(open, "a fence is left open")
  return found
}

describe("toMarkdown", () => {
  it("reads as the golden file does", () => {
    assert.strictEqual(Trace.toMarkdown(conversation()), golden("trace.md"))
  })

  it.prop("is the concatenation of the fragments of any events", [Events], ([events]) => {
    assert.strictEqual(Trace.toMarkdown(events), events.map((event) => Trace.fragment(event)).join(""))
  }, many)

  const silent: ReadonlyArray<string> = ["TextDelta", "ReasoningDelta", "ToolParamsDelta", "GuardrailStarted"]

  it.prop("gives each event a whole fragment, but deltas and guardrails that begin none", [AgentEvent.AgentEvent], ([
    event
  ]) => {
    const fragment = Trace.fragment(event)
    skeleton(fragment)
    if (silent.includes(event._tag)) {
      assert.strictEqual(fragment, "")
    } else {
      assert.match(fragment, /[^\n]\n\n$/)
    }
  }, many)

  it.prop("has the same structure whatever the content", [Nasty], ([nasty]) => {
    const content = `x${nasty.join("")}`
    assert.deepStrictEqual(
      skeleton(Trace.toMarkdown(conversation(content))),
      skeleton(Trace.toMarkdown(conversation("x")))
    )
  }, many)

  it("has the same structure for names that begin or end with what delimits them", () => {
    const [event] = conversation().filter((event) => event._tag === "StepStarted")
    for (const name of ["`", "``", "`a", "a`", " ", "", " a ", "`a`", "a``b", "\n"]) {
      assert.deepStrictEqual(skeleton(Trace.fragment({ ...event!, path: [name] })), ["## Step 1 of code", "", ""])
    }
  })

  it("holds nothing that steers a terminal", () => {
    for (const nasty of nasties) {
      assert.notMatch(Trace.toMarkdown(conversation(nasty)), /[^\P{Cc}\n\t]|\p{Cs}/u)
    }
  })

  it("keeps what was said as it was said", () => {
    const said = "# Title\n\n```ts\nconst a = `b`\n```\n\t<b>😀</b>"
    const [event] = conversation().filter((event) => event._tag === "FeedbackGiven")
    assert.include(Trace.toMarkdown([{ ...event!, text: said }]), `\n\n\`\`\`\`text\n${said}\n\`\`\`\`\n\n`)
  })

  it("takes any iterable, one that was stored too", () => {
    const stored = JSON.parse(JSON.stringify(Schema.encodeSync(Events)(conversation())))
    assert.strictEqual(Trace.toMarkdown(Schema.decodeUnknownSync(Events)(stored)), golden("trace.md"))
    assert.strictEqual(Trace.toMarkdown(new Set(conversation())), golden("trace.md"))
    assert.strictEqual(Trace.toMarkdown([]), "")
  })

  it("cuts long content at maxLength, 10,000 if none is given, and never within a character", () => {
    const [event] = conversation().filter((event) => event._tag === "FeedbackGiven")
    const shown = (text: string, maxLength?: number) =>
      Trace.fragment({ ...event!, text }, { maxLength }).split("\n").slice(3, -3).join("\n")
    assert.strictEqual(shown("a".repeat(10_000)), "a".repeat(10_000))
    assert.strictEqual(shown("a".repeat(10_001)), `${"a".repeat(10_000)}… (1 more characters)`)
    assert.strictEqual(shown("abc😀", 4), "abc… (2 more characters)")
    assert.strictEqual(shown("abc😀", 5), "abc😀")
    assert.strictEqual(shown("abc", 0), "… (3 more characters)")
  })

  it("says what a context window made of a request, and what it summarized", () => {
    const { ConversationSummarized, ModelCallStarted } = AgentEvent.AgentEvent.cases
    const here = { path: ["a"], calls: [], step: 0, sequence: 0, at: 0 } as const
    const asked = (window: AgentEvent.Window) =>
      Trace.fragment(ModelCallStarted.make({ ...here, attempt: 0, window })).trim()
    const at = "1970-01-01T00:00:00.000Z"
    assert.strictEqual(asked({ turns: 1, left: 0 }), `\`a\` asked the model at ${at} with 1 turn`)
    assert.strictEqual(
      asked({ turns: 3, left: 4, tokens: 120, by: "estimate" }),
      `\`a\` asked the model at ${at} with 3 turns of 7, about 120 tokens`
    )
    assert.strictEqual(
      asked({ turns: 3, left: 0, tokens: 120, by: "tokenizer" }),
      `\`a\` asked the model at ${at} with 3 turns, 120 tokens`
    )
    const event = ConversationSummarized.make({ ...here, text: "So far.", upTo: 4, except: [0], duration: 5 })
    assert.strictEqual(
      Trace.fragment(event).trim(),
      `\`a\` summarized 3 turns in 5 ms at ${at}:\n\n\`\`\`text\nSo far.\n\`\`\``
    )
    assert.include(Trace.fragment({ ...event, usage: { input: 7 } }), `at ${at}; tokens: 7 input:`)
    const lines = Trace.toMermaid([
      event,
      ModelCallStarted.make({ ...here, attempt: 0, window: { turns: 1, left: 3 } }),
      ModelCallStarted.make({ ...here, attempt: 0, window: { turns: 4, left: 0 } })
    ]).split("\n").map((line) => line.trim())
    assert.deepStrictEqual(lines.slice(-4, -1), [
      "Note over Agent1: summarized 3 turns#58; So far.",
      "Agent1->>Model: step 1, 1 of 4 turns",
      "Agent1->>Model: step 1"
    ])
  })

  it("says who was let run, with which parameters, and who wasn't", () => {
    const { CallApproved, CallDenied } = AgentEvent.AgentEvent.cases
    const call = { path: ["a"], calls: [], step: 0, sequence: 0, at: 0, callId: "c", name: "refund" } as const
    const at = "1970-01-01T00:00:00.000Z"
    const [plain, edited, denied] = [
      CallApproved.make(call),
      CallApproved.make({ ...call, params: { euros: 40 } }),
      CallDenied.make({ ...call, reason: "Too dear." })
    ]
    assert.deepStrictEqual([plain, edited, denied].map((event) => Trace.fragment(event).trim()), [
      `\`a\`: \`refund\` (\`c\`) was approved at ${at}`,
      `\`a\`: \`refund\` (\`c\`) was approved at ${at} with other parameters:\n\n` +
      "```json\n{\n  \"euros\": 40\n}\n```",
      `\`a\`: \`refund\` (\`c\`) was denied at ${at}:\n\n\`\`\`text\nToo dear.\n\`\`\``
    ])
    const lines = Trace.toMermaid([plain, edited, denied]).split("\n").map((line) => line.trim())
    assert.deepStrictEqual(lines.slice(-4, -1), [
      "User-->>Agent1: approves refund",
      "User-->>Agent1: approves refund with {\"euros\"#58;40}",
      "User-xAgent1: denies refund#58; Too dear."
    ])
  })

  it("shows times and numbers that no clock has", () => {
    const [event] = conversation()
    assert.include(Trace.fragment({ ...event!, at: Number.MAX_SAFE_INTEGER }), `at ${Number.MAX_SAFE_INTEGER} ms`)
  })
})

interface Drawn {
  readonly actors: ReadonlyArray<readonly [id: string, name: string]>
  readonly messages: ReadonlyArray<readonly [from: string, to: string, type: number, text: string]>
}

/** Reads a diagram as Mermaid does, its escapes as a browser shows them. */
const read = async (text: string): Promise<Drawn> => {
  const { db } = await readDiagram(text) as {
    readonly db: {
      readonly getActors: () => ReadonlyMap<string, { readonly name: string; readonly description: string }>
      readonly getMessages: () => ReadonlyArray<{
        readonly from: string
        readonly to: string
        readonly type: number
        readonly message: string
      }>
    }
  }
  const shown = (text: string) => text.replace(/ﬂ°°(\d+)¶ß/g, (_, code) => String.fromCharCode(Number(code)))
  return {
    actors: Array.from(db.getActors().values(), ({ name, description }) => [name, shown(description)] as const),
    messages: db.getMessages().map(({ from, to, type, message }) => [from, to, type, shown(message)] as const)
  }
}

const parses = (text: string) => Effect.promise(() => read(text))

describe("toMermaid", () => {
  it("reads as the golden file does", () => {
    assert.strictEqual(Trace.toMermaid(conversation()), golden("trace.mmd"))
  })

  describe.skipIf(missing !== undefined)("as Mermaid reads it", () => {
    it.effect.prop("is a diagram for any events", [Events], ([events]) => parses(Trace.toMermaid(events)), many)

    it.effect.prop("is a diagram at any moment of a run", [Nasty], ([nasty]) =>
      Effect.gen(function*() {
        const events = conversation(nasty.join(""))
        for (let n = 0; n <= events.length; n += 3) yield* parses(Trace.toMermaid(events.slice(0, n)))
      }), { arbitrary: { runs: 5 }, timeout: 60_000 })

    it.effect.prop("draws the same and shows all of any content", [Nasty], ([nasty]) =>
      Effect.gen(function*() {
        const content = `x${nasty.join("")}x`
        const plain = yield* parses(Trace.toMermaid(conversation("y"), { maxLength: 10_000 }))
        const drawn = yield* parses(Trace.toMermaid(conversation(content), { maxLength: 10_000 }))
        assert.deepStrictEqual(drawn.actors.map(([id]) => id), plain.actors.map(([id]) => id))
        assert.deepStrictEqual(
          drawn.messages.map(([from, to, type]) => [from, to, type]),
          plain.messages.map(([from, to, type]) => [from, to, type])
        )
        const line = (text: string) => text.replace(/[\s\p{Cc}]+/gu, " ").replace(/\p{Cs}/gu, "\uFFFD")
        assert.deepInclude(drawn.actors.map(([, name]) => name), line(`desk${content} / expert${content}`))
        assert.deepInclude(drawn.messages.map(([, , , text]) => text), line(`Answer in JSON.${content}`))
        assert.deepInclude(
          drawn.messages.map(([, , , text]) => text),
          line(`Failed: ${JSON.stringify(`No such tool.${content}`)}`)
        )
      }), many)
  })

  it("leaves nothing raw that Mermaid, Markdown or HTML reads", () => {
    const diagram = Trace.toMermaid(conversation(nasties.join("")), { maxLength: 10_000 })
    for (const line of diagram.trimEnd().split("\n").slice(2)) {
      const text = line.replace(/^ {2}(participant \w+ as |Note over \w+: |\w+(->>|-->>|-x)\w+: )/, "")
      assert.notMatch(text.replace(/#\d+;/g, "_"), /[#;:%<>&$@`\\]|\bend\b/i)
    }
  })

  it("draws a call that never started though an earlier one of its id did", () => {
    const [started, settled] = [conversation()[10]!, conversation()[16]!]
    assert(settled._tag === "ToolCallSettled" && settled.outcome === "Succeeded")
    const lastLine = (last: AgentEvent.AgentEvent) => Trace.toMermaid([started, settled, last]).split("\n").at(-2)!
    assert.match(lastLine({ ...settled, outcome: "Failed" }), /^ {2}Agent1-xTool2: Failed/)
    // As a call that enters a mode, which succeeds without a start.
    assert.match(lastLine(settled), /^ {2}Agent1->>Tool2: /)
  })

  it("writes out the word end, which would end a block for older parsers", () => {
    const [event] = conversation().filter((event) => event._tag === "FeedbackGiven")
    assert.include(Trace.toMermaid([{ ...event!, text: "the end, END ended" }]), "the #101;nd, #69;ND ended")
  })

  it("cuts messages and names at maxLength, 80 if none is given", () => {
    const [event] = conversation().filter((event) => event._tag === "FeedbackGiven")
    const shown = (text: string, maxLength?: number) =>
      /: (.*)\n/.exec(Trace.toMermaid([{ ...event!, text }], { maxLength }))?.[1]
    assert.strictEqual(shown("a".repeat(80)), "a".repeat(80))
    assert.strictEqual(shown("a".repeat(81)), `${"a".repeat(80)}…`)
    assert.strictEqual(shown(" a\n\nb ", 3), "a b")
    assert.strictEqual(shown(" \n"), "(empty)")
    assert.include(Trace.toMermaid([{ ...event!, path: ["abcdef"] }], { maxLength: 3 }), "as abc…\n")
  })

  it("tells a call that is answered by an agent from the one of the same id in the next run", () => {
    const all = conversation()
    const events = [...all.slice(0, 21), ...all.slice(11, 12), ...all.slice(20, 21)]
    const lines = Trace.toMermaid(events).split("\n")
    assert.strictEqual(lines.filter((line) => line.includes("as ask_expert")).length, 1)
    assert.match(lines.at(-3)!, /^ {2}Tool\d+-->>Agent1: "Bring a coat."$/)
  })
})

/** Tells the observers of each event in turn, as a run does. */
const run = (events: Iterable<AgentEvent.AgentEvent>) =>
  Effect.gen(function*() {
    const observers = yield* Agent.CurrentObservers
    for (const event of events) {
      for (const observer of observers) yield* observer(event)
    }
  })

const inFolder = <A, E, R>(use: (path: string, files: FileSystem.FileSystem) => Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    return yield* use(join(yield* files.makeTempDirectoryScoped(), "trace.md"), files)
  }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))

/** A file system whose files fail from the given write on, in the middle of it, and which counts and remembers. */
const failing = (from: number) => {
  const seen = { opened: 0, closed: 0, writes: 0, text: "" }
  const decoder = new TextDecoder()
  const full = PlatformError.systemError({ _tag: "WriteZero", module: "FileSystem", method: "writeAll" })
  const file = {
    writeAll: (bytes: Uint8Array) =>
      Effect.suspend(() => {
        seen.writes++
        const isFull = seen.writes >= from
        seen.text += decoder.decode(bytes.slice(0, 3))
        if (isFull) return Effect.fail(full)
        return Effect.andThen(
          Effect.yieldNow,
          Effect.sync(() => {
            seen.text += decoder.decode(bytes.slice(3))
          })
        )
      })
  } as FileSystem.File
  const open = Effect.acquireRelease(
    Effect.sync(() => {
      seen.opened++
      return file
    }),
    () =>
      Effect.sync(() => {
        seen.closed++
      })
  )
  return { seen, layer: FileSystem.layerNoop({ open: () => open }) }
}

const warnings = () => {
  const messages: Array<string> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
    messages.push(`${logLevel} ${Array.isArray(message) ? message[0] : message}`)
  })
  return { messages, layer: Logger.layer([logger]) }
}

describe("toFile", () => {
  it.live("holds each event before the run goes on", () =>
    inFolder((path, files) =>
      Effect.gen(function*() {
        const events = conversation()
        yield* Effect.forEach(events, (event, i) =>
          run([event]).pipe(
            Effect.andThen(files.readFileString(path)),
            Effect.map((text) => assert.strictEqual(text, Trace.toMarkdown(events.slice(0, i + 1))))
          )).pipe(Trace.toFile(path))
        assert.strictEqual(yield* files.readFileString(path), golden("trace.md"))
      })
    ))

  it.live(
    "can be read up to the last event of a process that was killed",
    () =>
      inFolder((path, files) =>
        Effect.gen(function*() {
          const signal = yield* Effect.callback<string | null | undefined>((resume) => {
            execFile(
              process.execPath,
              ["--conditions=@troupe/source", join(fixtures, "crash.ts"), path],
              (error) => resume(Effect.succeed(error?.signal))
            )
          })
          assert.strictEqual(signal, "SIGKILL")
          const text = yield* files.readFileString(path)
          assert.match(
            text,
            /^# `operator`\n\nStarted at \S+\n\n```text\nCut the power\.\n```\n\n## Step 1 of `operator`\n/
          )
          assert.match(text, /\n`operator` started `cut_power` \(`[^`]+`\) at \S+ with `\{\}`\n\n$/)
          skeleton(text)
        })
      ),
    30_000
  )

  it.live("cuts off what the file held, or appends to it", () =>
    inFolder((path, files) =>
      Effect.gen(function*() {
        const events = conversation().slice(0, 3)
        const log = Trace.toMarkdown(events, { maxLength: 5 })
        yield* files.writeFileString(path, "before\n\n")
        yield* run(events).pipe(Trace.toFile(path, { append: true, maxLength: 5 }))
        assert.strictEqual(yield* files.readFileString(path), `before\n\n${log}`)
        yield* Trace.toFile(run(events), path, { maxLength: 5 })
        assert.strictEqual(yield* files.readFileString(path), log)
      })
    ))

  it.live("gives each run its heading, and keeps parallel runs apart by whole fragments", () =>
    inFolder((path, files) =>
      Effect.gen(function*() {
        const one = conversation(" one")
        const two = conversation(" two")
        const slowly = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
          Effect.forEach(events, (event) => Effect.andThen(run([event]), Effect.yieldNow))
        yield* Effect.all([slowly(one), slowly(two)], { concurrency: 2 }).pipe(Trace.toFile(path))
        const text = yield* files.readFileString(path)
        assert.strictEqual(text.match(/^# `desk one`$/gm)?.length, 3)
        assert.strictEqual(text.match(/^# `desk two`$/gm)?.length, 3)
        let position = 0
        for (const event of one) {
          const found = text.indexOf(Trace.fragment(event), position)
          assert.isAtLeast(found, position)
          position = found + Trace.fragment(event).length
        }
        assert.strictEqual(text.length, Trace.toMarkdown([...one, ...two]).length)
      })
    ))

  it.effect("writes one fragment at a time, however many runs go on at once", () => {
    const { layer, seen } = failing(Infinity)
    return Effect.gen(function*() {
      const events = conversation()
      yield* Effect.all([run(events), run(events)], { concurrency: 2 }).pipe(Trace.toFile("a.md"))
      assert.strictEqual(seen.text, events.map((event) => Trace.fragment(event).repeat(2)).join(""))
    }).pipe(Effect.provide(layer))
  })

  it.live("is written by all who ask for it", () =>
    inFolder((path, files) =>
      Effect.gen(function*() {
        const events = conversation()
        yield* run(events).pipe(Trace.toFile(path), Trace.toFile(`${path}.2`))
        assert.strictEqual(yield* files.readFileString(path), golden("trace.md"))
        assert.strictEqual(yield* files.readFileString(`${path}.2`), golden("trace.md"))
      })
    ))

  it.effect("fails typed, before anything ran, when the file can't be opened", () =>
    Effect.gen(function*() {
      let ran = false
      const error = yield* Effect.sync(() => {
        ran = true
      }).pipe(Trace.toFile("no/such/folder/trace.md"), Effect.flip)
      assert.strictEqual(error._tag, "PlatformError")
      assert.strictEqual(error.reason._tag, "NotFound")
      assert.isFalse(ran)
    }).pipe(Effect.provide(NodeFileSystem.layer)))

  it.effect("lets the run go on when the disk is full, says so once and writes no more", () => {
    const { layer, seen } = failing(3)
    const { layer: logging, messages } = warnings()
    return Effect.gen(function*() {
      const events = conversation()
      const result = yield* run(events).pipe(Effect.as("answer"), Trace.toFile("full.md"))
      assert.strictEqual(result, "answer")
      assert.strictEqual(seen.writes, 3)
      assert.strictEqual(seen.text, Trace.toMarkdown(events.slice(0, 2)) + Trace.fragment(events[2]!).slice(0, 3))
      assert.deepStrictEqual(messages, [`Warn The trace in "full.md" lacks event 2 and what followed`])
    }).pipe(Effect.provide(Layer.merge(layer, logging)))
  })

  it.effect("lets the run go on when a content isn't what its type says", () => {
    const { layer, seen } = failing(Infinity)
    const { layer: logging, messages } = warnings()
    return Effect.gen(function*() {
      const [event] = conversation().filter((event) => event._tag === "ApprovalRequested")
      const untyped = { ...event!, params: 1n as unknown as Schema.Json }
      yield* run([event!, untyped, event!]).pipe(Trace.toFile("odd.md"))
      assert.strictEqual(seen.text, Trace.fragment(event!))
      assert.strictEqual(messages.length, 1)
    }).pipe(Effect.provide(Layer.merge(layer, logging)))
  })

  it.effect("closes the file however the run ends, and writes nothing after that", () => {
    const { layer, seen } = failing(Infinity)
    return Effect.gen(function*() {
      const events = conversation().slice(0, 1)
      const exits = [
        yield* Effect.exit(run(events).pipe(Trace.toFile("a.md"))),
        yield* Effect.exit(Effect.fail("wrong").pipe(Trace.toFile("a.md"))),
        yield* Effect.exit(Effect.die("broken").pipe(Trace.toFile("a.md")))
      ]
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, false])
      const interrupted = yield* Effect.forkChild(Effect.never.pipe(Trace.toFile("a.md")), { startImmediately: true })
      yield* Fiber.interrupt(interrupted)
      assert.strictEqual(seen.opened, 8)
      assert.strictEqual(seen.closed, 8)
      const done = yield* Deferred.make<void>()
      const late = yield* Effect.forkChild(Effect.andThen(Deferred.await(done), run(events))).pipe(Trace.toFile("a.md"))
      const writes = seen.writes
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(late)
      assert.strictEqual(seen.writes, writes)
    }).pipe(Effect.provide(layer))
  })

  it.effect("leaves what the effect acquires open beyond itself", () => {
    const { layer } = failing(Infinity)
    return Effect.gen(function*() {
      let released = false
      yield* Effect.scoped(Effect.gen(function*() {
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            released = true
          })
        ).pipe(Trace.toFile("a.md"))
        assert.isFalse(released)
      }))
      assert.isTrue(released)
    }).pipe(Effect.provide(layer))
  })
})
