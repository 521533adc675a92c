/**
 * Server-sent events, read from a response: a browser's `EventSource` sends no bearer token.
 *
 * Source: WHATWG HTML, 9.2.6 "Interpreting an event stream".
 */
export interface Message {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** Reads pieces of a stream, cut anywhere, and gives the messages that end in each. */
export const makeParser = (): (piece: string) => ReadonlyArray<Message> => {
  let rest = ""
  let isAtStart = true
  let id = ""
  let event = ""
  let data: Array<string> = []

  const line = (text: string): Message | undefined => {
    if (text === "") {
      const message = data.length === 0
        ? undefined
        : { id, event: event === "" ? "message" : event, data: data.join("\n") }
      event = ""
      data = []
      return message
    }
    const colon = text.indexOf(":")
    const field = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? "" : text.slice(colon + 1).replace(/^ /, "")
    if (field === "data") data.push(value)
    else if (field === "event") event = value
    else if (field === "id" && !value.includes("\0")) id = value
    return undefined
  }

  return (piece) => {
    let text = rest + piece
    if (isAtStart && text !== "") {
      text = text.replace(/^\uFEFF/, "")
      isAtStart = false
    }
    // A carriage return at the end may be the first half of a line's end.
    const lines = text.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ""
    return lines.flatMap((text) => line(text) ?? [])
  }
}

/** Reads the messages of a response's body. */
export async function* messages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message, void> {
  const parse = makeParser()
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      yield* parse(value)
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
