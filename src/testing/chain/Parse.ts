/**
 * Reads the chain that a text carries, and says what is wrong with it and where.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { deepest, isTooDeep } from "../Depth.ts"
import * as Instruction from "./Instruction.ts"
import * as Tags from "./Tags.ts"

/**
 * A mistake in a chain: its `message`, and its `path` in the JSON, such as `instruction_chain[0].delay`. If `step` is set, the step with
 * that index is skipped because of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Warning {
  readonly path: string
  readonly message: string
  readonly step?: number
}

/**
 * A chain that was read from a text. An invalid step is `null`, and a warning says why.
 *
 * **Details**
 *
 * An instruction outside of a chain, as older tests have it, is a chain of one step that `isSingle`: it answers each request.
 *
 * @category models
 * @since 0.1.0
 */
export interface Parsed {
  readonly chain: Instruction.InstructionChain
  readonly isSingle: boolean
  readonly warnings: ReadonlyArray<Warning>
}

/**
 * Error for a text without a usable chain: it carries none (`"Absent"`) or one that can't be read (`"Malformed"`). `InstructionChain.parse`
 * fails with it, and `InstructionChain.make` throws it.
 *
 * @category errors
 * @since 0.1.0
 */
export class ChainError extends Schema.TaggedError<ChainError>("troupe/testing/InstructionChain/ChainError")(
  "ChainError",
  { reason: Schema.Literals(["Absent", "Malformed"]), message: Schema.String }
) {}

/** Formats a warning as a line of text: its path and its message. */
export const formatWarning = ({ message, path }: Warning): string => path === "" ? message : `${path}: ${message}`

const lines = (warnings: ReadonlyArray<Warning>): string => warnings.map(formatWarning).join("\n")

const error = (message: string) => new ChainError({ reason: "Malformed", message })

const malformed = (message: string) => Result.fail(error(message))

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const pathOf = (base: string, path: ReadonlyArray<unknown>): string =>
  path.reduce<string>(
    (all, key) => all + (typeof key === "number" ? `[${key}]` : all === "" ? key : `.${String(key)}`),
    base
  )

const decode = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  input: unknown,
  path: string
): Result.Result<S["Type"], ReadonlyArray<Warning>> =>
  Result.mapError(
    Schema.decodeUnknownResult(schema)(input, { errors: "all" }),
    ({ issue }) =>
      format(issue).issues.map((each): Warning => ({
        path: pathOf(path, each.path as ReadonlyArray<unknown>),
        message: each.message
      }))
  )

const kinds = Object.keys(Instruction.messages) as ReadonlyArray<keyof typeof Instruction.messages>

/** The kind of a message: of several keys the first whose value isn't null. */
const kindOf = (input: Readonly<Record<string, unknown>>) => {
  const present = kinds.filter((kind) => kind in input)
  return present.find((kind) => input[kind] !== null) ?? present[0]
}

const Options = Schema.Struct(Instruction.options)

/** Keeps what is wrong while a chain is read. */
class Reader {
  readonly warnings: Array<Warning> = []

  #wrong(path: string, message: string): undefined {
    this.warnings.push({ path, message })
  }

  #take<S extends Schema.ConstraintDecoder<unknown>>(schema: S, input: unknown, path: string): S["Type"] | undefined {
    const result = decode(schema, input, path)
    if (Result.isSuccess(result)) return result.success
    this.warnings.push(...result.failure)
    return undefined
  }

  /** Warns of a key that nothing reads: it may be a typo. The step stays valid. */
  #unread(input: object, read: object, path: string): void {
    for (const key in input) if (!(key in read)) this.#wrong(pathOf(path, [key]), "Nothing reads this key")
  }

  #message(input: unknown, path: string): Instruction.Message | undefined {
    if (!Predicate.isReadonlyObject(input)) return this.#wrong(path, "Expected an object")
    const kind = kindOf(input)
    if (kind === undefined) return this.#wrong(path, `Expected one of ${kinds.join(", ")}`)
    this.#unread(input, Instruction.messages, path)
    return this.#take(Instruction.messages[kind] as Schema.Codec<Instruction.Message>, input, path)
  }

  step(input: unknown, path: string): Instruction.Step | undefined {
    if (!Predicate.isReadonlyObject(input)) return this.#wrong(path, "Expected an object")
    const { messages: given, ...rest } = input
    const options = this.#take(Options, rest, path)
    this.#unread(rest, Instruction.options, path)
    const at = pathOf(path, ["messages"])
    if (given === undefined || given === null) return this.#whole(options, path)
    if (!Array.isArray(given)) return this.#wrong(at, "Expected an array")
    const messages = given.map((each: unknown, index) => this.#message(each, `${at}[${index}]`))
    return messages.includes(undefined)
      ? undefined
      : this.#whole(options && { ...options, messages: messages as ReadonlyArray<Instruction.Message> }, path)
  }

  #whole(step: Instruction.Step | undefined, path: string): Instruction.Step | undefined {
    if (step === undefined) return undefined
    const problem = Instruction.problem(step)
    return problem === undefined ? step : this.#wrong(path, problem)
  }

  chain(input: ReadonlyArray<unknown>): Instruction.InstructionChain {
    return {
      instruction_chain: input.map((each, index) => {
        if (each === null) return null
        const before = this.warnings.length
        const step = this.step(each, `instruction_chain[${index}]`)
        if (step !== undefined) return step
        for (let at = before; at < this.warnings.length; at++) {
          this.warnings[at] = { ...this.warnings[at]!, step: index }
        }
        return null
      })
    }
  }
}

/** Unescapes a chain that is inside a JSON string: the tags stay as they are there, but the text between them is escaped, once or more. */
const unescaped = (json: string): string | undefined => {
  try {
    const text: string = JSON.parse(`"${json}"`)
    return text === json ? undefined : text
  } catch {
    return undefined
  }
}

const readJson = (json: string): Result.Result<unknown, ChainError> => {
  try {
    return Result.succeed(JSON.parse(json))
  } catch (error) {
    const inner = unescaped(json)
    const read = inner === undefined ? undefined : readJson(inner)
    return read !== undefined && Result.isSuccess(read) ? read : malformed(`not JSON: ${(error as Error).message}`)
  }
}

const readRoot = (root: unknown): Result.Result<Parsed, ChainError> => {
  if (!Predicate.isReadonlyObject(root)) return malformed("not an object")
  if (isTooDeep(root as Schema.Json)) return malformed(`nested more than ${deepest} levels deep`)
  const reader = new Reader()
  const { instruction_chain: given, ...rest } = root
  if (Array.isArray(given)) {
    return Result.succeed({ chain: reader.chain(given), isSingle: false, warnings: reader.warnings })
  }
  if (given !== undefined && given !== null) return malformed("instruction_chain: Expected an array")
  const step = reader.step(rest, "")
  return step === undefined
    ? malformed(lines(reader.warnings))
    : Result.succeed({ chain: { instruction_chain: [step] }, isSingle: true, warnings: reader.warnings })
}

/** Checks a chain that code has made, and throws what is wrong with it. */
export const checked = (chain: Instruction.InstructionChain): Instruction.InstructionChain => {
  const { warnings } = Result.getOrThrow(readRoot(chain))
  if (warnings.length > 0) throw error(lines(warnings))
  return chain
}

/** Reads what tags mark. */
export const readMarked = ({ content }: Tags.Marked): Result.Result<Parsed, ChainError> =>
  content === undefined
    ? malformed(`${Tags.start} without ${Tags.end}`)
    : Result.flatMap(readJson(content.trim()), readRoot)

/**
 * Reads the chain that a text carries, the last one if there are several.
 *
 * **Details**
 *
 * Fails with a `ChainError` of the reason `"Absent"` if there is no chain, and of `"Malformed"` if the last one can't be read: no earlier
 * chain is read instead. An invalid step is `null`, and the others keep their places.
 *
 * @category decoding
 * @since 0.1.0
 */
export const parse = (text: string): Result.Result<Parsed, ChainError> => {
  const marked = Tags.last(text)
  return marked === undefined
    ? Result.fail(new ChainError({ reason: "Absent", message: `no ${Tags.start}` }))
    : readMarked(marked)
}
