/**
 * Guardrails on a model's reasoning: they judge it like a remark. No event withdraws reasoning, so only what is kept of it is shown.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Happening } from "../../../domain/Happening.ts"
import type { AgentState, AssistantPart } from "../../../domain/StateSchema.ts"
import type * as Loop from "../../journal/Loop.ts"
import { check, type Kind } from "./Check.ts"
import { type Seen, showsThoughts } from "./SeenAnswer.ts"

/** Returns what is kept of reasoning: nothing if a guardrail refused it. Replaced words lose the provider's signature. */
const withThoughts = (parts: ReadonlyArray<AssistantPart>, texts: ReadonlyArray<string>) => {
  let at = 0
  return parts.flatMap((part): ReadonlyArray<AssistantPart> => {
    if (part._tag !== "Reasoning" || part.text === "") return [part]
    const text = texts[at++] ?? ""
    return text === "" ? [] : text === part.text ? [part] : [{ _tag: "Reasoning", text }]
  })
}

/** Asks the guardrails about a model's reasoning. Returns the parts that are kept. */
export const seeThoughts = (
  loop: Loop.Loop,
  state: AgentState,
  parts: ReadonlyArray<AssistantPart>
): Effect.Effect<ReadonlyArray<AssistantPart>, never, unknown> => {
  const thoughts = parts.flatMap((part) => part._tag === "Reasoning" && part.text !== "" ? [part.text] : [])
  const { name, guardrails: { remark } } = loop.definition
  if (thoughts.length === 0 || remark.length === 0) return Effect.succeed(parts)
  const kind: Kind<ReadonlyArray<string>> = {
    at: "remark",
    context: { stage: "output", agent: name, state },
    texts: (value) => value,
    putTexts: (_, texts) => Result.succeed(texts)
  }
  return Effect.map(check(loop, remark, thoughts, kind), (checked) => {
    if (checked._tag === "Refused") return withThoughts(parts, [])
    return checked.isReplaced ? withThoughts(parts, checked.value) : parts
  })
}

/** Shows the reasoning that is kept instead of what arrived. */
export const withoutThoughts = (seen: Seen): Seen => ({
  ...seen,
  shows: (piece) => !showsThoughts(piece) && seen.shows(piece),
  instead: [
    ...seen.parts.flatMap((part): ReadonlyArray<Happening> =>
      part._tag === "Reasoning" && part.text !== "" ? [{ _tag: "ReasoningDelta", delta: part.text }] : []
    ),
    ...seen.instead
  ]
})
