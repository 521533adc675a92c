/**
 * Compares what the compiler prints with what fixtures say it prints.
 *
 * In a fixture each deliberate error stands below a comment that begins with `displays:` and holds the error's first
 * line, or its first lines when the comment goes on.
 */
const expectations = (source: string): ReadonlyMap<number, ReadonlyArray<string>> => {
  const found = new Map<number, ReadonlyArray<string>>()
  let open: Array<string> | undefined
  source.split("\n").forEach((content, i) => {
    const [, text] = /^\s*\/\/ ?(.*)$/.exec(content) ?? []
    if (text?.startsWith("displays: ") === true) open = [text.slice("displays: ".length)]
    else if (text !== undefined && open !== undefined) open.push(text.trim())
    else if (open !== undefined) {
      found.set(i + 1, open)
      open = undefined
    }
  })
  return found
}

/** How `errors`, from `typeErrors`, differ from what `fixtures`, path to source, say. */
export const differences = (
  fixtures: Readonly<Record<string, string>>,
  errors: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const displayed = new Map<string, Array<string>>()
  const found: Array<string> = []
  for (const error of errors) {
    const [, at = "", text = ""] = /^(.+?:\d+):\d+ TS\d+: ([^]*)$/.exec(error) ?? ["", "", error]
    if (displayed.has(at)) found.push(`${at} displays a second error: ${text}`)
    else displayed.set(at, text.split("\n").map((line) => line.trim()))
  }
  for (const [file, source] of Object.entries(fixtures)) {
    for (const [line, expected] of expectations(source)) {
      const actual = displayed.get(`${file}:${line}`)
      displayed.delete(`${file}:${line}`)
      if (actual === undefined) found.push(`${file}:${line} displays no error`)
      else if (actual.slice(0, expected.length).join("\n") !== expected.join("\n")) {
        found.push(`${file}:${line} displays: ${actual.slice(0, expected.length).join("\n")}`)
      }
    }
  }
  for (const [at, text] of displayed) found.push(`${at} displays, with nobody asking: ${text.join("\n")}`)
  return found
}
