import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Equal, Exit, Option, Result, Schema, SchemaGetter, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { inspect } from "node:util"
import { Agent, AgentError, AgentState, Dialogue, Group, Handoff, Mode, Plan } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const Dice = Toolkit.make(Tool.make("roll", { success: Schema.Int }))
const player = Agent.make("player", { toolkit: Dice })

const messageOf = <A, E>(exit: Exit.Exit<A, E>): string => {
  const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  return error instanceof Error ? error.message : "no failure"
}

const throwing = (f: () => unknown): string => {
  try {
    f()
    return "nothing thrown"
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

describe("An error says what to do", () => {
  it.effect("if a run is given what isn't a state or an input", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a")
      const approved = AgentState.approve(AgentState.make("a"), "c") as never
      const runs: ReadonlyArray<readonly [Effect.Effect<unknown, unknown, never>, string]> = [
        [Agent.resume(agent, approved) as never, "a Result"],
        [Agent.run(agent, approved) as never, "a Result"],
        [Agent.continueConversation(agent, approved, "Hi") as never, "a Result"],
        [Agent.resume(agent, Effect.succeed(AgentState.make("a")) as never) as never, "an Effect"],
        [Agent.resume(agent, Promise.resolve(AgentState.make("a")) as never) as never, "a Promise"],
        [Agent.resume(agent, undefined as never) as never, "undefined"],
        [Agent.run(agent, 7 as never) as never, "a number"]
      ]
      for (const [run, kind] of runs) assert.include(messageOf(yield* Effect.exit(run)), `was given ${kind}`)
      assert.isTrue(Result.isFailure(approved))
    }))

  it.effect("if a handler gives no Effect", () =>
    Effect.gen(function*() {
      const given = (value: unknown) =>
        Effect.exit(Agent.run(player, "Go")).pipe(Effect.provide([
          Dice.toLayer({ roll: () => value as never }),
          MockModel.layer(MockModel.queue(MockResponse.toolCall("roll", {})))
        ]))
      assert.include(
        messageOf(yield* given(Promise.resolve(4))),
        "handler of tool \"roll\" must return an Effect, not a Promise"
      )
      assert.include(messageOf(yield* given(4)), "handler of tool \"roll\" must return an Effect, not a number")
    }))

  it.effect("if a handler of a toolkit with handlers of its own gives no Effect", () =>
    Effect.gen(function*() {
      const given = (answer: () => unknown) =>
        Effect.gen(function*() {
          const own = Agent.make("own", { toolkit: yield* Dice })
          return yield* Effect.exit(Agent.run(own, "Go"))
        }).pipe(Effect.provide([
          Dice.toLayer({ roll: answer as never }),
          MockModel.layer(MockModel.queue(MockResponse.toolCall("roll", {})))
        ]))
      const defectOf = (exit: Exit.Exit<unknown, unknown>) =>
        Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      for (const value of [Promise.resolve(4), 4, undefined]) {
        const exit = yield* given(() => value)
        assert.include(messageOf(exit), "The handler of tool \"roll\" returned no Effect")
        assert.instanceOf((defectOf(exit) as Error).cause, TypeError)
      }
      // These have a `pipe`, so the toolkit runs them, and the fiber that meets them is gone.
      const nested = Effect.flatMap(Effect.yieldNow, () => Option.some(4) as never)
      for (const value of [Option.some(4), Option.none(), Stream.make(4), nested]) {
        const exit = yield* given(() => value)
        assert.include(messageOf(exit), "The handler of tool \"roll\" must return an Effect")
        assert.instanceOf(defectOf(exit), TypeError)
      }
      const own = new RangeError("its own")
      for (
        const answer of [() => Effect.die(own), () => {
          throw own
        }]
      ) {
        assert.strictEqual(defectOf(yield* given(answer)), own)
      }
    }))

  it.effect("if a script calls a tool that isn't there", () =>
    Effect.gen(function*() {
      const message = messageOf(yield* Effect.exit(Agent.run(player, "Go")))
      assert.include(message, "all 1 queued responses are used up; its call `rol` failed: There is no tool \"rol\"")
    }).pipe(Effect.provide([
      Dice.toLayer({ roll: () => Effect.succeed(4) }),
      MockModel.layer(MockModel.queue(MockResponse.toolCall("rol", {})))
    ])))

  it("if a parameter of a tool has no JSON", () => {
    class Socket {
      readonly port = 1
    }
    class Place extends Schema.Class<Place>("Place")({ city: Schema.String, at: Schema.Date }) {}
    const made = (parameters: Schema.Codec<unknown, unknown>) => () =>
      Agent.make("a", { toolkit: Toolkit.make(Tool.make("send", { parameters })) })
    const foreign = Schema.Array(Schema.Struct({ to: Schema.optional(Schema.instanceOf(Socket)) }))
    assert.include(throwing(made(Schema.Struct({ all: foreign }))), "\"send\" of agent \"a\"")
    assert.include(throwing(made(Schema.Struct({ all: foreign }))), "`params.all[].to`")
    assert.include(
      throwing(made(Schema.Record(Schema.String, Schema.declare((u): u is () => void => typeof u === "function")))),
      "`params.*`"
    )
    const fine = Schema.Struct({
      place: Place,
      bytes: Schema.Uint8Array,
      any: Schema.Unknown,
      json: Schema.Json,
      maybe: Schema.Option(Schema.URL),
      map: Schema.ReadonlyMap(Schema.String, Schema.BigInt)
    })
    assert.strictEqual(throwing(made(fine as Schema.Codec<unknown, unknown>)), "nothing thrown")
    const ways = (schema: Schema.Codec<unknown, unknown>) =>
      [
        ["handoff_to_b", "params", () => Agent.make("a", { handoffs: [Handoff.to("b", { parameters: schema })] })],
        ["final_answer", "params", () => Agent.make("a", { output: schema })],
        ["final_answer", "params.value", () => Agent.make("a", { output: Schema.Array(schema) })]
      ] as const
    interface Tree {
      readonly socket?: Socket | undefined
      readonly branches: ReadonlyArray<Tree>
    }
    const tree = (socket: Schema.Codec<Socket, unknown>) => {
      const Tree: Schema.Codec<Tree, unknown> = Schema.Struct({
        branches: Schema.Array(Schema.suspend((): Schema.Codec<Tree, unknown> => Tree)),
        socket: Schema.optional(Schema.suspend(() => socket))
      })
      return Schema.Struct({ tree: Schema.suspend(() => Tree) })
    }
    const codec = Schema.instanceOf(Socket, {
      toCodecJson: () =>
        Schema.link<Socket>()(Schema.Null, {
          decode: SchemaGetter.transform(() => new Socket()),
          encode: SchemaGetter.transform(() => null)
        })
    })
    assert.include(throwing(made(tree(Schema.instanceOf(Socket)))), "`params.tree.socket`")
    assert.strictEqual(throwing(made(tree(codec))), "nothing thrown")
    for (const [tool, path, make] of ways(Schema.Struct({ all: foreign }))) {
      assert.include(throwing(make), `"${tool}" of agent "a"`)
      assert.include(throwing(make), `\`${path}${path === "params" ? "" : "[]"}.all[].to\``)
    }
    for (const [, , make] of ways(fine as Schema.Codec<unknown, unknown>)) {
      assert.strictEqual(throwing(make), "nothing thrown")
    }
  })

  it("if an agent isn't made yet", () => {
    const later = undefined as never
    assert.include(throwing(() => Handoff.to(later)), "`Handoff.to` was given no agent")
    assert.include(throwing(() => Handoff.to(later)), "`Handoff.suspend(\"name\", () => agent)`")
    for (const options of [undefined, { description: "It helps." }, { name: "help", description: "It helps." }]) {
      assert.include(throwing(() => Agent.asTool(later, options)), "`Agent.asTool` was given no agent")
      assert.notInclude(throwing(() => Agent.asTool(later, options)), "Handoff")
    }
    const made = Agent.make("made")
    for (const make of [() => Dialogue.make(made, later), () => Dialogue.make(later, made, { maxTurns: 2 })]) {
      assert.include(throwing(make), "`Dialogue.make` was given no agent")
    }
    assert.strictEqual(throwing(() => Dialogue.make(made, Agent.make("other"), later)), "nothing thrown")
    assert.include(throwing(() => Plan.make({ nodes: [made, later] })), "`Plan.make` was given no agent")
    for (const options of [undefined, { name: "node" }]) {
      assert.include(throwing(() => Plan.agent(later, options)), "`Plan.agent` was given no agent")
    }
    assert.include(throwing(() => Group.make({ later }, { start: "later" })), "`Group.make` was given no agent")
  })

  it.effect("if a mode is entered where no conversation is", () =>
    Effect.gen(function*() {
      const mode = Mode.make("m", { enter: () => Effect.void })
      const entered = yield* Effect.exit(Effect.scoped(Mode.enter(mode)) as Effect.Effect<void, unknown>)
      assert.include(messageOf(entered), "\"Mode.enter\"")
      assert.include(messageOf(entered), "`Session.layer(agent)`")
      const within = yield* Effect.exit(Mode.within(Effect.void, mode) as Effect.Effect<void, unknown>)
      assert.include(messageOf(within), "\"Mode.within\"")
    }))

  it.effect("in two lines where it holds a whole state", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Agent.run(player, ""))
      assert.deepStrictEqual(inspect(error).split("\n").length, 2)
      assert.include(inspect(error), "given an empty input")
      assert.include(inspect(error), "`state`")
      // So does Node show what nobody catches.
      const shown = (error: unknown) => inspect(error, { customInspect: false }).split("\n").length
      assert.strictEqual(shown(error), 2)
      assert.strictEqual(error.state.status._tag, "Failed")
      const same = new AgentError.AgentError({ state: error.state, reason: error.reason })
      assert.isTrue(Equal.equals(error, same))
      const other = { ...error.state, steps: 9 }
      assert.isFalse(Equal.equals(error, new AgentError.AgentError({ state: other, reason: error.reason })))
      const dialogue = Dialogue.make(Agent.make("ada"), Agent.make("bob"))
      const failed = yield* Effect.flip(
        Dialogue.resume(dialogue, Dialogue.begin(Dialogue.make(player, Agent.make("bob")), "x"))
      )
      assert.deepStrictEqual(inspect(failed).split("\n").length, 2)
      assert.strictEqual(shown(failed), 2)
      const rows = Plan.node("rows", (text: string) => Effect.succeed(Array.from({ length: 100 }, () => ({ text }))))
      const last = Plan.node("last", (given: ReadonlyArray<unknown>) => Effect.fail(`no ink for ${given.length}`))
      const plan = Plan.make({ nodes: [rows, last], edges: [Plan.edge(rows, last)] })
      const planned = inspect(yield* Effect.flip(Plan.run(plan, "x")))
      assert.deepStrictEqual(planned.split("\n").length, 2)
      assert.include(planned, "Node \"last\" failed: no ink for 100")
      assert.include(planned, "`results`")
      const unanswered = new Plan.NoAnswer({
        state: error.state,
        reason: new AgentState.NoOutput({ agent: "player", status: "WaitingForTools", issue: "it waits" })
      })
      assert.deepStrictEqual(inspect(unanswered).split("\n").length, 2)
      assert.strictEqual(shown(unanswered), 2)
    }).pipe(Effect.provide([
      Dice.toLayer({ roll: () => Effect.succeed(4) }),
      MockModel.layer(MockModel.queue())
    ])))
})
