/**
 * Guardrails on calls: which tools may be called, how often, and how often with the same parameters.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import { callsOf } from "../../../domain/Conversation.ts"
import { counted } from "../../../domain/Described.ts"
import type { AgentState, Call } from "../../../domain/StateSchema.ts"
import type { CheckedCall, Guardrail, Values } from "../../definition/guardrail/GuardrailType.ts"
import { block, pass } from "../../definition/guardrail/Verdict.ts"
import { countOf, listOption, nameOption } from "../InvalidOption.ts"
import { make } from "../MakeGuardrail.ts"

/** Returns the place where the turns of the run begin: after the inputs that it answers. */
const runStart = ({ conversation: { turns }, run }: AgentState): number => {
  let inputs = run.inputs ?? 1
  const isInput = inputs === 0 ? () => true : (mode: string | undefined) => mode === undefined
  for (let at = turns.length - 1; at >= 0; at--) {
    const turn = turns[at]!
    if (turn._tag === "User" && isInput(turn.mode) && --inputs <= 0) return at
  }
  return 0
}

/** Returns the calls that came before this one in the same run, in order, without those that the provider ran. */
const callsBefore = (state: AgentState, { id }: CheckedCall): ReadonlyArray<Call> => {
  const calls = state.conversation.turns.slice(runStart(state)).flatMap((turn) =>
    turn._tag === "Assistant" ? callsOf(turn).filter((call) => call.providerExecuted !== true) : []
  )
  const at = calls.findIndex((call) => call.id === id)
  return at < 0 ? calls : calls.slice(0, at)
}

type OnCall = Guardrail<"toolCall", Values["toolCall"]>

/**
 * Blocks calls of all tools but the named ones.
 *
 * Unknown names are ignored. Handoffs, `final_answer` and calls that the provider has run aren't judged, so they are never blocked. An
 * empty list blocks every other call. Throws `InvalidOption` if `names` isn't a list, or holds an empty name.
 *
 * @category built-in
 * @since 0.1.0
 */
export const toolAllowList = (names: Iterable<string>): OnCall => {
  const allowed = new Set(
    listOption("toolAllowList", "names", names).map((name) => nameOption("toolAllowList", "names", name))
  )
  return make("toolAllowList", (_, { call }) => allowed.has(call.name) ? pass : block(`"${call.name}" isn't allowed`), {
    on: "toolCall"
  })
}

/**
 * Blocks calls after the first `limit` in a run: of all tools, or of the named one.
 *
 * All calls in the conversation since the user's input count, whatever their outcome, except those that the provider ran. After a handoff,
 * only the calls that crossed count. Handoffs and `final_answer` count too, but are never blocked. To end a run instead, use `StopWhen`.
 * Throws `InvalidOption` if the limit isn't a whole number of at least 0, or the name is empty.
 *
 * @category built-in
 * @since 0.1.0
 */
export const maxToolCalls = (limit: number, name?: string): OnCall => {
  const most = countOf("maxToolCalls", "limit", limit, 0)
  if (name !== undefined) nameOption("maxToolCalls", "name", name)
  const calls = `${counted(most, "call")}${name === undefined ? "" : ` of "${name}"`}`
  const reason = `no more than ${calls} ${most === 1 ? "is" : "are"} allowed`
  return make("maxToolCalls", (_, { call, state }) => {
    if (name !== undefined && call.name !== name) return pass
    const before = callsBefore(state, call).filter((other) => name === undefined || other.name === name)
    return before.length < most ? pass : block(reason)
  }, { on: "toolCall" })
}

/**
 * Blocks a call if the same tool was called with the same parameters `times` times before in the run.
 *
 * Parameters are the same if they are equal as JSON; the order of keys is ignored. `times` is 1 by default. Throws `InvalidOption` if it
 * isn't a whole number of at least 1.
 *
 * @category built-in
 * @since 0.1.0
 */
export const noRepeat = (times = 1): OnCall => {
  const most = countOf("noRepeat", "times", times, 1)
  return make("noRepeat", (params, { call, state }) => {
    const before = callsBefore(state, call).filter((other) =>
      other.name === call.name && Equal.equals(other.params, params)
    )
    return before.length < most
      ? pass
      : block(`"${call.name}" was called with the same parameters ${most === 1 ? "before" : `${before.length} times`}`)
  }, { on: "toolCall" })
}
