/**
 * What a model is sent: the system message, composed anew for each request, and the messages of the settled turns.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as ModeStack from "../../../domain/ModeStack.ts"
import { toMessages } from "../../../domain/Projection.ts"
import * as PromptSegments from "../../../domain/PromptSegments.ts"
import type { AgentState, Turn } from "../../../domain/StateSchema.ts"
import { handedNote } from "../../../domain/Takeover.ts"
import type { WindowTurn } from "../../../domain/window/WindowTurn.ts"
import type { Definition, Request } from "../../definition/AgentDefinition.ts"
import type { Loop } from "../../journal/Loop.ts"
import { type Internals, internalsOf } from "../../window/WindowType.ts"
import { type Choice, choose } from "./WindowChoice.ts"

/** Says which mode a model is in, and what it is for. */
const modeNote = ({ modes }: Definition, state: AgentState): string | undefined => {
  const name = ModeStack.top(state)?.name
  if (name === undefined) return undefined
  const description = modes.get(name)?.mode.description
  const where = state.modes.length === 1 ? "" : `, inside ${quoted(ModeStack.names(state).slice(0, -1).toReversed())}`
  return `You are in mode "${name}"${where}.${description === undefined ? "" : ` ${description}`}`
}

const quoted = (names: ReadonlyArray<string>): string => names.map((name) => `"${name}"`).join(", ")

/**
 * Composes the system text: prepends, instructions, what was handed over, the state's system message, sections, the mode,
 * appends.
 */
const compose = (
  definition: Definition,
  state: AgentState,
  instructions: string | undefined,
  note: string | undefined
): string =>
  state.prompt.length === 0 && state.systemMessage === undefined && note === undefined && state.modes.length === 0
    ? instructions ?? ""
    : PromptSegments.render(state.prompt, [instructions, note, state.systemMessage], modeNote(definition, state))

/** Composes the system text, unless all that it is made of is what it was for the last request. */
const composeOnce = (loop: Loop, instructions: string | undefined): string => {
  const { definition, sent, state } = loop
  const { modes, prompt, systemMessage } = state
  const { composed: last, note } = sent
  if (
    last !== undefined && last.definition === definition && last.prompt === prompt && last.modes === modes &&
    last.systemMessage === systemMessage && last.instructions === instructions && last.note === note
  ) return last.text
  const text = compose(definition, state, instructions, note)
  sent.composed = { definition, prompt, modes, systemMessage, instructions, note, text }
  return text
}

const instructionsOf = (
  definition: Definition,
  state: AgentState
): string | undefined | Effect.Effect<string, unknown, unknown> =>
  typeof definition.instructions === "function" ? definition.instructions(state) : definition.instructions

/** Adds the messages of the turns that are new, behind the place of the system message. */
const extendSent = ({ sent, state }: Loop): void => {
  const { turns } = state.conversation
  for (; sent.turns < turns.length; sent.turns++) {
    sent.starts.push(sent.messages.length)
    sent.messages.push(...toMessages(turns[sent.turns]!))
  }
}

const systemMessage = (content: string): Prompt.Message => Prompt.makeMessage("system", { content })

/** Puts the system message in its place, anew where it is another, or where it `isOther` what follows it. */
const putSystem = ({ sent }: Loop, system: string, isOther = false): void => {
  if (sent.messages.length > 0 && system === sent.system && !isOther) return
  sent.messages[0] = systemMessage(system)
  sent.system = system
}

const assemble = (loop: Loop, instructions: string | undefined): Prompt.Prompt => {
  const { sent } = loop
  const system = composeOnce(loop, instructions)
  putSystem(loop, system)
  extendSent(loop)
  return Prompt.fromMessages(sent.messages.slice(system === "" ? 1 : 0))
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
 * A provider may go on from its own record of what it was sent, which it knows by the messages. Where others were sent before, the
 * first message is made anew, so that it doesn't: its record would hold what is left out.
 */
const pick = (loop: Loop, choice: Choice, system: string): Prompt.Prompt => {
  const { chosen, entries } = choice
  const isOther = !goesOn(chosen, entries.last)
  entries.last = chosen
  putSystem(loop, system, isOther)
  extendSent(loop)
  const messages = messagesIn(loop, choice, system)
  const [first] = messages
  if (isOther && system === "" && first !== undefined) messages[0] = copyOf(first)
  return Prompt.fromMessages(messages)
}

const messagesIn = ({ sent }: Loop, { chosen, entries, tail }: Choice, system: string): Array<Prompt.Message> => {
  if (chosen === entries.all) return sent.messages.slice(system === "" ? 1 : 0)
  if (chosen.length === tail) {
    const start = sent.starts[entries.all.length - tail] ?? sent.messages.length
    if (system === "") return sent.messages.slice(start)
    const messages = sent.messages.slice(start - 1)
    messages[0] = sent.messages[0]!
    return messages
  }
  const messages: Array<Prompt.Message> = system === "" ? [] : [sent.messages[0]!]
  for (let at = 0; at < chosen.length - tail; at++) {
    const each = chosen[at]!
    messages.push(
      ...(entries.isWhole(each)
        ? sent.messages.slice(sent.starts[each.index], sent.starts[each.index + 1])
        : messagesOf(each.turn))
    )
  }
  return tail === 0 ? messages : messages.concat(sent.messages.slice(sent.starts[entries.all.length - tail]))
}

const copyOf = (message: Prompt.Message): Prompt.Message =>
  Object.assign(Object.create(Object.getPrototypeOf(message) as object) as Prompt.Message, message)

/** Makes the prompt of what a context window leaves of the conversation. */
const assembleWithin = (
  loop: Loop,
  window: Internals,
  instructions: string | undefined,
  request: Request
): Effect.Effect<Prompt.Prompt, unknown, unknown> =>
  Effect.suspend(() => {
    const { definition, sent, state } = loop
    const system = composeOnce(loop, instructions)
    // Where the call that handed over is left out, what was handed over goes into the system message.
    const note = sent.note === undefined ? handedNote(state) : undefined
    const callId = state.handoff?.callId
    return Effect.map(
      choose(loop, window, { texts: note === undefined ? [system] : [system, note], request }),
      (choice) => {
        sent.window = choice.window
        sent.counted = choice.counted
        const isLeft = note !== undefined && callId !== undefined && !choice.entries.isCallIn(callId, choice.chosen)
        return pick(loop, choice, isLeft ? compose(definition, state, instructions, note) : system)
      }
    )
  })

/** Makes the prompt of a request of a loop whose calls are all settled. */
export const makePrompt = (
  loop: Loop,
  request: Request
): Prompt.Prompt | Effect.Effect<Prompt.Prompt, unknown, unknown> => {
  const { contextWindow } = loop.definition
  const window = contextWindow === undefined ? undefined : internalsOf(contextWindow)
  const make = (text: string | undefined) =>
    window === undefined ? assemble(loop, text) : assembleWithin(loop, window, text, request)
  const instructions = instructionsOf(loop.definition, loop.state)
  return Effect.isEffect(instructions)
    ? Effect.flatMap(instructions, (text) => {
      const prompt = make(text)
      return Effect.isEffect(prompt) ? prompt : Effect.succeed(prompt)
    })
    : make(instructions)
}
