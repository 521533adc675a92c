/**
 * Which calls the guardrails of an agent have to judge before they run.
 *
 * 1. The calls of an answer are judged before the state holds them, and while that loop runs they aren't judged again (`ScreenCalls`).
 * 2. A call that awaits approval, or was approved, says which guardrails have let its parameters pass. A run that goes on doesn't ask them
 *    again. If the agent that runs the call has other guardrails by then, all of them are asked.
 * 3. A result that somebody gave, and that was judged at once, says the same. Other guardrails judge it again, in the form that passed.
 * 4. Any other call is judged before it runs, wherever its state comes from.
 * 5. What a person approved as it was shown runs as it is, or not at all. Parameters that a person gave may be replaced: they are what the
 *    person wrote, as a model's are what the model wrote.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import type { Given } from "../../domain/DeferredResult.ts"
import { isInvoked } from "../../domain/RefusedCall.ts"
import type { Call } from "../../domain/StateSchema.ts"
import type { Definition } from "../definition/AgentDefinition.ts"

type Guarded = Pick<Definition, "guardrails">

/** Returns the names of the guardrails that judge an agent's calls, or their results, as they are kept in a call that passed. */
export const judgedBy = (
  { guardrails }: Guarded,
  at: "toolCall" | "toolResult" = "toolCall"
): { readonly judged?: ReadonlyArray<string> } =>
  guardrails[at].length === 0 ? {} : { judged: guardrails[at].map(({ guardrail: { name } }) => name) }

/** Checks whether an agent's guardrails on results, and no others, have judged a result that somebody gave. */
export const isJudgedResult = (definition: Guarded, { judged }: Given): boolean =>
  judged !== undefined && Equal.equals(judged, judgedBy(definition, "toolResult").judged)

/** Checks whether guardrails have to judge a call before it runs, as far as its state says. */
export const isUnjudged = (definition: Guarded, { state }: Call): boolean =>
  definition.guardrails.toolCall.length > 0 &&
  (state._tag === "Pending" ||
    (state._tag === "Approved" && !Equal.equals(state.judged, judgedBy(definition).judged)))

/**
 * Checks whether a person approved a call with the parameters that were shown. A call that a program invoked is `Approved` too, but by no
 * person, so this returns `false` for it.
 */
export const isApprovedAsShown = (call: Call): boolean =>
  call.state._tag === "Approved" && call.asked === undefined && !isInvoked(call)
