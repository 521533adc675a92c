/**
 * The body of a request for a chat completion.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { content, count, jsonSchema, optional, tool } from "./OpenAiSchema.ts"

const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("image_url"), image_url: Schema.Struct({ url: Schema.String }) }),
  Schema.Struct({
    type: Schema.Literal("input_audio"),
    input_audio: Schema.Struct({ data: Schema.String, format: Schema.String })
  }),
  Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String }),
  Schema.Struct({ type: Schema.Literal("audio") }),
  Schema.Struct({
    type: Schema.Literal("file"),
    file: Schema.Struct({
      filename: Schema.optionalKey(Schema.String),
      file_data: Schema.optionalKey(Schema.String),
      file_id: Schema.optionalKey(Schema.String)
    })
  })
])

const Content = content(Schema.NonEmptyArray(Part))

const Call = Schema.Union([
  Schema.Struct({
    id: Schema.String,
    type: Schema.Literal("function"),
    function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
  }),
  Schema.Struct({
    id: Schema.String,
    type: Schema.Literal("custom"),
    custom: Schema.Struct({ name: Schema.String, input: Schema.String })
  })
])

const spoken = <Role extends string>(role: Role) =>
  Schema.Struct({ role: Schema.Literal(role), content: Content, name: Schema.optionalKey(Schema.String) })

const Message = Schema.Union([
  spoken("system"),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: optional(Content),
    name: Schema.optionalKey(Schema.String),
    reasoning_content: optional(Schema.String),
    refusal: optional(Schema.String),
    tool_calls: optional(Schema.NonEmptyArray(Call))
  }),
  spoken("user"),
  spoken("function"),
  Schema.Struct({ role: Schema.Literal("tool"), content: Content, tool_call_id: Schema.String }),
  spoken("developer")
])

const Named = Schema.Union([
  Schema.Struct({ type: Schema.Literal("function"), function: Schema.Struct({ name: Schema.String }) }),
  Schema.Struct({ type: Schema.Literal("custom"), custom: Schema.Struct({ name: Schema.String }) })
])

const Choice = Schema.Union([
  Schema.Literals(["none", "auto", "required"]),
  Named,
  Schema.Struct({
    type: Schema.Literal("allowed_tools"),
    allowed_tools: Schema.Struct({
      mode: Schema.Literals(["auto", "required"]),
      tools: Schema.NonEmptyArray(Named)
    })
  })
])

const Format = Schema.Union([
  Schema.Struct({ type: Schema.Literal("json_object") }),
  Schema.Struct({ type: Schema.Literal("json_schema"), json_schema: Schema.Struct(jsonSchema) }),
  Schema.Struct({ type: Schema.Literal("text") })
])

/** Schema for the body of a request for a chat completion. */
export const ChatRequest = Schema.StructWithRest(
  Schema.Struct({
    model: Schema.String,
    messages: Schema.NonEmptyArray(Message),
    tools: optional(Schema.Array(Schema.Union([
      Schema.Struct({ type: Schema.Literal("function"), function: Schema.Struct(tool) }),
      Schema.Struct({
        type: Schema.Literal("custom"),
        custom: Schema.Struct({ name: Schema.String, description: optional(Schema.String) })
      })
    ]))),
    tool_choice: optional(Choice),
    response_format: optional(Format),
    n: optional(count(128)),
    stream: optional(Schema.Boolean),
    stream_options: optional(Schema.Struct({ include_usage: optional(Schema.Boolean) }))
  }),
  [Schema.Record(Schema.String, Schema.Json)]
)

/**
 * The body of a request for a chat completion, as far as it matters here. It may hold more.
 *
 * @category models
 * @since 0.1.0
 */
export interface ChatRequest extends Schema.Schema.Type<typeof ChatRequest> {}

/** A message of a request for a chat completion. */
export type ChatMessage = ChatRequest["messages"][number]

/** Content of a message, text or parts. */
export type ChatContent = Schema.Schema.Type<typeof Content>

/** A call in a message of the assistant. */
export type ChatToolCall = Schema.Schema.Type<typeof Call>

/** The name of a tool that is offered, chosen or called. */
export const nameOf = (
  named:
    | { readonly type: "function"; readonly function: { readonly name: string } }
    | { readonly type: "custom"; readonly custom: { readonly name: string } }
): string => named.type === "function" ? named.function.name : named.custom.name
