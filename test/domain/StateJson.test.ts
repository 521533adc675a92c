import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import { AgentEvent, AgentState, Conversation } from "troupe"
import { times } from "../matrix.ts"
import { state } from "./arbitraries.ts"
import { deepFreeze, places } from "./legal.ts"

const fixture = (name: string): string => readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), "utf8")

const failure = (document: unknown) => Result.getOrThrow(Result.flip(AgentState.fromJson(document)))

const malformed = (document: unknown): readonly [path: string, issue: string] => {
  const error = failure(document)
  assert.strictEqual(error._tag, "MalformedState")
  return error._tag === "MalformedState" ? [error.path.join("/"), error.issue] : ["", ""]
}

/** Every file in a state, also in called agents, in a form that tells bytes and URLs from each other. */
const files = (state: AgentState.AgentState): ReadonlyArray<unknown> =>
  places(state).flatMap((place) =>
    place.state.conversation.turns.flatMap((turn) =>
      "parts" in turn
        ? turn.parts.flatMap((part): ReadonlyArray<unknown> =>
          part._tag !== "File"
            ? []
            : typeof part.data === "string"
            ? [part.data]
            : part.data instanceof URL
            ? [{ href: part.data.href }]
            : [{ bytes: [...part.data] }]
        )
        : []
    )
  )

/**
 * Whether the engine itself reads a text as it wrote it. JSON.parse of Node 26, once it has read many documents, takes a
 * key that is a lone surrogate for another: JSON.stringify(JSON.parse(text)) is then no longer text.
 */
const isReadable = (text: string): boolean => JSON.stringify(JSON.parse(text)) === text

describe("A state as JSON", () => {
  it.prop("survives its text in every status", [state], ([state]) => {
    const text = JSON.stringify(AgentState.toJson(state))
    if (!isReadable(text)) return
    const read = Result.getOrThrow(AgentState.fromJson(text))
    assert.strictEqual(JSON.stringify(AgentState.toJson(read)), text)
    assert.deepStrictEqual(files(read), files(state))
  }, { arbitrary: { runs: times(100, 35) } })

  it.prop("survives as a document, the same value", [state], ([state]) => {
    const read = Result.getOrThrow(AgentState.fromJson(AgentState.toJson(state)))
    assert.deepStrictEqual(read, state)
    assert.deepStrictEqual(files(read), files(state))
  })

  it.prop("is JSON and nothing else", [state], ([state]) => {
    assert.isTrue(Schema.is(Schema.Json)(AgentState.toJson(state)))
  })

  it.prop("says its version first", [state], ([state]) => {
    assert.match(JSON.stringify(AgentState.toJson(state)), /^\{"version":1,/)
  })

  it.each([["state-v1"], ["state-v1-handoff"]])("of version 1 is read and written the same: %s", (name) => {
    const text = fixture(name)
    const state = Result.getOrThrow(AgentState.fromJson(text))
    assert.deepStrictEqual(AgentState.toJson(state), JSON.parse(text))
  })

  it("holds called agents, files and what waits for approval", () => {
    const state = Result.getOrThrow(AgentState.fromJson(fixture("state-v1")))
    assert.deepStrictEqual(AgentState.pendingApprovals(state).map(({ callId, path }) => [callId, path.join("/")]), [
      ["call-3", "billing/researcher"],
      ["call-6", "billing"]
    ])
    assert.deepStrictEqual(files(state), [
      { bytes: [137, 80, 78, 71] },
      { href: "https://example.com/invoice.pdf" },
      "data:text/plain;base64,aGk="
    ])
    assert.deepStrictEqual(AgentState.next(state), { _tag: "RunCalls", callIds: ["call-7", "call-8"] })
  })

  it("holds a handoff with its request", () => {
    const state = Result.getOrThrow(AgentState.fromJson(fixture("state-v1-handoff")))
    assert.deepStrictEqual(AgentState.next(state), {
      _tag: "HandOver",
      request: { target: "billing", callId: "call-1", reason: "an invoice", context: { order: 12345 } }
    })
  })

  describe("of another version", () => {
    it.each<[unknown, string]>([
      [2, "A state of version 2 can't be read; known versions: 1"],
      ["1", `A state of version "1" can't be read; known versions: 1`],
      [null, "A state of version null can't be read; known versions: 1"],
      [1n, "A state of version 1n can't be read; known versions: 1"]
    ])("is an error that names it: %s", (version, message) => {
      const error = failure({ ...JSON.parse(fixture("state-v1")), version })
      assert.strictEqual(error._tag, "UnknownVersion")
      assert.strictEqual(error.message, message)
    })

    it("is told before anything else in it", () => {
      assert.strictEqual(failure({ version: 2, agent: 7 })._tag, "UnknownVersion")
    })

    it("is an error without one", () => {
      const error = failure({ ...JSON.parse(fixture("state-v1")), version: undefined })
      assert.strictEqual(error._tag, "UnknownVersion")
      assert.deepStrictEqual(malformed({ agent: "triage" }), ["version", "Missing key"])
    })
  })

  describe("that isn't one", () => {
    it.each<[string, unknown]>([
      ["text cut short", fixture("state-v1").slice(0, 700)],
      ["no text", ""],
      ["a number", 5],
      ["a list", "[]"],
      ["null", null],
      ["nothing", undefined]
    ])("is an error at its root: %s", (_what, document) => {
      const error = failure(document)
      assert.strictEqual(error._tag, "MalformedState")
      assert.match(error.message, /^Not a state at "\/": /)
    })

    it("is an error when it is nested without end", () => {
      const nested: Record<string, unknown> = { ...JSON.parse(fixture("state-v1")) }
      const part = { _tag: "Call", id: "a", name: "a", params: {}, state: { _tag: "Delegated", child: nested } }
      nested.conversation = {
        turns: [{ _tag: "Assistant", agent: "a", usage: {}, finishReason: "stop", parts: [part] }]
      }
      assert.deepStrictEqual(malformed(nested), ["", "Expected plain data, not nested as deeply as this"])
    })

    type Path = ReadonlyArray<string | number>

    /** The rich fixture with one value replaced, or its key taken away. */
    const broken = (path: Path, value: unknown): unknown => {
      const document: unknown = JSON.parse(fixture("state-v1"))
      const at = (self: unknown, [key, ...rest]: Path): unknown => {
        if (key === undefined) return value
        const copy: Record<string | number, unknown> = Array.isArray(self) ? [...self] : { ...Object(self) }
        copy[key] = at(copy[key], rest)
        if (copy[key] === undefined) delete copy[key]
        return copy
      }
      return at(document, path)
    }

    const turn = (index: number): Path => ["conversation", "turns", index]
    const call = (index: number): Path => [...turn(4), "parts", index]
    const child: Path = [...call(2), "state", "child"]

    it.each<[Path, unknown, string]>([
      [["usage"], undefined, "Missing key"],
      [["steps"], "3", "Expected number"],
      [["steps"], -1, "Expected a value greater than or equal to 0"],
      [["agent"], "", "Expected a value with a length of at least 1"],
      [["trail", 1], 7, "Expected string"],
      [["run", "usage", "input", "known"], null, "Expected number"],
      [["modes", 0, "name"], undefined, "Missing key"],
      [["prompt", 1, "place"], "under", `Expected "prepend" | "append"`],
      [[...turn(1), "parts", 0, "text"], 7, "Expected string"],
      [[...turn(1), "parts", 1, "data", "base64"], "!", "Expected a valid Base64 string"],
      [[...turn(1), "parts", 2, "data", "href"], "nowhere", "Expected a valid URL string"],
      [[...call(5), "id"], "", "Expected a value with a length of at least 1"],
      [[...call(3), "state", "result"], undefined, "Missing key"],
      [
        [...call(3), "state", "outcome"],
        "Done",
        `Expected "Succeeded" | "Failed" | "Denied" | "Interrupted" | "HandedOff"`
      ],
      [[...call(3), "state", "modelOutput", 0, "text"], undefined, "Missing key"],
      [[...child, "agent"], 7, "Expected string"],
      [[...child, "version"], 2, "Expected 1"],
      [[...child, "conversation", "turns", 1, "parts", 1, "name"], undefined, "Missing key"]
    ])("is an error that names the place %j", (path, value, issue) => {
      assert.deepStrictEqual(malformed(broken(path, value)), [path.join("/"), issue])
    })

    it.each<[Path, ReadonlyArray<string>]>([
      [["status"], ["InProgress", "WaitingForTools", "HandoffRequested", "Complete", "Failed"]],
      [turn(0), ["User", "Assistant", "Summary", "Feedback"]],
      [[...turn(1), "parts", 0], ["Text", "File"]],
      [call(0), ["Text", "Reasoning", "File", "Source", "Call"]],
      [[...call(5), "state"], ["Pending", "AwaitingApproval", "Approved", "Delegated", "Settled"]]
    ])("names the cases there are at %j", (path, tags) => {
      for (const value of [{ _tag: "Paused" }, {}, "Complete", null]) {
        const [found, issue] = malformed(broken(path, value))
        assert.strictEqual(found, path.join("/"))
        for (const tag of tags) assert.include(issue, `"${tag}"`)
      }
    })

    it("names the place in its message", () => {
      assert.strictEqual(
        failure(broken([...child, "agent"], 7)).message,
        `Not a state at "/conversation/turns/4/parts/2/state/child/agent": Expected string`
      )
    })
  })

  it("leaves out keys that a state doesn't have, but none of what is anybody's JSON", () => {
    const document = JSON.parse(fixture("state-v1"))
    const state = AgentState.fromJson({ ...document, color: "red", run: { ...document.run, speed: 3 } })
    assert.deepStrictEqual(AgentState.toJson(Result.getOrThrow(state)), document)
  })

  it.prop("holds in every event too", [AgentEvent.AgentEvent], ([event]) => {
    const json = Schema.fromJsonString(Schema.toCodecJson(AgentEvent.AgentEvent))
    const text = Schema.encodeSync(json)(event)
    if (!isReadable(text)) return
    assert.strictEqual(Schema.encodeSync(json)(Schema.decodeSync(json)(text)), text)
  })

  it("isn't changed by being written, nor is the document by being read", () => {
    const document = deepFreeze(JSON.parse(fixture("state-v1")))
    const state = deepFreeze(Result.getOrThrow(AgentState.fromJson(document)))
    AgentState.toJson(state)
    assert.strictEqual(Conversation.count(state.conversation), 6)
  })
})
