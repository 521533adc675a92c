/**
 * The events that carry out a decision that needs neither a model nor a handler nor a guardrail.
 *
 * @since 0.1.0
 */
import { openCalls } from "../../domain/conversation/Turns.ts"
import type { Happening } from "../../domain/Happening.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Decision } from "./Decision.ts"

/** A decision that events carry out. */
type EventDecision = Extract<
  Decision,
  { readonly _tag: "SendBack" | "GiveUpCalls" | "GiveLastAnswer" | "RequestHandoff" }
>

/** Returns the events that carry out a decision, in order. */
export const eventsOf = (decision: EventDecision, { conversation }: AgentState): ReadonlyArray<Happening> => {
  switch (decision._tag) {
    case "SendBack":
      return [{ _tag: "FeedbackGiven", text: decision.text }]
    case "GiveUpCalls": {
      const { callIds, result } = decision
      return openCalls(conversation).flatMap(({ id: callId, name }) =>
        callIds.includes(callId)
          ? [{ _tag: "ToolCallSettled", callId, name, outcome: "Interrupted", result, duration: 0 }]
          : []
      )
    }
    case "GiveLastAnswer":
      return [{ _tag: "LimitReached", limit: decision.limit, text: decision.text }]
    case "RequestHandoff":
      return [{ _tag: "HandoffRequested", request: decision.request }]
  }
}
