/**
 * Choosing the turns that a request sends, by the context window of the agent in control.
 *
 * @since 0.1.0
 */
import type * as Tokenizer from "effect/ai/Tokenizer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { ContextWindowExceeded } from "../../../domain/AgentError.ts"
import { addSummary, madeOf } from "../../../domain/conversation/Summaries.ts"
import type { AgentState, Conversation } from "../../../domain/StateSchema.ts"
import { estimateText } from "../../../domain/TokenEstimate.ts"
import { fit, type SentTurns } from "../../../domain/window/Choosing.ts"
import { hasRoom, type Room, tokensIn, type WindowTurn } from "../../../domain/window/WindowTurn.ts"
import { EmptySummary } from "../../definition/window/EmptySummary.ts"
import type { Internals, Step } from "../../definition/window/WindowType.ts"
import * as Loop from "../../journal/Loop.ts"
import * as Telemetry from "../../journal/Telemetry.ts"
import { Fail } from "../../rules/Decision.ts"
import * as OwnModel from "../ask/OwnModel.ts"
import type { PromptCache } from "../ask/PromptCache.ts"
import { unlessDecided } from "../ask/Unasked.ts"
import type { Beside, Choice } from "./Choice.ts"
import { Counter } from "./TokenCounter.ts"
import { Entries } from "./WindowTurns.ts"

/** The key of the tokenizer, without its module: an import should load no module of Effect that only a window needs. */
const TokenizerKey = Context.Service<Tokenizer.Tokenizer, Tokenizer.Service>("effect/ai/Tokenizer")

/** Returns the window's turns, counted in the current way. Another agent's may be counted differently. */
const entriesOf = (
  { definition: { name } }: Loop.Loop,
  cache: Pick<PromptCache, "entries">,
  { count, countsTokens }: Internals,
  tokenizer: Tokenizer.Service | undefined
): Entries => {
  const way = count ?? tokenizer ?? estimateText
  const known = cache.entries
  if (known?.agent === name && (known.counter?.counts(way) ?? !countsTokens)) return known
  return cache.entries = new Entries(name, countsTokens ? new Counter(way) : undefined)
}

const stateOf = ({ foreseen, loop }: ChoiceInput): AgentState => foreseen ?? loop.state

/** The limits of a window in a state, and how many tokens everything besides turns needs. */
interface Limits {
  readonly room: Room
  readonly limit: number
  readonly beside: number
}

const limitsOf = (input: ChoiceInput): Limits => {
  const { beside: { request, texts }, entries: { counter, ratio }, window } = input
  const { countsTokens, maxTokens, maxTurns, reserve, target } = window
  const limit = maxTokens(stateOf(input)) - reserve
  const beside = counter === undefined
    ? 0
    : texts.reduce((sum, text) => sum + counter.text(text), counter.tools(request))
  return {
    limit,
    beside,
    room: {
      tokens: countsTokens ? limit / ratio - beside : Infinity,
      turns: maxTurns,
      count: (turn) => counter?.turn(turn) ?? 0,
      atOnce: {
        tokens: target < 1 && countsTokens ? (1 - target) * limit : 0,
        turns: target < 1 && maxTurns < Infinity ? Math.floor((1 - target) * maxTurns) : 0
      }
    }
  }
}

/** Returns how the turns exceed a window. */
const exceeded = (
  { agent, counter, ratio }: Entries,
  { maxTurns }: Internals,
  { beside, limit: most, room }: Limits,
  { sent, tokens }: SentTurns
): Fail => {
  const isTokens = room.tokens !== Infinity && !(tokens <= room.tokens)
  const [limit, needed] = isTokens ? [most, Math.ceil((beside + tokens) * ratio)] : [maxTurns, sent.length]
  const unit = isTokens ? "tokens" : "turns"
  const isEstimated = isTokens && counter?.by === "estimate"
  return new Fail(new ContextWindowExceeded({ agent, unit, limit, needed, over: needed - limit, isEstimated }))
}

/** Returns the turns that are summarized: so many that the others fill the share `target` of the room, or with `isAll` all that may go. */
const going = (
  chosen: ReadonlyArray<WindowTurn>,
  before: number,
  room: Room,
  target: number,
  isAll: boolean
): ReadonlyArray<WindowTurn> => {
  let tokens = before
  let turns = chosen.length + (chosen.some(({ stays }) => stays === "Summary") ? 0 : 1)
  return chosen.filter((each) => {
    if (each.stays !== undefined || each.index < 0) return false
    if (!isAll && tokens <= room.tokens * target && turns <= room.turns * target) return false
    tokens -= each.tokens
    turns--
    return true
  })
}

/** Lets turns be summarized, and emits the event. A summary has a price, so the limits are checked again. */
const summarize = Effect.fnUntraced(function*(
  loop: Loop.Loop,
  entries: Entries,
  { model, summarize: make }: Step & { readonly _tag: "Summarize" },
  goes: ReadonlyArray<WindowTurn>
) {
  const before = loop.state.conversation.summaries?.at(-1)
  const extended = entries.extend(before, goes)
  const startedAt = Loop.now(loop)
  const making = Effect.suspend(() => make(madeOf(loop.state.conversation.turns, extended, before)))
  const { text, ...used } = yield* Telemetry.summarySpan(loop, goes.length, OwnModel.provide(loop, model, making))
  if (text.trim() === "") return yield* Effect.fail(new EmptySummary({ agent: entries.agent, turns: goes.length }))
  Loop.emit(loop, {
    _tag: "ConversationSummarized",
    text,
    ...extended,
    duration: Math.max(0, Loop.now(loop) - startedAt),
    ...used
  })
  yield* loop.journal.flush
  yield* unlessDecided(loop)
})

/** Returns a conversation as it will be once turns are summarized, with a placeholder for the summary. */
const summarized = (self: Conversation, entries: Entries, goes: ReadonlyArray<WindowTurn>): Conversation =>
  addSummary(self, { text: "…", ...entries.extend(self.summaries?.at(-1), goes) })

/** What a choice is made for: a request, or only a prediction. For a prediction no summary is made and no event emitted. */
interface ChoiceInput {
  readonly loop: Loop.Loop
  readonly foreseen?: AgentState | undefined
  readonly window: Internals
  readonly beside: Beside
  readonly entries: Entries
}

/** An unfinished choice: the turns that are chosen so far, all turns, and their tokens. */
interface Choosing extends ChoiceInput {
  readonly limits: Limits
  readonly base: ReadonlyArray<WindowTurn>
  readonly round: number
  chosen: ReadonlyArray<WindowTurn>
  tokens: number
}

/** Lets the tokenizer count turns that aren't in the conversation: summaries, and turns that a strategy made. */
const recount = (choosing: Choosing): Effect.Effect<void> | undefined => {
  const { entries: { counter }, entries } = choosing
  if (counter?.learns !== true) return undefined
  const made = new Set(choosing.chosen.filter((each) => !entries.isWhole(each)))
  const learning = counter.learn([], undefined, Array.from(made, ({ turn }) => turn))
  return learning === undefined ? undefined : Effect.map(learning, () => {
    choosing.chosen = choosing.chosen.map((each) =>
      made.has(each) ? { ...each, tokens: counter.turn(each.turn) } : each
    )
    choosing.tokens = tokensIn(choosing.chosen)
  })
}

/** Continues a choice from one of the window's steps. */
const goOn = (choosing: Choosing, from: number): Effect.Effect<Choice, unknown, unknown> => {
  const { base, entries, limits: { room }, limits, loop, round, window } = choosing
  const isUnlimited = !window.countsTokens && window.maxTurns === Infinity
  for (let at = from; at < window.steps.length; at++) {
    const step = window.steps[at]!
    const isOver = !hasRoom(choosing.chosen, choosing.tokens, room)
    if (step._tag === "Choose") {
      if (!isOver && !step.isLimit && !isUnlimited) continue
      choosing.chosen = step.choose(choosing.chosen, room, choosing.tokens)
      choosing.tokens = tokensIn(choosing.chosen)
      const recounting = recount(choosing)
      if (recounting !== undefined) return Effect.flatMap(recounting, () => goOn(choosing, at + 1))
    } else if (isOver) {
      const goes = going(choosing.chosen, choosing.tokens, room, window.target, round > 0)
      if (goes.length === 0) continue
      if (choosing.foreseen !== undefined) {
        const conversation = summarized(choosing.foreseen.conversation, entries, goes)
        if (conversation === choosing.foreseen.conversation) continue
        return begin({ ...choosing, foreseen: { ...choosing.foreseen, conversation } }, round + 1)
      }
      return Effect.flatMap(summarize(loop, entries, step, goes), () => begin(choosing, round + 1))
    }
  }
  const sent = fit(choosing.chosen, base, room, choosing.tokens)
  return sent.hasRoom
    ? Effect.succeed(choiceOf(entries, limits, sent))
    : Effect.fail(exceeded(entries, window, limits, sent))
}

/** Begins a choice with the current turns, after the new ones are counted. */
const begin = (input: ChoiceInput, round: number): Effect.Effect<Choice, unknown, unknown> => {
  const { beside, entries, foreseen, loop, window } = input
  const { conversation: { summaries, turns }, run } = stateOf(input)
  const start = (): Effect.Effect<Choice, unknown, unknown> => {
    entries.update(turns, run.inputs ?? 1)
    const summary = window.steps.some(({ _tag }) => _tag === "Summarize") ? summaries?.at(-1) : undefined
    const limits = limitsOf(input)
    const base = entries.base(summary)
    const tokens = base === entries.all ? entries.tokens : tokensIn(base)
    const choosing: Choosing = { loop, foreseen, window, beside, entries, limits, base, round, chosen: base, tokens }
    const recounting = summary === undefined ? undefined : recount(choosing)
    return recounting === undefined
      ? goOn(choosing, 0)
      : Effect.flatMap(recounting, () => goOn({ ...choosing, base: choosing.chosen }, 0))
  }
  const { all, counter } = entries
  const learning = counter?.learns === true
    ? counter.learn(beside.texts, beside.request, turns.slice(all.length))
    : undefined
  return learning === undefined ? start() : Effect.flatMap(learning, start)
}

/**
 * Chooses what a request sends. Fails with `ContextWindowExceeded` if the turns that must stay are too much, and with the error of a
 * summary.
 */
export const choose = (
  loop: Loop.Loop,
  window: Internals,
  cache: Pick<PromptCache, "entries">,
  beside: Beside,
  foreseen?: AgentState
): Effect.Effect<Choice, unknown, unknown> =>
  Effect.withFiber((fiber) => {
    const entries = entriesOf(loop, cache, window, Context.getOrUndefined(fiber.context, TokenizerKey))
    return begin({ loop, foreseen, window, beside, entries }, 0)
  })

const choiceOf = (entries: Entries, { beside }: Limits, { sent, tokens }: SentTurns): Choice => {
  const { all, counter, ratio } = entries
  const tail = entries.tailOf(sent)
  let whole = tail
  for (let at = 0; at < sent.length - tail; at++) if (entries.isWhole(sent[at]!)) whole++
  return {
    entries,
    chosen: sent,
    tail,
    counted: counter === undefined ? undefined : beside + tokens,
    window: {
      turns: whole,
      left: all.length - whole,
      ...(counter === undefined ? undefined : { tokens: Math.ceil((beside + tokens) * ratio), by: counter.by })
    }
  }
}
