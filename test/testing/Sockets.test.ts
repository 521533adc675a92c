import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { connect, createServer, type Server, type Socket } from "node:net"
import { Agent, type AgentEvent, AgentState } from "troupe"
import { Cassette, InstructionChain, Laws, MockModel, MockProvider } from "troupe/testing"

const channels = ["net.client.socket", "tracing:net.server.listen:asyncStart"]

/** Counts the sockets that are opened while an effect runs, to a server or for one. */
const socketsOf = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const seen: Array<string> = []
      const listen = (_: unknown, channel: string | symbol) => void seen.push(String(channel))
      for (const channel of channels) subscribe(channel, listen)
      return { seen, listen }
    }),
    ({ seen }) => Effect.as(self, seen),
    ({ listen }) =>
      Effect.sync(() => {
        for (const channel of channels) unsubscribe(channel, listen)
      })
  )

const opened = Effect.callback<readonly [Server, Socket]>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const address = server.address()
    const socket = connect(
      typeof address === "object" && address !== null ? address.port : 0,
      "127.0.0.1",
      () => resume(Effect.succeed([server, socket]))
    )
  })
})

describe("The test kit", () => {
  it.live("opens no socket for a mock model", () =>
    Effect.gen(function*() {
      const sockets = yield* socketsOf(
        Effect.gen(function*() {
          const state = yield* Agent.run(Agent.make("a"), "Hello")
          assert.strictEqual(AgentState.text(state), "Hi")
        }).pipe(Effect.provide(MockModel.layer(MockModel.queue("Hi"))))
      )
      assert.deepStrictEqual(sockets, [])
    }))

  it.live("opens none for a provider that isn't served, a chain, a recording or a law", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a")
      const sockets = yield* socketsOf(Effect.gen(function*() {
        const provider = MockProvider.make()
        const content = InstructionChain.embed("Hello", InstructionChain.make("Hi"))
        const response = yield* Effect.promise(() =>
          provider.fetch("https://api.openai.com/v1/chat/completions", {
            method: "POST",
            body: JSON.stringify({ model: "gpt-5", messages: [{ role: "user", content }] })
          })
        )
        assert.strictEqual(response.status, 200)
        const seen: Array<AgentEvent.AgentEvent> = []
        yield* Agent.run(agent, "Hello").pipe(
          Agent.observe((event) => Effect.sync(() => seen.push(event))),
          Effect.provide(MockModel.layer(MockModel.queue("Hi")))
        )
        yield* Agent.run(agent, "Hello").pipe(Effect.provide(Cassette.fromEvents(seen)))
        yield* Laws.agent(agent, { runs: 2 })
      }))
      assert.deepStrictEqual(sockets, [])
    }))

  it.live("would be seen opening one", () =>
    Effect.gen(function*() {
      const sockets = yield* socketsOf(Effect.acquireUseRelease(opened, () => Effect.void, ([server, socket]) =>
        Effect.sync(() => {
          socket.destroy()
          server.close()
        })))
      assert.includeMembers(sockets, channels)
    }))
})
