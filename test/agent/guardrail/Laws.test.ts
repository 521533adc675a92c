/**
 * The laws of runs, with guardrails of every kind wherever they can stand: what they say depends on what they are asked alone, and
 * what they put in the place of something passes them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Hash, Layer, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Guardrail, Handoff } from "troupe"
import { ConversationRules, Laws, MockModel } from "troupe/testing"
import { modelOf, type Plan, plansOf } from "../../../src/testing/laws/Plan.ts"
import { problems } from "../../domain/legal.ts"
import { lastOf } from "../laws.ts"

const Say = Tool.make("say", { parameters: Schema.Struct({ text: Schema.String }), success: Schema.String })
const Sign = Tool.make("sign", {
  parameters: Schema.Struct({ name: Schema.String }),
  success: Schema.Struct({ by: Schema.String }),
  needsApproval: true
})
const Kit = Toolkit.make(Say, Sign)
const handlers = Kit.toLayer({
  say: ({ text }) => Effect.succeed(`said ${text}`),
  sign: ({ name }) => Effect.succeed({ by: name })
})

const mark = "✓"

/** Says of a text what chance would, the same each time. */
const verdictOf = (seed: number, text: string): Guardrail.Verdict<string> => {
  const chance = Math.abs(Hash.string(`${seed} ${text}`)) % 16
  if (text.includes(mark)) return Guardrail.pass
  return chance < 5
    ? Guardrail.replace(`${text.slice(0, 8)}${mark}${seed % 10}`, "it isn't marked")
    : chance === 5
    ? Guardrail.block("by chance")
    : chance < 8
    ? Guardrail.retry("Once more.")
    : chance < 10
    ? Guardrail.warn("it is odd")
    : Guardrail.pass
}

const one = (seed: number): Guardrail.Guardrail => {
  const options = { mode: seed % 5 === 0 ? "parallel" as const : "blocking" as const }
  const name = `guardrail ${seed}`
  if (seed % 3 === 0) return Guardrail.make(name, (text) => verdictOf(seed, text), options)
  const later = Effect.fnUntraced(function*(text: string) {
    for (let turns = seed % 4; turns > 0; turns--) yield* Effect.yieldNow
    return verdictOf(seed, text)
  })
  return Guardrail.make(name, later, options)
}

/** A guardrail of a number: one alone, or made of several. */
const guardrailOf = (seed: number): Guardrail.Guardrail => {
  switch (seed % 7) {
    case 0:
      return Guardrail.all(one(seed), one(seed + 5))
    case 1:
      return Guardrail.sequence(one(seed), one(seed + 5))
    case 2:
      return Guardrail.any(one(seed), one(seed + 5))
    case 3:
      return Guardrail.mapBlock(one(seed), ({ reason }) => Guardrail.warn(reason))
    case 4:
      return Guardrail.when((text) => text.length % 2 === 0, one(seed))
    default:
      return one(seed)
  }
}

const guardrailsOf = (seed: number): Guardrail.Guardrails => {
  const some = (at: number) =>
    Array.from({ length: (seed >> at) % 3 }, (_, index) => guardrailOf(seed * 31 + at * 7 + index))
  return {
    input: some(0),
    output: some(1),
    toolCall: some(2),
    toolResult: some(3),
    handoff: some(4),
    releaseEarly: seed % 2 === 0
  }
}

/** An agent of a number, which calls one, and hands over to one, with guardrails of their own. */
const agentOf = (seed: number) => {
  const make = <const Name extends string>(name: Name, seed: number) =>
    Agent.make(name, { toolkit: Kit, guardrails: guardrailsOf(seed) as { readonly input: [] } })
  const other = make("other", seed + 1)
  const helper = make("helper", seed + 2)
  return Agent.make("agent", {
    toolkit: Kit,
    agents: [Agent.asTool(helper)],
    handoffs: [Handoff.to(other)],
    outputRetries: seed % 3,
    guardrails: guardrailsOf(seed) as { readonly input: [] },
    ...(seed % 4 === 0 ? { output: Schema.Struct({ answer: Schema.String }) } : undefined)
  })
}

const seeds = [3, 21, 46, 88, 127, 170, 214, 255]
const texts = ["Well.", "", "So it is.", "{\"answer\":\"42\"}"] as const
const plans = plansOf(["What is it?", "Who?"], texts)

const within = <A, E>(
  plan: Plan,
  self: Effect.Effect<A, E, Agent.Services<ReturnType<typeof agentOf>> | MockModel.MockModel>
) => Effect.provide(self, Layer.fresh(Layer.merge(handlers, modelOf(plan))))

describe("A run under any guardrails", () => {
  for (const seed of seeds) {
    it.effect(`keeps the laws of runs (${seed})`, () => Laws.agent(agentOf(seed), { layer: handlers, runs: 5, seed }))
  }

  it.effect("is what its steps are, and sends prompts that keep the rules, in legal states", () =>
    Effect.gen(function*() {
      for (const seed of seeds) {
        const agent = agentOf(seed)
        for (const plan of yield* Arbitrary.sampleEffect(plans, { count: 8, seed })) {
          const { exit, sent } = yield* within(
            plan,
            Effect.gen(function*() {
              const exit = yield* Effect.exit(Agent.run(agent, plan.input))
              return { exit, sent: yield* MockModel.calls }
            })
          )
          const last = lastOf(exit)
          assert.isDefined(last)
          assert.deepStrictEqual(problems(last!.conversation), [])
          for (const { request } of sent) {
            const broken = ConversationRules.check(request.prompt, { isHandedOver: true })
            assert.strictEqual(ConversationRules.format(broken), "")
          }
          const stepped = yield* within(
            plan,
            Effect.gen(function*() {
              let before = AgentState.ask(AgentState.make("agent"), plan.input, 0)
              while (true) {
                const exit = yield* Effect.exit(Agent.step(agent, before))
                const after = lastOf(exit)
                if (after === undefined || after === before || Exit.isFailure(exit)) return after
                before = Result.getOrThrow(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(after)))))
              }
            })
          )
          assert.deepStrictEqual(stepped, last)
        }
      }
    }))
})
