/**
 * How much of a conversation a mode keeps to itself.
 *
 * | what | `none` | `config` | `thread` | `fork` |
 * |---|---|---|---|---|
 * | turns that the model sees inside | all | all | all, as a view that may be cut or edited | all, as a copy that may be cut or edited |
 * | new turns, after leaving | kept | kept | kept, after the restored originals | dropped, except what a run still needs |
 * | conversation settings changed inside | stay | restored | stay | restored |
 * | prompt segments that persist | stay | stay | stay | dropped |
 * | values | scoped | scoped | scoped | isolated: nothing is read from outside |
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * The levels, by how much of the conversation they keep to themselves, the least first. Only `config` and `fork` restore conversation
 * settings.
 *
 * @category constants
 * @since 0.1.0
 */
export const levels = ["none", "config", "thread", "fork"] as const

/**
 * Schema for how isolated a mode is.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Isolation = Schema.Literals(levels)

/**
 * How isolated a mode is: what leaving it undoes.
 *
 * `config` restores conversation settings. `thread` restores turns that were cut or edited, and keeps new ones. `fork` restores both.
 * It drops the turns since it was entered, except what a run still needs, and prompt segments, even those that are to persist.
 * It can't read values from outside. `none` does none of these.
 *
 * @category models
 * @since 0.1.0
 */
export type Isolation = typeof Isolation.Type

/** Checks whether a mode may be entered inside another: it can't be less isolated. */
export const isWithin = (inner: Isolation, outer: Isolation | undefined): boolean =>
  outer === undefined || levels.indexOf(inner) >= levels.indexOf(outer)

/** Checks whether new turns are dropped when a mode is left. */
export const dropsMessages = (self: Isolation): boolean => self === "fork"

/** Checks whether earlier turns may be cut or edited: leaving brings them back. */
export const hasView = (self: Isolation): boolean => self === "thread" || self === "fork"

/** Checks whether conversation settings changed inside are undone when a mode is left. */
export const restoresSettings = (self: Isolation): boolean => self === "config" || self === "fork"

/** Checks whether persistent prompt segments outlive a mode. */
export const keepsSegments = (self: Isolation): boolean => self !== "fork"

/** Checks whether a mode reads the values of the modes around it. */
export const readsOutside = (self: Isolation): boolean => self !== "fork"
