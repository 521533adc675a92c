import { Schema } from "effect"
import { InstructionChain } from "troupe/testing"

/** Any text, with tags and what JSON escapes more often than chance has it. */
export const Text = Schema.Array(Schema.Union([
  Schema.Literals([
    "<|instruction_start|>",
    "<|instruction_end|>",
    "\\",
    "\"",
    "{",
    "\n",
    "<",
    "\\u003c",
    "é🙂",
    "\u2028"
  ]),
  Schema.String
]))

export const toText = (pieces: typeof Text.Type): string => pieces.join("")

const Item = Schema.TaggedUnion({
  Say: { text: Text },
  Words: { length: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })) },
  Think: { text: Text, signature: Schema.optionalKey(Text) },
  Call: { name: Text, key: Text, args: Text, id: Schema.optionalKey(Text) },
  Skip: {},
  Fail: { status: Schema.Int.check(Schema.isBetween({ minimum: 400, maximum: 599 })), body: Schema.Json },
  Break: { after: Schema.Literals([0, 2]), chunks: Schema.Literals([1, 5]) },
  Hang: { after: Schema.Literals([0, 3]), name: Text }
})

/** Steps of every kind. */
export const Steps = Schema.Array(Item)

/** Makes a chain of generated steps. */
export const toChain = (steps: typeof Steps.Type): InstructionChain.InstructionChain =>
  InstructionChain.make(...steps.map(Item.match({
    Say: ({ text }) => toText(text),
    Words: ({ length }) => InstructionChain.words(length),
    Think: ({ signature, text }) =>
      InstructionChain.reasoning(
        toText(text),
        signature === undefined ? undefined : { signature: toText(signature) }
      ),
    Call: ({ args, id, key, name }) =>
      InstructionChain.toolCall(
        `n${toText(name)}`,
        { [`k${toText(key)}`]: toText(args) },
        id === undefined ? undefined : { id: `i${toText(id)}` }
      ),
    Skip: () => null,
    Fail: ({ body, status }) => InstructionChain.error(status, { body: JSON.parse(JSON.stringify(body)) }),
    Break: ({ after, chunks }) => InstructionChain.step("…", { error: { status: 529, after }, chunks: [0, chunks] }),
    Hang: ({ after, name }) => InstructionChain.step("…", { hang: after, id: toText(name), delay: 1 })
  })))
