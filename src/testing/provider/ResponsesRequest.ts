/**
 * The body of a request for a response.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { knowing } from "./KnownFields.ts"
import { content, Filled, jsonSchema, optional, tool } from "./OpenAiSchema.ts"

/** The id of an item, which says of what kind it is. */
const id = (prefix: string) =>
  Schema.String.check(
    Schema.makeFilter((id) =>
      id.startsWith(prefix) ? undefined : `'${id}'. Expected an ID that begins with '${prefix}'.`
    )
  )

const InputPart = Schema.Union([
  Schema.Struct({ type: Schema.Literal("input_text"), text: Schema.String }).annotate(
    knowing("prompt_cache_breakpoint")
  ),
  Schema.Struct({
    type: Schema.Literal("input_image"),
    file_id: optional(Schema.String),
    image_url: optional(Schema.String)
  }).annotate(knowing("detail", "prompt_cache_breakpoint")),
  Schema.Struct({
    type: Schema.Literal("input_file"),
    file_data: optional(Schema.String),
    file_id: optional(Schema.String),
    file_url: optional(Schema.String),
    filename: optional(Schema.String)
  }).annotate(knowing("detail", "prompt_cache_breakpoint"))
])

const OutputPart = Schema.Union([
  Schema.Struct({ type: Schema.Literal("output_text"), text: Schema.String }).annotate(
    knowing("annotations", "logprobs")
  ),
  Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String }).annotate(knowing())
])

const Input = content(Schema.Array(InputPart))

const Output = content(Schema.Array(OutputPart))

/** Items of which nothing is read but the type and the id: mostly calls of tools that aren't functions, and their outputs. */
const Other = Schema.Struct({
  type: Schema.Literals([
    "apply_patch_call",
    "apply_patch_call_output",
    "code_interpreter_call",
    "compaction",
    "computer_call",
    "computer_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "file_search_call",
    "image_generation_call",
    "local_shell_call",
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_call",
    "mcp_list_tools",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call"
  ]),
  id: optional(Schema.String)
})

/** Without a type, an item is a message. Ids of messages that go in may be of any form. */
const message = Schema.optionalKey(Schema.Literal("message"))

const Item = Schema.Union([
  Schema.Struct({ type: message, role: Schema.Literal("assistant"), content: Output, id: optional(id("msg")) })
    .annotate(knowing("agent", "phase", "status")),
  Schema.Struct({
    type: message,
    role: Schema.Literals(["system", "developer", "user"]),
    content: Input,
    id: optional(Schema.String)
  }).annotate(knowing("agent", "phase", "status")),
  Schema.Struct({
    type: Schema.Literal("function_call"),
    id: optional(id("fc")),
    call_id: Filled,
    name: Filled,
    arguments: Schema.String
  }).annotate(knowing("agent", "async", "caller", "namespace", "status")),
  Schema.Struct({
    type: Schema.Literal("function_call_output"),
    id: optional(Schema.String),
    call_id: Filled,
    output: Input
  }).annotate(knowing("agent", "caller", "name", "namespace", "status")),
  Schema.Struct({
    type: Schema.Literal("reasoning"),
    id: id("rs"),
    summary: Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.String }).annotate(knowing())),
    encrypted_content: optional(Schema.String)
  }).annotate(knowing("agent", "content", "status")),
  Schema.Struct({ type: Schema.Literal("item_reference"), id: Schema.String }).annotate(knowing("agent")),
  Schema.Struct({
    type: Schema.Literal("mcp_approval_response"),
    id: optional(Schema.String),
    approval_request_id: Filled,
    approve: Schema.Boolean,
    reason: optional(Schema.String)
  }).annotate(knowing("agent")),
  Other
])

const Tool = Schema.Union([
  Schema.Struct({ type: Schema.Literal("function"), ...tool })
    .annotate(knowing("allowed_callers", "async", "defer_loading", "output_schema")),
  Schema.Struct({ type: Schema.Literal("custom"), name: Filled, description: optional(Schema.String) })
    .annotate(knowing("allowed_callers", "async", "defer_loading", "format")),
  Schema.Struct({ type: Schema.String.check(Schema.makeFilter((type) => type !== "function" && type !== "custom")) })
])

const Reference = Schema.Struct({ type: Schema.String, name: Schema.optionalKey(Schema.String) })

const Choice = Schema.Union([
  Schema.Literals(["none", "auto", "required"]),
  Schema.Struct({ type: Schema.Literals(["function", "custom"]), name: Schema.String }).annotate(knowing()),
  Schema.Struct({
    type: Schema.Literal("allowed_tools"),
    mode: Schema.Literals(["auto", "required"]),
    tools: Schema.NonEmptyArray(Reference)
  }).annotate(knowing()),
  Schema.Struct({
    type: Schema.String.check(Schema.makeFilter((type) => !["function", "custom", "allowed_tools"].includes(type)))
  })
])

const Format = Schema.Union([
  Schema.Struct({ type: Schema.Literal("json_object") }).annotate(knowing()),
  Schema.Struct({ type: Schema.Literal("json_schema"), ...jsonSchema }).annotate(knowing()),
  Schema.Struct({ type: Schema.Literal("text") }).annotate(knowing())
])

/** Schema for the body of a request for a response. */
export const ResponsesRequest = Schema.StructWithRest(
  Schema.Struct({
    model: Schema.String,
    input: Schema.Union([Schema.String, Schema.NonEmptyArray(Item)]).annotate({
      expected: "one of a string or array of input items"
    }),
    previous_response_id: optional(Schema.String),
    instructions: optional(Schema.String),
    tools: optional(Schema.Array(Tool)),
    tool_choice: optional(Choice),
    text: optional(Schema.Struct({ format: Schema.optionalKey(Format) }).annotate(knowing("verbosity"))),
    reasoning: optional(Schema.JsonObject),
    include: optional(Schema.Array(Schema.String)),
    stream: optional(Schema.Boolean),
    stream_options: optional(Schema.Struct({}).annotate(knowing("include_obfuscation")))
  }),
  [Schema.Record(Schema.String, Schema.Json)]
).annotate(knowing(
  "access_programs",
  "background",
  "context_management",
  "conversation",
  "image",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "moderation",
  "multi_agent",
  "parallel_tool_calls",
  "prompt",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "safety_identifier",
  "service_tier",
  "store",
  "temperature",
  "top_logprobs",
  "top_p",
  "truncation",
  "user"
))

/**
 * The body of a request for a response of OpenAI, with the fields that the mock reads. It may have others.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResponsesRequest extends Schema.Schema.Type<typeof ResponsesRequest> {}

/** An item of the input, whatever its type. */
export type ResponsesItem = Schema.Schema.Type<typeof Item>

/** A message among the items of an input. */
export type ResponsesMessage = Extract<ResponsesItem, { readonly role: string }>

/** Content of a message or an output, text or parts. */
export type ResponsesContent = ResponsesMessage["content"]

/** Whether a tool, or a tool choice, names a tool that the client runs. The provider's own tools have no names. */
export const isNamed = <A extends { readonly type: string }>(
  tool: A
): tool is Extract<A, { readonly name: string }> =>
  (tool.type === "function" || tool.type === "custom") && "name" in tool

/** The items of an input. */
export const itemsOf = ({ input }: ResponsesRequest): ReadonlyArray<ResponsesItem> =>
  typeof input === "string" ? [{ role: "user", content: input }] : input

/** Whether an item is a message. Items of other types may hold a role that nothing reads. */
export const isMessage = (item: ResponsesItem): item is ResponsesMessage =>
  item.type === undefined || item.type === "message"

/** Whether an item answers a call, or a request for an approval. */
export const isOutput = ({ type }: ResponsesItem): boolean =>
  type?.endsWith("_output") === true || type === "mcp_approval_response"
