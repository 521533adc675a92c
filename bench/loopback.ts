/**
 * Asks servers on loopback, in turns, and measures how many requests they answer in a second and what stays of these.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { Agent, request } from "node:http"
import { join } from "node:path"
import { delta, question } from "./script.ts"
import type { Told } from "./serving.ts"

/** How many requests are on their way at once. */
const atOnce = 8

/** How an answer comes. */
export type Kind = "whole" | "streamed"

const bodyOf = (kind: Kind, number: number): string =>
  JSON.stringify({
    model: "gpt-5",
    messages: [{ role: "user", content: `${question} ${number}` }],
    ...(kind === "streamed" ? { stream: true } : undefined)
  })

/** A server in a process of its own, and a client that keeps its connections. */
const open = async (which: "mock" | "bare") => {
  const server = fork(join(import.meta.dirname, "serving.ts"), [which], { execArgv: ["--expose-gc"] })
  const [port] = await once(server, "message") as [number]
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  let count = 0
  const ask = (kind: Kind): Promise<string> =>
    new Promise((resolve, reject) => {
      const asked = request(
        { agent, host: "127.0.0.1", port, method: "POST", path: "/v1/chat/completions" },
        (response) => {
          let text = ""
          response.setEncoding("utf8").on("data", (chunk: string) => text += chunk)
          response.on("error", reject).on("end", () =>
            text.includes(kind === "whole" ? delta.repeat(10) : "[DONE]")
              ? resolve(text)
              : reject(new Error(`The answer isn't whole: ${text}`)))
        }
      )
      asked.on("error", reject).end(bodyOf(kind, ++count))
    })
  const askMany = async (kind: Kind, count: number): Promise<void> => {
    let left = count
    const ongoing = Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await ask(kind)
    })
    await Promise.all(ongoing)
  }
  return {
    ask,
    askMany,
    tell: async (told: Told): Promise<number> => {
      server.send(told)
      return (await once(server, "message") as [number])[0]
    },
    close: async () => {
      agent.destroy()
      const gone = once(server, "exit")
      server.kill()
      await gone
    }
  }
}

/** Runs something with both servers: a mock provider, and one that sends the same without a thought. */
const withServers = async <A>(use: (servers: ReadonlyArray<Awaited<ReturnType<typeof open>>>) => Promise<A>) => {
  const servers = [await open("mock"), await open("bare")]
  try {
    const [whole, streamed] = [await servers[0]!.ask("whole"), await servers[0]!.ask("streamed")]
    await servers[1]!.tell({ whole, streamed })
    return await use(servers)
  } finally {
    for (const server of servers) await server.close()
  }
}

/** Gives, for each server, the milliseconds of a request in each round of so many requests. */
export const throughput = (kind: Kind, rounds: number, batch: number): Promise<ReadonlyArray<ReadonlyArray<number>>> =>
  withServers(async (servers) => {
    for (const server of servers) await server.askMany(kind, batch * 2)
    const samples = servers.map((): Array<number> => [])
    for (let round = 0; round < rounds; round++) {
      for (let turn = 0; turn < servers.length; turn++) {
        const at = (round + turn) % servers.length
        const start = performance.now()
        await servers[at]!.askMany(kind, batch)
        samples[at]!.push((performance.now() - start) / batch)
      }
    }
    return samples
  })

/** Gives, for each server, the bytes that stay of so many requests, of which every other one is streamed. */
export const kept = (count: number, warmUp: number): Promise<ReadonlyArray<number>> =>
  withServers(async (servers) => {
    const bytes: Array<number> = []
    for (const { askMany, tell } of servers) {
      const half = async (count: number) => {
        for (const kind of ["whole", "streamed"] as const) await askMany(kind, count / 2)
      }
      await half(warmUp)
      const before = await tell("memory")
      await half(count)
      bytes.push(await tell("memory") - before)
    }
    return bytes
  })
