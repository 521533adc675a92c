/**
 * Which result and which approval of a foreign history belong to which call.
 *
 * 1. A result belongs to the nearest call before it that has its id and no result yet; of several in one message, to the one of its name,
 *    then to the first. If there is no such call before it, the calls behind it are searched.
 * 2. A request to approve belongs to the nearest call before it that has its id, then to the first behind it.
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

/** A request to approve a call, its answer, or both. An answer alone is for a provider: prompts don't have the provider's own request. */
export type Asked =
  | { readonly request: Request; readonly response: Response | undefined }
  | { readonly request: undefined; readonly response: Response }

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

/** The nearest candidate before `of`. */
const nearest = <A extends LocatedPart<Prompt.Part>>(
  candidates: ReadonlyArray<A>,
  of: LocatedPart<Prompt.Part>,
  isFree: (candidate: A) => boolean
): A | undefined => candidates.findLast((candidate) => isFree(candidate) && isBefore(candidate, of))

type Call = LocatedPart<Prompt.ToolCallPart>
type Answer = LocatedPart<Prompt.ToolResultPart>

/** Pairs each result with a call, without a search through all calls: some models give every call the same id. */
const pairResults = (calls: ReadonlyArray<Call>, results: ReadonlyArray<Answer>) => {
  const resultOf = new Map<Call, Answer>()
  const known = new Set(calls.map((call) => call.part.id))
  // The calls of each id that stand before the result and have none yet, the nearest last.
  const open = new Map<string, Array<Call>>()
  let at = 0
  const late = results.filter((result) => {
    for (let call = calls[at]; call !== undefined && isBefore(call, result); call = calls[++at]) {
      const { id } = call.part
      const before = open.get(id)
      if (before === undefined) open.set(id, [call])
      else before.push(call)
    }
    const before = open.get(result.part.id) ?? []
    let first = before.length - 1
    if (first < 0) return true
    while (first > 0 && before[first - 1]!.message === before[before.length - 1]!.message) first--
    const named = before.slice(first).findIndex((call) => call.part.name === result.part.name)
    const [call] = before.splice(first + Math.max(0, named), 1)
    resultOf.set(call!, result)
    return false
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

const pairApprovals = (
  calls: ReadonlyArray<Call>,
  requests: ReadonlyArray<Request>,
  responses: ReadonlyArray<Response>,
  hasResult: (call: Call) => boolean
) => {
  const callsById = groupBy(calls, (call) => call.part.id)
  const requestsById = groupBy(requests, (request) => request.part.approvalId)
  const responseOf = new Map<Request, Response>()
  const unasked = responses.filter((response) => {
    const candidates = requestsById.get(response.part.approvalId) ?? []
    const isFree = (request: Request): boolean => !responseOf.has(request)
    const request = nearest(candidates, response, isFree) ?? candidates.find(isFree)
    if (request !== undefined) responseOf.set(request, response)
    return request === undefined
  })
  const approvalsOf = new Map<Call, Array<Asked>>()
  const aimless: Array<Asked> = []
  for (const request of requests) {
    const candidates = callsById.get(request.part.toolCallId) ?? []
    const call = nearest(candidates, request, () => true) ?? candidates[0]
    const asked = { request, response: responseOf.get(request) }
    if (call === undefined) aimless.push(asked)
    else approvalsOf.set(call, [...(approvalsOf.get(call) ?? []), asked])
  }
  const theirs = calls.filter((call) => call.part.providerExecuted && !hasResult(call))
  const left = unasked.filter((response) => {
    const isFree = (call: Call): boolean => !approvalsOf.has(call)
    const last = nearest(theirs, response, isFree)
    const call = theirs.find((call) => call.message === last?.message && isFree(call))
    if (call !== undefined) approvalsOf.set(call, [{ request: undefined, response }])
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
