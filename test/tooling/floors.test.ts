import { assert, describe, it } from "@effect/vitest"
import { rooms, violations } from "../../scripts/floors.ts"

const legal = {
  "index.ts": `export * as Agent from "./agent/Agent.ts"\nexport * as Mode from "./modes/Mode.ts"`,
  "testing/index.ts": `export * as MockModel from "./MockModel.ts"`,
  "testing/MockModel.ts": `import { Agent } from "../agent/Agent.ts"\nimport * as Status from "../domain/Status.ts"`,
  "agent/Agent.ts": [
    `import * as Effect from "effect/Effect"`,
    `import * as LanguageModel from "effect/ai/LanguageModel"`,
    `import type { Status } from "../domain/Status.ts"`,
    `import { Handoff } from "../handoff/Handoff.ts"`,
    `import { Mode } from "../modes/Mode.ts"`
  ].join("\n"),
  "ai-sdk/AiSdkModel.ts":
    `import type { LanguageModelV4 } from "@ai-sdk/provider"\nimport * as Effect from "effect/Effect"`,
  "agent/StopWhen.ts": `export * from "./definition/StopWhen.ts"\nexport { evaluate } from "./rules/StopVerdict.ts"`,
  "agent/run/Loop.ts": [
    `import { step } from "./Step.ts"`,
    `import { ask } from "../perform/ask/Ask.ts"`,
    `import { Mode } from "../../modes/Mode.ts"`
  ].join("\n"),
  "agent/rules/Limit.ts":
    `import * as Result from "effect/Result"\nimport type { Limit } from "../definition/Limit.ts"`,
  "agent/trace/Trace.ts": `import * as Observer from "../journal/Observer.ts"`,
  "modes/Mode.ts": `import * as Effect from "effect/Effect"\nimport { Status } from "../domain/Status.ts"`,
  "handoff/Handoff.ts": `export type { Status } from "../domain/Status.ts"`,
  "domain/Status.ts": [
    `import * as Result from "effect/Result"`,
    `import * as Schema from "effect/Schema"`,
    `import type * as Prompt from "effect/ai/Prompt"`,
    `import * as Response from "effect/ai/Response"`
  ].join("\n")
}

/** The messages for the legal tree with one file more. */
const messages = (at: string, source: string): ReadonlyArray<string> =>
  violations({ ...legal, [at]: source }).map(({ file, line, message }) => `${file}:${line} ${message}`)

/** Each room with those that stand above it. */
const upwards = ["session", "run", "perform", "journal", "rules", "definition"].flatMap((room, index, all) =>
  [...all.slice(0, index), "trace"].map((other): [room: string, other: string] => [room, other])
)

describe("floors", () => {
  it("have nothing to say about a tree that keeps every rule", () => {
    assert.deepStrictEqual(violations(legal), [])
  })

  it.each([
    ["domain", "agent", "no other floor"],
    ["domain", "modes", "no other floor"],
    ["domain", "handoff", "no other floor"],
    ["domain", "testing", "no other floor"],
    ["handoff", "modes", "domain"],
    ["handoff", "agent", "domain"],
    ["handoff", "testing", "domain"],
    ["modes", "handoff", "domain"],
    ["modes", "agent", "domain"],
    ["modes", "testing", "domain"],
    ["agent", "testing", "domain, handoff, modes, model"],
    ["testing", "modes", "domain, agent, model"],
    ["testing", "handoff", "domain, agent, model"],
    ["ai-sdk", "domain", "model"],
    ["model", "domain", "no other floor"],
    ["domain", "model", "no other floor"],
    ["agent", "ai-sdk", "domain, handoff, modes, model"],
    ["testing", "ai-sdk", "domain, agent, model"],
    ["agent", "cluster", "domain, handoff, modes, model"],
    ["cluster", "testing", "domain, handoff, modes, agent"]
  ])("keep %s from reading %s", (floor, other, reads) => {
    assert.deepStrictEqual(messages(`${floor}/run/New.ts`, `\nimport { x } from "../../${other}/X.ts"`), [
      `src/${floor}/run/New.ts:2 imports "../../${other}/X.ts": ${floor} reads ${reads}`
    ])
  })

  it.each([
    `import "../agent/X.ts"`,
    `import type { X } from "../agent/X.ts"`,
    `import { type X } from "../agent/X.ts"`,
    `export { x } from "../agent/X.ts"`,
    `export type { X } from "../agent/X.ts"`,
    `export * from "../agent/X.ts"`,
    `export type * from "../agent/X.ts"`,
    `export * as X from "../agent/X.ts"`,
    `export type X = import("../agent/X.ts").X`,
    `export const x = () => import("../agent/X.ts")`,
    `import x = require("../agent/X.ts")`,
    `declare module "../agent/X.ts" { interface X {} }`
  ])("see %s", (source) => {
    assert.deepStrictEqual(messages("domain/New.ts", source), [
      `src/domain/New.ts:1 imports "../agent/X.ts": domain reads no other floor`
    ])
  })

  it("see through a folder in a floor", () => {
    assert.deepStrictEqual(messages("domain/status/New.ts", `import { x } from "../../agent/X.ts"`), [
      `src/domain/status/New.ts:1 imports "../../agent/X.ts": domain reads no other floor`
    ])
  })

  it("let nothing read the roof", () => {
    assert.deepStrictEqual(messages("testing/New.ts", `import { Agent } from "../index.ts"`), [
      `src/testing/New.ts:1 imports "../index.ts": nothing reads the roof`
    ])
  })

  it("keep testing out of the main entry point", () => {
    assert.deepStrictEqual(messages("index.ts", `export * as MockModel from "./testing/MockModel.ts"`), [
      `src/index.ts:1 imports "./testing/MockModel.ts": testing has its own entry point`
    ])
  })

  it("keep models of providers out of the main entry point", () => {
    assert.deepStrictEqual(messages("index.ts", `export * as AiSdkModel from "./ai-sdk/AiSdkModel.ts"`), [
      `src/index.ts:1 imports "./ai-sdk/AiSdkModel.ts": ai-sdk has its own entry point`
    ])
  })

  it("let ai-sdk read the types of the provider interface, and load nothing", () => {
    assert.deepStrictEqual(messages("ai-sdk/New.ts", `import { APICallError } from "@ai-sdk/provider"`), [
      `src/ai-sdk/New.ts:1 imports "@ai-sdk/provider": only its types`
    ])
    assert.deepStrictEqual(messages("ai-sdk/New.ts", `import { x } from "@ai-sdk/openai"`), [
      `src/ai-sdk/New.ts:1 imports "@ai-sdk/openai": the core depends on effect alone`
    ])
    assert.deepStrictEqual(messages("agent/run/New.ts", `import type { x } from "@ai-sdk/provider"`), [
      `src/agent/run/New.ts:1 imports "@ai-sdk/provider": the core depends on effect alone`
    ])
  })

  it.each(["zod", "node:fs", "@effect/platform-node", "troupe", "effects"])("keep %s out of the core", (name) => {
    assert.deepStrictEqual(messages("agent/run/New.ts", `import type { X } from "${name}"`), [
      `src/agent/run/New.ts:1 imports "${name}": the core depends on effect alone`
    ])
  })

  it.each(["Effect", "Layer", "Clock", "Stream", "Fiber", "ai/LanguageModel", "http/HttpClient"])(
    "keep effect/%s out of the domain",
    (name) => {
      assert.deepStrictEqual(messages("domain/New.ts", `import type * as X from "effect/${name}"`), [
        `src/domain/New.ts:1 imports "effect/${name}": domain holds no programs`
      ])
    }
  )

  it("don't pass a file that no one can read", () => {
    assert.deepStrictEqual(messages("domain/New.ts", `import { from "../agent/X.ts"`), [
      "src/domain/New.ts:1 does not parse"
    ])
  })

  it.each(["common/New.ts", "New.ts"])("have no room for %s", (at) => {
    assert.deepStrictEqual(messages(at, ""), [
      `src/${at}:1 stands on no floor: domain, handoff, modes, model, agent, testing, ai-sdk, cluster`
    ])
  })
})

describe("rooms", () => {
  it.each<[room: string, other: string]>([
    ...upwards,
    ["definition", "guardrail"],
    ["guardrail", "window"],
    ["window", "guardrail"],
    ["definition", "window"],
    ["perform", "guardrail"],
    ["trace", "definition"]
  ])("keep %s from reading %s", (room, other) => {
    const reads = rooms[room]!.join(", ") || "no other room"
    assert.deepStrictEqual(messages(`agent/${room}/sub/New.ts`, `import type { x } from "../../${other}/X.ts"`), [
      `src/agent/${room}/sub/New.ts:1 imports "../../${other}/X.ts": ${room} reads ${reads}`
    ])
  })

  it.each(["rules", "definition", "session"])("keep %s from reading a public module", (room) => {
    assert.deepStrictEqual(messages(`agent/${room}/New.ts`, `import { Agent } from "../Agent.ts"`), [
      `src/agent/${room}/New.ts:1 imports "../Agent.ts": nothing in agent reads a public module`
    ])
  })

  it("keep public modules from reading each other", () => {
    assert.deepStrictEqual(messages("agent/Session.ts", `import { Agent } from "./Agent.ts"`), [
      `src/agent/Session.ts:1 imports "./Agent.ts": nothing in agent reads a public module`
    ])
  })

  it.each(["Effect", "Layer", "Clock", "ai/LanguageModel"])("keep effect/%s out of the rules", (name) => {
    assert.deepStrictEqual(messages("agent/rules/New.ts", `import type * as X from "effect/${name}"`), [
      `src/agent/rules/New.ts:1 imports "effect/${name}": rules holds no programs`
    ])
  })

  it.each(["agent/New.ts", "agent/common/New.ts", "agent/rules"])("have no place for %s", (at) => {
    assert.deepStrictEqual(messages(at, ""), [
      `src/${at}:1 stands in no room of agent: ${Object.keys(rooms).join(", ")}`
    ])
  })
})
