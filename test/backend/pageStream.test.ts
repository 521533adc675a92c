import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { backoff } from "../../examples/backend/page/client.ts"
import { makeParser } from "../../examples/backend/page/sse.ts"

describe("the page's streams", () => {
  it.prop(
    "are read the same wherever they are cut",
    [Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 7 })))],
    ([lengths]) => {
      const text =
        "\uFEFF: hello\n\nid: 7\r\nevent: TextDelta\r\ndata: {\"a\":\ndata:  \"ü\"}\n\rdata\n\nid\ndata: x\n\ndata: left over"
      const parse = makeParser()
      const pieces: Array<string> = []
      let from = 0
      for (const length of lengths) {
        pieces.push(text.slice(from, from + length))
        from += length
      }
      assert.deepStrictEqual([...pieces, text.slice(from)].flatMap(parse), [
        { id: "7", event: "TextDelta", data: "{\"a\":\n \"ü\"}" },
        { id: "7", event: "message", data: "" },
        { id: "", event: "message", data: "x" }
      ])
    }
  )

  it("are opened again later and later, and never all at a time", () => {
    const waits = [0, 1, 2, 3, 10, 1000].map((failures) => [backoff(failures, 0), backoff(failures, 1)])
    assert.deepStrictEqual(waits, [[125, 250], [250, 500], [500, 1000], [1000, 2000], [5000, 10_000], [5000, 10_000]])
  })
})
