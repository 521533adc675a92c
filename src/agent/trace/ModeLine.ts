/**
 * Events of modes, in a line each.
 *
 * @since 0.1.0
 */
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import type { ModeTransition } from "../../domain/ModeTransition.ts"
import * as Excerpt from "./Excerpt.ts"

type Mark = (text: string) => string

/** The events of modes, and changes that a program makes by hand. */
export type ModeEvent = Extract<AgentEvent, {
  readonly _tag:
    | "ModeEntering"
    | "ModeEntered"
    | "ModeExiting"
    | "ModeExited"
    | "ModeFailed"
    | "ModeTransitionRequested"
    | "StateAdjusted"
}>

const phases = { SetUp: "set-up", Body: "body", CleanUp: "clean-up" } as const

const moved = (transition: ModeTransition, mark: Mark): string => {
  switch (transition._tag) {
    case "Switch":
      return `asks to move to mode ${mark(transition.name)}`
    case "Push":
      return `asks for mode ${mark(transition.name)} on top`
    case "Exit":
      return "asks to leave the mode on top"
    case "Stay":
      return "asks for no move between modes"
  }
}

/** Describes an event in a line; `mark` sets names and data off. */
export const modeLine = (event: ModeEvent, mark: Mark): string => {
  switch (event._tag) {
    case "ModeEntering": {
      const params = Excerpt.jsonText(event.params, 0)
      const how = event.isResumed === true ? "sets up again" : "enters"
      return `${how} mode ${mark(event.name)} of isolation ${event.isolation}${
        params === "{}" ? "" : ` with ${mark(params)}`
      }`
    }
    case "ModeEntered":
      return `is in mode ${event.stack.map(mark).join(" › ")}`
    case "ModeExiting":
      return `leaves mode ${mark(event.name)}`
    case "ModeExited":
      return event.isKept === true
        ? `stays in mode ${mark(event.name)}`
        : `left mode ${mark(event.name)} after ${event.duration} ms`
    case "ModeFailed":
      return `mode ${mark(event.name)} failed in its ${phases[event.phase]}: ${mark(event.tag)}`
    case "ModeTransitionRequested":
      return moved(event.transition, mark)
    case "StateAdjusted":
      // An adjustment is JSON, but its interfaces have no index signature, which the type of JSON needs.
      return `changed by hand: ${mark(Excerpt.jsonText(event.adjustment as never, 0))}`
  }
}
