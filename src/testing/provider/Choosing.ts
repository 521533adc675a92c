/**
 * Which source answers a request: a step of a chain, otherwise the handler, otherwise none.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { choose as chooseStep } from "../chain/Choose.ts"
import { countTurns } from "../chain/Find.ts"
import type { InstructionChain } from "../chain/Instruction.ts"
import { unmarked } from "../chain/Tags.ts"
import type { Answer } from "../Handler.ts"
import * as MockRequest from "../MockRequest.ts"
import * as MockResponse from "../MockResponse.ts"
import type { Asked } from "./Asked.ts"
import type { Arrived, Chosen } from "./Session.ts"

/** What a mock provider answers with. */
export interface Answering<R> {
  readonly chain: InstructionChain | undefined
  readonly handler: Answer<R> | undefined
  readonly isStrict: boolean
}

/** What the user said last, without the chain that it carries. */
const lastUserText = ({ messages }: Asked): string => {
  const texts = messages.findLast(({ role }) => role === "user")?.texts ?? []
  return texts.map(unmarked).find((text) => text !== "") ?? ""
}

const fallback = (asked: Asked) => ({ by: "fallback", response: MockResponse.text(lastUserText(asked)) })

/** Asks the handler. Its error is a response, too. */
const ask = <R>(asked: Asked, number: number, handler: Answer<R>): Effect.Effect<Chosen, never, R> => {
  const { messages } = asked
  const iteration = countTurns(messages, messages.findLastIndex(({ role }) => role === "user") + 1)
  const request = MockRequest.make({ ...asked, iteration }, undefined, number, asked.isStreaming, Context.empty())
  const notes: Array<string> = []
  const by = () => notes.length === 0 ? "handler" : `handler: ${notes.join(" > ")}`
  return Effect.match(handler(request, (what) => void notes.push(what)), {
    onFailure: (error) => ({ by: by(), response: MockResponse.fail(error) }),
    onSuccess: (answer) =>
      answer._tag === "Declined" ? { ...fallback(asked), miss: answer.reason } : { by: by(), response: answer }
  })
}

/** Chooses what answers a request: a step of its chain, or else the handler, unless there is a chain and the provider is strict. */
export const choose = <R>(
  asked: Asked,
  arrived: Arrived,
  { chain, handler, isStrict }: Answering<R>
): Effect.Effect<Chosen, never, R> => {
  const { headers, number, url } = arrived
  const { body, messages, system } = asked
  const request = {
    body,
    headers,
    messages,
    system,
    url,
    get tools() {
      return asked.tools
    }
  }
  const choice = chooseStep(request, chain)
  if (choice._tag === "Chosen") return Effect.succeed(choice)
  if (choice._tag === "Absent") {
    return handler !== undefined
      ? ask(asked, number, handler)
      : Effect.succeed({
        ...fallback(asked),
        ...(isStrict ? { miss: `there is no handler, and ${choice.reason}` } : undefined)
      })
  }
  const missed = { miss: choice.reason, warnings: choice.warnings }
  return handler === undefined || isStrict
    ? Effect.succeed({ ...fallback(asked), ...missed })
    : Effect.map(ask(asked, number, handler), (chosen) => ({ ...chosen, ...missed }))
}
