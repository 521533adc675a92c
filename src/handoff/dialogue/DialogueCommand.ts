/**
 * What a dialogue needs next, as a pure function of its state.
 *
 * Commands are imperative and name agents; the loop performs them.
 *
 * @since 0.1.0
 */
import * as Command from "../../domain/Command.ts"
import { type DialogueState, participantOf } from "./DialogueState.ts"
import type { EndReason } from "./DialogueStatus.ts"

/** Choose who speaks next. */
export interface ChooseSpeaker {
  readonly _tag: "ChooseSpeaker"
}
/** Let an agent take its turn, or continue it. */
export interface TakeTurn {
  readonly _tag: "TakeTurn"
  readonly speaker: string
}
/** Do nothing until somebody approves or denies a call of the agent whose turn it is, or gives its result. */
export interface AwaitApproval {
  readonly _tag: "AwaitApproval"
  readonly speaker: string
}
/** Check whether the dialogue ends with the turn that is complete, and choose who speaks next if not. */
export interface Decide {
  readonly _tag: "Decide"
}
/** Do nothing: the dialogue has ended. */
export interface Stop {
  readonly _tag: "Stop"
  readonly reason: EndReason
}

/**
 * What a dialogue needs next.
 *
 * @category models
 * @since 0.1.0
 */
export type DialogueCommand = ChooseSpeaker | TakeTurn | AwaitApproval | Decide | Stop

/**
 * Returns what a dialogue needs next.
 *
 * @category getters
 * @since 0.1.0
 */
export const next = (self: DialogueState): DialogueCommand => {
  const { status } = self
  switch (status._tag) {
    case "Choosing":
      return { _tag: "ChooseSpeaker" }
    case "Chosen":
      return { _tag: "TakeTurn", speaker: status.speaker }
    case "Speaking": {
      const state = participantOf(self, status.speaker)?.state
      return state !== undefined && Command.next(state)._tag === "Await"
        ? { _tag: "AwaitApproval", speaker: status.speaker }
        : { _tag: "TakeTurn", speaker: status.speaker }
    }
    case "Deciding":
      return { _tag: "Decide" }
    case "Ended":
      return { _tag: "Stop", reason: status.reason }
  }
}
