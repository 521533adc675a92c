/** Messages of Amazon's event stream, as they are written: lengths, headers, a payload, and two checksums, big endian. */
import { crc32 } from "node:zlib"

const encoder = new TextEncoder()

/** A header whose value is a string: the length of its name, its name, type 7, the length of its value, its value. */
const header = (name: string, value: string): Uint8Array => {
  const [key, text] = [encoder.encode(name), encoder.encode(value)]
  const bytes = new Uint8Array(key.length + text.length + 4)
  bytes[0] = key.length
  bytes.set(key, 1)
  const view = new DataView(bytes.buffer)
  view.setUint8(1 + key.length, 7)
  view.setUint16(2 + key.length, text.length)
  bytes.set(text, 4 + key.length)
  return bytes
}

/** Gives a message: its length and that of its headers, the checksum of both, headers, payload, and the checksum of all before. */
export const message = (headers: Readonly<Record<string, string>>, payload: unknown): Uint8Array => {
  const body = encoder.encode(JSON.stringify(payload))
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)))
  const bytes = new Uint8Array(16 + head.length + body.length)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, bytes.length)
  view.setUint32(4, head.length)
  view.setUint32(8, crc32(bytes.subarray(0, 8)))
  bytes.set(head, 12)
  bytes.set(body, 12 + head.length)
  view.setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)))
  return bytes
}
