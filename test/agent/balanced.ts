/**
 * What a run's events must keep.
 */
import { Laws } from "troupe/testing"

/** Everything that is wrong with the events of one whole run. */
export const imbalances = Laws.imbalances
