/**
 * The prompt of a request: the system message, composed anew for each, and the messages of the settled turns.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import type { Window } from "../../../domain/AgentEvent.ts"
import { beginWithUser, toMessages } from "../../../domain/Projection.ts"
import type { Turn } from "../../../domain/StateSchema.ts"
import type { WindowTurn } from "../../../domain/window/WindowTurn.ts"
import { copyOf, Projection } from "../../../model/Projection.ts"
import type { Request } from "../../definition/AgentDefinition.ts"
import type { Loop } from "../../journal/Loop.ts"
import { type Internals, internalsOf } from "../../window/WindowType.ts"
import { instructionsOf } from "./Instructions.ts"
import type { RequestMessages } from "./ModelPort.ts"
import { cacheFor, type PromptCache } from "./PromptCache.ts"
import { besideOf, systemOf } from "./RequestSystem.ts"
import { type Choice, choose } from "./WindowChoice.ts"

/** A prompt, and, if a context window chose its turns, the window's report and its count of tokens. */
export class RequestPrompt implements RequestMessages {
  readonly system: Prompt.SystemMessage | undefined
  readonly projection: Projection | undefined
  readonly window: Window | undefined
  readonly counted: number | undefined
  readonly #behind: Projection
  readonly #count: number
  #prompt: Prompt.Prompt | undefined = undefined
  constructor(
    system: Prompt.SystemMessage | undefined,
    behind: Projection | Array<Prompt.Message>,
    { counted, window }: Partial<Pick<Choice, "window" | "counted">> = {}
  ) {
    this.system = system
    const isProjection = behind instanceof Projection
    this.projection = isProjection ? behind : undefined
    this.window = window
    this.counted = counted
    this.#behind = isProjection ? behind : new Projection(behind)
    // Later requests add to a projection.
    this.#count = this.#behind.messages.length
  }
  get prompt(): Prompt.Prompt {
    if (this.#prompt !== undefined) return this.#prompt
    // Who reads messages may keep a record of what was sent, and know them by their identity.
    this.projection?.own()
    return this.#prompt = Prompt.fromMessages(this.#behind.behind(this.system, this.#count))
  }
}

const assemble = (loop: Loop, instructions: string | undefined): RequestPrompt => {
  const { state } = loop
  const cache = cacheFor(loop, state)
  return new RequestPrompt(cache.system(systemOf(loop, instructions, cache.handed(state))), cache.projection)
}

/** Returns the messages of a turn that differs from the conversation's. */
const messagesOf = memoize((turn: Turn): ReadonlyArray<Prompt.Message> => toMessages(turn))

/** Checks whether the chosen turns begin with those of the last request. */
const goesOn = (chosen: ReadonlyArray<WindowTurn>, last: ReadonlyArray<WindowTurn>): boolean => {
  if (chosen === last) return true
  for (let at = 0; at < last.length; at++) if (chosen[at]?.turn !== last[at]!.turn) return false
  return true
}

/**
 * Returns the messages of the turns that a context window has chosen.
 *
 * A provider's model may continue from its own record of earlier requests, which it recognizes by the messages. If the chosen turns don't
 * begin with those of the last request, the first message is made anew, because that record would still hold turns that are left out.
 */
const pick = (cache: PromptCache, choice: Choice, content: string): RequestPrompt => {
  const { chosen, entries } = choice
  const isOther = !goesOn(chosen, entries.last)
  entries.last = chosen
  const system = cache.system(content, isOther)
  if (chosen === entries.all && (system !== undefined || !isOther)) {
    return new RequestPrompt(system, cache.projection, choice)
  }
  cache.all.own()
  const messages = [...beginWithUser(messagesIn(cache, choice))]
  if (isOther && system === undefined && messages[0] !== undefined) messages[0] = copyOf(messages[0])
  return new RequestPrompt(system, messages, choice)
}

const messagesIn = (
  { all: { messages: all }, starts }: PromptCache,
  { chosen, entries, tail }: Choice
): ReadonlyArray<Prompt.Message> => {
  const last = tail === 0 ? [] : all.slice(starts[entries.all.length - tail])
  if (chosen.length === tail) return last
  const messages: Array<Prompt.Message> = []
  for (let at = 0; at < chosen.length - tail; at++) {
    const each = chosen[at]!
    messages.push(
      ...(entries.isWhole(each) ? all.slice(starts[each.index], starts[each.index + 1]) : messagesOf(each.turn))
    )
  }
  return messages.concat(last)
}

type Making = Effect.Effect<RequestPrompt, unknown, unknown>

/** Makes the prompt from the turns that a context window has chosen. */
const assembleWithin = (
  loop: Loop,
  window: Internals,
  instructions: string | undefined,
  request: Request
): Making =>
  Effect.suspend(() => {
    const { state } = loop
    const cache = cacheFor(loop, state)
    const handed = cache.handed(state)
    return Effect.map(
      choose(loop, window, cache, besideOf(loop, instructions, handed, cache.all.messages[0], request)),
      (choice): RequestPrompt => pick(cache, choice, systemOf(loop, instructions, handed, choice))
    )
  })

/** Makes the prompt of a request of a loop whose calls are all settled. */
export const makePrompt = (loop: Loop, request: Request): RequestPrompt | Making => {
  const { definition, state } = loop
  const { contextWindow } = definition
  const window = contextWindow === undefined ? undefined : internalsOf(contextWindow)
  const make = (text: string | undefined) =>
    window === undefined ? assemble(loop, text) : assembleWithin(loop, window, text, request)
  const instructions = instructionsOf(definition, state)
  if (!Effect.isEffect(instructions)) return make(instructions)
  return Effect.flatMap(instructions, (text) => {
    const prompt = make(text)
    return Effect.isEffect(prompt) ? prompt : Effect.succeed(prompt)
  })
}
