import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import type { Readable } from "node:stream"
import OpenAI from "openai"
import { Misuse, mockProvider } from "../../../bin/mockProvider.ts"
import * as Process from "../../examples/process.ts"
import { rejection } from "./serve.ts"

const bin = resolve(import.meta.dirname, "../../../bin/troupe.ts")

const textOf = (stream: Readable) => {
  const said = { text: "" }
  stream.setEncoding("utf8").on("data", (text: string) => void (said.text += text))
  return said
}

/** Runs the command line to its end. */
const run = (...args: ReadonlyArray<string>) =>
  Effect.map(Effect.promise(() => Process.run(bin, args)), ({ code, stderr, stdout }) => ({
    code,
    output: stdout,
    errors: stderr
  }))

/** The URL of a mock provider that the command line serves as long as the scope is open. A strict one ends with 1 after a miss. */
const served = (...args: ReadonlyArray<string>) =>
  servedUntil(args, (errors) => args.includes("--strict") && errors !== "" ? 1 : 0)

const servedUntil = (args: ReadonlyArray<string>, codeOf: (errors: string) => number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = Process.start(bin, ["mock-provider", "--port", "0", ...args])
      const errors = textOf(child.stderr)
      const output: string = await Promise.race([
        once(child.stdout.setEncoding("utf8"), "data").then(([text]) => text),
        once(child, "close").then(() => errors.text)
      ])
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]
      if (url === undefined) throw new Error(`it doesn't serve: ${output}`)
      return { child, errors, url }
    }),
    ({ child, errors }) =>
      Effect.promise(async () => {
        const closed = once(child, "close")
        child.kill("SIGTERM")
        const [code] = await closed
        assert.strictEqual(code, codeOf(errors.text))
      })
  )

const script = (name: string, source: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "troupe-script-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
    ),
    (folder) => {
      const file = join(folder, name)
      writeFileSync(file, source)
      return file
    }
  )

const ask = { model: "gpt-5", messages: [{ role: "user" as const, content: "Hello" }] }

describe("troupe mock-provider", () => {
  it.live("serves a script to clients, streamed and broken off, until it is told to stop", () =>
    Effect.gen(function*() {
      const broken = `{ _tag: "MockResponse", parts: [{ type: "text", text: "one two three" }], hang: 2 }`
      const file = yield* script(
        "script.mjs",
        `export default ({ lastUserText, streaming }) => streaming ? ${broken} : "You said " + lastUserText`
      )
      const { url } = yield* served("--script", file)
      const client = new OpenAI({ apiKey: "none", baseURL: `${url}/v1`, maxRetries: 0 })
      const completion = yield* Effect.promise(() => client.chat.completions.create(ask))
      assert.strictEqual(completion.choices[0]?.message.content, "You said Hello")
      const heard: Array<unknown> = []
      yield* Effect.promise(async () => {
        const stream = await client.chat.completions.create({ ...ask, stream: true })
        for await (const chunk of stream) {
          heard.push(chunk.choices[0]?.delta.content)
          if (heard.length === 3) break
        }
      })
      assert.deepStrictEqual(heard, ["", "one", " two"])
      const refused = yield* rejection(() => client.chat.completions.create({ ...ask, messages: [] }))
      assert.include(String(refused), "400 Invalid 'messages': empty array.")
    }))

  it.live("waits for a client that reads slowly, without a listener for each wait", () =>
    Effect.gen(function*() {
      const { errors, url } = yield* served()
      const chain = { instruction_chain: [{ messages: [{ text_message: { length: 20_000 } }], chunks: 1 }] }
      const content = `<|instruction_start|>${JSON.stringify(chain)}<|instruction_end|>`
      const body = JSON.stringify({ ...ask, messages: [{ role: "user", content }], stream: true })
      const text = yield* Effect.promise(async () =>
        (await fetch(`${url}/v1/chat/completions`, { method: "POST", body })).text()
      )
      assert.isTrue(text.endsWith("data: [DONE]\n\n"))
      assert.strictEqual(errors.text, "")
    }))

  it.live("serves a chain from a file of JSON, turn by turn", () =>
    Effect.gen(function*() {
      const chain = { instruction_chain: [{ messages: [{ text: "one" }] }, { messages: [{ text: "two" }] }] }
      const { url } = yield* served("--script", yield* script("chain.json", JSON.stringify(chain)), "--strict")
      const client = new OpenAI({ apiKey: "none", baseURL: `${url}/v1`, maxRetries: 0 })
      const messages: Array<OpenAI.Chat.ChatCompletionMessageParam> = [...ask.messages]
      for (const expected of ["one", "two"]) {
        const { choices: [choice] } = yield* Effect.promise(() => client.chat.completions.create({ ...ask, messages }))
        assert.strictEqual(choice?.message.content, expected)
        messages.push({ role: "assistant", content: expected }, { role: "user", content: "Go on" })
      }
      const exhausted = yield* rejection(() => client.chat.completions.create({ ...ask, messages }))
      assert.include(String(exhausted), "the given instruction chain is exhausted")
    }))

  it.live("takes options for a script, and is strict where that is asked for", () =>
    Effect.gen(function*() {
      const file = yield* script("script.mjs", "export default { status: [503] }")
      const { errors, url } = yield* served("--script", file, "--strict")
      const post = () =>
        Effect.promise(async () => {
          const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body: JSON.stringify(ask) })
          return [response.status, (await response.json()).error.message]
        })
      assert.deepStrictEqual(yield* post(), [503, "The engine is currently overloaded, please try again later"])
      const [status, message] = yield* post()
      assert.strictEqual(status, 400)
      assert.match(message, /^Request 2 to the mock provider: there is no handler/)
      assert.match(errors.text, /^request 2: there is no handler[^\n]*\n$/)
    }))

  it.live("ends with 1 if it is strict and has forgotten the request that had no answer", () =>
    Effect.gen(function*() {
      const file = yield* script("script.mjs", "export default { journal: 0 }")
      const { url } = yield* servedUntil(["--script", file, "--strict"], () => 1)
      const post = () => fetch(`${url}/v1/chat/completions`, { method: "POST", body: JSON.stringify(ask) })
      assert.strictEqual((yield* Effect.promise(post)).status, 400)
    }))

  /** What a server says to a request in so many words. */
  const said = (url: string, request: string) =>
    Effect.callback<string>((resume) => {
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname, () => socket.write(`${request}\r\nconnection: close\r\n\r\n`))
      const heard = textOf(socket)
      socket.once("close", () => resume(Effect.succeed(heard.text)))
    })

  it.live("answers whatever comes in, also what is no request of the web's", () =>
    Effect.gen(function*() {
      const { url } = yield* served()
      const status = (request: string) => Effect.map(said(url, request), (text) => text.split(" ")[1])
      assert.strictEqual(yield* status("GET // HTTP/1.1\r\nhost: mock"), "404")
      assert.strictEqual(yield* status("GET /v1/models HTTP/1.1\r\nhost: a b"), "400")
      assert.strictEqual(yield* status("TRACE /v1/models HTTP/1.1\r\nhost: mock"), "400")
      assert.strictEqual(yield* status("GET http://mock/v1/models HTTP/1.1\r\nhost: mock"), "200")
    }))

  const misused: Readonly<Record<string, readonly [ReadonlyArray<string>, string]>> = {
    "no command": [[], "say what to do, as in troupe mock-provider --help"],
    "an unknown command": [["serve"], `there is no command "serve", only mock-provider`],
    "an unknown option": [["mock-provider", "--prot", "1"], "Unknown option '--prot'"]
  }
  for (const [what, [args, line]] of Object.entries(misused)) {
    it.live(`ends with ${what} in one line and exit code 2`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* run(...args), { code: 2, output: "", errors: `troupe: ${line}\n` })
      }))
  }

  /** Why arguments are misused. */
  const misuse = (...args: ReadonlyArray<string>) =>
    Effect.map(rejection(() => mockProvider(args)), (error) => {
      assert.instanceOf(error, Misuse)
      return (error as Misuse).message
    })

  const wrong: Readonly<Record<string, readonly [ReadonlyArray<string>, string]>> = {
    "a port that is none": [["--port", "65536"], `--port takes a number from 0 to 65535, such as 4010, not "65536"`],
    "a port in another notation": [["--port", "1e3"], `--port takes a number from 0 to 65535, such as 4010, not "1e3"`],
    "a port that is no number": [["--port", ""], `--port takes a number from 0 to 65535, such as 4010, not ""`],
    "an argument too many": [["script.ts"], "Unexpected argument 'script.ts'"],
    "an option without its value": [["--script"], "Option '--script <value>' argument missing"],
    "a script that isn't there": [["--script", "no.mjs"], "--script no.mjs: there is no such file"]
  }
  for (const [what, [args, line]] of Object.entries(wrong)) {
    it.effect(`takes ${what} for misuse`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* misuse(...args), line)
      }))
  }

  it.effect("takes a script that is wrong for misuse, and says in one line how", () =>
    Effect.gen(function*() {
      const throwing = yield* script("throws.mjs", `throw new Error("not today\\nnor ever")`)
      assert.strictEqual(yield* misuse("--script", throwing), `--script ${throwing} can't be loaded: not today`)
      const chain = yield* script("chain.json", `{"instruction_chain":[{"messages":[{"txt":"one"}]}]}`)
      assert.match(
        yield* misuse("--script", chain),
        /^--script \S+ isn't a valid instruction chain: [^\n]*instruction_chain\[0\][^\n]*$/
      )
      const broken = yield* script("broken.json", `{"instruction_chain":`)
      assert.match(
        yield* misuse("--script", broken),
        /^--script \S+ isn't a valid instruction chain: [^\n]*JSON[^\n]*$/
      )
      const slip = yield* script("slip.mjs", "export default { statuses: [500] }")
      assert.strictEqual(
        yield* misuse("--script", slip),
        `--script ${slip} has an option "statuses", which nothing reads`
      )
      const nothing = yield* script("nothing.mjs", "export const handler = 1")
      assert.strictEqual(
        yield* misuse("--script", nothing),
        `--script ${nothing} has no default export that is a handler, a function or options`
      )
    }))

  it.live("ends with a port that is taken in one line and exit code 1", () =>
    Effect.gen(function*() {
      const server = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = createServer().listen(0, "127.0.0.1")
          await once(server, "listening")
          return server
        }),
        (server) => Effect.sync(() => server.close())
      )
      const { port } = server.address() as AddressInfo
      const { code, errors, output } = yield* run("mock-provider", "--port", String(port))
      assert.deepStrictEqual([code, output], [1, ""])
      assert.strictEqual(errors, `troupe: port ${port} is taken; --port 0 takes any that is free\n`)
    }))

  it.live("says what it takes", () =>
    Effect.gen(function*() {
      const { code, errors, output } = yield* run("mock-provider", "--help")
      assert.deepStrictEqual([code, errors], [0, ""])
      for (const option of ["--port", "--host", "--script", "--strict"]) assert.include(output, option)
    }))
})
