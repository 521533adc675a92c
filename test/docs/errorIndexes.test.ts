/** The table at the head of a page of errors names each error that the page has, as the code does, and leads to it. */
import { assert, describe, it } from "@effect/vitest"
import { isDeepStrictEqual } from "node:util"
import { classesOf, reasons } from "./errorNames.ts"
import { assertNames, codes, type Found, type Name, rows } from "./tables.ts"

/** A link in a cell: its code, and the file and the anchor that it leads to. */
interface Link {
  readonly names: ReadonlyArray<string>
  readonly file: string
  readonly anchor: string
}

const linksOf = (cell: string | undefined): ReadonlyArray<Link> =>
  Array.from((cell ?? "").matchAll(/\[([^\]]+)\]\(([\w-]+\.md)?#([\w-]+)\)/g), ([, text, file = "", anchor]) => ({
    names: codes(text),
    file,
    anchor: anchor!
  }))

/** Where `docs/errors.md`, which `errors.test.ts` holds to the code, leads for each error: `session-errors.md#ownerror`. */
const places = ["error", "reason"].flatMap((header) =>
  rows("docs/errors.md", header).flatMap(([cell]) =>
    linksOf(cell).flatMap(({ anchor, file, names }) => names.map((name) => ({ name, file, anchor })))
  )
)

/** The pages with such a table, the headers of the table, and the reasons that all stand in it. */
const indexes: ReadonlyArray<readonly [page: string, headers: readonly [string, string], ReadonlyArray<string>]> = [
  ["agent-errors.md", ["what happened", "reasons"], reasons.AgentError],
  ["session-errors.md", ["what failed", "reasons"], reasons.SessionError],
  ["mode-errors.md", ["what failed", "reasons"], reasons.ModeError],
  ["cluster-errors.md", ["what you did", "reasons"], reasons.ConversationError],
  ["plan-errors.md", ["what happened", "errors"], reasons.DialogueError],
  ["other-errors.md", ["what you did", "errors"], []]
]

describe("the table of a page of errors", () => {
  it.each(indexes)("docs/%s has every error of the page, and no other", (file, headers, union) => {
    const table = rows(`docs/${file}`, ...headers)
    const links = table.flatMap((row) => linksOf(row[1]).map((link) => ({ ...link, where: row.where })))
    const here = links.filter((link) => link.file === "")
    const listed: Found<Name> = Object.assign(
      here.flatMap(({ names, where }) => names.map((name) => ({ name, where }))),
      { where: table.where }
    )
    const ownPlaces = places.filter((place) => place.file === file)
    assertNames([listed], [...new Set([...union, ...ownPlaces.map(({ name }) => name)])])
    // Each name leads to where docs/errors.md leads too, on this page or on another. A name without a link is an error too.
    assert.deepStrictEqual(
      [
        ...links.flatMap(({ anchor, file: to, names, where }) =>
          names.flatMap((name) => {
            const place = { name, file: to === "" ? file : to, anchor }
            return places.some((each) => isDeepStrictEqual(each, place))
              ? []
              : [`${where} ${name} leads to ${place.file}#${anchor}, and docs/errors.md doesn't`]
          })
        ),
        ...table.flatMap((row) =>
          codes(row[1]).flatMap((name) =>
            /^[A-Z]\w*$/.test(name) && classesOf(name).length === 0 ? [`${row.where} ${name} isn't in the code`] : []
          )
        )
      ],
      []
    )
  })
})
