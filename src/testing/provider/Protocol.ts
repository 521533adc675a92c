/**
 * What a mock provider needs of a protocol: to read a request, and to write a response as the provider does.
 *
 * A protocol knows nothing of scripts, of waiting or of breaking off: it is given a response and writes all of it.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { Delivery } from "../Delivery.ts"
import type { Asked } from "./Asked.ts"

/**
 * Why a provider refuses a request, in its own words.
 *
 * @category models
 * @since 0.1.0
 */
export interface Refusal {
  readonly status: number
  /** The provider's type of error, as `"invalid_request_error"`. */
  readonly type: string
  readonly message: string
  readonly code?: string
  readonly param?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Clients try again by themselves, without what was refused. */
  readonly isRecoverable?: true
}

/** Fields of JSON. */
export type Fields = Schema.JsonObject

/** A value as JSON has it. */
export const jsonOf = (value: unknown): Schema.Json => JSON.parse(JSON.stringify(value ?? null))

/** What a protocol says in the middle of a stream, by its type. */
export interface WireEvent extends Fields {
  readonly type: string
}

/** An event of a stream, as the wire has it. */
export interface SseFrame {
  readonly event?: string
  readonly data: string
  /** It ends a chunk of `Delivery.toChunks`. A stream breaks off or hangs after a number of these. */
  readonly isPiece?: true
}

/** Ids and times of one response, deterministic: a function of the request's body and of the place in the response. */
export interface Ids {
  readonly next: (prefix: string) => string
  /** In seconds, as the providers have it. */
  readonly created: number
}

/** A request that a provider accepts, and how it writes a response to it. */
export interface Reading {
  readonly asked: Asked
  /** The body of a response that isn't streamed. */
  readonly whole: (delivery: Delivery, ids: Ids) => Schema.Json
  /** The stream of a response that doesn't fail, to its end. */
  readonly frames: (delivery: Delivery, ids: Ids) => ReadonlyArray<SseFrame>
  /** Names a part that the protocol can't represent and so leaves out, if it is one. */
  readonly omits: (part: Delivery["parts"][number]) => string | undefined
}

/** How a protocol writes responses to requests of its own. */
export interface Writing<A extends Asked> {
  readonly whole: (delivery: Delivery, asked: A, ids: Ids) => Schema.Json
  readonly frames: (delivery: Delivery, asked: A, ids: Ids) => ReadonlyArray<SseFrame>
  readonly omits: Reading["omits"]
}

/** Makes the `read` of a protocol from how it reads a body, what a body asks for, and how it writes a response. */
export const reading = <Body, A extends Asked>(
  read: (body: unknown, takesUnknown: boolean) => Result.Result<Body, Refusal>,
  fromRequest: (request: Body) => A,
  { frames, omits, whole }: Writing<A>
): Protocol["read"] =>
(body, takesUnknown) =>
  Result.map(read(body, takesUnknown), (request) => {
    const asked = fromRequest(request)
    return {
      asked,
      omits,
      whole: (delivery, ids) => whole(delivery, asked, ids),
      frames: (delivery, ids) => frames(delivery, asked, ids)
    }
  })

/** The frames of a chunk: the last of them ends it. */
export const piece = (frames: ReadonlyArray<SseFrame>): ReadonlyArray<SseFrame> =>
  frames.map((frame, index) => index === frames.length - 1 ? { ...frame, isPiece: true } : frame)

/**
 * How a provider reads a request and writes its response.
 *
 * @category models
 * @since 0.1.0
 */
export interface Protocol {
  readonly name: Asked["protocol"]
  readonly path: string
  /** Reads a body, or refuses it as the provider would. With `takesUnknown` it accepts fields that the provider doesn't know. */
  readonly read: (body: unknown, takesUnknown: boolean) => Result.Result<Reading, Refusal>
  /** The body of an error, in a response with this id. */
  readonly error: (refusal: Refusal, id: string) => Schema.Json
  /** An error in the middle of a stream, after `index` frames, if the protocol has such errors. */
  readonly streamError: (refusal: Refusal, index: number) => SseFrame | undefined
  /** The headers of any response, such as its id and the version. */
  readonly headers: (id: string) => Readonly<Record<string, string>>
}
