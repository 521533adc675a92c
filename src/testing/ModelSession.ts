/**
 * The requests and responses of one mock model, the ids of their tool calls, and the scripted results of these calls.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import { CurrentAgent, type RunningAgent } from "../agent/journal/CurrentAgent.ts"
import type { Turn } from "../domain/StateSchema.ts"
import type * as NativeModel from "../model/NativeModel.ts"
import * as Delivery from "./Delivery.ts"
import { type Answer, type Declined, UnansweredRequest } from "./Handler.ts"
import { shown } from "./handler/Shown.ts"
import * as MockRequest from "./MockRequest.ts"
import * as MockResponse from "./MockResponse.ts"

/**
 * A request with its response, which may be a failure. There is no response if the request is in flight, was interrupted or died, or if its
 * stream wasn't read to its end.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  readonly request: MockRequest.MockRequest
  readonly response?: MockResponse.MockResponse
}

/** A response that is about to be sent, and what to do once it is. */
interface Sending {
  readonly delivery: Delivery.Delivery
  readonly sent: () => void
}

/** The scripted result of a call, the id with which the call was sent, and the id of the call that has got the result. */
interface Given {
  readonly id: string
  readonly gives: MockResponse.GivenResult
  claimedBy?: string
}

/** The requests of one layer with their responses, the ids of their tool calls, and the scripted results of these calls. */
export class ModelSession<R> {
  readonly calls: Array<Call> = []
  readonly #answer: Answer<R>
  readonly #services: Context.Context<R>
  readonly #taken = new Set<string>()
  readonly #given = new Map<string, Array<Given>>()
  /** The same by the turn that the calls' answer comes after, because calls of other conversations may have the same ids. */
  readonly #after = new WeakMap<Turn, Array<Given>>()
  /** The same by the agent at work in a run, because two runs may continue from one turn at the same time. */
  readonly #within = new WeakMap<RunningAgent, WeakMap<Turn, Array<Given>>>()
  #ids = 0

  constructor(answer: Answer<R>, services: Context.Context<R>) {
    this.#answer = answer
    this.#services = services
  }

  ask(options: MockRequest.Asking, streaming: boolean): Effect.Effect<Sending, AiError.AiError> {
    return Effect.withFiber((fiber) => {
      const index = this.calls.length
      const agent = fiber.getRef(CurrentAgent)
      const request = MockRequest.make(options, agent, index + 1, streaming, fiber.context)
      this.calls.push({ request })
      const answer = this.#answer(request)
      const provided: ReturnType<Answer> = Exit.isExit(answer)
        ? answer as ReturnType<Answer>
        : Effect.updateContext(answer, (context: Context.Context<never>) => Context.merge(this.#services, context))
      return Effect.matchEffect(provided, {
        onFailure: (error) => this.#send(index, MockResponse.fail(error), agent),
        onSuccess: (response) =>
          response._tag === "Declined" ? Effect.die(unanswered(request, response)) : this.#send(index, response, agent)
      })
    })
  }

  /**
   * Returns the scripted result of a call, the same each time. If the conversation already had an id, the agent has appended a number to
   * it. `turn` is the turn before the call's, and `agent` is at work. If another run made the call, the turn decides. A state that was read
   * from JSON has other turns: then the id alone decides.
   */
  given(id: string, turn: Turn | undefined, agent: RunningAgent | undefined): MockResponse.GivenResult | undefined {
    const after = turn && ((agent && this.#within.get(agent)?.get(turn)) ?? this.#after.get(turn))
    const base = id.replace(/-\d+$/, "")
    const sentAs = (sent: string) => after?.filter((given) => given.id === sent) ?? this.#given.get(sent) ?? []
    const all = sentAs(id).length > 0 ? sentAs(id) : sentAs(base)
    const found = all.find(({ claimedBy }) => claimedBy === id) ?? all.find(({ claimedBy }) => claimedBy === undefined)
    if (found !== undefined) found.claimedBy = id
    return found?.gives
  }

  #send(
    index: number,
    response: MockResponse.MockResponse,
    agent: RunningAgent | undefined
  ): Effect.Effect<Sending> {
    for (const part of response.parts) {
      if (part.type === "tool-call" && part.id !== undefined) this.#taken.add(part.id)
    }
    const delivery = Delivery.address(response, this.#nextId)
    if (delivery !== response) this.#give(response, delivery, agent)
    const sending = Effect.succeed({
      delivery,
      sent: () => {
        this.calls[index] = { request: this.calls[index]!.request, response: delivery }
      }
    })
    return delivery.delay === undefined ? sending : Effect.delay(sending, delivery.delay)
  }

  /** Keeps the scripted results of calls by the ids with which these are sent. */
  #give(
    response: MockResponse.MockResponse,
    delivery: Delivery.Delivery,
    agent: RunningAgent | undefined
  ): void {
    const all: Array<Given> = []
    for (const [index, part] of response.parts.entries()) {
      const sent = delivery.parts[index]
      if (part.type !== "tool-call" || part.gives === undefined || sent?.type !== "tool-call") continue
      const given = { id: sent.id, gives: part.gives }
      all.push(given)
      const before = this.#given.get(sent.id)
      if (before === undefined) this.#given.set(sent.id, [given])
      else before.push(given)
    }
    const turn = agent?.state.conversation.turns.at(-1)
    if (agent === undefined || turn === undefined) return
    const isSentAgain = ({ id }: Given): boolean => all.some((given) => given.id === id)
    // An attempt that is made again has the same turn in the same run: of each id the last result counts, even if the id alone decides.
    const within = this.#within.get(agent) ?? new WeakMap<Turn, Array<Given>>()
    const before = within.get(turn) ?? []
    for (const given of before.filter(isSentAgain)) {
      const sent = this.#given.get(given.id)!
      sent.splice(sent.indexOf(given), 1)
    }
    this.#within.set(agent, within.set(turn, [...before.filter((given) => !isSentAgain(given)), ...all]))
    // Two runs of one state have the same turn.
    const known = this.#after.get(turn) ?? []
    this.#after.set(turn, [...known.filter((given) => !isSentAgain(given)), ...all])
  }

  readonly #nextId = (): string => {
    let id
    do id = `call_${++this.#ids}`
    while (this.#taken.has(id))
    return id
  }
}

/**
 * Says why a request has no answer, and which tool calls failed before it: a failed call often leads to more requests than the script
 * expects.
 */
const unanswered = (
  { agent, callCount, lastToolResults, lastUserText }: MockRequest.MockRequest,
  { reason }: Declined
): UnansweredRequest => {
  const failed = lastToolResults.filter(({ isFailure }) => isFailure)
    .map(({ name, result }) => `; its call \`${name}\` failed: ${typeof result === "string" ? result : shown(result)}`)
  return new UnansweredRequest({ agent, callCount, lastUserText, reason: [reason, ...failed].join("") })
}

/** Sends a response at once. */
export const whole = ({ delivery, sent }: Sending) => {
  if (delivery.hang !== undefined) return Effect.never
  sent()
  return delivery.failure === undefined
    ? Effect.succeed(Delivery.toParts(delivery))
    : Effect.fail(delivery.failure.error)
}

/**
 * Returns a function that reads a response chunk by chunk, and then how it ends. It counts as sent once its last chunk is read, even if the
 * stream then breaks.
 */
const reading = ({ delivery, sent }: Sending) => {
  const chunks = Delivery.toChunks(delivery)
  const ends = Delivery.ends(delivery)
  let next = 0
  return (): Delivery.Chunk | Effect.Effect<void, AiError.AiError> => {
    const index = next++
    if (ends && index >= chunks.length - 1) sent()
    if (index < chunks.length) return chunks[index]!
    if (!ends) return Effect.never
    return delivery.failure === undefined ? Effect.void : Effect.fail(delivery.failure.error)
  }
}

/** Sends a response in a stream. */
export const streamed = (sending: Sending): Pull.Pull<Delivery.Chunk, AiError.AiError> => {
  const read = reading(sending)
  return Effect.suspend((): Pull.Pull<Delivery.Chunk, AiError.AiError> => {
    const chunk = read()
    return Effect.isEffect(chunk) ? Effect.andThen(chunk, Cause.done()) : Effect.succeed(chunk)
  })
}

/** How many chunks are sent in a row before other fibers get their turn. */
const turn = 256

/** Passes the chunks of a response to `take`. */
export const sendAll = (sending: Sending, take: NativeModel.Take): Effect.Effect<void, AiError.AiError> =>
  Effect.suspend(() => {
    const read = reading(sending)
    const goOn: Effect.Effect<void, AiError.AiError> = Effect.suspend(() => {
      for (let left = turn; left > 0; left--) {
        const chunk = read()
        if (Effect.isEffect(chunk)) return chunk
        const taken = take(chunk)
        if (taken !== undefined) return Effect.andThen(taken, goOn)
      }
      return Effect.andThen(Effect.yieldNow, goOn)
    })
    return goOn
  })

/** The provider of a mock model, for `effect/ai` and for the native way. */
export const providerOf = <R>(session: ModelSession<R>): Parameters<typeof NativeModel.make>[0] => ({
  generateText: (options) => Effect.flatMap(session.ask(options, false), whole),
  streamText: (options) => Stream.fromPull(Effect.map(session.ask(options, true), streamed)),
  native: {
    generateText: (request) => Effect.flatMap(session.ask(request, false), whole),
    streamText: (request, take) => Effect.flatMap(session.ask(request, true), (sending) => sendAll(sending, take))
  }
})
