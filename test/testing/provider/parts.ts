import { Schema } from "effect"

/** How long the chunks of a stream are. */
export const Length = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))

/** Parts that every protocol has a place for. */
export const common = [
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("reasoning"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("tool-call"),
    name: Schema.Literals(["get_weather", "book"]),
    params: Schema.Record(Schema.String, Schema.String)
  }),
  Schema.Struct({
    type: Schema.Literal("source"),
    sourceType: Schema.Literal("url"),
    id: Schema.String,
    url: Schema.String,
    title: Schema.String
  })
] as const

/** Files of which some have a place and some don't. */
export const file = Schema.Struct({
  type: Schema.Literal("file"),
  mediaType: Schema.Literals(["image/png", "text/plain"]),
  data: Schema.Literal("AAAA")
})
