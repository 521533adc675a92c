/**
 * The prompt of a request in a context window: the messages of the turns that the window chooses.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import { beginWithUser, toMessages } from "../../../domain/Projection.ts"
import type { Turn } from "../../../domain/StateSchema.ts"
import type { WindowTurn } from "../../../domain/window/WindowTurn.ts"
import { copyOf } from "../../../model/Projection.ts"
import { type Internals, internalsOf } from "../../definition/window/WindowType.ts"
import type { Loop } from "../../journal/Loop.ts"
import { cacheFor, type PromptCache } from "../ask/PromptCache.ts"
import { RequestPrompt } from "../ask/RequestPrompt.ts"
import { besideOf, systemOf } from "../ask/RequestSystem.ts"
import type { Choice } from "./Choice.ts"
import { choose } from "./WindowChoice.ts"
import type { WindowPrompts } from "./WindowPrompts.ts"

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
 * begin with those of the last request, the first message is a new object, so that the model doesn't recognize it: that record would still
 * hold turns that are left out.
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

/** Returns what the window of a loop's agent is made of. The loop calls `windowPrompts` only if its agent has a window. */
const windowOf = ({ definition: { contextWindow } }: Loop): Internals => internalsOf(contextWindow!)

/** Performs the context windows of any agent. */
export const windowPrompts: WindowPrompts = {
  _tag: "troupe/agent/WindowPrompts",
  makePrompt: (loop, instructions, request) =>
    Effect.suspend(() => {
      const { state } = loop
      const cache = cacheFor(loop, state)
      const handed = cache.handed(state)
      return Effect.map(
        choose(loop, windowOf(loop), cache, besideOf(loop, instructions, handed, cache.all.messages[0], request)),
        (choice): RequestPrompt => pick(cache, choice, systemOf(loop, instructions, handed, choice))
      )
    }),
  foresee: (loop, beside, state) => choose(loop, windowOf(loop), { entries: undefined }, beside, state)
}
