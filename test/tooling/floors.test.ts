import { assert, describe, it } from "@effect/vitest"
import { violations } from "../../scripts/floors.ts"

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
  "agent/run/loop.ts": `import { Agent } from "../Agent.ts"\nimport { Mode } from "../../modes/Mode.ts"`,
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
    ["agent", "testing", "domain, handoff, modes"],
    ["testing", "modes", "domain, agent"],
    ["testing", "handoff", "domain, agent"],
    ["ai-sdk", "domain", "no other floor"],
    ["agent", "ai-sdk", "domain, handoff, modes"],
    ["testing", "ai-sdk", "domain, agent"]
  ])("keep %s from reading %s", (floor, other, reads) => {
    assert.deepStrictEqual(messages(`${floor}/New.ts`, `\nimport { x } from "../${other}/X.ts"`), [
      `src/${floor}/New.ts:2 imports "../${other}/X.ts": ${floor} reads ${reads}`
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
    assert.deepStrictEqual(messages("agent/New.ts", `import type { x } from "@ai-sdk/provider"`), [
      `src/agent/New.ts:1 imports "@ai-sdk/provider": the core depends on effect alone`
    ])
  })

  it.each(["zod", "node:fs", "@effect/platform-node", "troupe", "effects"])("keep %s out of the core", (name) => {
    assert.deepStrictEqual(messages("agent/New.ts", `import type { X } from "${name}"`), [
      `src/agent/New.ts:1 imports "${name}": the core depends on effect alone`
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
      `src/${at}:1 stands on no floor: domain, handoff, modes, agent, testing, ai-sdk`
    ])
  })
})
