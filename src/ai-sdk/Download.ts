/**
 * Files by address, downloaded for a model whose provider doesn't fetch them itself.
 *
 * 1. A file is downloaded once for each `URL` object, and kept as long as that is: later requests with it, and those at the same time,
 *    send the same bytes.
 * 2. Only `http` and `https` are followed, and no address of this machine or a private network, redirects included. Host names aren't
 *    looked up to check this: a program that takes addresses from strangers should pass a `fetch` that does.
 *
 * @since 0.1.0
 */
import type { LanguageModelV4FilePart, LanguageModelV4Message } from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import type { AnyModel } from "./AnyModel.ts"
import { freeze } from "./Frozen.ts"
import { plain, withPlain } from "./PlainAddress.ts"
import * as Wrong from "./Wrong.ts"

/**
 * How to download files that a provider doesn't fetch itself.
 *
 * A file that is too large, missing or refused, such as one in a private network, fails the request with `InvalidUserInputError`. A
 * time-out or an error of the network or the server fails it with a `NetworkError`, which is retryable.
 *
 * @category models
 * @since 0.1.0
 */
export interface Download {
  /** The function that downloads a file; the global `fetch` by default. */
  readonly fetch?: typeof globalThis.fetch
  /** How many bytes a file may have; 20 MiB by default. */
  readonly maxBytes?: number
  /** How long a download may take; 1 minute by default. */
  readonly timeout?: Duration.Input
}

const kinds: Wrong.Kinds<Download> = { fetch: Wrong.callable, maxBytes: Wrong.size, timeout: Wrong.duration }

/** Returns what is wrong with options of downloads, if anything. */
export const wrongIn = (options: Download): AiError.InvalidRequestError | undefined =>
  Wrong.reasonIn("download", options, kinds)

/** A downloaded file: its data in base64, the number of its bytes, and the media type that the server says. */
interface File {
  readonly data: string
  readonly size: number
  readonly mediaType: string | undefined
}

/** Downloaded files, by the `URL` objects that conversations hold. */
const files = new WeakMap<URL, File>()

/** Returns what an error says, without the parts of addresses that may hold a key. */
const said = (error: unknown): string => error instanceof Error ? withPlain(error.message) : "the request failed"

const refused = (url: URL, why: string): AiError.InvalidUserInputError =>
  new AiError.InvalidUserInputError({ description: `The file at ${plain(url)} can't be sent: ${why}` })

const network = (url: URL, why: string): AiError.NetworkError =>
  new AiError.NetworkError({
    reason: "TransportError",
    method: "GET",
    url: plain(url),
    description: `The file at ${plain(url)} couldn't be downloaded: ${why}`
  })

/**
 * Hosts of this machine and of networks that aren't public, as `URL` writes them: names, IPv4 addresses, and IPv6 addresses. Of IPv6 only
 * global unicast addresses (2000::/3) are public, and of these not 2002::/16, which stand for IPv4 addresses.
 */
const privateHost = new RegExp(
  [
    String.raw`^(.+\.)?(localhost|local|internal)\.?$`,
    String
      .raw`^(?=[\d.]+$)((0|10|127|22[4-9]|2[34]\d|25[0-5])\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|192\.(168|0\.0)\.)`,
    String.raw`^(?=[\d.]+$)(100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|198\.1[89]\.)`,
    String.raw`^\[(?![23][\da-f]{3}:)|^\[2002:`
  ].join("|")
)

const issueOf = ({ hostname, password, protocol, username }: URL): string | undefined => {
  if (protocol !== "http:" && protocol !== "https:") return `only http: and https: are followed, not ${protocol}`
  if (username !== "" || password !== "") return "its address has a user's name or a password"
  return privateHost.test(hostname) ? "it is in a private network" : undefined
}

class Failed {
  readonly reason: AiError.AiErrorReason
  constructor(reason: AiError.AiErrorReason) {
    this.reason = reason
  }
}

const most = 5

/** Requests an address, and follows its redirects. */
const follow = async (
  from: URL,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal
): Promise<globalThis.Response> => {
  let url = from
  for (let hop = 0; hop <= most; hop++) {
    const issue = issueOf(url)
    if (issue !== undefined) throw new Failed(refused(from, issue))
    const response = await fetch(url, { signal, redirect: "manual" })
    const location = response.headers.get("location")
    if (response.status < 300 || response.status > 399 || location === null) return response
    await response.body?.cancel()
    url = new URL(location, url)
  }
  throw new Failed(refused(from, `it leads to more than ${most} other addresses`))
}

const tooLarge = (url: URL, most: number): AiError.InvalidUserInputError =>
  refused(url, `it is larger than ${most} bytes`)

/** What a download depends on, besides the address. */
type How = Required<Pick<Download, "fetch" | "maxBytes">>

const howOf = ({ fetch = globalThis.fetch, maxBytes = 20 * 1024 * 1024 }: Download): How => ({ fetch, maxBytes })

const read = async (url: URL, { fetch, maxBytes }: How, signal: AbortSignal): Promise<File> => {
  const response = await follow(url, fetch, signal)
  const { body, headers, ok, status } = response
  if (!ok) {
    await body?.cancel()
    const why = `the server answered with status ${status}`
    throw new Failed(status >= 500 || status === 408 || status === 429 ? network(url, why) : refused(url, why))
  }
  const chunks: Array<Uint8Array> = []
  let size = Number(headers.get("content-length") ?? 0)
  if (size > maxBytes) {
    await body?.cancel()
    throw new Failed(tooLarge(url, maxBytes))
  }
  size = 0
  const reader = body?.getReader()
  for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read()) {
    size += next.value.byteLength
    if (size > maxBytes) {
      await reader?.cancel()
      throw new Failed(tooLarge(url, maxBytes))
    }
    chunks.push(next.value)
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return { data: Base64.encode(bytes), size, mediaType: headers.get("content-type")?.split(";")[0]?.trim() }
}

/** A download that is under way, and how many requests wait for it. */
interface UnderWay extends How {
  readonly file: Promise<File>
  readonly stop: () => void
  waiting: number
}

const allUnderWay = new WeakMap<URL, UnderWay>()

const begin = (url: URL, how: How): UnderWay => {
  const controller = new AbortController()
  const end = () => {
    if (allUnderWay.get(url) === begun) allUnderWay.delete(url)
  }
  const file = read(url, how, controller.signal).then((file) => {
    // If a file is downloaded twice at the same time, the first result counts, so that all requests send the same bytes.
    const first = files.get(url) ?? file
    files.set(url, first)
    return first
  }).finally(end)
  const stop = () => {
    end()
    controller.abort()
  }
  const begun: UnderWay = { ...how, file, stop, waiting: 0 }
  allUnderWay.set(url, begun)
  return begun
}

/** Waits for a download, which others may wait for too: it stops once nobody waits any more. */
const join = (url: URL, how: How, signal: AbortSignal): Promise<File> => {
  const known = allUnderWay.get(url)
  const download = known?.fetch === how.fetch && known.maxBytes === how.maxBytes ? known : begin(url, how)
  download.waiting++
  signal.addEventListener("abort", () => {
    if (--download.waiting === 0) download.stop()
  })
  return download.file
}

/** Downloads a file, unless it has been downloaded. */
const download = (url: URL, options: Download): Effect.Effect<File, AiError.AiErrorReason> => {
  const how = howOf(options)
  const known = files.get(url)
  if (known !== undefined) {
    return known.size > how.maxBytes ? Effect.fail(tooLarge(url, how.maxBytes)) : Effect.succeed(known)
  }
  const { timeout = "1 minute" } = options
  return Effect.tryPromise({
    try: (signal) => join(url, how, signal),
    catch: (error) =>
      error instanceof Failed
        ? error.reason
        : network(url, said(error))
  }).pipe(
    Effect.timeoutOrElse({
      duration: timeout,
      orElse: () =>
        Effect.fail(network(url, `it took longer than ${Duration.format(Duration.fromInputUnsafe(timeout))}`))
    })
  )
}

/** Which addresses a provider fetches itself, by media types. */
type Supported = Awaited<AnyModel["supportedUrls"]>

const isIn = (mediaType: string, range: string): boolean =>
  range === "*" || range === "*/*" || range === mediaType ||
  (range.endsWith("/*") && (mediaType.startsWith(range.slice(0, -1)) || `${mediaType}/*` === range))

/** Checks whether a provider fetches a file itself. `search` is used because a global pattern's `test` remembers where it stopped. */
const isFetched = (supported: Supported, url: URL, mediaType: string): boolean =>
  Object.entries(supported).some(([range, patterns]) =>
    isIn(mediaType.toLowerCase(), range.toLowerCase()) && patterns.some((pattern) => url.href.search(pattern) >= 0)
  )

/** Returns the media type of a file: the server's if it is of the kind that is wanted, else the wanted one. */
const typeOf = (wanted: string, { mediaType = "" }: File): string => {
  const range = wanted.includes("/") ? wanted : `${wanted}/*`
  const isExact = /^[^*/]+\/[^*]+$/.test(wanted)
  return !isExact && /^[^*/]+\/[^*/]+$/.test(mediaType) && isIn(mediaType.toLowerCase(), range.toLowerCase())
    ? mediaType
    : wanted
}

type Downloading<A> = Effect.Effect<A, AiError.AiErrorReason>

/** A part of any message, or of the content of a result. */
interface Part {
  readonly type: string
}

const isFile = (part: Part): part is LanguageModelV4FilePart => part.type === "file"

const isUnfetched = (part: Part, supported: Supported): part is LanguageModelV4FilePart =>
  isFile(part) && part.data.type === "url" && !isFetched(supported, part.data.url, part.mediaType)

const contentOf = (part: Part): ReadonlyArray<Part> | undefined => {
  if (part.type !== "tool-result") return undefined
  const { output } = part as Part & { readonly output: { readonly type: string; readonly value?: unknown } }
  return output.type === "content" ? output.value as ReadonlyArray<Part> : undefined
}

const withFile = (part: Part, supported: Supported, options: Download): Downloading<Part> => {
  if (isUnfetched(part, supported) && part.data.type === "url") {
    return Effect.map(download(part.data.url, options), (file) => ({
      ...part,
      mediaType: typeOf(part.mediaType, file),
      data: { type: "data", data: file.data }
    }))
  }
  const content = contentOf(part)
  if (content === undefined || !content.some((inner) => isUnfetched(inner, supported))) return Effect.succeed(part)
  return Effect.map(
    Effect.forEach(content, (inner) => withFile(inner, supported, options)),
    (value) => ({ ...part, output: { type: "content", value } })
  )
}

/** Checks whether a message has files by address. */
export const hasAddress = ({ content }: LanguageModelV4Message): boolean =>
  typeof content !== "string" &&
  content.some((part: Part) =>
    [part, ...contentOf(part) ?? []].some((part) => isFile(part) && part.data.type === "url")
  )

/** Replaces addresses that the provider doesn't fetch by their files. Returns the message itself if nothing is replaced. */
export const withFiles = (
  supported: Supported,
  message: LanguageModelV4Message,
  options: Download
): Downloading<LanguageModelV4Message> => {
  // Each role has its own type of parts. All of them are objects with a `type`.
  const parts: ReadonlyArray<Part> = message.content as never
  return Effect.map(
    Effect.forEach(parts, (part) => withFile(part, supported, options)),
    (content) =>
      content.every((part, index) => part === parts[index])
        ? message
        // The parts are of the kinds that the message had.
        : freeze({ ...message, content } as never as LanguageModelV4Message)
  )
}
