/**
 * Tokens spent; a number that no provider reported stays unknown.
 *
 * A `RequestUsage` is what one request reported: an absent field is unknown, never zero. A `Usage` is the sum over
 * requests: for each kind of token what is `known`, and how many requests were `unreported`, so that a total is exact
 * when none were and a lower bound otherwise.
 *
 * 1. `add` and `combine` only ever grow a count.
 * 2. `combine` is associative and commutative, and `empty` is its identity.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Count } from "./Count.ts"

/**
 * Schema for the tokens that one request reported.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RequestUsage = Schema.Struct({
  input: Schema.optionalKey(Count),
  output: Schema.optionalKey(Count),
  reasoning: Schema.optionalKey(Count),
  cached: Schema.optionalKey(Count)
})

/**
 * Tokens that one request reported.
 *
 * `input` and `output` are totals; `reasoning` is the part of `output` spent on thought, and `cached` the part of `input` read from a
 * cache. An absent field is unknown.
 */
export interface RequestUsage extends Schema.Schema.Type<typeof RequestUsage> {}

/**
 * Schema for a sum of tokens: what is `known`, and how many requests didn't report theirs.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TokenCount = Schema.Struct({ known: Count, unreported: Count })

/** A sum of tokens: what is `known`, and how many requests didn't report theirs. */
export interface TokenCount extends Schema.Schema.Type<typeof TokenCount> {}

/**
 * Schema for the tokens of any number of requests.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Usage = Schema.Struct({
  requests: Count,
  input: TokenCount,
  output: TokenCount,
  reasoning: TokenCount,
  cached: TokenCount
})

/**
 * Tokens of any number of requests: for each kind a sum, which is a lower bound if requests didn't report theirs.
 *
 * `input` and `output` are totals; `reasoning` is a part of `output`, and `cached` a part of `input`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Usage extends Schema.Schema.Type<typeof Usage> {}

const none: TokenCount = Object.freeze({ known: 0, unreported: 0 })

/**
 * The usage of no request at all.
 *
 * @category constants
 * @since 0.1.0
 */
export const empty: Usage = Object.freeze({ requests: 0, input: none, output: none, reasoning: none, cached: none })

/** Adds up counts. The sum never exceeds the largest exact whole number. */
const plus = (self: number, that: number): number =>
  self > Number.MAX_SAFE_INTEGER - that ? Number.MAX_SAFE_INTEGER : self + that

const count = (self: TokenCount, reported: number | undefined): TokenCount =>
  reported === undefined
    ? { known: self.known, unreported: self.unreported + 1 }
    : { known: plus(self.known, reported), unreported: self.unreported }

const sum = (self: TokenCount, that: TokenCount): TokenCount => ({
  known: plus(self.known, that.known),
  unreported: self.unreported + that.unreported
})

/**
 * Adds what one more request reported.
 *
 * @category combinators
 * @since 0.1.0
 */
export const add = (self: Usage, request: RequestUsage): Usage => ({
  requests: self.requests + 1,
  input: count(self.input, request.input),
  output: count(self.output, request.output),
  reasoning: count(self.reasoning, request.reasoning),
  cached: count(self.cached, request.cached)
})

/**
 * Adds up two sums.
 *
 * @category combinators
 * @since 0.1.0
 */
export const combine = (self: Usage, that: Usage): Usage => ({
  requests: self.requests + that.requests,
  input: sum(self.input, that.input),
  output: sum(self.output, that.output),
  reasoning: sum(self.reasoning, that.reasoning),
  cached: sum(self.cached, that.cached)
})

/**
 * Returns the exact number of tokens, or `undefined` if a request didn't report its own.
 *
 * @category getters
 * @since 0.1.0
 */
export const exact = (self: TokenCount): number | undefined => self.unreported === 0 ? self.known : undefined

/**
 * Counts input and output tokens together, as far as they are known.
 *
 * @category getters
 * @since 0.1.0
 */
export const knownTotal = (self: Usage): number => self.input.known + self.output.known

/**
 * Returns an upper bound of the number of requests that reported neither input nor output tokens: a sum doesn't tell whether the same
 * requests lack both.
 *
 * @category getters
 * @since 0.1.0
 */
export const unreported = (self: Usage): number => Math.min(self.input.unreported, self.output.unreported)
