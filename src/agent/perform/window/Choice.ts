/**
 * The turns that a context window has chosen for a request.
 *
 * @since 0.1.0
 */
import type { Window } from "../../../domain/AgentEvent.ts"
import type { WindowTurn } from "../../../domain/window/WindowTurn.ts"
import type { Request } from "../../definition/AgentDefinition.ts"
import type { Entries } from "./WindowTurns.ts"

/**
 * What a request sends, the window's report of it, and its count of tokens. `tail` is how many of the chosen turns, counted from the end,
 * are the last turns of the conversation, unchanged.
 */
export interface Choice {
  readonly entries: Entries
  readonly chosen: ReadonlyArray<WindowTurn>
  readonly tail: number
  readonly window: Window
  readonly counted: number | undefined
}

/** What a request says besides the conversation. */
export interface Beside {
  readonly texts: ReadonlyArray<string>
  readonly request: Request
}
