#!/usr/bin/env node
/**
 * The command line: `troupe mock-provider` serves a mock provider to clients in any language.
 *
 * It exits with 2 for invalid arguments, and with 1 if the command fails.
 */
import { Misuse, mockProvider, usage } from "./mockProvider.ts"

const [command, ...args] = process.argv.slice(2)

try {
  if (command === undefined) throw new Misuse("say what to do, as in troupe mock-provider --help")
  if (command === "--help" || command === "-h") process.stdout.write(usage)
  else if (command === "mock-provider") await mockProvider(args)
  else throw new Misuse(`there is no command "${command}", only mock-provider`)
} catch (error) {
  process.stderr.write(`troupe: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = error instanceof Misuse ? 2 : 1
}
