/**
 * A rule: how one wish is done, in the order in which it is done.
 *
 * What it wants to know it asks of the results of the tools. It succeeds with what is to be said at last, and fails with
 * what comes before: calls to make, or a question.
 */
import { Result } from "effect"
import type { Exchange, Move } from "./evidence.ts"
import type { Task } from "./reading.ts"

export type Rule = (task: Task, calls: Exchange["calls"], isAgain: boolean) => Result.Result<string, Move>

export const say = (text: string): Result.Result<never, Move> => Result.fail({ _tag: "Say", text })

/** A rule that always says the same. */
export const always = (text: string): Rule => () => Result.succeed(text)
