import { describe, expectTypeOf, it } from "vitest"
import * as AgentStatus from "../../src/domain/AgentStatus.ts"

describe("AgentStatus", () => {
  it("narrows to the cases that end a run", () => {
    const status = {} as AgentStatus.AgentStatus
    if (AgentStatus.isTerminal(status)) {
      expectTypeOf(status).toEqualTypeOf<AgentStatus.Complete | AgentStatus.Failed>()
    } else {
      expectTypeOf(status._tag).toEqualTypeOf<"InProgress" | "WaitingForTools" | "HandoffRequested">()
    }
  })

  it("is closed", () => {
    // @ts-expect-error no such case
    const status: AgentStatus.AgentStatus = { _tag: "Paused" }
    return status
  })
})
