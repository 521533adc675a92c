import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Schema, Scope } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import {
  Agent,
  AgentError,
  type AgentEvent,
  AgentState,
  type Conversation,
  Mode,
  ModeTransition,
  Session,
  StopWhen,
  SystemPrompt
} from "troupe"
import { Laws, MockModel, MockResponse } from "troupe/testing"
import { misfit } from "../../src/testing/laws/Moves.ts"
import { problems } from "../domain/legal.ts"
import { editOf, Interpreter, type Request, sorted, TooLong } from "./interpreter.ts"
import {
  asMade,
  behind,
  type Between,
  Book,
  known,
  type Move,
  type Name,
  type OfTool,
  type Op,
  paramsOf,
  Program,
  type Say,
  settingsOf,
  type Simple,
  type Step,
  Talk
} from "./programs.ts"
import { ends, offered } from "./sent.ts"

type Doing = Effect.Effect<void, unknown, Mode.Host | Scope.Scope>

const textOfError = (error: unknown): string =>
  typeof error === "string"
    ? error
    : Mode.isModeError(error)
    ? `Mode:${error.reason._tag}`
    : Session.isSessionError(error)
    ? `Session:${error.reason._tag}`
    : error instanceof AgentError.AgentError
    ? `Agent:${error.reason._tag}`
    : error instanceof Session.OwnError
    ? textOfError(error.error)
    : String(error)

const reasonsOf = (cause: Cause.Cause<unknown>): ReadonlyArray<string> => [
  ...new Set(cause.reasons.map((reason) =>
    Cause.isFailReason(reason)
      ? textOfError(reason.error)
      : Cause.isDieReason(reason)
      ? textOfError(reason.defect)
      : "Interrupt"
  ))
]

const describeExit = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit) ? "ok" : reasonsOf(exit.cause).join("+")

const resultOf = (name: string, result: unknown): string => {
  const text = String(result)
  return `${name}: ${
    /isn't offered/.test(text) ? "not offered" : /There is no tool/.test(text) ? "there is none" : text
  }`
}

const textOfTurn = (turn: Conversation.Turn): string => {
  switch (turn._tag) {
    case "User":
      return `${turn.mode === undefined ? "user" : `mode ${turn.mode}`}: ${
        turn.parts.map((part) => part._tag === "Text" ? part.text : "").join("")
      }`
    case "Assistant": {
      const calls = turn.parts.flatMap((part) => part._tag === "Call" ? [part] : [])
      const results = calls.flatMap(({ name, state }) => state._tag === "Settled" ? [resultOf(name, state.result)] : [])
      const text = turn.parts.map((part) => part._tag === "Text" ? part.text : "").join("")
      return [`assistant: ${text}`, ...(results.length === calls.length ? results : [])].join(" | ")
    }
    case "Summary":
      return `summary: ${turn.text}`
    case "Feedback":
      return `note: ${turn.text}`
  }
}

const sentOf = ({ request }: MockModel.Call): Request => ({
  system: request.system,
  messages: request.messages.flatMap((message) => {
    switch (message.role) {
      case "system":
        return []
      case "user":
        return [`user: ${message.content.map((part) => part.type === "text" ? part.text : "").join("")}`]
      case "assistant":
        return [[
          `assistant: ${message.content.map((part) => part.type === "text" ? part.text : "").join("")}`,
          ...message.content.flatMap((part) => part.type === "tool-call" ? [part.name] : [])
        ].join(" | ")]
      case "tool":
        return [
          `tool: ${
            message.content.flatMap((part) => part.type === "tool-result" ? [resultOf(part.name, part.result)] : [])
              .join(" | ")
          }`
        ]
    }
  }),
  tools: request.toolChoice === "none" ? [] : offered(request).toSorted()
})

const Act = Tool.make("act", { success: Schema.String })
const Other = Tool.make("other", { success: Schema.String })
const Tools = Toolkit.make(Act, Other)

const overloaded = AiError.make({
  module: "Test",
  method: "ask",
  reason: new AiError.InternalProviderError({ description: "overloaded" })
})

const transitionOf = ({ mode, params, to }: Move): ModeTransition.ModeTransition =>
  to === "stay"
    ? ModeTransition.stay
    : to === "exit"
    ? ModeTransition.exit
    : to === "push"
    ? ModeTransition.push(mode, params === "none" ? undefined : paramsOf[params])
    : ModeTransition.switch(mode, params === "none" ? undefined : paramsOf[params])

/** Programs as they are really run. */
class Play {
  readonly log: Array<string> = []
  readonly events: Array<AgentEvent.AgentEvent> = []
  readonly book: Book
  readonly isHeld: boolean
  readonly modes: Record<Name, Mode.Mode<string, { readonly n?: number }, unknown, never, void>>
  readonly agent
  readonly scripts: Array<Array<Step>> = []
  readonly models: Array<Say["model"]> = []
  readonly cuts: Array<Deferred.Deferred<void>> = []
  acts: ReadonlyArray<OfTool> = []
  answers = 0
  cleaning = 0
  isCutting = false
  isMuted = false
  folded = AgentState.make("desk")
  /** What its events do that they mustn't: nothing at all, or a move that isn't listed. */
  readonly wrong: Array<string> = []
  session: Session.Session<unknown, unknown> | undefined

  constructor(book: Book, isHeld: boolean) {
    this.book = book
    this.isHeld = isHeld
    const mode = (name: Name) => this.mode(name)
    this.modes = { a: mode("a"), b: mode("b"), c: mode("c"), d: mode("d"), x: mode("x"), y: mode("y") }
    const { a, b, c, d } = this.modes
    this.agent = Agent.make("desk", {
      instructions: "base",
      toolkit: Tools,
      modes: [a, b, c, d],
      stopWhen: StopWhen.maxSteps(1_000)
    })
  }

  mode(name: Name) {
    const page = this.book[name]
    const params = Schema.Struct({ n: Schema.optionalKey(Schema.Finite) })
    if (page.isSingleShot) {
      return Mode.singleShot(
        name,
        Effect.suspend(() => {
          this.log.push(`set up ${name} {}`)
          return Effect.andThen(this.ops(page.setUp, name), this.stop(page.setUpEnds))
        })
      ) as Play["modes"][Name]
    }
    const dies = page.finalizerDies && this.isHeld ? Effect.die(`die of ${name}`) : Effect.void
    const finalize = this.whenHeard(() => {
      this.log.push(`finalize ${name} last`)
      return Effect.andThen(this.isHeld ? this.simples(page.finalizer) : Effect.void, dies)
    })
    const finalizeFirst = Effect.addFinalizer(() => this.whenHeard(() => this.say(`finalize ${name} first`)))
    return Mode.make(name, {
      params,
      isolation: page.isolation,
      ...(page.isDescribed ? { description: `About ${name}.` } : undefined),
      ...(page.tools === "act" ? { tools: ["act"] } : undefined),
      invokable: page.isInvokable && known.includes(name),
      invocation: page.invocation,
      enter: (params, { isResumed }) =>
        Effect.gen({ self: this }, function*() {
          this.log.push(`${isResumed ? "resume" : "set up"} ${name} ${JSON.stringify(params)}`)
          const services = yield* Effect.context<Mode.Host | Scope.Scope>()
          yield* Effect.addFinalizer(() => Effect.orDie(Effect.provideContext(this.whileCleaning(finalize), services)))
          if (!isResumed) {
            yield* this.ops(page.setUp, name)
            yield* this.stop(page.setUpEnds)
          }
          yield* finalizeFirst
        }),
      exit: (exit) =>
        this.whenHeard(() => {
          this.log.push(`clean up ${name} after ${this.isCutting ? "Interrupt" : describeExit(exit)}`)
          const done = Effect.andThen(this.ops(page.cleanUp, name), this.stop(page.cleanUpEnds))
          return Effect.as(this.whileCleaning(done), page.exit === "nothing" ? undefined : transitionOf(page.exit))
        }),
      ...(page.recovers === "no" ? undefined : {
        recover: () => {
          this.log.push(`recover ${name}`)
          return page.recovers === "yes" ? Effect.void : Effect.fail(`recover of ${name}`)
        }
      })
    }) as Play["modes"][Name]
  }

  say(line: string): Effect.Effect<void> {
    return Effect.sync(() => void this.log.push(line))
  }

  whenHeard<A, E, R>(f: () => Effect.Effect<A, E, R>): Effect.Effect<A | undefined, E, R> {
    return Effect.suspend((): Effect.Effect<A | undefined, E, R> => this.isMuted ? Effect.succeed(undefined) : f())
  }

  whileCleaning<A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.cleaning++),
      () => self,
      () => Effect.sync(() => this.cleaning--)
    )
  }

  readonly observe = (event: AgentEvent.AgentEvent) =>
    Effect.sync(() => {
      if (this.isMuted) return
      this.events.push(event)
      const after = AgentState.reduce(this.folded, event)
      const issue = misfit(this.folded, event, after)
      this.wrong.push(...(issue === undefined ? [] : [issue]), ...Laws.illegalMoves([this.folded, after]))
      this.folded = after
    })

  readonly look: Effect.Effect<void, unknown, Mode.Host> = Effect.gen({ self: this }, function*() {
    const values = yield* Effect.catchIf(
      Mode.all,
      (error) => error.reason._tag === "NoMode",
      () => Effect.succeed("none" as const)
    )
    const state = this.session === undefined ? this.folded : yield* this.session.state
    assert.deepStrictEqual(state, this.folded)
    assert.deepStrictEqual(this.wrong, [])
    assert.deepStrictEqual(problems(state.conversation), [])
    this.log.push(`= ${
      JSON.stringify([
        yield* Mode.stack,
        sorted(values),
        yield* SystemPrompt.render("base"),
        sorted({ ...state.settings }),
        state.conversation.turns.map(textOfTurn)
      ])
    }`)
  })

  attempt<R>(self: Effect.Effect<unknown, unknown, R>): Effect.Effect<void, unknown, R | Mode.Host> {
    return self.pipe(
      Effect.catchCause((cause): Effect.Effect<void, unknown> => {
        const [reason, ...others] = reasonsOf(cause)
        return others.length > 0 || !/^(Mode|Session):/.test(reason!)
          ? Effect.failCause(cause)
          : this.say(`! ${reason}`)
      }),
      Effect.andThen(this.look)
    )
  }

  simples(ops: ReadonlyArray<Simple>) {
    return Effect.forEach(ops, (op) => this.attempt(this.simple(op)), { discard: true })
  }

  simple(op: Simple): Effect.Effect<void, Mode.ModeError> {
    switch (op._tag) {
      case "Set":
        return Mode.set(op.key, op.value)
      case "Piece": {
        const { name, persist, place, text } = op
        return place === "section"
          ? SystemPrompt.section(name, text, { persist })
          : SystemPrompt[place](text, { persist })
      }
      case "Configure":
        return Mode.configure(settingsOf[op.settings])
      case "View":
        return Mode.updateView(({ turns }) => ({
          turns: editOf(op.edit, turns, (text): Conversation.Turn => ({ _tag: "Summary", text, of: turns.length }))
        }))
      case "Schedule":
        return Mode.schedule(transitionOf(op.move))
    }
  }

  stop(how: "well" | "fail" | "die" | "interrupt"): Effect.Effect<void, string> {
    return how === "well"
      ? Effect.void
      : how === "fail"
      ? Effect.fail(how)
      : how === "die"
      ? Effect.die(how)
      : Effect.interrupt
  }

  talk<A, E, R>({ model, steps, text }: Say, call: (text: string) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        this.scripts.push([...steps])
        this.models.push(model)
      }),
      () => call(text),
      () =>
        Effect.sync(() => {
          this.scripts.pop()
          this.models.pop()
        })
    )
  }

  ops(ops: ReadonlyArray<Between>, name: Name): Doing {
    return Effect.forEach(ops, (op): Doing => {
      switch (op._tag) {
        case "Say":
          return this.attempt(this.talk(op, Mode.call))
        case "Inner": {
          const inner = behind(name, op.place)
          if (inner === undefined) return Effect.void
          const body = Effect.forEach(
            op.body,
            (each) => each._tag === "Say" ? this.attempt(this.talk(each, Mode.call)) : this.simples([each]),
            { discard: true }
          )
          return this.attempt(Mode.within(body, this.modes[inner], {}))
        }
        case "Above": {
          const isScoped = op.isScoped || !this.isHeld
          const inner = behind(name, op.place, known)
          if (inner === undefined) return Effect.void
          return this.attempt(isScoped ? Mode.enter(this.modes[inner], {}) : this.session!.enterMode(inner))
        }
        default:
          return this.simples([op])
      }
    }, { discard: true })
  }

  /** What the tool does: it can't go where a set-up can. */
  readonly act = Effect.suspend(() =>
    Effect.forEach(this.acts, (op) => {
      if (op._tag !== "Refused") return this.simples([op])
      const refused = {
        call: () => Mode.call("?"),
        within: () => Mode.within(Effect.void, this.modes.y, {}),
        enterMode: () => this.session?.enterMode("a") ?? Effect.void,
        exitMode: () => this.session?.exitMode() ?? Effect.void
      }[op.what]()
      return Effect.catchCause(refused, (cause) => this.say(`! ${reasonsOf(cause).join("+")}`))
    }, { discard: true })
  ).pipe(Effect.orDie, Effect.as("done")) as Effect.Effect<string>

  op(op: Op): Doing {
    const session = this.session!
    switch (op._tag) {
      case "Say":
        return this.attempt(this.talk(op, session.call))
      case "Enter":
        return this.attempt(session.enterMode(op.mode, op.params === "none" ? undefined : paramsOf[op.params]))
      case "Exit":
        return this.attempt(session.exitMode(op.name === "" ? undefined : op.name))
      case "Stop":
        return this.stop(op.how)
      case "Within": {
        const body = Effect.suspend(() => this.body(op.body))
        const mode = this.modes[op.mode]
        const params = paramsOf[op.params]
        return this.attempt(
          op.isScoped
            ? Effect.scoped(Effect.andThen(Mode.enter(mode, params), body))
            : Mode.within(body, mode, params)
        )
      }
      case "Caught":
        return Effect.catchCause(this.body(op.body), (cause) => this.say(`caught ${reasonsOf(cause).join("+")}`))
      case "Cut":
        return this.cut(this.body(op.body))
      default:
        return this.simples([op])
    }
  }

  body(ops: ReadonlyArray<Op>): Doing {
    return Effect.forEach(ops, (op) => this.op(op), { discard: true })
  }

  /** Does something, and interrupts it from outside where the model hangs, or else at its end. */
  cut(self: Doing): Doing {
    return Effect.gen({ self: this }, function*() {
      const reached = yield* Deferred.make<void>()
      this.cuts.push(reached)
      let isAtEnd = false
      const end = Effect.suspend(() => {
        isAtEnd = true
        return Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
      })
      const fiber = yield* Effect.forkChild(Effect.andThen(self, end), { startImmediately: true })
      yield* Effect.raceFirst(Deferred.await(reached), Fiber.await(fiber))
      yield* Fiber.interrupt(fiber)
      const exit = yield* Fiber.await(fiber)
      this.cuts.pop()
      this.log.push(isAtEnd ? "cut at the end" : this.isCutting ? "cut" : `not cut: ${describeExit(exit)}`)
      this.isCutting = false
    })
  }

  readonly open = (state: AgentState.AgentState) =>
    Effect.gen({ self: this }, function*() {
      const scope = yield* Scope.make()
      this.folded = state
      this.session = yield* Session.make(this.agent, { state }).pipe(Scope.provide(scope))
      return scope
    })

  runSession(program: Program) {
    return Effect.gen({ self: this }, function*() {
      let scope = yield* this.open(this.folded)
      const here = <A, E>(self: Effect.Effect<A, E, Mode.Host | Scope.Scope>) =>
        Effect.scoped(Effect.provideService(self, Mode.Host, this.session!))
      for (const op of program) {
        if (op._tag === "Reopen") {
          const text = JSON.stringify(AgentState.toJson(yield* this.session!.state))
          this.isMuted = true
          yield* Scope.close(scope, Exit.void)
          this.isMuted = false
          scope = yield* this.open(yield* Effect.fromResult(AgentState.fromJson(JSON.parse(text))))
        } else {
          const exit = yield* Effect.exit(here(this.op(op)))
          if (Exit.isFailure(exit)) this.log.push(`stopped by ${describeExit(exit)}`)
        }
        yield* here(this.look)
      }
      const closed = yield* Effect.exit(Scope.close(scope, Exit.void))
      this.log.push(`closed ${describeExit(closed)}`)
      return yield* MockModel.calls
    }).pipe(
      Agent.observe(this.observe),
      Effect.provide(Layer.fresh(Layer.mergeAll(this.model, this.handlers)))
    )
  }

  readonly handlers = Tools.toLayer({ act: () => this.act, other: () => Effect.succeed("other") })

  readonly model = MockModel.layer(MockModel.make(() =>
    Effect.suspend((): Effect.Effect<MockResponse.MockResponse> => {
      const text = `answer ${++this.answers}`
      const reached = this.cuts[this.cuts.length - 1]
      const model = this.models[this.models.length - 1]
      if (model === "fails") return Effect.succeed(MockResponse.fail(overloaded))
      if (model === "hangs" && reached !== undefined && this.cleaning === 0) {
        this.isCutting = true
        return Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
      }
      const step = this.scripts[this.scripts.length - 1]?.shift()
      if (step === undefined || (step.asks.length === 0 && step.acts.length === 0)) {
        return Effect.succeed(MockResponse.text(text))
      }
      this.acts = step.acts
      return Effect.succeed(MockResponse.all(
        MockResponse.text(text),
        ...step.asks.map((asked) =>
          asked === "exit"
            ? MockResponse.toolCall("exit_current_mode", {})
            : MockResponse.toolCall(`enter_${asked}_mode`, paramsOf.one)
        ),
        ...(step.acts.length === 0 ? [] : [MockResponse.toolCall("act", {})])
      ))
    })
  ))

  runTalk(talk: ReadonlyArray<Say>) {
    return Effect.gen({ self: this }, function*() {
      for (const said of talk) {
        const text = JSON.stringify(AgentState.toJson(this.folded))
        this.folded = yield* Effect.fromResult(AgentState.fromJson(JSON.parse(text)))
        const state = this.folded
        const exit = yield* Effect.exit(
          this.talk(said, (text) => Agent.continueConversation(this.agent, state, text))
        )
        this.log.push(`ended ${describeExit(exit)}`)
        if (Exit.isSuccess(exit)) assert.deepStrictEqual(exit.value, this.folded)
      }
      return yield* MockModel.calls
    }).pipe(
      Agent.observe(this.observe),
      Effect.provide(Layer.fresh(Layer.mergeAll(this.model, this.handlers)))
    )
  }
}

/** Checks that each beginning has one end of the same mode, and that they are nested. */
const assertBalanced = (events: ReadonlyArray<AgentEvent.AgentEvent>) => {
  const open: Array<string> = []
  for (const event of events) {
    if (event._tag === "ModeEntering" || event._tag === "ModeExiting") open.push(`${event._tag} ${event.name}`)
    else if (event._tag === "ModeEntered" || (event._tag === "ModeFailed" && event.phase === "SetUp")) {
      assert.strictEqual(open.pop(), `ModeEntering ${event.name}`)
    } else if (event._tag === "ModeExited") assert.strictEqual(open.pop(), `ModeExiting ${event.name}`)
  }
  assert.deepStrictEqual(open, [])
}

/** Checks that two records are the same, and says what came before the first difference. */
const assertSame = (log: ReadonlyArray<string>, plain: ReadonlyArray<string>) => {
  const at = log.findIndex((line, index) => line !== plain[index])
  if (at < 0 && log.length === plain.length) return
  const from = at < 0 ? log.length : at
  const shown = (lines: ReadonlyArray<string>) => lines.slice(Math.max(0, from - 8), from + 2).join("\n")
  assert.fail(`line ${from} is\n${shown(log)}\n\nand should be\n${shown(plain)}`)
}

/** Runs a program by the plain interpreter, unless it goes on for too long. */
const interpret = (f: () => void): boolean => {
  try {
    f()
    return true
  } catch (error) {
    if (error instanceof TooLong) return false
    throw error
  }
}

describe("Modes under any program", () => {
  it.effect.prop("leave the stack, values, prompt, settings and conversation of a session as lists would", [
    Book,
    Program
  ], (
    [written, program]
  ) =>
    Effect.gen(function*() {
      const book = asMade(written)
      const plain = new Interpreter(book, true)
      if (!interpret(() => plain.session(program))) return
      const play = new Play(book, true)
      const calls = yield* ends(play.runSession(program))
      assertSame(play.log, plain.log)
      assert.deepStrictEqual(calls.map(sentOf), plain.requests)
      assert.deepStrictEqual(yield* play.session!.state, play.folded)
      assert.deepStrictEqual(play.folded.modes, [])
      assert.deepStrictEqual(play.wrong, [])
      assertBalanced(play.events)
    }), { arbitrary: { runs: 50 } })

  it.effect.prop("that a model enters and leaves do the same in runs, each of them in another process", [Book, Talk], (
    [written, talk]
  ) =>
    Effect.gen(function*() {
      const book = asMade(written)
      const plain = new Interpreter(book, false)
      if (!interpret(() => plain.talk(talk))) return
      const play = new Play(book, false)
      const calls = yield* ends(play.runTalk(talk))
      assertSame(play.log, plain.log)
      assert.deepStrictEqual(calls.map(sentOf), plain.requests)
      assertBalanced(play.events)
    }), { arbitrary: { runs: 50 } })
})
