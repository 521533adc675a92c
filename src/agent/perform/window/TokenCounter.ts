/**
 * Counts tokens for a context window: by a function, by the provider's tokenizer, or by an estimate.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import type * as Tokenizer from "effect/ai/Tokenizer"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import type { Window } from "../../../domain/AgentEvent.ts"
import { toMessages } from "../../../domain/Projection.ts"
import type { Turn } from "../../../domain/StateSchema.ts"
import { type CountTokens, estimateText, tokensOf } from "../../../domain/TokenEstimate.ts"
import type { Request } from "../../definition/AgentDefinition.ts"

/** What a model reads of a tool: its name, its description and its parameters. */
const textOfTool = memoize((tool: Tool.Any): string =>
  JSON.stringify({ name: tool.name, description: tool.description, parameters: schemaOf(tool) })
)

/** A tool without a JSON schema is counted without parameters. */
const schemaOf = (tool: Tool.Any): unknown => {
  try {
    return Tool.getJsonSchema(tool)
  } catch {
    return undefined
  }
}

/** Returns the tools that a request offers. */
const offeredIn = ({ toolChoice, toolkit }: Request): ReadonlyArray<Tool.Any> => {
  const tools = Object.values(toolkit.tools)
  return typeof toolChoice === "object" && "oneOf" in toolChoice
    ? tools.filter(({ name }) => toolChoice.oneOf.includes(name))
    : tools
}

/** Returns the known counts of turns for one way of counting, shared by all runs. */
const knownBy = memoize((_way: CountTokens | Tokenizer.Service) => new WeakMap<Turn, number>())

/** Counts tokens. A tokenizer must `learn` texts first; texts that it hasn't learned are estimated. */
export class Counter {
  readonly #way: CountTokens | Tokenizer.Service
  readonly #count: CountTokens
  readonly #tokenizer: Tokenizer.Service | undefined
  readonly #turns: WeakMap<Turn, number>
  readonly #texts = new Map<string, number>()
  readonly #requests = new WeakMap<Request, number>()
  readonly #estimated = new WeakMap<Turn, number>()
  #hasFailed = false

  constructor(way: CountTokens | Tokenizer.Service) {
    this.#way = way
    this.#count = typeof way === "function" ? way : estimateText
    this.#tokenizer = typeof way === "function" ? undefined : way
    this.#turns = knownBy(way)
  }

  /** Checks whether this counts in a given way. */
  counts(way: CountTokens | Tokenizer.Service): boolean {
    return this.#way === way
  }

  /** Whether it has to learn texts before it counts them. */
  get learns(): boolean {
    return this.#tokenizer !== undefined
  }

  /** The way in which it counts. */
  get by(): NonNullable<Window["by"]> {
    if (this.#tokenizer !== undefined && !this.#hasFailed) return "tokenizer"
    return this.#way === estimateText || this.#hasFailed ? "estimate" : "count"
  }

  readonly turn = (turn: Turn): number => {
    const known = this.#turns.get(turn) ?? this.#estimated.get(turn)
    if (known !== undefined) return known
    const tokens = Math.ceil(tokensOf(turn, this.#count))
    if (this.#tokenizer === undefined) this.#turns.set(turn, tokens)
    return tokens
  }

  /** Counts a text that many requests contain. */
  readonly text = (text: string): number => {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    const tokens = Math.ceil(this.#count(text))
    if (this.#tokenizer === undefined) this.#texts.set(text, tokens)
    return tokens
  }

  /** Counts the tools of a request. */
  tools(request: Request): number {
    const known = this.#requests.get(request)
    if (known !== undefined) return known
    const tokens = offeredIn(request).reduce((sum, tool) => sum + this.text(textOfTool(tool)), 0)
    this.#requests.set(request, tokens)
    return tokens
  }

  /** Lets the tokenizer, if there is one, count texts that it hasn't counted yet. If it fails, they stay estimated. */
  learn(
    texts: ReadonlyArray<string>,
    request: Request | undefined,
    turns: ReadonlyArray<Turn>
  ): Effect.Effect<void> | undefined {
    const tokenizer = this.#tokenizer
    if (tokenizer === undefined) return undefined
    const tools = request === undefined || this.#requests.has(request) ? [] : offeredIn(request).map(textOfTool)
    const newTexts = [...texts, ...tools].filter((text) => text !== "" && !this.#texts.has(text))
    const newTurns = turns.filter((turn) => !this.#turns.has(turn) && !this.#estimated.has(turn))
    if (newTexts.length === 0 && newTurns.length === 0) return undefined
    const count = (input: Prompt.RawInput, onCount: (tokens: number) => void, onFailure: () => void) =>
      Effect.match(Effect.suspend(() => tokenizer.tokenize(input)), {
        onSuccess: ({ length }) => onCount(length),
        onFailure: () => {
          this.#hasFailed = true
          onFailure()
        }
      })
    const learnText = (text: string) => {
      const take = (tokens: number): void => void this.#texts.set(text, tokens)
      return count(text, take, () => take(Math.ceil(estimateText(text))))
    }
    const learnTurn = (turn: Turn) =>
      count(
        Prompt.fromMessages(toMessages(turn)),
        (tokens) => this.#turns.set(turn, tokens),
        () => this.#estimated.set(turn, Math.ceil(tokensOf(turn, estimateText)))
      )
    return Effect.andThen(
      Effect.forEach(newTexts, learnText, { discard: true }),
      Effect.forEach(newTurns, learnTurn, { discard: true })
    )
  }
}
