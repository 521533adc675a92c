import type * as AgentStatus from "../../../src/domain/AgentStatus.ts"

declare const status: AgentStatus.AgentStatus
declare const complete: AgentStatus.Complete

// displays: Type 'AgentStatus' is not assignable to type 'number'.
const number: number = status
// displays: Type 'Complete' is not assignable to type 'Failed'.
const failed: AgentStatus.Failed = complete
