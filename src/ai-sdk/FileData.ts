/**
 * The data of files: bytes, base64, or an address.
 *
 * @since 0.1.0
 */
import type { SharedV4FileDataData, SharedV4FileDataUrl } from "@ai-sdk/provider"
import * as Base64 from "effect/encoding/Base64"

/** The data of a file in a response, in either specification. */
export type GivenData = string | Uint8Array | SharedV4FileDataData | SharedV4FileDataUrl

type FileData = SharedV4FileDataData | SharedV4FileDataUrl

const isAddress = /^https?:\/\//i

/** Decodes the escapes of a data URL, which may stand for any bytes. */
const unescaped = (text: string): Uint8Array => {
  const bytes = new TextEncoder().encode(text)
  let size = 0
  for (let at = 0; at < bytes.length; at++) {
    const digits = bytes[at] === 0x25 ? String.fromCharCode(...bytes.subarray(at + 1, at + 3)) : ""
    const isEscape = /^[\da-f]{2}$/i.test(digits)
    bytes[size++] = isEscape ? parseInt(digits, 16) : bytes[at]!
    if (isEscape) at += 2
  }
  return bytes.subarray(0, size)
}

const fromDataUrl = (url: string): SharedV4FileDataData => {
  const comma = url.indexOf(",")
  const data = url.slice(comma + 1)
  const isBase64 = /;\s*base64\s*$/i.test(url.slice(0, comma))
  if (!isBase64) return { type: "data", data: Base64.encode(unescaped(data)) }
  return { type: "data", data: data.includes("%") ? new TextDecoder().decode(unescaped(data)) : data }
}

/**
 * Returns the data of a prompt's file: text is base64, a data URL, or an address.
 *
 * Bytes become base64 here, because providers that write results of tools as JSON would write bytes as an object of numbers.
 */
export const toData = (data: string | Uint8Array | URL): FileData => {
  if (data instanceof Uint8Array) return { type: "data", data: Base64.encode(data) }
  const text = typeof data === "string" ? data : data.href
  if (/^data:/i.test(text)) return fromDataUrl(text)
  if (typeof data !== "string") return { type: "url", url: data }
  return isAddress.test(text) && URL.canParse(text) ? { type: "url", url: new URL(text) } : { type: "data", data }
}

/** Returns the data of a response's file as base64, or its address. */
export const fromData = (given: GivenData): { readonly base64: string } | { readonly url: string } => {
  if (typeof given === "string") return { base64: given }
  if (given instanceof Uint8Array) return { base64: Base64.encode(given) }
  return given.type === "url" ? { url: given.originalUrl ?? String(given.url) } : fromData(given.data)
}
