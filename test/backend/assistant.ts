/** An assistant without tools, whose model answers as it is told. */
import { Layer } from "effect"
import { Agent, Session } from "troupe"
import { MockModel } from "troupe/testing"
import * as Agents from "../../examples/backend/service/Agents.ts"

export const assistant = (model: MockModel.Handler<never>) =>
  Agents.layer({
    first: "assistant",
    open: (store) => Session.make(Agent.make("assistant"), { store }),
    tools: Layer.empty
  }).pipe(Layer.provide(MockModel.layer(model)))
