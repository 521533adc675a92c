/**
 * Which result and which approval of a foreign history belong to which call.
 *
 * 1. A result belongs to the nearest call before it that has its id and no result yet; of several in one message, to the one of its name,
 *    then to the first. If there is no such call before it, the calls behind it are searched.
 * 2. A request to approve belongs to the nearest call before it that has its id, then to the first behind it. If one message has several
 *    calls of that id, each gets one of the requests behind them, in order. If there are fewer requests than calls, nobody knows which of
 *    the calls somebody saw, so calls without a result get them first, and none of these requests `isSure`.
 * 3. An answer belongs to the nearest request before it that has its id and no answer yet, then to the first behind it.
 * 4. An answer without a request is an answer to a provider: prompts for a provider have its answer, but not its own request. It belongs to
 *    a call that the provider runs and that has neither a result nor a request: to the first one in the nearest message before it that has
 *    such calls.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"

/** A part and its place: the index of its message, and its index in that message. */
export interface LocatedPart<Part extends Prompt.Part> {
  readonly message: number
  readonly index: number
  readonly part: Part
}

type Request = LocatedPart<Prompt.ToolApprovalRequestPart>
type Response = LocatedPart<Prompt.ToolApprovalResponsePart>

/**
 * A request to approve a call, its answer, or both. An answer alone is for a provider: prompts don't have the provider's own request. Unless
 * it `isSure`, the request may be that of another call with the same id.
 */
export type Asked =
  | { readonly request: Request; readonly response: Response | undefined; readonly isSure: boolean }
  | { readonly request: undefined; readonly response: Response; readonly isSure: true }

/** A call with what belongs to it. */
export interface PairedCall extends LocatedPart<Prompt.ToolCallPart> {
  readonly result: LocatedPart<Prompt.ToolResultPart> | undefined
  readonly isMoved: boolean
  readonly approvals: ReadonlyArray<Asked>
}

/** The calls of a history in their order, and the results and approvals that belong to no call. */
export interface Pairing {
  readonly calls: ReadonlyArray<PairedCall>
  readonly orphaned: ReadonlyArray<LocatedPart<Prompt.ToolResultPart>>
  readonly doubled: ReadonlyArray<LocatedPart<Prompt.ToolResultPart>>
  readonly requests: ReadonlyArray<Asked>
  readonly responses: ReadonlyArray<Response>
}

/** Returns the parts of a message of any role: a message made by hand may hold parts of any kind. */
export const partsOf = (message: Prompt.Message): ReadonlyArray<Prompt.Part> =>
  message.role === "system" ? [] : message.content

const isBefore = (self: LocatedPart<Prompt.Part>, that: LocatedPart<Prompt.Part>): boolean =>
  self.message < that.message || (self.message === that.message && self.index < that.index)

const groupBy = <A>(items: ReadonlyArray<A>, key: (item: A) => string): Map<string, Array<A>> => {
  const groups = new Map<string, Array<A>>()
  for (const item of items) {
    const group = groups.get(key(item))
    if (group === undefined) groups.set(key(item), [item])
    else group.push(item)
  }
  return groups
}

type Call = LocatedPart<Prompt.ToolCallPart>
type Answer = LocatedPart<Prompt.ToolResultPart>

/** Parts in a row, from which the first free one is taken, without a search through those that were taken before. */
class Row<A> {
  readonly #items: Array<A> = []
  #at = 0
  add(item: A): void {
    this.#items.push(item)
  }
  first(isFree: (item: A) => boolean): A | undefined {
    while (this.#at < this.#items.length && !isFree(this.#items[this.#at]!)) this.#at++
    return this.#items[this.#at]
  }
}

/** The calls of a message: in their order, and by their names. */
interface InMessage {
  readonly message: number
  readonly calls: Row<Call>
  readonly named: Map<string, Row<Call>>
}

/** Calls that stand before a place. Finds the first free one in the nearest message that has any. */
class Before {
  readonly #messages: Array<InMessage> = []
  readonly #isFree: (call: Call) => boolean
  constructor(isFree: (call: Call) => boolean) {
    this.#isFree = isFree
  }
  add(call: Call): void {
    const { message, part: { name } } = call
    let last = this.#messages.at(-1)
    if (last?.message !== message) this.#messages.push(last = { message, calls: new Row(), named: new Map() })
    const named = last.named.get(name) ?? new Row()
    last.named.set(name, named)
    last.calls.add(call)
    named.add(call)
  }
  /** Returns the first free call of a name, or else of any. */
  nearest(name?: string): Call | undefined {
    for (let last = this.#messages.at(-1); last !== undefined; last = this.#messages.at(-1)) {
      const first = last.calls.first(this.#isFree)
      if (first !== undefined) {
        return (name === undefined ? undefined : last.named.get(name)?.first(this.#isFree)) ?? first
      }
      this.#messages.pop()
    }
    return undefined
  }
}

/** Goes through parts in order; `seen` gets each call before the first part that stands behind it. */
const passing = <A extends LocatedPart<Prompt.Part>, B extends LocatedPart<Prompt.Part>>(
  before: ReadonlyArray<A>,
  seen: (part: A) => void
) => {
  let at = 0
  return (of: B): void => {
    for (let part = before[at]; part !== undefined && isBefore(part, of); part = before[++at]) seen(part)
  }
}

/** Returns the value of a key, which is made if it isn't there. */
const entryOf = <A>(self: Map<string, A>, key: string, make: () => A): A => {
  const found = self.get(key) ?? make()
  self.set(key, found)
  return found
}

/** Pairs each result with a call, without a search through all calls: some models give every call the same id. */
const pairResults = (calls: ReadonlyArray<Call>, results: ReadonlyArray<Answer>) => {
  const resultOf = new Map<Call, Answer>()
  const known = new Set(calls.map((call) => call.part.id))
  const isFree = (call: Call): boolean => !resultOf.has(call)
  const before = new Map<string, Before>()
  const pass = passing<Call, Answer>(calls, (call) => entryOf(before, call.part.id, () => new Before(isFree)).add(call))
  const late = results.filter((result) => {
    pass(result)
    const call = before.get(result.part.id)?.nearest(result.part.name)
    if (call !== undefined) resultOf.set(call, result)
    return call === undefined
  })
  const behind = groupBy(calls.filter((call) => !resultOf.has(call)).reverse(), (call) => call.part.id)
  const left = late.filter((result) => {
    const call = behind.get(result.part.id)?.pop()
    if (call !== undefined) resultOf.set(call, result)
    return call === undefined
  })
  return {
    resultOf,
    orphaned: left.filter((result) => !known.has(result.part.id)),
    doubled: left.filter((result) => known.has(result.part.id))
  }
}

/** The calls of one id in a message, and the requests behind them that aren't assigned yet. */
interface Asking {
  readonly message: number
  last: Call
  readonly free: Set<Call>
  readonly waiting: Array<Request>
}

/** Assigns each request to a call, or to none. */
const assignRequests = (
  calls: ReadonlyArray<Call>,
  requests: ReadonlyArray<Request>,
  hasResult: (call: Call) => boolean,
  assign: (request: Request, call: Call | undefined, isSure: boolean) => void
): void => {
  const first = new Map(calls.toReversed().map((call) => [call.part.id, call]))
  const nearest = new Map<string, Asking>()
  const all: Array<Asking> = []
  const pass = passing<Call, Request>(calls, (call) => {
    const { message, part: { id } } = call
    const known = nearest.get(id)
    if (known?.message === message) {
      known.last = call
      known.free.add(call)
      return
    }
    const asking: Asking = { message, last: call, free: new Set([call]), waiting: [] }
    nearest.set(id, asking)
    all.push(asking)
  })
  for (const request of requests) {
    pass(request)
    const asking = nearest.get(request.part.toolCallId)
    if (asking === undefined) assign(request, first.get(request.part.toolCallId), true)
    else if (asking.free.size > 1) asking.waiting.push(request)
    else {
      const [only = asking.last] = asking.free
      asking.free.delete(only)
      assign(request, only, true)
    }
  }
  for (const { free, last, waiting } of all) {
    const isSure = waiting.length >= free.size
    const left = Array.from(free)
    const order = isSure ? left : [...left.filter((call) => !hasResult(call)), ...left.filter(hasResult)]
    waiting.forEach((request, at) => assign(request, order[at] ?? last, isSure))
  }
}

/** Returns the answers of requests, and the answers without one. */
const pairResponses = (requests: ReadonlyArray<Request>, responses: ReadonlyArray<Response>) => {
  const responseOf = new Map<Request, Response>()
  const isFree = (request: Request): boolean => !responseOf.has(request)
  const before = new Map<string, Array<Request>>()
  const all = new Map<string, Row<Request>>()
  for (const request of requests) entryOf(all, request.part.approvalId, () => new Row()).add(request)
  const pass = passing<Request, Response>(
    requests,
    (request) => entryOf(before, request.part.approvalId, () => []).push(request)
  )
  const unasked = responses.filter((response) => {
    pass(response)
    const { approvalId } = response.part
    const nearest = before.get(approvalId) ?? []
    while (nearest.length > 0 && !isFree(nearest.at(-1)!)) nearest.pop()
    const request = nearest.pop() ?? all.get(approvalId)?.first(isFree)
    if (request !== undefined) responseOf.set(request, response)
    return request === undefined
  })
  return { responseOf, unasked }
}

const pairApprovals = (
  calls: ReadonlyArray<Call>,
  requests: ReadonlyArray<Request>,
  responses: ReadonlyArray<Response>,
  hasResult: (call: Call) => boolean
) => {
  const { responseOf, unasked } = pairResponses(requests, responses)
  const approvalsOf = new Map<Call, Array<Asked>>()
  const aimless: Array<Asked> = []
  assignRequests(calls, requests, hasResult, (request, call, isSure) => {
    const asked = { request, response: responseOf.get(request), isSure }
    if (call === undefined) aimless.push(asked)
    else if (approvalsOf.get(call)?.push(asked) === undefined) approvalsOf.set(call, [asked])
  })
  const theirs = calls.filter((call) => call.part.providerExecuted && !hasResult(call))
  const before = new Before((call) => !approvalsOf.has(call))
  const pass = passing<Call, Response>(theirs, (call) => before.add(call))
  const left = unasked.filter((response) => {
    pass(response)
    const call = before.nearest()
    if (call !== undefined) approvalsOf.set(call, [{ request: undefined, response, isSure: true }])
    return call === undefined
  })
  return { approvalsOf, aimless, left }
}

/** Returns for each tool message where its row of tool messages begins, and for any other message the place behind it. */
const rowsOf = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<number> => {
  let start = 0
  return messages.map(({ role }, index) => {
    if (role !== "tool") start = index + 1
    return start
  })
}

/** Returns the calls of a message whose results aren't where a prompt of Troupe puts them. */
const movedIn = (
  rows: ReadonlyArray<number>,
  calls: ReadonlyArray<Call>,
  resultOf: ReadonlyMap<Call, Answer>
): ReadonlySet<Call> => {
  const moved = new Set<Call>()
  let last: Answer | undefined
  for (const call of calls) {
    const result = resultOf.get(call)
    if (result === undefined) continue
    if (call.part.providerExecuted || result.part.providerExecuted) {
      if (result.message !== call.message || result.index !== call.index + 1) moved.add(call)
      continue
    }
    const isBehind = result.message > call.message && rows[result.message]! <= call.message + 1
    if (!isBehind || (last !== undefined && isBefore(result, last))) moved.add(call)
    else last = result
  }
  return moved
}

/**
 * Pairs the calls of a history with their results and approvals.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (messages: ReadonlyArray<Prompt.Message>): Pairing => {
  const calls: Array<Call> = []
  const results: Array<Answer> = []
  const requests: Array<Request> = []
  const responses: Array<Response> = []
  messages.forEach((each, message) =>
    partsOf(each).forEach((part, index) => {
      if (part.type === "tool-call" && each.role === "assistant") calls.push({ message, index, part })
      else if (part.type === "tool-result") results.push({ message, index, part })
      else if (part.type === "tool-approval-request") requests.push({ message, index, part })
      else if (part.type === "tool-approval-response") responses.push({ message, index, part })
    })
  )
  const { doubled, orphaned, resultOf } = pairResults(calls, results)
  const { aimless, approvalsOf, left } = pairApprovals(calls, requests, responses, (call) => resultOf.has(call))
  const rows = rowsOf(messages)
  const moved = new Set(
    Array.from(groupBy(calls, (call) => String(call.message)).values())
      .flatMap((group) => Array.from(movedIn(rows, group, resultOf)))
  )
  return {
    calls: calls.map((call) => ({
      ...call,
      result: resultOf.get(call),
      isMoved: moved.has(call),
      approvals: approvalsOf.get(call) ?? []
    })),
    orphaned,
    doubled,
    requests: aimless,
    responses: left
  }
}
