/**
 * Answers to calls that await approval, and results that come later. Nothing runs until the session is resumed.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import type * as Schema from "effect/Schema"
import { approval, denial, locateApprovable, type NotAwaitingApproval, paramsGiven } from "../../domain/Approval.ts"
import {
  failureOf,
  type Given,
  giving,
  locateJudged,
  type NotAwaitingResult,
  successOf
} from "../../domain/DeferredResult.ts"
import type { AgentState, Call } from "../../domain/StateSchema.ts"
import type { Located } from "../../domain/WaitingCall.ts"
import type { ToolEntry } from "../definition/AgentDefinition.ts"
import { readParams, readResult, toolOf } from "../definition/CallTool.ts"
import { emitAnswer, type Loop } from "../journal/Loop.ts"
import * as GivenParams from "../perform/call/GivenParams.ts"
import * as GivenResult from "../perform/call/GivenResult.ts"
import { judgedBy } from "../rules/JudgedCall.ts"
import { atCalls } from "../run/OutsideRun.ts"
import { type OpenSession, runAlone } from "./OpenSession.ts"
import { because, ParametersRejected, ResultRejected, type SessionError } from "./SessionError.ts"

type Answered = Effect.Effect<AgentState, NotAwaitingApproval | SessionError>

/** Answers a call that waits. The answer is an event like any other. */
const answer = <E>(
  session: OpenSession,
  name: string,
  make: (loop: Loop) => Effect.Effect<Parameters<typeof emitAnswer>[1] | undefined, E, unknown>
): Effect.Effect<AgentState, E | SessionError> =>
  runAlone(session, name, (loop) =>
    Effect.flatMap(make(loop), (answered) => {
      if (answered === undefined) return Effect.succeed(loop.state)
      emitAnswer(loop, answered)
      return Effect.map(loop.journal.flush, () => session.ref.value)
    })) as Effect.Effect<AgentState, E | SessionError>

/** Reads parameters by the tool of a call, and lets guardrails judge them. Returns those that passed, which the tool can read too. */
const passing = (loop: Loop, { call, calls }: Located, given: Schema.Json) =>
  atCalls(
    loop,
    calls,
    Effect.fnUntraced(function*(place) {
      const { roster, state } = loop
      const { name } = call
      yield* readParams(roster, state, { calls, name }, given)
      if (place === undefined) return { params: given }
      const params = yield* Effect.flatMap(GivenParams.judge(place, call, given), Effect.fromResult)
      if (params !== given) yield* readParams(roster, state, { calls, name }, params)
      return { params, ...judgedBy(place.definition) }
    })
  ).pipe(Effect.mapError((issue) => because(new ParametersRejected({ tool: call.name, issue }))))

/** Checks whether parameters differ from those of a call. The provider's own calls run with what the provider asked for. */
const isOther = ({ approvalId, params }: Call, given: Schema.Json): boolean =>
  approvalId === undefined && !Equal.equals(params, given)

/** Approves a call. If other parameters are given, the tool must be able to read them, and guardrails must let them pass. */
const approved = (callId: string, params: Schema.Json | undefined) => (loop: Loop) =>
  Effect.gen(function*() {
    const { state } = loop
    const given = params === undefined ? undefined : paramsGiven(params)
    const located = locateApprovable(state, callId)
    if (given === undefined || located === undefined || !isOther(located.call, given)) {
      return yield* Effect.fromResult(approval(state, callId, given))
    }
    const passed = yield* passing(loop, located, given)
    return yield* Effect.fromResult(approval(state, callId, passed.params, passed.judged))
  })

/** Approves a call, with other parameters if they are given. */
export const approve = (session: OpenSession, callId: string, params: Schema.Json | undefined): Answered =>
  answer(session, "approve", approved(callId, params)) as Answered

/** Denies a call. The model reads the reason. */
export const deny = (session: OpenSession, callId: string, reason: string): Answered =>
  answer(session, "deny", ({ state }) => Effect.fromResult(denial(state, callId, reason)))

/** Reads a success by its tool. Fails with what is wrong with it. */
const read = (entry: ToolEntry | undefined, name: string, { outcome, result }: Given) =>
  outcome === "Failed"
    ? Effect.void
    : entry?._tag === "Handled"
    ? readResult(entry, result)
    : Effect.fail(`The agent has no tool "${name}".`)

/**
 * Gives a call its result. The tool reads a success at once, so that an invalid one is refused here, and guardrails judge it, so that only
 * what passed is kept.
 */
const given = (callId: string, given: Given) => (loop: Loop) =>
  Effect.gen(function*() {
    const { roster, state } = loop
    const located = locateJudged(state, callId)
    if (located === undefined) return yield* Effect.fromResult(giving(state, callId, given))
    const { call, calls } = located
    const entry = toolOf(roster, state, { calls, name: call.name })
    yield* Effect.mapError(
      read(entry, call.name, given),
      (issue) => because(new ResultRejected({ callId, tool: call.name, issue }))
    )
    const passed = yield* atCalls(loop, calls, (place) =>
      place === undefined || entry?._tag !== "Handled"
        ? Effect.succeed(given)
        : GivenResult.judge(place, call, entry, given))
    return yield* Effect.fromResult(giving(state, callId, passed))
  })

type GivenTo = Effect.Effect<AgentState, NotAwaitingResult | SessionError>

/** Gives a call the result that it awaits. */
export const giveResult = (session: OpenSession, callId: string, result: Schema.Json): GivenTo =>
  answer(session, "giveResult", given(callId, successOf(result))) as GivenTo

/** Gives a failure to a call that awaits its result. The model reads the reason. */
export const giveFailure = (session: OpenSession, callId: string, reason: string): GivenTo =>
  answer(session, "giveFailure", (loop) => given(callId, failureOf(reason))(loop)) as GivenTo
