/**
 * An agent picked by the words of the conversation.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Wanted from "../../domain/Wanted.ts"
import { type AgentPicker, fromNames, type PickRequest } from "./Picker.ts"

/**
 * The condition of a case of `match`: a pattern that the user's last words must match, or a predicate.
 *
 * @category models
 * @since 0.1.0
 */
export type Pattern = RegExp | ((request: PickRequest) => boolean)

/** `search` doesn't change the `lastIndex` of a pattern, not even of a global one. */
const holds = (pattern: Pattern, request: PickRequest): boolean =>
  typeof pattern === "function"
    ? Wanted.booleanAtOnce("A predicate of `AgentPicker.match`", pattern(request))
    : request.text.search(pattern) !== -1

/**
 * Picks the agent of the first case that holds, or the fallback.
 *
 * @category constructors
 * @since 0.1.0
 */
export const match = <const Fallback extends string, const Name extends string = never>(
  cases: ReadonlyArray<readonly [when: Pattern, agent: Name]>,
  fallback: Fallback
): AgentPicker<Name | Fallback> =>
  fromNames(
    [...cases.map(([, agent]) => agent), fallback],
    (request) => Effect.sync(() => cases.find(([pattern]) => holds(pattern, request))?.[1] ?? fallback)
  )
