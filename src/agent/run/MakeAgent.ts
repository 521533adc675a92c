/**
 * Makes agents from their definitions, each together with the code that runs it.
 *
 * The floor of handoffs is below this one and can't import the code that runs an agent, so each agent holds its interpreter
 * (`docs/decisions/0005`).
 *
 * @since 0.1.0
 */
import { ReadOutput } from "../../domain/AgentOutput.ts"
import { type ReadCall, ReadParams } from "../../domain/CallParams.ts"
import { prototypeOf } from "../../domain/Shown.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import * as Runnable from "../../handoff/Runnable.ts"
import { type Definition, definitionOf, TypeId } from "../definition/AgentDefinition.ts"
import type { Agent, Any } from "../definition/AgentType.ts"
import * as CallTool from "../definition/CallTool.ts"
import * as Roster from "../definition/Roster.ts"
import * as AgentsBeside from "../journal/AgentsBeside.ts"
import * as MeasuredModel from "../journal/MeasuredModel.ts"
import { outputOf, toResult } from "../rules/FinalAnswer.ts"
import * as EventStream from "./EventStream.ts"
import * as Run from "./Run.ts"
import { startOf } from "./RunStart.ts"

const Proto = prototypeOf((self: Any) => ({ _id: "Agent", name: self.name }))

const interpreter: Runnable.Interpreter = {
  check: Roster.check,
  checkTogether: Roster.checkTogether,
  together: (selves) => (context) => AgentsBeside.within(MeasuredModel.within(context), selves),
  modesOf: (self) => new Set(definitionOf(self as Any).modes.keys()),
  read: (self, state) => outputOf(Roster.rosterOf(self), state),
  said: (self, state) => toResult(Roster.rosterOf(self), state),
  readParams: (self, ...call) => CallTool.readParamsAtOnce(Roster.rosterOf(self), ...call),
  run: (self, from) => {
    const roster = Roster.rosterOf(self)
    return Run.run(roster, startOf(roster, from), undefined, "Fail")
  },
  stream: (self, from) => {
    const roster = Roster.rosterOf(self)
    return EventStream.make(roster, startOf(roster, from))
  }
}

/** Makes an agent. Throws if it could hand over to two different agents of one name. */
export const fromDefinition = <Name extends string, Output, E, R>(
  name: Name,
  definition: Definition
): Agent<Name, Output, E, R> => {
  const agent: Any = Object.assign(Object.create(Proto), {
    [TypeId]: { definition },
    [Runnable.TypeId]: { interpreter, kind: "Agent" },
    [ReadOutput]: (state: AgentState) => interpreter.read(agent, state),
    [ReadParams]: ((...call) => interpreter.readParams(agent, ...call)) satisfies ReadCall,
    name,
    description: definition.description
  })
  Roster.check(agent)
  // The types above say what the untyped agent returns, fails with and needs.
  return agent as Agent<Name, Output, E, R>
}
