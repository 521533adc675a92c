/**
 * The data of files: bytes, base64, or where they are.
 *
 * @since 0.1.0
 */
import type { SharedV4FileDataData, SharedV4FileDataUrl } from "@ai-sdk/provider"
import * as Base64 from "effect/encoding/Base64"

/** Data of a file as both specifications give it in a response. */
export type GivenData = string | Uint8Array | SharedV4FileDataData | SharedV4FileDataUrl

type FileData = SharedV4FileDataData | SharedV4FileDataUrl

const isAddress = /^https?:\/\//i

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const fromDataUrl = (url: string): SharedV4FileDataData => {
  const comma = url.indexOf(",")
  const data = url.slice(comma + 1)
  return {
    type: "data",
    data: /;base64$/i.test(url.slice(0, comma)) ? data : Base64.encode(unescaped(data))
  }
}

/**
 * Gives the data of a file of a prompt: text is base64, a data URL, or an address.
 *
 * Bytes become base64 here: providers that write results of tools as JSON write an object of numbers of them.
 */
export const toData = (data: string | Uint8Array | URL): FileData => {
  if (data instanceof Uint8Array) return { type: "data", data: Base64.encode(data) }
  const text = typeof data === "string" ? data : data.href
  if (/^data:/i.test(text)) return fromDataUrl(text)
  if (typeof data !== "string") return { type: "url", url: data }
  return isAddress.test(text) && URL.canParse(text) ? { type: "url", url: new URL(text) } : { type: "data", data }
}

/** Gives the data of a file of a response as base64, or where the file is. */
export const fromData = (given: GivenData): { readonly base64: string } | { readonly url: string } => {
  if (typeof given === "string") return { base64: given }
  if (given instanceof Uint8Array) return { base64: Base64.encode(given) }
  return given.type === "url" ? { url: given.originalUrl ?? given.url.href } : fromData(given.data)
}
