/** What sentences and tables of pages mention in code is in the code, and every public function is on a page. */
import { assert, describe, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { parseSync } from "oxc-parser"
import * as Troupe from "troupe"
import { Agent, ContextWindow, Conversation, Guardrail, HandoffPolicy, SystemPrompt } from "troupe"
import * as AiSdk from "troupe/ai-sdk"
import * as Cluster from "troupe/cluster"
import * as Testing from "troupe/testing"
import { InstructionChain, Laws, MockModel, MockResponse, Story } from "troupe/testing"
import { root } from "../../scripts/examples.ts"
import { problems } from "./members.ts"
import { mentions, programs } from "./mentions.ts"
import { functionsOf, read } from "./tables.ts"

const pages = ["README.md", "AGENTS.md", ...globSync("docs/*.md", { cwd: root }).sort()]

const all = pages.flatMap(mentions)

/** The modules that pages are about: their functions stand there without the module. */
const about: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  "docs/built-in-guardrails.md": { Guardrail },
  "docs/context.md": { ContextWindow },
  "docs/context-tokens.md": { ContextWindow },
  "docs/conversations.md": { Conversation },
  "docs/custom-policies.md": { HandoffPolicy },
  "docs/group-policies.md": { HandoffPolicy },
  "docs/guardrails.md": { Guardrail },
  "docs/laws.md": { Laws, Story },
  "docs/mock-models.md": { MockModel, MockResponse },
  "docs/mock-provider.md": { InstructionChain },
  "docs/modes.md": { SystemPrompt },
  "docs/running.md": { Agent },
  "docs/testing-migration.md": { MockModel }
}

/** The words of code, without those of its comments. */
const wordsOf = (file: string): ReadonlyArray<string> => {
  let text = read(file)
  if (!file.endsWith(".d.ts")) {
    for (const { end, start } of parseSync(file, text).comments.toReversed()) {
      text = text.slice(0, start) + text.slice(end)
    }
  }
  return text.match(/[\w$]+/g) ?? []
}

/** Names that other programs and packages have, or nobody. */
const others = [
  "pg_dump",
  "OTEL_BSP_SCHEDULE_DELAY",
  "OTEL_METRIC_EXPORT_INTERVAL",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_SDK_DISABLED",
  "CONTRIBUTING",
  "EventSource",
  "OpenAiLanguageModel",
  "RESOURCE_EXHAUSTED",
  "RetryInfo",
  "Passwort",
  "Shift",
  "parsed_arguments",
  "requireApproval",
  "res",
  "skipLibCheck",
  "toResponseInputItems",
  "transformParams",
  "troupe_",
  "w0rd",
  "w0rds",
  "wooords"
]

/** Functions that only the editor describes: parts of others, for policies, handlers and stores that somebody writes. */
const inEditor = [
  "AgentPicker.namesOf",
  "AgentState.unlessFatal",
  "AgentStatus.waitingForTools",
  "Conversation.appendAll",
  "Conversation.appendUnchecked",
  "Conversation.changeCall",
  "Conversation.codec",
  "Conversation.idOf",
  "Conversation.openingText",
  "Conversation.textIn",
  "Conversation.toMessages",
  "Dialogue.choosing",
  "Dialogue.deciding",
  "Dialogue.dialogueStarts",
  "Group.internalsOf",
  "Handoff.internalsOf",
  "Handoff.paramsOf",
  "HandoffPolicy.internalsOf",
  "InstructionChain.formatWarning",
  "MockResponse.fromInput",
  "Session.showsState",
  "StopWhen.defaultCondition",
  "StopWhen.evaluate",
  "Story.commandTitle",
  "Story.decisionTitle"
]

const known = new Set([
  ...globSync([
    "{src,bin}/**/*.ts",
    "examples/**/*.{ts,env,service,yaml}",
    "node_modules/effect/dist/{Schema,{ai,cluster,observability,process}/*}.d.ts",
    "node_modules/@effect/{platform-node,vitest}/dist/*.d.ts",
    "package.json"
  ], { cwd: root }).flatMap(wordsOf),
  ...others
])

/** The names in a piece of code that is a name: `error.tag`, `blocked?`, `releaseEarly: true` or `queue(a, b)`. */
const namesOf = (code: string): ReadonlyArray<string> => {
  const [, names] = /^([\w$]+(?:\.[\w$]+)*)(?:\?|\(.*\)|: .*)?$/.exec(code) ?? []
  return names?.split(".").filter((name) => /^[A-Za-z_$]/.test(name)) ?? []
}

describe("pages", () => {
  it("name members of modules that are there, and call them with arguments and options that they take", () => {
    const wrong = [
      "Agent.rum",
      "session.stat",
      "Agent.resume(agent, state, control, 1)",
      "StopWhen.maxSteps(20, { onExhausted: \"end\" })",
      "pii({ sorts, … })"
    ].map((code, i) => ({ code, page: "docs/built-in-guardrails.md", where: `wrong:${i}` }))
    const found = problems([...all, ...wrong], (page) => about[page] ?? {})
    assert.deepStrictEqual(found.filter((problem) => !problem.startsWith("wrong:")), [])
    // The check itself works: it finds each of these.
    assert.deepStrictEqual(
      [...new Set(found.map((problem) => /^\w+:\d/.exec(problem)![0]))],
      wrong.map(({ where }) => where)
    )
  }, 120_000)

  // Half of what these pages name belongs to other libraries.
  it.each(pages.filter((page) => !page.startsWith("docs/coming-from")))("%s names nothing that no code has", (page) => {
    const own = new Set(programs(page).flatMap((line) => line.match(/[\w$]+/g) ?? []))
    const unknown = all.filter((mention) => mention.page === page).flatMap(({ code, where }) =>
      namesOf(code).flatMap((name) => known.has(name) || own.has(name) ? [] : [`${where} ${name}`])
    )
    assert.deepStrictEqual(unknown, [])
  })

  it("have every public function, but checks of what a value is, and those that only the editor describes", () => {
    const text = pages.map(read).join("\n")
    const missing = [Troupe, Testing, Cluster, AiSdk].flatMap((modules) =>
      Object.entries(modules).flatMap(([module, members]) =>
        functionsOf(members).filter((name) => !new RegExp(`\\b${name}\\b`).test(text)).map((name) =>
          `${module}.${name}`
        )
      )
    )
    const checked = missing.filter((name) => !/\.is[A-Z]/.test(name))
    assert.deepStrictEqual(
      [
        ...checked.flatMap((name) => inEditor.includes(name) ? [] : [`no page has ${name}`]),
        ...inEditor.flatMap((name) => checked.includes(name) ? [] : [`a page has ${name}: take it off the list`])
      ],
      []
    )
  })
})
