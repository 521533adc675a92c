/**
 * What a guardrail's verdict leads to, by what the guardrail judged.
 *
 * A value that passes is used, or its replacement is. A value that doesn't pass fails the run, goes back to the model, fails a call, or is
 * left out.
 *
 * @since 0.1.0
 */
import { GuardrailBlocked } from "../../domain/AgentError.ts"
import type { Stage } from "../../domain/GuardrailStage.ts"
import { text } from "../../domain/Part.ts"
import type { AgentState, User } from "../../domain/StateSchema.ts"
import type { Definition } from "../definition/AgentDefinition.ts"
import { type Block, block, type Retry, retry, type Verdict } from "../definition/guardrail/Verdict.ts"
import { Fail } from "./Decision.ts"

/**
 * What guardrails judge: what their stage says, text beside calls (`remark`), a call that somebody approved as it was shown
 * (`approvedCall`), or a handoff that a policy wants (`decision`).
 */
export type LookedAt = Stage | "remark" | "approvedCall" | "decision"

/**
 * What a block and a retry lead to. A retry may count as a block (`Block`): a user's input can't be tried again, and the calls beside a
 * remark run.
 */
const table = {
  input: { Block: "Fail", Retry: "Block" },
  output: { Block: "Fail", Retry: "SendBack" },
  remark: { Block: "LeaveOut", Retry: "Block" },
  toolCall: { Block: "FailCall", Retry: "FailCall" },
  approvedCall: { Block: "FailCall", Retry: "FailCall" },
  toolResult: { Block: "FailCall", Retry: "FailCall" },
  handoff: { Block: "FailCall", Retry: "FailCall" },
  decision: { Block: "Fail", Retry: "Fail" }
} as const satisfies {
  readonly [At in LookedAt]: { readonly Block: Consequence["_tag"]; readonly Retry: Consequence["_tag"] | "Block" }
}

/** Names what was judged, for the model. */
const title = (at: LookedAt, tool: string): string => {
  switch (at) {
    case "input":
      return "this input"
    case "output":
      return "the answer"
    case "remark":
      return "what was said"
    case "toolCall":
    case "approvedCall":
      return "this call"
    case "toolResult":
      return `the result of "${tool}"`
    case "handoff":
    case "decision":
      return "this handoff"
  }
}

/** The marker in the place of an input that a guardrail blocked. */
export const blockedInput: User["parts"] = [text("(This was blocked and isn't shown.)")]

/** A guardrail refused a value. */
export interface Refused {
  readonly guardrail: string
  readonly verdict: Block | Retry
}

/** Returns why a value was refused. */
export const saidIn = ({ verdict }: Refused): string => verdict._tag === "Retry" ? verdict.feedback : verdict.reason

/** What a refusal leads to: the run or the call fails, an answer goes back to the model, or a remark is left out. */
export type Consequence =
  | Fail
  | { readonly _tag: "SendBack"; readonly feedback: string }
  | { readonly _tag: "FailCall"; readonly result: string }
  | { readonly _tag: "LeaveOut"; readonly reason: string }

/** Checks whether guardrails may replace what they judge. What a person approved runs as it was approved, or not at all. */
export const mayReplace = (at: LookedAt): boolean => at !== "approvedCall"

/** The verdict that counts if a guardrail replaces what it may not: the model calls again, so that somebody approves what passed. */
export const insteadOfReplacing: Retry = retry(
  "This call wasn't run: a guardrail changes its parameters, and somebody had approved them unchanged. Call again to have the changed ones approved."
)

/** Returns the verdict that counts. A retry is a block if there is no other try: an answer goes back only as often as the agent allows. */
export const counting = <V extends Verdict<unknown>>(
  verdict: V,
  at: LookedAt,
  { outputRetries }: Definition,
  { run: { corrections } }: AgentState
): V | Block =>
  verdict._tag === "Retry" && (table[at].Retry === "Block" || (at === "output" && corrections >= outputRetries))
    ? block(verdict.feedback)
    : verdict

/** Returns what a model is told about a refusal. */
export const toMessage = ({ guardrail, verdict }: Refused, at: LookedAt, tool = ""): string =>
  verdict._tag === "Retry"
    ? verdict.feedback
    : `Guardrail "${guardrail}" blocked ${title(at, tool)}: ${verdict.reason}`

/** The consequences that the table allows for what was judged. */
type ConsequenceOf<At extends LookedAt> = Extract<Consequence, { readonly _tag: (typeof table)[At]["Block" | "Retry"] }>

/** Returns the consequence of a refusal in an agent. `tool` is that of the call, if a call was judged. */
export const consequenceOf = <At extends LookedAt>(
  refused: Refused,
  at: At,
  agent: string,
  tool?: string
  // The table above says which consequences each kind has.
): ConsequenceOf<At> => consequence(refused, at, agent, tool) as ConsequenceOf<At>

const stageOf = (at: LookedAt): Stage => {
  switch (at) {
    case "remark":
      return "output"
    case "approvedCall":
      return "toolCall"
    case "decision":
      return "handoff"
    default:
      return at
  }
}

const consequence = (refused: Refused, at: LookedAt, agent: string, tool: string | undefined): Consequence => {
  const { guardrail, verdict } = refused
  const said = saidIn(refused)
  const tag = table[at][verdict._tag]
  switch (tag) {
    case "SendBack":
      return { _tag: tag, feedback: said }
    case "FailCall":
      return { _tag: tag, result: toMessage(refused, at, tool) }
    case "LeaveOut":
      return { _tag: tag, reason: toMessage(refused, at) }
    case "Block":
    case "Fail":
      return new Fail(new GuardrailBlocked({ agent, guardrail, stage: stageOf(at), reason: said }))
  }
}
