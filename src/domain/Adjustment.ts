/**
 * A change of a state by hand, as data: by a mode on its way in or out, by a tool, or by the program that holds the conversation.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Settings } from "./Settings.ts"
import { PromptSegment, Turn } from "./StateSchema.ts"

/**
 * Schema for a change of a state by hand.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Adjustment = Schema.TaggedUnion({
  ValueSet: { key: Schema.String, value: Schema.Json },
  SegmentAdded: { segment: PromptSegment },
  SettingsChanged: { settings: Settings },
  ViewChanged: { turns: Schema.Array(Turn) },
  TurnPinned: { turn: Schema.Int, isPinned: Schema.Boolean }
})

/** A change of a state by hand. */
export type Adjustment = typeof Adjustment.Type
