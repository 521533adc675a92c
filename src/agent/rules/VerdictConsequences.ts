/**
 * What comes of a guardrail's verdict, by what the guardrail looked at.
 *
 * What passes goes on, or what was put in its place does. What doesn't pass fails the run, goes back to the model, fails a call, or is
 * left out.
 *
 * @since 0.1.0
 */
import { GuardrailBlocked } from "../../domain/AgentError.ts"
import type { Stage } from "../../domain/GuardrailStage.ts"
import { text } from "../../domain/Part.ts"
import type { AgentState, User } from "../../domain/StateSchema.ts"
import type { Definition } from "../definition/AgentDefinition.ts"
import { type Block, block, type Retry, type Verdict } from "../guardrail/Verdict.ts"
import { Fail } from "./Decision.ts"

/** What guardrails look at: what their stage says, text beside calls (`remark`), or a handoff that no call asks for (`decision`). */
export type LookedAt = Stage | "remark" | "decision"

/**
 * What a block and a retry come to. `Block` stands for a retry that is a block: nobody can try again what a user said, and a remark is
 * said beside calls that run.
 */
const table = {
  input: { Block: "Fail", Retry: "Block" },
  output: { Block: "Fail", Retry: "SendBack" },
  remark: { Block: "LeaveOut", Retry: "Block" },
  toolCall: { Block: "FailCall", Retry: "FailCall" },
  toolResult: { Block: "FailCall", Retry: "FailCall" },
  handoff: { Block: "FailCall", Retry: "FailCall" },
  decision: { Block: "Fail", Retry: "Fail" }
} as const satisfies {
  readonly [At in LookedAt]: { readonly Block: Consequence["_tag"]; readonly Retry: Consequence["_tag"] | "Block" }
}

/** Names what was looked at, in words that the model reads. */
const title = (at: LookedAt, tool: string): string => {
  switch (at) {
    case "input":
      return "this input"
    case "output":
      return "the answer"
    case "remark":
      return "what was said"
    case "toolCall":
      return "this call"
    case "toolResult":
      return `the result of "${tool}"`
    case "handoff":
    case "decision":
      return "this handoff"
  }
}

/** What stands in the place of what a user said and a guardrail blocked. */
export const blockedInput: User["parts"] = [text("(This was blocked and isn't shown.)")]

/** A value didn't pass a guardrail. */
export interface Refused {
  readonly guardrail: string
  readonly verdict: Block | Retry
}

/** Gives why a value didn't pass. */
export const saidIn = ({ verdict }: Refused): string => verdict._tag === "Retry" ? verdict.feedback : verdict.reason

/** What comes of what didn't pass: the run or the call fails, an answer goes back to the model, or a remark isn't said. */
export type Consequence =
  | Fail
  | { readonly _tag: "SendBack"; readonly feedback: string }
  | { readonly _tag: "FailCall"; readonly result: string }
  | { readonly _tag: "LeaveOut"; readonly reason: string }

/** Gives the verdict that counts: a retry is a block if nobody may try again. An answer goes back as often as the agent allows. */
export const counting = <V extends Verdict<unknown>>(
  verdict: V,
  at: LookedAt,
  { outputRetries }: Definition,
  { run: { corrections } }: AgentState
): V | Block =>
  verdict._tag === "Retry" && (table[at].Retry === "Block" || (at === "output" && corrections >= outputRetries))
    ? block(verdict.feedback)
    : verdict

/** Says to a model that something didn't pass. */
export const toMessage = ({ guardrail, verdict }: Refused, at: LookedAt, tool = ""): string =>
  verdict._tag === "Retry"
    ? verdict.feedback
    : `Guardrail "${guardrail}" blocked ${title(at, tool)}: ${verdict.reason}`

/** What may come of something, by what it is: the table says so to the compiler, too. */
type ConsequenceOf<At extends LookedAt> = Extract<Consequence, { readonly _tag: (typeof table)[At]["Block" | "Retry"] }>

/** Says what comes of something that didn't pass, in an agent. `tool` is that of the call, if a call was looked at. */
export const consequenceOf = <At extends LookedAt>(
  refused: Refused,
  at: At,
  agent: string,
  tool?: string
  // The table above says which consequences each kind has.
): ConsequenceOf<At> => consequence(refused, at, agent, tool) as ConsequenceOf<At>

const stageOf = (at: LookedAt): Stage => at === "remark" ? "output" : at === "decision" ? "handoff" : at

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
