/**
 * The errors of tapes.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Error for a file that isn't a tape: the `line` of this number, from 1, isn't an event. `Cassette.layer` fails with it.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidTape extends Schema.TaggedError<InvalidTape>("troupe/testing/Cassette/InvalidTape")("InvalidTape", {
  tape: Schema.String,
  line: Schema.Int,
  problem: Schema.String
}) {
  override get message(): string {
    return `Line ${this.line} of the tape "${this.tape}" isn't an event: ${this.problem}`
  }
}

/**
 * Error for a request or a call of a tool that differs from those on the tape. A replay dies with it, and `Cassette.orFail` makes it a
 * failure.
 *
 * `request` names the request, `recorded` and `asked` are both as text, and `diff` shows in lines what was recorded (`-`) and what was
 * asked (`+`).
 *
 * @category errors
 * @since 0.1.0
 */
export class CassetteDrift
  extends Schema.TaggedError<CassetteDrift>("troupe/testing/Cassette/CassetteDrift")("CassetteDrift", {
    tape: Schema.String,
    request: Schema.String,
    recorded: Schema.String,
    asked: Schema.String,
    diff: Schema.String
  })
{
  override get message(): string {
    return `${this.request} isn't what the tape "${this.tape}" has:\n${this.diff}`
  }
}

/**
 * Error for a request or a call of a tool for which the tape has nothing more. A replay dies with it, and `Cassette.orFail` makes it a
 * failure.
 *
 * `request` names the request, and `asked` is its text. `recorded` is how many requests the tape has of this agent, or how many calls of
 * this tool by this agent. `others` are all agents that have requests, or calls of any tool, on the tape.
 *
 * @category errors
 * @since 0.1.0
 */
export class CassetteExhausted
  extends Schema.TaggedError<CassetteExhausted>("troupe/testing/Cassette/CassetteExhausted")("CassetteExhausted", {
    tape: Schema.String,
    request: Schema.String,
    recorded: Schema.Int,
    asked: Schema.String,
    others: Schema.Array(Schema.String)
  })
{
  override get message(): string {
    const there = this.recorded === 0
      ? `has none like it (agents on it: ${this.others.length === 0 ? "none" : this.others.join(", ")})`
      : `has ${this.recorded} only`
    return `${this.request} isn't on the tape "${this.tape}", which ${there}:\n${this.asked}`
  }
}

/**
 * Error for a tape that wasn't played to its end. `Cassette.assertDrained` dies with it. `left` has a line for each request and each call.
 *
 * @category errors
 * @since 0.1.0
 */
export class CassetteLeftOver
  extends Schema.TaggedError<CassetteLeftOver>("troupe/testing/Cassette/CassetteLeftOver")("CassetteLeftOver", {
    tape: Schema.String,
    left: Schema.Array(Schema.String)
  })
{
  override get message(): string {
    return `Never asked for on the tape "${this.tape}":\n  ${this.left.join("\n  ")}`
  }
}

/**
 * Error for a tape that another recording wrote during this one. Closing the layer dies with it.
 *
 * What was recorded is in the file `kept`.
 *
 * @category errors
 * @since 0.1.0
 */
export class CassetteConflict
  extends Schema.TaggedError<CassetteConflict>("troupe/testing/Cassette/CassetteConflict")("CassetteConflict", {
    tape: Schema.String,
    kept: Schema.String
  })
{
  override get message(): string {
    return `Another recording wrote the tape "${this.tape}" meanwhile. This one is kept in "${this.kept}".`
  }
}
