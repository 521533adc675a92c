/**
 * What the desk is told on the command line.
 */
import { Result, Runtime, Schema } from "effect"
import { parseArgs } from "node:util"
import { help as models } from "./model/configured.ts"

export interface Options {
  /** What the customer says at once; without it, the desk converses. */
  readonly words: string | undefined
  readonly json: boolean
  /** What happens to calls that await approval: `--yes` approves them, `--no` denies them; without either, the desk asks. */
  readonly approval: "approve" | "deny" | "ask"
  /** The file that keeps the conversation. */
  readonly state: string | undefined
}

export type Wish = Options | "help"

/** Error for a command line that can't be understood. */
export class WrongUse extends Schema.TaggedError<WrongUse>()("WrongUse", { issue: Schema.String }) {
  override readonly [Runtime.errorExitCode] = 2
  override get message(): string {
    return `${this.issue} Try --help.`
  }
}

export const help = `Halden's support desk: triage hands over to refunds, orders or sales. Each answer begins with the
name of the agent that gives it.

Usage: npm start -- [options] [words]

  npm start -- "My lamp arrived broken, order 1042"
  npm start                      a conversation; Ctrl-D or "exit" ends it
  npm start < questions.txt      answers each line. After a question for approval, "y" approves
                                 and "n" denies; any other line denies, and is the next question
  npm start --silent -- --json "Where is 1043?" | jq ._tag

Options:
  --yes          approves each call that awaits approval
  --no           denies each call that awaits approval
  --state FILE   continues the conversation in FILE, and saves it there. Without words, --yes and
                 --no only decide the calls that await approval in it
  --json         prints every event as a line of JSON. npm prints lines of its own first; with
                 npm start --silent it doesn't
  --help         prints this

The desk has a model of its own, which needs no key and no network. Environment variables choose
another:
  ${models}

Exit codes: 0 answered, 1 failed, 2 wrong use, 130 interrupted. For this desk, today is always 16 March 2026.
`

const flags = {
  help: { type: "boolean", short: "h" },
  json: { type: "boolean" },
  yes: { type: "boolean" },
  no: { type: "boolean" },
  state: { type: "string" }
} as const

/** An argument with spaces in it is what somebody says, whatever it begins with. */
const isSaid = (arg: string): boolean => /^-.*\s/s.test(arg) && !arg.startsWith("--state=")

/** Reads the arguments of the command line. */
export const parse = (args: ReadonlyArray<string>): Result.Result<Wish, WrongUse> => {
  const said = args.findIndex((arg, index) => isSaid(arg) && args[index - 1] !== "--state")
  const guarded = said < 0 || args.slice(0, said).includes("--") ? args : args.toSpliced(said, 0, "--")
  return Result.gen(function*() {
    const { positionals, values } = yield* Result.try({
      try: () => parseArgs({ args: [...guarded], options: flags, allowPositionals: true }),
      catch: (error) =>
        wrong(error instanceof Error ? error.message.split(/\. (?=To|Did)|\n/)[0]!.replace(/\.?$/, ".") : String(error))
    })
    if (values.help === true) return "help"
    if (values.yes === true && values.no === true) {
      return yield* Result.fail(wrong("--yes and --no exclude each other."))
    }
    if (values.state === "") return yield* Result.fail(wrong("--state needs the name of a file."))
    const words = positionals.length === 0 ? undefined : positionals.join(" ")
    if (words?.trim() === "") return yield* Result.fail(wrong("There is nothing to answer."))
    return {
      words,
      json: values.json === true,
      approval: values.yes === true ? "approve" : values.no === true ? "deny" : "ask",
      state: values.state
    }
  })
}

const wrong = (issue: string): WrongUse => new WrongUse({ issue })
