import { type Cause, Context, Effect, Schedule, Schema, type Stream } from "effect"
import { type LanguageModel, Tool, Toolkit } from "effect/ai"
import { describe, expectTypeOf, it } from "vitest"
import { Agent, type AgentError, Plan } from "../../src/index.ts"

type Model = LanguageModel.LanguageModel
type Asking = AgentError.AgentError | Plan.NoAnswer

class Database extends Context.Service<Database, string>()("test/Database") {}
class Http extends Context.Service<Http, string>()("test/Http") {}
class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}
class Lost extends Schema.TaggedError<Lost>()("Lost", {}) {}

const facts = Agent.make("facts")
const tone = Agent.make("tone")
const score = Agent.make("score", { output: Schema.Struct({ points: Schema.Finite }) })

const load = Plan.node("load", (url: string) => url === "" ? Effect.fail(new Lost()) : Effect.as(Database, url.length))
const double = Plan.node("double", (n: number) => Effect.succeed(n * 2))
const print = Plan.node("print", (n: number) => Effect.succeed(`${n}`))
const join = Plan.node(
  "join",
  ({ double, print }: { readonly double: number; readonly print: string }) => Effect.succeed(double + print.length)
)
const some = Plan.node(
  "some",
  ({ double, print }: { readonly double: number; readonly print?: string }) => Effect.succeed([double, print] as const)
)

describe("Plan.node", () => {
  it("takes, gives, fails with and needs what its effect does", () => {
    expectTypeOf(load).toEqualTypeOf<Plan.Node<"load", string, number, Lost, Database>>()
    expectTypeOf(Plan.node("now", Effect.succeed(1))).toEqualTypeOf<Plan.Node<"now", unknown, number>>()
    expectTypeOf(Plan.node("now", () => Effect.succeed(1))).toEqualTypeOf<Plan.Node<"now", unknown, number>>()
    expectTypeOf<Plan.InputOf<typeof load>>().toEqualTypeOf<string>()
    expectTypeOf<Plan.OutputOf<typeof load>>().toEqualTypeOf<number>()
    expectTypeOf<Plan.ErrorOf<typeof load>>().toEqualTypeOf<Lost>()
    expectTypeOf<Plan.ServicesOf<typeof load>>().toEqualTypeOf<Database>()
    // @ts-expect-error it gives no effect
    Plan.node("wrong", (n: number) => n)
  })

  it("may fail with a time-out where it has one", () => {
    const timed = Plan.node("timed", (_input: string) => Effect.fail(new Refused()), { timeout: "1 second" })
    expectTypeOf(timed).toEqualTypeOf<Plan.Node<"timed", string, never, Refused | Cause.TimeoutError>>()
    const slow = Plan.node("slow", (_input: string) => Effect.fail(new Refused()), { timeout: 1000 })
    expectTypeOf<Plan.ErrorOf<typeof slow>>().toEqualTypeOf<Refused | Cause.TimeoutError>()
    // @ts-expect-error not a duration
    Plan.node("wrong", load, { timeout: "soon" })
  })

  it("takes a schedule that sees its errors", () => {
    const again = Plan.node("again", (_input: string) => Effect.fail(new Refused()), { retry: Schedule.recurs(1) })
    expectTypeOf(again).toEqualTypeOf<Plan.Node<"again", string, never, Refused>>()
    const seeing = Schedule.identity<Refused | Cause.TimeoutError>()
    Plan.node("seeing", (_input: string) => Effect.fail(new Refused()), { retry: seeing })
    // @ts-expect-error the schedule takes other errors
    Plan.node("wrong", (_input: string) => Effect.fail(new Lost()), { retry: seeing })
  })

  it("fails with what a fallback does too, and not at all where that can't fail", () => {
    const failing = (_input: string) => Effect.fail(new Refused())
    const sure = Plan.node("sure", (text: string) => Effect.as(Http, text.length))
    expectTypeOf(Plan.node("a", failing, { fallback: sure })).toEqualTypeOf<
      Plan.Node<"a", string, number, never, Http>
    >()
    expectTypeOf(Plan.node("a", failing, { fallback: load })).toEqualTypeOf<
      Plan.Node<"a", string, number, Refused | Lost, Database>
    >()
    expectTypeOf(Plan.node("a", failing, { fallback: facts })).toEqualTypeOf<
      Plan.Node<"a", string, string, Refused | Asking, Model>
    >()
    // @ts-expect-error the fallback takes a number
    Plan.node("wrong", failing, { fallback: double })
    // @ts-expect-error an agent takes text
    Plan.node("wrong", (_input: number) => Effect.fail(new Refused()), { fallback: facts })
  })
})

describe("Plan.agent", () => {
  it("takes text and gives the agent's answer", () => {
    expectTypeOf(Plan.agent(facts)).toEqualTypeOf<Plan.Node<"facts", string, string, Asking, Model>>()
    expectTypeOf(Plan.agent(score)).toEqualTypeOf<
      Plan.Node<"score", string, { readonly points: number }, Asking, Model>
    >()
    expectTypeOf(Plan.agent(facts, { name: "other" })).toEqualTypeOf<
      Plan.Node<"other", string, string, Asking, Model>
    >()
  })

  it("takes what its input function does", () => {
    const told = Plan.agent(facts, { input: (of: { readonly n: number }) => `${of.n}` })
    expectTypeOf(told).toEqualTypeOf<Plan.Node<"facts", { readonly n: number }, string, Asking, Model>>()
    // @ts-expect-error an agent is told text or parts
    Plan.agent(facts, { input: (n: number) => n })
  })

  it("has a policy", () => {
    expectTypeOf(Plan.agent(facts, { timeout: "1 minute", retry: Schedule.recurs(1) })).toEqualTypeOf<
      Plan.Node<"facts", string, string, Asking | Cause.TimeoutError, Model>
    >()
    expectTypeOf(Plan.agent(facts, { fallback: Plan.node("none", Effect.succeed("")) })).toEqualTypeOf<
      Plan.Node<"facts", string, string, Plan.NoAnswer, Model>
    >()
  })
})

describe("Plan.edge", () => {
  it("compiles where the output fits", () => {
    expectTypeOf(Plan.edge(load, double)).toEqualTypeOf<Plan.Edge<"load", "double", number>>()
    expectTypeOf(Plan.edge(facts, tone)).toEqualTypeOf<Plan.Edge<"facts", "tone", string>>()
    expectTypeOf(Plan.edge(facts, load)).toEqualTypeOf<Plan.Edge<"facts", "load", string>>()
    Plan.edge(load, Plan.node("any", Effect.void))
    // @ts-expect-error a number is no text
    Plan.edge(load, facts)
    // @ts-expect-error text is no number
    Plan.edge(facts, double)
    // @ts-expect-error an object is no text
    Plan.edge(score, facts)
  })

  it("compiles where the output fits below the source's name", () => {
    Plan.edge(double, join)
    Plan.edge(print, join)
    Plan.edge(print, some)
    // @ts-expect-error a key that may be missing doesn't hold undefined
    Plan.edge(print, some, () => undefined)
    // @ts-expect-error the input has nothing of this name
    Plan.edge(load, join)
    // @ts-expect-error below this name there is something else
    Plan.edge(Plan.node("print", Effect.succeed(1)), join)
  })

  it("compiles where what a function makes of it fits", () => {
    const edge = Plan.edge(load, facts, (n) => {
      expectTypeOf(n).toEqualTypeOf<number>()
      return `${n}`
    })
    expectTypeOf(edge).toEqualTypeOf<Plan.Edge<"load", "facts", string>>()
    expectTypeOf(
      Plan.edge(facts, double, (text) => text.length === 0 ? Effect.fail(new Refused()) : Effect.as(Http, 1))
    ).toEqualTypeOf<Plan.Edge<"facts", "double", number, "Always", Refused, Http>>()
    Plan.edge(score, join, ({ points }) => ({ double: points, print: "" }))
    // @ts-expect-error the function gives a number
    Plan.edge(load, facts, (n) => n)
    // @ts-expect-error the function's effect gives a number
    Plan.edge(load, facts, (n) => Effect.succeed(n))
    // @ts-expect-error the function takes text
    Plan.edge(load, facts, (text: string) => text)
  })
})

describe("Plan.edgeWhen", () => {
  it("is conditional", () => {
    expectTypeOf(Plan.edgeWhen(load, double, (n) => n > 1)).toEqualTypeOf<
      Plan.Edge<"load", "double", number, "Conditional">
    >()
    expectTypeOf(Plan.edgeWhen(load, facts, (n) => n > 1, (n) => `${n}`)).toEqualTypeOf<
      Plan.Edge<"load", "facts", string, "Conditional">
    >()
    // @ts-expect-error a number is no text
    Plan.edgeWhen(load, facts, (n) => n > 1)
    // @ts-expect-error a condition holds or doesn't
    Plan.edgeWhen(load, double, (n) => `${n}`)
  })

  it("collects what its condition and its function fail with and need", () => {
    const edge = Plan.edgeWhen(
      load,
      facts,
      (n) => n > 1 ? Effect.fail(new Refused()) : Effect.as(Database, true),
      (n) => n > 1 ? Effect.fail(new Lost()) : Effect.as(Http, "")
    )
    expectTypeOf<Plan.EdgeErrorOf<typeof edge>>().toEqualTypeOf<Refused | Lost>()
    expectTypeOf<Plan.EdgeServicesOf<typeof edge>>().toEqualTypeOf<Database | Http>()
  })

  it("narrows by a guard", () => {
    const kind = Plan.node("kind", (_input: string) => Effect.succeed("" as string | number))
    expectTypeOf(Plan.edgeWhen(kind, double, (value) => typeof value === "number")).toEqualTypeOf<
      Plan.Edge<"kind", "double", number, "Conditional">
    >()
    Plan.edgeWhen(kind, facts, (value) => typeof value === "number", (n) => n.toFixed(1))
    // @ts-expect-error what is left is a number
    Plan.edgeWhen(kind, facts, (value) => typeof value === "number")
  })
})

describe("Plan.make", () => {
  it("takes what its entries take and gives what its exits give", () => {
    expectTypeOf(Plan.make({ nodes: [facts] })).toEqualTypeOf<
      Plan.Plan<string, { readonly facts: string }, Asking, Model>
    >()
    expectTypeOf(Plan.make({ nodes: [facts, tone], edges: [Plan.edge(facts, tone)] })).toEqualTypeOf<
      Plan.Plan<string, { readonly tone: string }, Asking, Model>
    >()
    expectTypeOf(Plan.make({ nodes: [facts, score] })).toEqualTypeOf<
      Plan.Plan<string, { readonly facts: string; readonly score: { readonly points: number } }, Asking, Model>
    >()
    expectTypeOf(Plan.make({ nodes: [load, double], edges: [Plan.edge(load, double)] })).toEqualTypeOf<
      Plan.Plan<string, { readonly double: number }, Lost, Database>
    >()
    expectTypeOf(Plan.make({ nodes: [] })).toEqualTypeOf<Plan.Plan<unknown, {}>>()
  })

  it("takes what suits all its entries", () => {
    const a = Plan.node("a", (_input: { readonly x: number }) => Effect.void)
    const b = Plan.node("b", (_input: { readonly y: string }) => Effect.void)
    const c = Plan.node("c", (_input: string | number) => Effect.void)
    const d = Plan.node("d", (_input: number | boolean) => Effect.void)
    expectTypeOf(Plan.run(Plan.make({ nodes: [a, b] }), { x: 1, y: "" })).toEqualTypeOf<
      Effect.Effect<{ readonly a: void; readonly b: void }>
    >()
    // @ts-expect-error one of them wants y
    Plan.run(Plan.make({ nodes: [a, b] }), { x: 1 })
    Plan.run(Plan.make({ nodes: [c, d] }), 1)
    // @ts-expect-error one of them takes no text
    Plan.run(Plan.make({ nodes: [c, d] }), "")
  })

  it("wants the record of several edges", () => {
    const plan = Plan.make({
      nodes: [double, print, join],
      edges: [Plan.edge(double, join), Plan.edge(print, join)]
    })
    expectTypeOf(plan).toEqualTypeOf<Plan.Plan<number, { readonly join: number }>>()
    Plan.make({ nodes: [double, print, some], edges: [Plan.edge(double, some), Plan.edge(print, some)] })
    Plan.make({ nodes: [load, double, print], edges: [Plan.edge(load, double), Plan.edge(load, print)] })
    // @ts-expect-error one edge brings the value itself
    Plan.make({ nodes: [double, join], edges: [Plan.edge(double, join)] })
    // @ts-expect-error several edges bring a record
    Plan.make({ nodes: [load, double, print], edges: [Plan.edge(load, print), Plan.edge(double, print)] })
    // @ts-expect-error an agent takes no record
    Plan.make({ nodes: [facts, tone, score], edges: [Plan.edge(facts, score), Plan.edge(tone, score)] })
    Plan.make({
      nodes: [
        facts,
        tone,
        Plan.agent(score, { input: (of: { readonly facts: string; readonly tone: string }) => of.tone })
      ],
      edges: [Plan.edge(facts, score, () => ""), Plan.edge(tone, score, () => "")]
    })
  })

  it("wants a record where a pattern of names stands for several sources, and a value where any name stands for one", () => {
    const step = (n: number) => Plan.node(`step${n}` as `step${number}`, (n: number) => Effect.succeed(n))
    const [first, second] = [step(1), step(2)]
    const all = Plan.node(
      "all",
      (of: { readonly [Name in `step${number}`]: number }) => Effect.succeed(Object.keys(of).length)
    )
    const plan = Plan.make({ nodes: [first, second, all], edges: [Plan.edge(first, all), Plan.edge(second, all)] })
    expectTypeOf(plan).toEqualTypeOf<Plan.Plan<number, { readonly all: number }>>()
    Plan.make({
      // @ts-expect-error several edges bring a record
      nodes: [first, second, double],
      edges: [Plan.edge(first, double), Plan.edge(second, double)]
    })
    const some = Plan.node("some" as string, (n: number) => Effect.succeed(n))
    Plan.make({ nodes: [some, double], edges: [Plan.edge(some, double)] })
  })

  it("wants optional keys for edges that may not be taken", () => {
    const may = Plan.edgeWhen(print, some, (text) => text !== "")
    expectTypeOf(Plan.make({ nodes: [double, print, some], edges: [Plan.edge(double, some), may] })).toEqualTypeOf<
      Plan.Plan<number, { readonly some: readonly [number, string | undefined] }>
    >()
    const mayNot = Plan.edgeWhen(print, join, (text) => text !== "")
    // @ts-expect-error the key may be missing
    Plan.make({ nodes: [double, print, join], edges: [Plan.edge(double, join), mayNot] })
  })

  it("wants optional keys for sources that may be skipped, however far the condition is", () => {
    const start = Plan.node("start", (n: number) => Effect.succeed(n))
    const middle = Plan.node("middle", (n: number) => Effect.succeed(n))
    const when = Plan.edgeWhen(start, middle, (n) => n > 1)
    const always = Plan.edge(start, middle)
    const rest = [Plan.edge(start, double), Plan.edge(middle, print)] as const
    Plan.make({
      nodes: [start, middle, double, print, some],
      edges: [when, ...rest, Plan.edge(double, some), Plan.edge(print, some)]
    })
    Plan.make({
      nodes: [start, middle, double, print, join],
      edges: [always, ...rest, Plan.edge(double, join), Plan.edge(print, join)]
    })
    Plan.make({
      // @ts-expect-error print may be skipped with middle
      nodes: [start, middle, double, print, join],
      edges: [when, ...rest, Plan.edge(double, join), Plan.edge(print, join)]
    })
  })

  it("gives optional keys for exits that may be skipped", () => {
    const plan = Plan.make({
      nodes: [load, double, print],
      edges: [Plan.edgeWhen(load, double, (n) => n > 1), Plan.edge(load, print)]
    })
    expectTypeOf(plan).toEqualTypeOf<
      Plan.Plan<string, { readonly print: string; readonly double?: number }, Lost, Database>
    >()
  })

  it("knows the nodes of its edges", () => {
    // @ts-expect-error print isn't a node of the plan
    Plan.make({ nodes: [double], edges: [Plan.edge(double, print)] })
    // @ts-expect-error load isn't a node of the plan
    Plan.make({ nodes: [double], edges: [Plan.edge(load, double)] })
  })

  it("collects errors and requirements of nodes, edges, conditions and fallbacks", () => {
    const plan = Plan.make({
      nodes: [
        facts,
        Plan.node("risky", (_input: number) => Effect.fail(new Refused()), {
          fallback: Plan.node("other", (_input: number) => Effect.fail("other" as const))
        })
      ],
      edges: []
    })
    expectTypeOf<typeof plan>().toEqualTypeOf<
      Plan.Plan<never, { readonly facts: string; readonly risky: never }, Asking | Refused | "other", Model>
    >()
    const conditional = Plan.make({
      nodes: [double, print],
      edges: [Plan.edgeWhen(double, print, () => Effect.as(Database, true), () => Effect.fail(new Lost()))]
    })
    expectTypeOf(conditional).toEqualTypeOf<Plan.Plan<number, { readonly print?: string }, Lost, Database>>()
  })

  it("checks plans of many nodes, and ends for cycles", () => {
    const step = <const Name extends string>(name: Name) => Plan.node(name, (n: number) => Effect.succeed(n))
    const nodes = [
      step("a"),
      step("b"),
      step("c"),
      step("d"),
      step("e"),
      step("f"),
      step("g"),
      step("h"),
      step("i"),
      step("j"),
      step("k"),
      step("l"),
      step("m"),
      step("n"),
      step("o"),
      step("p"),
      step("q"),
      step("r"),
      step("s"),
      step("t")
    ] as const
    const [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = nodes
    const chain = Plan.make({
      nodes,
      edges: [
        Plan.edge(a, b),
        Plan.edge(b, c),
        Plan.edge(c, d),
        Plan.edge(d, e),
        Plan.edge(e, f),
        Plan.edge(f, g),
        Plan.edge(g, h),
        Plan.edge(h, i),
        Plan.edge(i, j),
        Plan.edge(j, k),
        Plan.edge(k, l),
        Plan.edge(l, m),
        Plan.edge(m, n),
        Plan.edge(n, o),
        Plan.edge(o, p),
        Plan.edge(p, q),
        Plan.edge(q, r),
        Plan.edge(r, s),
        Plan.edge(s, t)
      ]
    })
    expectTypeOf(chain).toEqualTypeOf<Plan.Plan<number, { readonly t: number }>>()
    const circle = Plan.make({ nodes: [a, b], edges: [Plan.edge(a, b), Plan.edge(b, a)] })
    expectTypeOf(circle).toEqualTypeOf<Plan.Plan<unknown, {}>>()
  })
})

describe("running", () => {
  const plan = Plan.make({ nodes: [load, double], edges: [Plan.edge(load, double)] })

  it("gives the output, and fails with the error of a plan", () => {
    expectTypeOf(Plan.run(plan, "/")).toEqualTypeOf<
      Effect.Effect<{ readonly double: number }, Plan.PlanError<Lost>, Database>
    >()
    expectTypeOf(plan.pipe(Plan.run("/"))).toEqualTypeOf<
      Effect.Effect<{ readonly double: number }, Plan.PlanError<Lost>, Database>
    >()
    expectTypeOf(Plan.run(Plan.make({ nodes: [double] }), 1)).toEqualTypeOf<
      Effect.Effect<{ readonly double: number }>
    >()
    // @ts-expect-error the plan takes text
    Plan.run(plan, 1)
    // @ts-expect-error the plan takes text
    plan.pipe(Plan.run(1))
  })

  it("has the reason of a node to catch", () => {
    const caught = Plan.run(plan, "/").pipe(
      Effect.catchReason("PlanError", "Lost", (reason, error) => {
        expectTypeOf(reason).toEqualTypeOf<Lost>()
        expectTypeOf(error.results).toEqualTypeOf<Plan.Results>()
        return Effect.succeed("lost" as const)
      })
    )
    expectTypeOf(caught).toExtend<Effect.Effect<{ readonly double: number } | "lost", unknown, Database>>()
  })

  it("goes on from results", () => {
    const results: Plan.Results = { input: "/", nodes: {} }
    expectTypeOf(Plan.resume(plan, results)).toEqualTypeOf<
      Effect.Effect<{ readonly double: number }, Plan.PlanError<Lost> | Plan.PlanMismatch, Database>
    >()
    expectTypeOf(plan.pipe(Plan.resume(results))).toEqualTypeOf<
      Effect.Effect<{ readonly double: number }, Plan.PlanError<Lost> | Plan.PlanMismatch, Database>
    >()
    Plan.complete(results, load, 1)
    // @ts-expect-error the node gives a number
    Plan.complete(results, load, "1")
  })

  it("streams events", () => {
    expectTypeOf(Plan.stream(plan, "/")).toEqualTypeOf<
      Stream.Stream<Plan.PlanEvent, Plan.PlanError<Lost>, Database>
    >()
    expectTypeOf(plan.pipe(Plan.stream("/"))).toEqualTypeOf<
      Stream.Stream<Plan.PlanEvent, Plan.PlanError<Lost>, Database>
    >()
    expectTypeOf(Plan.resumeStream(plan, { input: "/", nodes: {} })).toEqualTypeOf<
      Stream.Stream<Plan.PlanEvent, Plan.PlanError<Lost> | Plan.PlanMismatch, Database>
    >()
  })
})

describe("Nodes that are made in the list of a plan", () => {
  const toolkit = Toolkit.make(Tool.make("look", { success: Schema.String }))
  type Needs = LanguageModel.LanguageModel | Tool.Handler<"look">

  it("have the type of the agent, not of the list", () => {
    expectTypeOf(Plan.make({ nodes: [Agent.make("reader", { toolkit })] })).toEqualTypeOf<
      Plan.Plan<string, { readonly reader: string }, AgentError.AgentError | Plan.NoAnswer, Needs>
    >()
  })

  it("have the name and the type of an agent with a policy", () => {
    const plan = Plan.make({
      nodes: [
        Plan.agent(Agent.make("reader", { toolkit }), { retry: Schedule.recurs(1), fallback: Agent.make("other") })
      ]
    })
    expectTypeOf(plan).toEqualTypeOf<
      Plan.Plan<string, { readonly reader: string }, AgentError.AgentError | Plan.NoAnswer, Needs>
    >()
  })
})
