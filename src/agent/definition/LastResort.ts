/**
 * The default limit of agents: a given condition replaces it only if it has a limit that always counts.
 *
 * @since 0.1.0
 */
import { someCostNothing } from "../../domain/Spending.ts"
import { any, defaultCondition, type StopWhen } from "./StopWhen.ts"

/** How surely a condition ends a run: never, only if tokens are reported, or always. */
const bound = { none: 0, reported: 1, always: 2 } as const

const boundOf = (self: StopWhen): number => {
  switch (self._tag) {
    case "MaxSteps":
    case "Duration":
      return bound.always
    case "Cost":
      return someCostNothing(self.prices) ? bound.none : bound.always
    case "ToolCalls":
      return self.name === undefined ? bound.always : bound.none
    case "Tokens":
      return bound.reported
    case "ToolCalled":
    case "NoToolCalls":
    case "Satisfies":
      return bound.none
    case "Any":
      return Math.max(bound.none, ...self.conditions.map(boundOf))
    case "All":
      return self.conditions.length === 0 ? bound.none : Math.min(...self.conditions.map(boundOf))
  }
}

/**
 * Returns a condition that ends every run. A condition without a limit gets the default limit; one that limits only tokens gets it for
 * answers whose tokens weren't reported.
 */
export const withLastResort = (self: StopWhen = defaultCondition): StopWhen => {
  const surely = boundOf(self)
  if (surely === bound.always) return self
  return any(self, surely === bound.none ? defaultCondition : { ...defaultCondition, counts: "Unreported" })
}
