/**
 * The tools of an MCP server as a toolkit of an agent.
 *
 * 1. The model sees images and other files of the server, as far as its provider accepts them in results.
 * 2. If a call fails, the model reads the server's own words, or a sentence if there are none.
 * 3. A toolkit has the tools that the server had when it was made. Make one for each run to get changes.
 *
 * **Example** (An agent with all tools of a server, each limited in time and in the length of its results)
 *
 * ```ts
 * import { Context, Effect, Layer, Schema } from "effect"
 * import { McpClient, McpProtocol, McpServer, Tool, Toolkit } from "effect/ai"
 * import { FetchHttpClient, HttpRouter } from "effect/http"
 * import { Agent, AgentState, McpToolkit, ToolPolicy } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * // Somewhere else there is a server.
 * const Weather = Toolkit.make(Tool.make("weather", { success: Schema.String }))
 * const handlers = Weather.toLayer({ weather: () => Effect.succeed("22 °C and no rain. It is a long report.") })
 * const registrations = McpServer.toolkit(Weather).pipe(Layer.provide(handlers))
 * const protocol = McpProtocol.v2025_11_25
 * const { dispose, handler } = HttpRouter.toWebHandler(
 *   McpServer.layerHttp({ name: "weather", version: "1.0.0", path: "/mcp", protocols: [protocol], registrations }),
 *   { disableLogger: true }
 * )
 * const fetch = (input: RequestInfo | URL, init?: RequestInit) => handler(new Request(input, init), Context.empty())
 *
 * const client = McpClient.layerHttp({ name: "app", version: "1.0.0", protocol, url: "http://localhost/mcp" }).pipe(
 *   Layer.provide(FetchHttpClient.layer),
 *   Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch))
 * )
 *
 * const program = Effect.gen(function*() {
 *   const tools = yield* McpToolkit.make(yield* McpClient.McpClient, { needsApproval: "destructive" })
 *   const toolkit = ToolPolicy.setAll(tools, { timeout: "30 seconds", maxLength: 10_000 })
 *   const state = yield* Agent.run(Agent.make("remote", { toolkit }), "Will it rain?")
 *   return AgentState.pendingApprovals(state).map((call) => call.name)
 * })
 *
 * const waiting = program.pipe(
 *   Effect.provide(client),
 *   Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("weather", {})))),
 *   Effect.ensuring(Effect.promise(dispose))
 * )
 *
 * // The server doesn't say that the tool only reads.
 * await Effect.runPromise(waiting) // => ["weather"]
 * ```
 *
 * @since 0.1.0
 */
import type * as McpClient from "effect/ai/McpClient"
import type { McpClientError } from "effect/ai/McpClientError"
import type * as McpSchema from "effect/ai/McpSchema"
import * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Schema from "effect/Schema"
import { kindOf } from "../../domain/Described.ts"
import { from as nameFrom } from "../../domain/ToolName.ts"
import * as Wanted from "../../domain/Wanted.ts"

/** A text of a result, or a file with its data in base64. */
const Piece = Schema.Union([
  Schema.Struct({ text: Schema.String }),
  Schema.Struct({ mediaType: Schema.String, data: Schema.String })
])

/**
 * Schema for the result of a server's tool: a text, or a list of texts and files in their order.
 *
 * @category schemas
 * @since 0.1.0
 */
export const McpResult = Schema.Union([Schema.String, Schema.Array(Piece)])

/**
 * The result of a server's tool: a text, or a list of texts and files in their order.
 *
 * @category models
 * @since 0.1.0
 */
export type McpResult = typeof McpResult.Type

/**
 * Options of a toolkit from a server.
 *
 * **Details**
 *
 * - `prefix` is put before the name of each tool, such as `"reports__"`; none by default.
 * - `needsApproval` says which tools need approval; none by default. `"destructive"` goes by the server's annotations: a tool is
 *   destructive unless `readOnlyHint` is true or `destructiveHint` is false, as in the specification. These are hints, which you can rely
 *   on only if you trust the server.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly prefix?: string
  readonly needsApproval?: "destructive" | ((tool: McpSchema.Tool) => boolean)
}

/**
 * A tool of a server. It fails with words that the model reads.
 *
 * @category models
 * @since 0.1.0
 */
export interface McpTool extends
  Tool.Tool<string, {
    readonly parameters: typeof Schema.Unknown
    readonly success: typeof McpResult
    readonly failure: typeof Schema.String
    readonly failureMode: "error"
  }>
{}

type Piece = typeof Piece.Type

const file = (mediaType: string, data: Uint8Array): Piece => ({ mediaType, data: Base64.encode(data) })

const pieceOf = (block: McpSchema.ContentBlock): Piece => {
  switch (block.type) {
    case "text":
      return { text: block.text }
    case "image":
    case "audio":
      return file(block.mimeType, block.data)
    case "resource_link": {
      const { description, name, title = name, uri } = block
      return { text: `${title}: ${uri}${description === undefined ? "" : `\n${description}`}` }
    }
    case "resource": {
      const { resource } = block
      return "text" in resource
        ? { text: resource.text }
        : file(resource.mimeType ?? "application/octet-stream", resource.blob)
    }
  }
}

const textOf = (piece: Piece): string => "text" in piece ? piece.text : `[A file of type ${piece.mediaType}]`

const isSaid = (piece: Piece): boolean => "text" in piece && piece.text.trim() !== ""

/** Returns the texts and files of a result. If the server sent structured content and no words, its JSON is the text. */
const piecesOf = ({ content, structuredContent }: McpSchema.CallToolResult): ReadonlyArray<Piece> => {
  const pieces = content.map(pieceOf)
  return structuredContent === undefined || pieces.some(isSaid)
    ? pieces
    : [...pieces.filter((piece) => !("text" in piece)), { text: JSON.stringify(structuredContent) }]
}

const resultOf = (pieces: ReadonlyArray<Piece>): McpResult =>
  pieces.every((piece) => "text" in piece) ? pieces.map(textOf).join("\n") : pieces

/** What the model reads. A text alone is the result itself. */
const toModelOutput = (result: McpResult): ReadonlyArray<Prompt.ToolModelOutputPart> =>
  typeof result === "string"
    // `effect/ai` also accepts `undefined`, for the result itself, though its type doesn't say so.
    ? undefined as never
    : result.map((piece) =>
      "text" in piece
        ? Prompt.makePart("text", { text: piece.text })
        : Prompt.makePart("file", { mediaType: piece.mediaType, data: piece.data })
    )

/** Checks whether a tool may destroy something. Without an annotation it may. */
const isDestructive = ({ annotations }: McpSchema.Tool): boolean =>
  annotations?.readOnlyHint !== true && annotations?.destructiveHint !== false

const toTool = (
  name: string,
  descriptor: McpSchema.Tool,
  needsApproval: (tool: McpSchema.Tool) => boolean
): McpTool => {
  const { annotations, description, inputSchema } = descriptor
  return Tool.dynamic(name, {
    parameters: inputSchema,
    description,
    success: McpResult,
    failure: Schema.String,
    needsApproval: needsApproval(descriptor),
    toModelOutput
  })
    .annotate(Tool.Strict, false)
    .annotate(Tool.Readonly, annotations?.readOnlyHint === true)
    .annotate(Tool.Destructive, isDestructive(descriptor))
    .annotate(Tool.Idempotent, annotations?.readOnlyHint === true || annotations?.idempotentHint === true)
}

const isArguments = Schema.is(Schema.Record(Schema.String, Schema.Unknown))

const call = (client: McpClient.McpClient, name: string, tool: McpSchema.Tool) =>
  Effect.fnUntraced(function*(params: unknown) {
    if (!isArguments(params)) return yield* Effect.fail(`The parameters of the tool "${name}" must be a JSON object.`)
    const result = yield* Effect.mapError(
      client.callTool({ tool, arguments: params }),
      (error) => `The tool "${name}" failed: ${error.message}`
    )
    const pieces = piecesOf(result)
    if (result.isError !== true) return resultOf(pieces)
    const said = pieces.map(textOf).join("\n")
    return yield* Effect.fail(said.trim() === "" ? `The tool "${name}" failed.` : said)
  })

/** Returns the function that says which tools need approval. What an untyped program gives is checked, so that no tool runs by mistake. */
const approvalBy = (needsApproval: NonNullable<Options["needsApproval"]>): (tool: McpSchema.Tool) => boolean => {
  const option = "`needsApproval` of `McpToolkit.make`"
  if (needsApproval === "destructive") return isDestructive
  if (typeof needsApproval === "function") return (tool) => Wanted.booleanAtOnce(option, needsApproval(tool))
  throw new TypeError(`${option} is ${kindOf(needsApproval)}, neither "destructive" nor a function`)
}

/** Returns names that providers accept, each different from those before it. */
const namesOf = (tools: ReadonlyArray<McpSchema.Tool>, prefix: string): ReadonlyArray<string> => {
  const taken = new Set<string>()
  return tools.map(({ name }) => {
    let free = nameFrom(prefix, name)
    for (let count = 2; taken.has(free); count++) free = nameFrom(prefix, name, `_${count}`)
    taken.add(free)
    return free
  })
}

/**
 * Asks a server for its tools, and makes a toolkit from them with handlers that call the server.
 *
 * **Details**
 *
 * - If the server returns only texts, the result is one text, in which they are joined by line breaks. If it returns structured content
 *   and no words, its JSON is the text. With images or other files, the result is a list, and the model gets the texts and files by
 *   `toModelOutput`.
 * - If the server reports an error, the model reads the server's words. If the request fails, it reads a sentence.
 * - In names of tools, letters lose their accents, and spaces and signs become `_`. A name gets another end if more is lost, as in other
 *   scripts, or if it is too long or equal to another.
 * - The server's hints that a tool only reads, may destroy something, or may be repeated become annotations of `Tool`, such as
 *   `Tool.Idempotent`, which lets the `retry` of a `ToolPolicy` repeat a call that timed out.
 *
 * Fails with `McpClientError` if the server doesn't list its tools.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  client: McpClient.McpClient,
  { needsApproval = () => false, prefix = "" }: Options = {}
): Effect.Effect<Toolkit.WithHandler<Record<string, McpTool>>, McpClientError> =>
  Effect.flatMap(client.listTools(), (descriptors) => {
    const names = namesOf(descriptors, prefix)
    const isNeeded = approvalBy(needsApproval)
    const tools = descriptors.map((descriptor, index) => toTool(names[index]!, descriptor, isNeeded))
    const toolkit = Toolkit.make(...tools)
    const handlers = Object.fromEntries(
      descriptors.map((descriptor, index) => [names[index]!, call(client, names[index]!, descriptor)])
    )
    return Effect.flatMap(toolkit.toHandlers(handlers), (handlers) => Effect.provideContext(toolkit, handlers))
  })
