/**
 * Serves a mock provider on a port of this machine.
 */
import * as Effect from "effect/Effect"
import { existsSync, readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import type { InstructionChain, MockModel, MockProvider } from "troupe/testing"
import { listen } from "./listen.ts"

/** Invalid arguments. */
export class Misuse extends Error {}

export const usage = `troupe mock-provider [--port 4010] [--host 127.0.0.1] [--script file] [--strict]

Serves a mock model provider: OpenAI's chat completions and responses, Anthropic's messages.

  --port     the port, 0 for any that is free (4010)
  --host     the address to listen at (127.0.0.1)
  --script   a JSON file with an instruction chain, {"instruction_chain":[...]}, whose step n answers the model's
             turn n, or a module whose default export answers: a handler of troupe/testing, a function of the
             request, or the options of MockProvider.make
  --strict   an error for each request that the script doesn't answer; after one, or after a request that the
             provider would refuse, the exit code is 1
`

const options = {
  port: { type: "string", default: "4010" },
  host: { type: "string", default: "127.0.0.1" },
  script: { type: "string" },
  strict: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false }
} as const

const readArgs = (args: ReadonlyArray<string>) => {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values
  } catch (error) {
    throw new Misuse((error as Error).message.split(/\.( |$)/)[0]!)
  }
}

const readPort = (text: string): number => {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65535) {
    throw new Misuse(`--port takes a number from 0 to 65535, such as 4010, not "${text}"`)
  }
  return port
}

const firstLine = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split("\n")[0]!

/** Reads a chain, all of which has to be right. */
const readChain = async (file: string): Promise<InstructionChain.InstructionChain> => {
  const { InstructionChain } = await import("troupe/testing")
  try {
    const read = InstructionChain.parse(InstructionChain.embed("", JSON.parse(readFileSync(file, "utf8"))))
    if (read._tag === "Failure") throw read.failure
    const [warning] = read.success.warnings
    if (warning !== undefined) throw new Error(InstructionChain.formatWarning(warning))
    return read.success.chain
  } catch (error) {
    throw new Misuse(`--script ${file} isn't a valid instruction chain: ${firstLine(error)}`)
  }
}

/** What a script may set, so that a slip of the pen isn't taken for nothing. */
const settings: { readonly [Name in keyof Required<MockProvider.Options>]: true } = {
  apiKey: true,
  chain: true,
  handler: true,
  journal: true,
  models: true,
  retryAfter: true,
  status: true,
  strict: true,
  unknownFields: true
}

const readScript = async (file: string): Promise<MockProvider.Options> => {
  if (!existsSync(file)) throw new Misuse(`--script ${file}: there is no such file`)
  if (file.endsWith(".json")) return { chain: await readChain(file) }
  let script: unknown
  try {
    script = (await import(pathToFileURL(file).href)).default
  } catch (error) {
    throw new Misuse(`--script ${file} can't be loaded: ${firstLine(error)}`)
  }
  if (typeof script === "function") {
    const { MockModel } = await import("troupe/testing")
    return { handler: MockModel.make(script as MockModel.ReplyFunction) }
  }
  if (typeof script !== "object" || script === null) {
    throw new Misuse(`--script ${file} has no default export that is a handler, a function or options`)
  }
  if ("make" in script) return { handler: script as MockModel.Handler }
  const unknown = Object.keys(script).find((key) => !(key in settings))
  if (unknown === undefined) return script
  throw new Misuse(`--script ${file} has an option "${unknown}", which nothing reads`)
}

/** Answers as a provider does, and says of which requests it had no answer to. */
const reporting = ({ fetch, misses }: MockProvider.Provider) => {
  let last: MockProvider.Miss | undefined
  return async (request: Request): Promise<Response> => {
    const response = await fetch(request)
    const missed = Effect.runSync(misses)
    for (const miss of missed.slice(last === undefined ? 0 : missed.lastIndexOf(last) + 1)) {
      process.stderr.write(`request ${miss.number}: ${miss.reason}\n`)
      last = miss
    }
    return response
  }
}

/** Serves until the process is told to stop. */
export const mockProvider = async (args: ReadonlyArray<string>): Promise<void> => {
  const { help, host, port, script, strict } = readArgs(args)
  if (help) {
    process.stdout.write(usage)
    return
  }
  const at = readPort(port)
  const scripted = script === undefined ? {} : await readScript(script)
  const { MockProvider } = await import("troupe/testing")
  const provider = MockProvider.make(strict ? { ...scripted, strict } : scripted)
  const { strict: isStrict = false } = { ...scripted, ...(strict ? { strict } : undefined) }
  const { close, url } = await listen(reporting(provider), { host, port: at }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "EADDRINUSE" ? new Error(`port ${at} is taken; --port 0 takes any that is free`) : error
  })
  process.stdout.write(`mock provider at ${url}, for OpenAI's clients ${url}/v1\n`)
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      if (isStrict && Effect.runSyncExit(provider.assertNoMisses)._tag === "Failure") process.exitCode = 1
      close()
    })
  }
}
