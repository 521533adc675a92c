/**
 * The prompt of a request: the system message, composed anew for each, and the messages of the settled turns.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import type { Window } from "../../../domain/AgentEvent.ts"
import { beginWithUser, openingText, toMessages } from "../../../domain/Projection.ts"
import type { Turn } from "../../../domain/StateSchema.ts"
import { handedNote } from "../../../domain/Takeover.ts"
import type { WindowTurn } from "../../../domain/window/WindowTurn.ts"
import type { Request } from "../../definition/AgentDefinition.ts"
import type { Loop } from "../../journal/Loop.ts"
import { compose, instructionsOf } from "../../rules/SystemPrompt.ts"
import { type Internals, internalsOf } from "../../window/WindowType.ts"
import { cacheFor, type PromptCache } from "./PromptCache.ts"
import { type Choice, choose } from "./WindowChoice.ts"

/** A prompt, and if a context window chose what it holds, what that says of it and how many tokens it counted. */
export interface RequestPrompt {
  readonly prompt: Prompt.Prompt
  readonly window?: Window
  readonly counted?: number | undefined
}

const assemble = (loop: Loop, instructions: string | undefined): RequestPrompt => {
  const { definition, state } = loop
  const cache = cacheFor(loop, state)
  const system = compose(definition, state, instructions, cache.handed(state))
  cache.setSystem(system)
  return { prompt: Prompt.fromMessages(beginWithUser(cache.messages.slice(system === "" ? 1 : 0))) }
}

/** Gives the messages of a turn that isn't in the conversation as it is. */
const messagesOf = memoize((turn: Turn): ReadonlyArray<Prompt.Message> => toMessages(turn))

/** Checks whether what is sent begins with what was sent last. */
const goesOn = (chosen: ReadonlyArray<WindowTurn>, last: ReadonlyArray<WindowTurn>): boolean => {
  if (chosen === last) return true
  for (let at = 0; at < last.length; at++) if (chosen[at]?.turn !== last[at]!.turn) return false
  return true
}

/**
 * Gives the messages of the turns that a context window has chosen.
 *
 * A provider may go on from its own record of what it was sent, which it knows by the messages. If others were sent before, the
 * first message is made anew, so that it doesn't: its record would hold what is left out.
 */
const pick = (cache: PromptCache, choice: Choice, system: string): Prompt.Prompt => {
  const { chosen, entries } = choice
  const isOther = !goesOn(chosen, entries.last)
  entries.last = chosen
  cache.setSystem(system, isOther)
  const messages = messagesIn(cache, choice, system)
  const [first] = messages
  if (isOther && system === "" && first !== undefined) messages[0] = copyOf(first)
  return Prompt.fromMessages(beginWithUser(messages))
}

const messagesIn = (
  { messages: all, starts }: PromptCache,
  { chosen, entries, tail }: Choice,
  system: string
): Array<Prompt.Message> => {
  if (chosen === entries.all) return all.slice(system === "" ? 1 : 0)
  if (chosen.length === tail) {
    const start = starts[entries.all.length - tail] ?? all.length
    if (system === "") return all.slice(start)
    const messages = all.slice(start - 1)
    messages[0] = all[0]!
    return messages
  }
  const messages: Array<Prompt.Message> = system === "" ? [] : [all[0]!]
  for (let at = 0; at < chosen.length - tail; at++) {
    const each = chosen[at]!
    messages.push(
      ...(entries.isWhole(each) ? all.slice(starts[each.index], starts[each.index + 1]) : messagesOf(each.turn))
    )
  }
  return tail === 0 ? messages : messages.concat(all.slice(starts[entries.all.length - tail]))
}

const copyOf = (message: Prompt.Message): Prompt.Message =>
  Object.assign(Object.create(Object.getPrototypeOf(message) as object) as Prompt.Message, message)

type Making = Effect.Effect<RequestPrompt, unknown, unknown>

/** Makes the prompt of what a context window leaves of the conversation. */
const assembleWithin = (
  loop: Loop,
  window: Internals,
  instructions: string | undefined,
  request: Request
): Making =>
  Effect.suspend(() => {
    const { definition, state } = loop
    const cache = cacheFor(loop, state)
    const system = compose(definition, state, instructions, cache.handed(state))
    // If the call that handed over is left out, what was handed over goes into the system message.
    const note = cache.handed(state) === undefined ? handedNote(state) : undefined
    const texts = note === undefined ? [system] : [system, note]
    if (cache.messages[1]?.role !== "user") texts.push(openingText)
    return Effect.map(
      choose(loop, window, cache, { texts, request }),
      (choice): RequestPrompt => {
        // A summary that was made meanwhile is in the state by now.
        const { handoff } = loop.state
        const isLeft = note !== undefined && handoff !== undefined && !choice.entries.isTold(handoff, choice.chosen)
        const prompt = pick(cache, choice, isLeft ? compose(definition, state, instructions, note) : system)
        return { prompt, window: choice.window, counted: choice.counted }
      }
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
