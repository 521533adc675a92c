/**
 * Random prompts as others may send them, sound and broken, with a mark in everything that is said in them.
 */
import { Arbitrary, Schema } from "effect"
import { Prompt } from "effect/ai"
import { below, oneOf } from "./arbitraries.ts"

const cyclic: Record<string, unknown> = { name: "cyclic" }
cyclic.self = cyclic

/** What may stand where JSON should. */
const oddities: ReadonlyArray<unknown> = [
  undefined,
  12n,
  Number.NaN,
  new Date(0),
  new Date(Number.NaN),
  cyclic,
  () => "called",
  Symbol("symbol"),
  new Map([["key", new Set([1n])]]),
  new Error("went wrong"),
  new Uint8Array([1, 2]),
  new URL("https://example.com/a"),
  {
    get broken() {
      throw new Error("no")
    }
  },
  Object.create({ inherited: true }),
  null,
  [undefined, { deep: [undefined] }]
]

const oddity = Arbitrary.map(below(oddities.length), (index) => oddities[index])

/** Ids as careless models and loops give them. */
const id = Arbitrary.map(below(5), (index) => ["a", "b", "a-2", "", "call"][index] ?? "")

const name = Arbitrary.map(below(2), (index) => index === 0 ? "search" : "send")

const flag = Arbitrary.schema(Schema.Boolean)

const options = oneOf<Prompt.ProviderOptions>(
  Arbitrary.map(flag, () => ({})),
  Arbitrary.map(flag, (value) => ({ provider: { value } }))
)

const params = Arbitrary.map(
  Arbitrary.all({ odd: oddity, isOdd: flag }),
  ({ isOdd, odd }) => isOdd ? { said: mark, odd } : { said: mark }
)

/** Stands for the mark that `marked` puts in its place: no two parts have the same. */
const mark = "MARK"

const part: Arbitrary.Arbitrary<Prompt.Part> = oneOf<Prompt.Part>(
  Arbitrary.map(options, (options) => Prompt.textPart({ text: mark, options })),
  Arbitrary.map(options, (options) => Prompt.reasoningPart({ text: mark, options })),
  Arbitrary.map(options, (options) => Prompt.filePart({ mediaType: "text/plain", data: mark, options })),
  ...Array.from({ length: 3 }, () =>
    Arbitrary.map(
      Arbitrary.all({ id, name, params, options, providerExecuted: oneOf(flag, Arbitrary.Constant(false)) }),
      (fields) => Prompt.toolCallPart(fields)
    )),
  ...Array.from({ length: 3 }, () =>
    Arbitrary.map(
      Arbitrary.all({
        id,
        name,
        options,
        result: params,
        isFailure: flag,
        providerExecuted: oneOf(flag, Arbitrary.Constant(false))
      }),
      (fields) =>
        Prompt.toolResultPart(
          fields.isFailure ? { ...fields, modelOutput: [Prompt.textPart({ text: mark })] } : fields
        )
    )),
  Arbitrary.map(
    Arbitrary.all({ approvalId: id, toolCallId: id }),
    (fields) => Prompt.toolApprovalRequestPart(fields)
  ),
  Arbitrary.map(
    Arbitrary.all({ approvalId: id, approved: flag, hasReason: flag }),
    ({ hasReason, ...fields }) => Prompt.toolApprovalResponsePart(hasReason ? { ...fields, reason: mark } : fields)
  )
)

const message: Arbitrary.Arbitrary<Prompt.Message> = Arbitrary.map(
  Arbitrary.all({ role: below(7), parts: Arbitrary.array(part, { maxLength: 5 }), options, isMisplaced: below(4) }),
  ({ isMisplaced, options, parts, role }) => {
    const fits = (...types: ReadonlyArray<Prompt.Part["type"]>) =>
      isMisplaced === 0 ? parts : parts.filter((part) => types.includes(part.type))
    switch (role) {
      case 0:
        return Prompt.systemMessage({ content: mark, options })
      case 1:
      case 2:
        return Prompt.userMessage({ content: fits("text", "file") as ReadonlyArray<Prompt.UserMessagePart>, options })
      case 3:
      case 4:
        return Prompt.toolMessage({
          content: fits("tool-result", "tool-approval-response") as ReadonlyArray<Prompt.ToolMessagePart>,
          options
        })
      default:
        return Prompt.assistantMessage({
          content: fits(
            "text",
            "reasoning",
            "file",
            "tool-call",
            "tool-result",
            "tool-approval-request"
          ) as ReadonlyArray<Prompt.AssistantMessagePart>,
          options
        })
    }
  }
)

/** Replaces each mark by one of its own, `said-0`, `said-1` and so on, leaving what isn't plain data as it is. */
const marked = (messages: ReadonlyArray<Prompt.Message>): { readonly prompt: Prompt.Prompt; readonly said: number } => {
  let said = 0
  const visit = (value: unknown): unknown => {
    if (value === mark) return `said-${said++}.`
    if (Array.isArray(value)) return value.map(visit)
    if (typeof value !== "object" || value === null || oddities.includes(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, key === "odd" ? item : visit(item)]))
  }
  return { prompt: Prompt.fromMessages(visit(messages) as ReadonlyArray<Prompt.Message>), said }
}

/** Any prompt, and how many things are said in it: each has a text of its own, `said-0.`, `said-1.` and so on. */
export const prompt = Arbitrary.map(Arbitrary.array(message, { maxLength: 8 }), marked)
