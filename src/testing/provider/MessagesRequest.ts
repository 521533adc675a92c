/**
 * The body of a request for a message.
 *
 * The messages of checks are Anthropic's, without the path of the value, which precedes them.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { knowing } from "./KnownFields.ts"

/** A field that may be left out, or null, which says the same. */
const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const matching = (pattern: RegExp) =>
  Schema.String.check(
    Schema.makeFilter((text) => pattern.test(text) ? undefined : `String should match pattern '${pattern.source}'`)
  )

const integer = (minimum: number) =>
  Schema.Number.annotate({ expected: "integer" }).check(
    Schema.makeFilter(Number.isInteger, { expected: "integer" }),
    Schema.makeFilter((value) => value >= minimum ? undefined : `Input should be greater than or equal to ${minimum}`)
  )

const Id = matching(/^[a-zA-Z0-9_-]+$/)

/** A text, or blocks. */
const content = <S extends Schema.Constraint>(blocks: S) =>
  Schema.Union([Schema.String, Schema.Array(blocks)]).annotate({ expected: "list" })

const Text = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }).annotate(
  knowing("cache_control", "citations")
)

const Source = Schema.Union([
  Schema.Struct({ type: Schema.Literal("base64"), data: Schema.String, media_type: Schema.String }).annotate(knowing()),
  Schema.Struct({
    type: Schema.Literal("content"),
    content: content(Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String) }))
  }).annotate(knowing()),
  Schema.Struct({ type: Schema.Literal("file"), file_id: Schema.String }).annotate(knowing()),
  Schema.Struct({ type: Schema.Literal("text"), data: Schema.String, media_type: Schema.String }).annotate(knowing()),
  Schema.Struct({ type: Schema.Literal("url"), url: Schema.String }).annotate(knowing())
])

const Image = Schema.Struct({ type: Schema.Literal("image"), source: Source }).annotate(
  knowing("cache_control", "transformations")
)

const Document = Schema.Struct({ type: Schema.Literal("document"), source: Source, title: optional(Schema.String) })
  .annotate(knowing("cache_control", "citations", "context"))

const SearchResult = Schema.Struct({ type: Schema.Literal("search_result") }).annotate(
  knowing("cache_control", "citations", "content", "source", "title")
)

/** What the result of a tool may hold. */
const Inner = Schema.Union([
  Text,
  Image,
  Document,
  SearchResult,
  Schema.Struct({ type: Schema.Literal("tool_reference") }).annotate(knowing("cache_control", "tool_name"))
])

const called = <Type extends string>(type: Type) =>
  Schema.Struct({ type: Schema.Literal(type), id: Id, input: Schema.JsonObject, name: Schema.String })
    .annotate(knowing("cache_control", "caller", "toolset_name"))

const shown = <Type extends string>(type: Type) =>
  Schema.Struct({ type: Schema.Literal(type), tool_use_id: Id, content: Schema.optionalKey(Schema.Json) })

const Block = Schema.Union([
  shown("bash_code_execution_tool_result"),
  shown("code_execution_tool_result"),
  Schema.Struct({ type: Schema.Literal("container_upload"), file_id: Schema.optionalKey(Schema.String) })
    .annotate(knowing("cache_control")),
  Document,
  Image,
  Schema.Struct({ type: Schema.Literal("redacted_thinking"), data: Schema.String }).annotate(knowing()),
  SearchResult,
  called("server_tool_use"),
  Text,
  shown("text_editor_code_execution_tool_result"),
  Schema.Struct({ type: Schema.Literal("thinking"), signature: Schema.String, thinking: Schema.String })
    .annotate(knowing()),
  Schema.Struct({
    type: Schema.Literal("tool_result"),
    tool_use_id: Id,
    content: Schema.optionalKey(content(Inner)),
    is_error: optional(Schema.Boolean)
  }).annotate(knowing("cache_control", "toolset_name")),
  shown("tool_search_tool_result"),
  called("tool_use"),
  shown("web_fetch_tool_result"),
  shown("web_search_tool_result")
])

const Message = Schema.Struct({
  role: Schema.Literals(["user", "assistant", "system"]),
  content: content(Block)
}).annotate(knowing())

/** A tool that a request offers. One with another type than `"custom"` is the provider's own. */
const Tool = Schema.Union([
  Schema.Struct({
    type: optional(Schema.Literal("custom")),
    name: matching(/^[a-zA-Z0-9_-]{1,128}$/),
    description: Schema.optionalKey(Schema.String),
    input_schema: Schema.StructWithRest(Schema.Struct({ type: Schema.Literal("object") }), [
      Schema.Record(Schema.String, Schema.Json)
    ])
  }).annotate(knowing(
    "allowed_callers",
    "cache_control",
    "defer_loading",
    "eager_input_streaming",
    "input_examples",
    "strict"
  )),
  Schema.Struct({
    type: Schema.String.check(Schema.makeFilter((type) => type !== "custom")),
    name: Schema.String
  })
])

const Choice = Schema.Union([
  Schema.Struct({ type: Schema.Literal("auto") }).annotate(knowing("disable_parallel_tool_use")),
  Schema.Struct({ type: Schema.Literal("any") }).annotate(knowing("disable_parallel_tool_use")),
  Schema.Struct({ type: Schema.Literal("tool"), name: Schema.String }).annotate(knowing("disable_parallel_tool_use")),
  Schema.Struct({ type: Schema.Literal("none") }).annotate(knowing())
])

const Thinking = Schema.Union([
  Schema.Struct({ type: Schema.Literal("adaptive") }).annotate(knowing("block_binding", "display")),
  Schema.Struct({ type: Schema.Literal("between_tools") }).annotate(knowing()),
  Schema.Struct({ type: Schema.Literal("disabled") }).annotate(knowing()),
  Schema.Struct({ type: Schema.Literal("enabled"), budget_tokens: integer(1024) }).annotate(
    knowing("block_binding", "display")
  )
])

const Output = Schema.Struct({ type: Schema.Literal("json_schema"), schema: Schema.JsonObject }).annotate(
  knowing()
)

/** Schema for the body of a request for a message. */
export const MessagesRequest = Schema.StructWithRest(
  Schema.Struct({
    model: Schema.String,
    messages: Schema.Array(Message),
    max_tokens: integer(0),
    stream: optional(Schema.Boolean),
    system: optional(content(Text)),
    tools: optional(Schema.Array(Tool)),
    tool_choice: optional(Choice),
    thinking: optional(Thinking),
    output_config: optional(Schema.Struct({ format: optional(Output) }).annotate(knowing("effort", "task_budget"))),
    output_format: optional(Output)
  }),
  [Schema.Record(Schema.String, Schema.Json)]
).annotate(knowing(
  "billing_policy",
  "cache_control",
  "compaction",
  "container",
  "context_management",
  "diagnostics",
  "fallback_credit_token",
  "fallbacks",
  "inference_geo",
  "mcp_servers",
  "metadata",
  "service_tier",
  "speed",
  "stop_sequences",
  "temperature",
  "thread",
  "top_k",
  "top_p",
  "user_profile_id",
  "workspace_id"
))

/**
 * The body of a request for a message of Anthropic, with the fields that the mock reads. It may have others.
 *
 * @category models
 * @since 0.1.0
 */
export interface MessagesRequest extends Schema.Schema.Type<typeof MessagesRequest> {}

/** A message of a request for a message. */
export type MessagesMessage = Schema.Schema.Type<typeof Message>

/** A block of a message's content, whatever its type. */
export type MessagesBlock = Schema.Schema.Type<typeof Block>

/** A block of the result of a tool. */
export type MessagesInner = Schema.Schema.Type<typeof Inner>

/** The result of a tool that the client runs. */
export type MessagesResult = Extract<MessagesBlock, { readonly type: "tool_result" }>

/** Where an image or a document comes from. */
export type MessagesSource = Schema.Schema.Type<typeof Source>

/** The JSON that a request asks for, if any: in `output_config`, or in `output_format`, as beta versions have it. */
export const outputFormat = ({ output_config: config, output_format: beta }: MessagesRequest) =>
  config?.format ?? beta ?? undefined

/** The blocks of a message. */
export const blocksOf = ({ content }: MessagesMessage): ReadonlyArray<MessagesBlock> =>
  typeof content === "string" ? [{ type: "text", text: content }] : content

/** Whether a block is a result of a tool that the client runs. */
export const isResult = (block: MessagesBlock): block is MessagesResult => block.type === "tool_result"
