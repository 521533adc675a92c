/**
 * The body of a request for a chat completion.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { knowing } from "./KnownFields.ts"
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

const Name = Schema.Struct({ name: Schema.String }).annotate(knowing())

const Named = Schema.Union([
  Schema.Struct({ type: Schema.Literal("function"), function: Name }).annotate(knowing()),
  Schema.Struct({ type: Schema.Literal("custom"), custom: Name }).annotate(knowing())
])

const Choice = Schema.Union([
  Schema.Literals(["none", "auto", "required"]),
  Named,
  Schema.Struct({
    type: Schema.Literal("allowed_tools"),
    allowed_tools: Schema.Struct({
      mode: Schema.Literals(["auto", "required"]),
      tools: Schema.NonEmptyArray(Named)
    }).annotate(knowing())
  }).annotate(knowing())
])

const Format = Schema.Union([
  Schema.Struct({ type: Schema.Literal("json_object") }).annotate(knowing()),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    json_schema: Schema.Struct(jsonSchema).annotate(knowing())
  }).annotate(knowing()),
  Schema.Struct({ type: Schema.Literal("text") }).annotate(knowing())
])

/**
 * Schema for the body of a request for a chat completion. Messages are open: servers that speak like OpenAI have fields of their
 * own there, as `reasoning_content`.
 */
export const ChatRequest = Schema.StructWithRest(
  Schema.Struct({
    model: Schema.String,
    messages: Schema.NonEmptyArray(Message),
    tools: optional(Schema.Array(Schema.Union([
      Schema.Struct({
        type: Schema.Literal("function"),
        function: Schema.Struct(tool).annotate(knowing())
      }).annotate(knowing()),
      Schema.Struct({
        type: Schema.Literal("custom"),
        custom: Schema.Struct({ name: Schema.String, description: optional(Schema.String) }).annotate(knowing("format"))
      }).annotate(knowing())
    ]))),
    tool_choice: optional(Choice),
    response_format: optional(Format),
    n: optional(count(128)),
    stream: optional(Schema.Boolean),
    stream_options: optional(
      Schema.Struct({ include_usage: optional(Schema.Boolean) }).annotate(knowing("include_obfuscation"))
    )
  }),
  [Schema.Record(Schema.String, Schema.Json)]
).annotate(knowing(
  "audio",
  "frequency_penalty",
  "function_call",
  "functions",
  "logit_bias",
  "logprobs",
  "max_completion_tokens",
  "max_tokens",
  "metadata",
  "modalities",
  "moderation",
  "parallel_tool_calls",
  "prediction",
  "presence_penalty",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "reasoning_effort",
  "safety_identifier",
  "seed",
  "service_tier",
  "stop",
  "store",
  "temperature",
  "top_logprobs",
  "top_p",
  "user",
  "verbosity",
  "web_search_options"
))

/**
 * The body of a request for a chat completion, with the fields that the mock reads. It may have others.
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
