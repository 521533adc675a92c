import type { Result } from "effect"
import { describe, expectTypeOf, it } from "vitest"
import { AgentState, Conversation } from "../../src/index.ts"

describe("Conversation", () => {
  const self = {} as Conversation.Conversation

  it("is searched, filtered and counted", () => {
    expectTypeOf(Conversation.search(self, /x/)).toEqualTypeOf<ReadonlyArray<Conversation.Found>>()
    expectTypeOf(Conversation.filter(({ _tag }) => _tag === "User")(self)).toEqualTypeOf<Conversation.Conversation>()
    expectTypeOf(Conversation.countByRole(self).Assistant).toEqualTypeOf<number>()
    expectTypeOf(Conversation.lastTurns(self, 2)).toEqualTypeOf<ReadonlyArray<Conversation.Turn>>()
    // @ts-expect-error there is no such role
    expectTypeOf(Conversation.countByRole(self).System)
  })

  it("is merged, or says that it can't be", () => {
    type Merged = Result.Result<Conversation.Conversation, Conversation.Diverged>
    expectTypeOf(Conversation.merge(self, self)).toEqualTypeOf<Merged>()
    expectTypeOf(Conversation.merge(self, { onDiverged: "append" })(self)).toEqualTypeOf<Merged>()
    // @ts-expect-error one of the two
    Conversation.merge(self, self, { onDiverged: "ours" })
  })

  it("is edited, and so is a state", () => {
    expectTypeOf(Conversation.edit(self, 0, "Hi")).toEqualTypeOf<Conversation.Conversation>()
    expectTypeOf(AgentState.editAt(0, "Hi")).toEqualTypeOf<(self: AgentState.AgentState) => AgentState.AgentState>()
    // @ts-expect-error a user says it
    Conversation.edit(self, 0, Conversation.assistant("a", "Hi"))
  })
})
