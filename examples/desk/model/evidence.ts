/**
 * What the tools have returned in the exchange that goes on, and what was said in those before it.
 */
import { Equal, Result, Schema } from "effect"
import { type Tool } from "effect/ai"
import { Conversation } from "troupe"
import { type Before, productOf, read, type Reading } from "./reading.ts"
import { kindOf } from "./wishes.ts"

/** What a rule comes to before it has all it needs: calls to make, or something to say instead. */
export type Move =
  | { readonly _tag: "Call"; readonly calls: ReadonlyArray<Wanted>; readonly remark?: string }
  | { readonly _tag: "Say"; readonly text: string }

/** A call that the model wants to make. */
export interface Wanted {
  readonly name: string
  readonly params: Schema.Json
}

/** Makes one move of several: calls side by side while there are any, else all that is to be said. */
export const merge = (moves: ReadonlyArray<Move>): Move => {
  const calling = moves.filter((move) => move._tag === "Call")
  if (calling.length === 0) {
    return { _tag: "Say", text: unique(moves.flatMap((move) => move._tag === "Say" ? [move.text] : [])).join("\n\n") }
  }
  const remark = unique(calling.flatMap(({ remark }) => remark ?? [])).join(" ")
  return {
    _tag: "Call",
    calls: calling.flatMap(({ calls }) => calls),
    ...(remark === "" ? undefined : { remark })
  }
}

const unique = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(texts)]

/** What some rules come to together. */
export const together = (results: ReadonlyArray<Result.Result<string, Move>>): Move =>
  merge(
    results.map((result) =>
      Result.getOrElse(Result.map(result, (text): Move => ({ _tag: "Say", text })), (move) => move)
    )
  )

/** A call gave nothing: it was denied, or its tool broke down. */
export interface NoAnswer {
  readonly _tag: "NoAnswer"
  readonly isDenied: boolean
  readonly reason: string
}

type Settled = ReturnType<typeof Conversation.callsOf>[number]

/** An exchange: what the customer said, what was called, and what the desk answered, if it has. */
export interface Exchange {
  readonly said: string
  readonly calls: ReadonlyArray<Settled>
  readonly answer: string | undefined
  /** Who has handed over in it, and said what. */
  readonly passed: ReadonlyArray<Passed>
}

interface Passed {
  readonly agent: string
  readonly text: string
}

const nothing: Exchange = { said: "", calls: [], answer: undefined, passed: [] }

/** Cuts a conversation into exchanges. The answer that ends one is the turn without calls. */
export const exchanges = ({ turns }: Conversation.Conversation): ReadonlyArray<Exchange> => {
  const found: Array<Exchange> = []
  let open = nothing
  for (const turn of turns) {
    const text = Conversation.textOf(turn)
    if (turn._tag !== "Assistant") {
      open = { ...open, said: open.said === "" ? text : `${open.said}\n${text}` }
      continue
    }
    const calls = Conversation.callsOf(turn)
    const isPassed = calls.some(({ state }) => state._tag === "Settled" && state.outcome === "HandedOff")
    open = {
      ...open,
      calls: [...open.calls, ...calls],
      passed: isPassed ? [...open.passed, { agent: turn.agent, text }] : open.passed
    }
    if (calls.length === 0) {
      found.push({ ...open, answer: text })
      open = nothing
    }
  }
  return open.said === "" ? found : [...found, open]
}

const OrderParam = Schema.Struct({ order: Schema.String })
const FoundOrders = Schema.Array(OrderParam)

const isOrderNotFound = Schema.is(Schema.Struct({ _tag: Schema.tag("OrderNotFound"), order: Schema.String }))

const isUnknown = (order: string, state: Settled["state"]): boolean =>
  state._tag === "Settled" && isOrderNotFound(state.result) && state.result.order === order

/** The orders that an exchange was about: those that were named, or the only one that was found. */
const ordersOf = (reading: Reading, calls: ReadonlyArray<Settled>): ReadonlyArray<string> => {
  const named = reading.tasks.flatMap(({ order }) => order ?? [])
  const called = calls.flatMap(({ params }) => Schema.is(OrderParam)(params) ? [params.order] : [])
  const found = calls.flatMap(({ name, state }) =>
    name === "find_orders_of" && state._tag === "Settled" && Schema.is(FoundOrders)(state.result) ? state.result : []
  )
  const orders = [...named, ...called].filter((order) => !calls.some(({ state }) => isUnknown(order, state)))
  return [...new Set(orders.length > 0 ? orders : found.map(({ order }) => order))]
}

/** Reads the exchange that goes on in the light of all before it. */
export const readAll = (exchanges: ReadonlyArray<Exchange>): Reading => {
  let before: Before | undefined
  let reading = read("")
  for (const { answer, calls, said } of exchanges) {
    reading = read(said, before)
    const isTalk = reading.tasks.every(({ wish }) => kindOf(wish) === "talk")
    before = isTalk && before !== undefined
      ? { ...before, reading, answer: answer ?? "" }
      : {
        reading,
        answer: answer ?? "",
        orders: ordersOf(reading, calls),
        product: productOf(reading, answer ?? "", before)
      }
  }
  return reading
}

export type Finding<T extends Tool.Any> = Result.Result<Tool.Success<T>, Tool.Failure<T> | NoAnswer>

/** What a tool has returned to a call with these parameters. Fails with the call to make where there is none yet. */
export const consult = <T extends Tool.Any>(
  calls: ReadonlyArray<Settled>,
  tool: T,
  params: Tool.ParametersEncoded<T> & Schema.Json,
  remark?: string
): Result.Result<Finding<T>, Move> => {
  const call = calls.findLast((call) => call.name === tool.name && Equal.equals(call.params, params))
  if (call?.state._tag !== "Settled") {
    return Result.fail({
      _tag: "Call",
      calls: [{ name: tool.name, params }],
      ...(remark === undefined ? undefined : { remark })
    })
  }
  const { outcome, result } = call.state
  const noAnswer: NoAnswer = { _tag: "NoAnswer", isDenied: outcome === "Denied", reason: String(result) }
  const read = (schema: Schema.Constraint) =>
    Result.mapError(
      Schema.decodeUnknownResult(schema as unknown as Schema.Codec<never, unknown>)(result),
      () => noAnswer
    )
  return Result.succeed(
    outcome === "Succeeded"
      ? read(tool.successSchema)
      : outcome === "Failed"
      ? Result.flatMap(read(tool.failureSchema), Result.fail)
      : Result.fail(noAnswer)
  )
}
