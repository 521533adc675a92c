/**
 * The services that always come from the caller, and never from the place where a session or a mode was made.
 *
 * Models, handlers and a program's own services come from that place, so that a call from elsewhere gets the same answers. Clock, spans,
 * loggers, observers and other services of a fiber come from the caller.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { RecordContent } from "../../model/RecordContent.ts"
import { Host } from "../../modes/Host.ts"
import { CurrentAgent } from "../journal/CurrentAgent.ts"
import { CurrentObservers } from "../journal/Observer.ts"
import { CurrentOperations } from "../journal/OperationsUnderWay.ts"

const ofCaller: ReadonlySet<string> = new Set([
  Clock.Clock.key,
  // The key of the console, without its module, because an import waits for each module that nothing else loads.
  "effect/Console",
  Random.Random.key,
  References.CurrentLogAnnotations.key,
  References.CurrentLogLevel.key,
  References.CurrentLogSpans.key,
  References.CurrentLoggers.key,
  References.CurrentStackFrame.key,
  References.MinimumLogLevel.key,
  References.TracerEnabled.key,
  References.TracerSpanAnnotations.key,
  References.TracerSpanLinks.key,
  References.TracerTimingEnabled.key,
  References.UnhandledLogLevel.key,
  Scheduler.MaxOpsBeforeYield.key,
  Scheduler.PreventSchedulerYield.key,
  Scheduler.Scheduler.key,
  Scope.Scope.key,
  Tracer.CurrentTraceLevel.key,
  Tracer.DisablePropagation.key,
  Tracer.ParentSpan.key,
  Tracer.Tracer.key,
  CurrentAgent.key,
  CurrentObservers.key,
  CurrentOperations.key,
  Host.key,
  RecordContent.key
])

/** Returns the services of a place without those that come from the caller. */
export const withoutCallerServices = (here: Context.Context<never>): Context.Context<never> =>
  Context.makeUnsafe(new Map(Array.from(here.mapUnsafe).filter(([key]) => !ofCaller.has(key))))
