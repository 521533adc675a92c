/**
 * An agent's guardrails, by stage.
 *
 * @since 0.1.0
 */
import { Stage } from "../../../domain/GuardrailStage.ts"
import * as Wanted from "../../../domain/Wanted.ts"
import type { Performer } from "../Performer.ts"
import { type Any, type AnyAt, internalsOf, isGuardrail, type Services, type Values } from "./GuardrailType.ts"

/**
 * An agent's guardrails, by stage; none by default. The guardrails of a stage are asked in order, each about the value that the one before
 * it passed on. Parallel ones on inputs come after the others.
 *
 * @category models
 * @since 0.1.0
 */
export interface Guardrails<Output = unknown> {
  /**
   * On what users say. They are asked before the first request that sends it, or during that request if they are parallel. This includes
   * words to an earlier agent that handed over.
   */
  readonly input?: ReadonlyArray<AnyAt<"input", Values["input"]>> | undefined
  /**
   * On the agent's answers. Guardrails on text also judge text beside calls, and all reasoning; what they refuse there is left out, and the
   * run continues.
   */
  readonly output?: ReadonlyArray<AnyAt<"output", Output>> | undefined
  /** On the parameters of calls, except handoffs, `final_answer`, and calls that the provider has run. */
  readonly toolCall?: ReadonlyArray<AnyAt<"toolCall", Values["toolCall"]>> | undefined
  /**
   * On the results of calls, failures too, except handoffs, moves between modes and `final_answer`. Calls that didn't run, or that the
   * provider has run, aren't judged either.
   */
  readonly toolResult?: ReadonlyArray<AnyAt<"toolResult", Values["toolResult"]>> | undefined
  /** On the agent's handoffs: those that its model requests, and those that a policy decides. */
  readonly handoff?: ReadonlyArray<AnyAt<"handoff", Values["handoff"]>> | undefined
  /**
   * Whether text is shown before the guardrails on the answer have seen it; it isn't by default. The event `TextWithdrawn` takes back
   * shown text that doesn't pass.
   */
  readonly releaseEarly?: boolean | undefined
}

/** What the checks of an agent's guardrails need. It is `unknown` if their type doesn't say, so that nothing is forgotten. */
export type GuardrailServices<G> = {
  readonly [S in Stage & keyof G]: G[S] extends ReadonlyArray<infer Member> | undefined ? Services<Member> : never
}[Stage & keyof G]

/** A guardrail at a stage, with the name and the attributes of its spans. */
export interface StagedGuardrail {
  readonly guardrail: Any
  readonly span: string
  readonly attributes: Readonly<Record<string, string>>
}

/**
 * An agent's guardrails by the time at which they are asked: `parallel` judge an input while the model is asked, `remark` judge text beside
 * calls. `performer` performs them; there is none without guardrails.
 */
export interface AgentGuardrails
  extends Readonly<Record<Stage | "parallel" | "remark", ReadonlyArray<StagedGuardrail>>>
{
  readonly performer: Performer | undefined
  readonly isReleasedEarly: boolean
}

/** Throws for a key that isn't a stage: its guardrails would never be asked. */
const checkStages = (agent: string, guardrails: object): void => {
  const stages = Stage.literals.join("`, `")
  for (const key of Object.keys(guardrails)) {
    if (key === "releaseEarly" || Stage.literals.some((stage) => stage === key)) continue
    throw new TypeError(`\`guardrails\` of agent "${agent}" has "${key}", which isn't a stage: use \`${stages}\``)
  }
}

/** Prepares the guardrails of an agent. */
export const prepareGuardrails = (agent: string, guardrails: Guardrails<never> = {}): AgentGuardrails => {
  checkStages(agent, guardrails)
  const at = (stage: Stage, members: ReadonlyArray<Any> = []): ReadonlyArray<StagedGuardrail> =>
    Wanted.members(agent, `guardrails.${stage}`, "Guardrail.make", isGuardrail, members).map((guardrail) => ({
      guardrail,
      span: `guardrail ${guardrail.name}`,
      attributes: {
        "gen_ai.agent.name": agent,
        "troupe.guardrail.name": guardrail.name,
        "troupe.guardrail.stage": stage
      }
    }))
  const input = at("input", guardrails.input)
  const output = at("output", guardrails.output)
  const toolCall = at("toolCall", guardrails.toolCall)
  const toolResult = at("toolResult", guardrails.toolResult)
  const handoff = at("handoff", guardrails.handoff)
  const some = [input, output, toolCall, toolResult, handoff].find(({ length }) => length > 0)?.[0]
  return {
    performer: some === undefined ? undefined : internalsOf(some.guardrail).performer,
    input: input.filter(({ guardrail }) => !internalsOf(guardrail).isParallel),
    parallel: input.filter(({ guardrail }) => internalsOf(guardrail).isParallel),
    output,
    remark: output.filter(({ guardrail }) => internalsOf(guardrail).on === "text"),
    toolCall,
    toolResult,
    handoff,
    isReleasedEarly: guardrails.releaseEarly ?? false
  }
}

/** Checks whether guardrails judge the inputs of an agent. */
export const judgesInput = ({ input, parallel }: AgentGuardrails): boolean => input.length > 0 || parallel.length > 0

/** Checks whether reasoning waits for guardrails though text doesn't: no event withdraws reasoning. */
export const hidesThoughts = ({ isReleasedEarly, remark }: AgentGuardrails): boolean =>
  isReleasedEarly && remark.length > 0
