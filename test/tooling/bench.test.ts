import { assert, describe, it } from "@effect/vitest"
import { load as loadAiSdk } from "../../bench/aiSdk.ts"
import { bare } from "../../bench/bare.ts"
import { byHand } from "../../bench/byHand.ts"
import { withGuardrails, withoutGuardrails } from "../../bench/guardrails.ts"
import { mocked, written } from "../../bench/mockModel.ts"
import { withModes, withoutModes } from "../../bench/modes.ts"
import { load as loadOpenAiAgents } from "../../bench/openAiAgents.ts"
import { interleave, median, processorTime, ratio } from "../../bench/rounds.ts"
import type { Subject } from "../../bench/script.ts"
import { compare, record, saveAgain } from "../../bench/stored.ts"
import { troupe, troupeNative } from "../../bench/troupe.ts"
import { byTokens, byTurns, unwindowed } from "../../bench/window.ts"
import { guarded, mockCalls, modes, nativeAims, tiny, windows, workloads } from "../../bench/workloads.ts"

const aiSdk = await loadAiSdk()
const openAiAgents = await loadOpenAiAgents()

const subjects: Readonly<Record<string, Subject>> = {
  Troupe: troupe,
  "Troupe over the AI SDK's interface": troupeNative,
  "the loop by hand": byHand,
  "the floor": bare,
  ...(aiSdk === undefined ? undefined : { "the AI SDK": aiSdk }),
  ...(openAiAgents === undefined ? undefined : { "OpenAI Agents": openAiAgents })
}

describe("benchmarks", () => {
  for (const [name, subject] of Object.entries(subjects)) {
    for (const workload of tiny) {
      it(`let ${name} do ${workload.name}`, () => workload.run(subject))
    }
  }

  it("aim at ratios of rows that there are", () => {
    const names = workloads.map(({ name }) => name)
    for (const name of Object.keys(nativeAims)) assert.include(names, name)
  })

  for (const { name, run } of modes) {
    it(`let sessions do ${name}, in modes and in none`, async () => {
      await run(withModes)
      await run(withoutModes)
    })
  }

  it("let guardrails look at steps, or none, and refuse those that don't look", async () => {
    const { run } = guarded(3)
    for (const subject of [withGuardrails, withoutGuardrails]) await run(subject)
    const blind = { ...withoutGuardrails, perStep: 10 }
    const problem = await run(blind).then(() => "none", (error: Error) => error.message)
    assert.strictEqual(problem, "looks of guardrails: 0 instead of 30")
  })

  it("let agents take steps behind 500 turns, in windows and in none, and refuse a window that is left out", async () => {
    const { run } = windows(3)
    for (const subject of [byTurns, byTokens, unwindowed]) await run(subject)
    const lazy = { ...byTurns, run: unwindowed.run, calls: unwindowed.calls, messages: () => [1, 700] as const }
    const refused = await run(lazy).catch((error: Error) => error.message)
    assert.strictEqual(refused, "758 messages, not from 1 to 700")
  })

  it("save again what a session saved, all of it", async () => {
    const { saves, took: live } = await record(3)
    assert.strictEqual(live.filter((took) => took > 0).length, 3)
    const { state, took } = await saveAgain(saves)
    assert.strictEqual(took.length, 3)
    assert.deepStrictEqual(state, saves.at(-1)!.at(-1)![0])
    assert.strictEqual(state?.conversation.turns.length, 6)
    const missing = await saveAgain([saves[0]!, [], saves[2]!])
    assert.notDeepEqual(missing.state, state)
  })

  it("compare late saves with early ones", () => {
    const took = Array.from({ length: 1000 }, (_, turn) => turn < 100 ? 1 : turn < 968 ? 2 : 3)
    assert.deepStrictEqual(compare(took).map((ms) => Number(ms.toFixed(2))), [3, 1, 2.04, 1])
  })

  it("ask a mock model and one written by hand", async () => {
    await mockCalls.run(mocked)
    await mockCalls.run(written)
  })

  it("refuse a mode that is left out", async () => {
    const lazy = { ...withModes, run: withoutModes.run, calls: withoutModes.calls }
    const problems: Array<string> = []
    for (const { run } of modes) await run(lazy).catch((error: Error) => problems.push(error.message))
    assert.deepStrictEqual(problems, [
      "answer: I counted to 0. You count. instead of I counted to 0. Count aloud.",
      "answer: I counted to 10. You count. instead of I counted to 10. Count aloud."
    ])
  })

  it("refuse a subject that leaves a call of its tool out", async () => {
    const lazy: Subject = { ...byHand, toolLoop: async (steps) => `I counted to ${steps}.` }
    const problems: Array<string> = []
    for (const { run } of tiny) await run(lazy).catch((error: Error) => problems.push(error.message))
    assert.deepStrictEqual(problems, ["calls of the model: 0 instead of 4"])
  })

  it("run their subjects in turns, each first as often as any other", async () => {
    const order: Array<string> = []
    const subject = (name: string) => async () => {
      order.push(name)
    }
    const samples = await interleave([subject("a"), subject("b")], 2, { warmUp: 0, batch: 0 })
    assert.strictEqual(order.join(""), "ababba")
    assert.deepStrictEqual(samples.map((of) => of.length), [2, 2])
  })

  it("count the time of a thread even between two ticks of the system", () => {
    const times: Array<number> = []
    for (let reading = 0; reading < 40; reading++) {
      const until = performance.now() + 0.2
      while (performance.now() < until);
      times.push(processorTime())
    }
    assert.strictEqual(new Set(times).size, 40)
  })

  it("compare subjects round by round", () => {
    assert.strictEqual(median([3, 1, 2, 10]), 2.5)
    assert.strictEqual(ratio([1, 10, 3], [2, 20, 1]), 0.5)
  })
})
