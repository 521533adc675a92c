/**
 * What mustn't be said: turns of phrase that are read twice, and the words that `docs/ontology.md` bans.
 */

/** A pattern, by the name that it has in a message. A space in it also matches the end of a line. */
export type Phrase = readonly [name: string, pattern: RegExp]

const overLines = (
  [name, { flags, source }]: Phrase
): Phrase => [name, new RegExp(source.replaceAll(" ", "\\s"), flags)]

/** Turns of phrase that aren't plain. */
export const phrases: ReadonlyArray<Phrase> = ([
  // Who acts, and by which verb.
  ["whoever", /\bwhoever\b/gi],
  ["told for emitted", /\b(?:(?:is|are) told by|(?:is|are|was|were) told (?:once|twice))\b/gi],
  ["is thrown for throws", /\b(?:is|are) thrown (?:as|if|where|by)\b/gi],
  ["can't be is thrown", /\bWhat can't be\b/g],
  ["that can't be", /\bthat can't be[,.;:)]/gi],
  [
    "Gives for Returns",
    /(?:^|[.:;] )Gives (?:everything|how|what|who|the (?!final|guardrail))|, and gives (?:it,|them\b|the last)/gm
  ],
  // A condition is an "if" or a "when". What stands in a place, as in "continues where it stopped", isn't seen.
  ["Where for if", /(?:[.;:] |\| |^(?:- )?\*\*|^- )Where (?!to\b)/gm],
  [
    "where for if",
    /\b(?:only|even|0|nothing|none|as) where\b|, where (?:an?|each|every|no|that|there|they|it has|one)\b|\bwhere (?:there (?:is|are|may)|no|none|nobody|somebody|that (?:can't|has|is|isn't)|one is|several)\b|(?<!(?:place|point|moment)s? )\bwhere an? [\w-]+ (?:can't|comes|doesn't|fails|has|hasn't|is|isn't|says|wants)\b/g
  ],
  ["where for when", /\bwhere (?:it|they|the [\w-]+) (?:is|are|was|were) (?:made|set)\b/g],
  // A clause stands beside its noun.
  ["of them that", /\bof them that\b/gi],
  [
    "clause away from its noun",
    /\b(?:continues|goes on|go on|speaks|remains?|exists?|happens?|applies|apply|(?:is|are|was|were) (?:left|kept|lost|sent|removed|stored|dropped)) that (?:an?|are|can|had|has|have|is|it|no|the|they|was|were)\b/g
  ],
  ["two prepositions", /\b(?:about|by|for|from|in|of|on|to|with) (?:by|for|from|in|of|with)[.,;:]/g],
  ["that no … in", /\bthat no [^.,;:|]* (?:for|from|in|of|to|with)(?=[.,;:])/g],
  ["brings along", /\bbr(?:ing|ings|inging|ought) (?:[^.,;:|]+ )?along\b/gi],
  ["gone on with", /\bgone on with\b/gi],
  // No riddles: what a thing is not, and who nobody is.
  ["what of it", /\bwhat of it\b/gi],
  ["what of a", /\bwhat of (?:an?|the)\b/gi],
  ["that is none", /(?<!\bthere )\b(?:is|are|was|were) (?:none|nobody)\b(?! of\b)/gi],
  ["is no for isn't a", /(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|other\b)[\w-]/gi],
  ["the latter", /\bthe (?:former|latter)\b/gi],
  ["does neither", /\b(?:do|does|did) neither\b(?! of)/gi],
  ["alike for in the same way", /\b(?:behaves?|begins?|continues?|decoded|encoded|goes on|go on|runs?) alike\b/gi],
  ["dies of", /\bdies of\b/gi],
  ["somebody else's", /\bof somebody else\b/gi],
  ["no … but for only", /\bg(?:ave|ive|ives|iving) no [^.,;:|]* but\b/gi],
  ["but for", /\bbut for (?:an?|its|that|the|those)\b/gi],
  ["hears of", /\b(?:hear|learn|tell)s? of\b/gi],
  ["namesake", /\bnamesakes?\b/gi]
] satisfies ReadonlyArray<Phrase>).map(overLines)

const cellsOf = (ontology: string, column: number): ReadonlyArray<string> =>
  ontology.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| word |")).flatMap((line) =>
    (line.split("|")[column] ?? "").split(",").map((word) => word.trim()).filter((word) => word !== "")
  )

/** Returns the words that have a row of their own. */
export const named = (ontology: string): ReadonlyArray<string> => cellsOf(ontology, 1)

/** Returns the words of the column "not". */
export const banned = (ontology: string): ReadonlyArray<string> => [...new Set(cellsOf(ontology, 3))].sort()

const between = "(?:[\\w'-]+\\s){0,3}"

/**
 * Returns a pattern for the forms of a word, as a noun or a verb. A plural stands for the singular too. A noun such as "setting" is no finding as
 * a verb: "setting up", "setting a limit".
 */
const formsOf = (word: string): string => {
  const base = word.replace(/(?<=[^s])s$/, "")
  const notVerb = base.endsWith("ing") ? "(?!\\s(?:an?|it|its|the|them|up)\\b)" : ""
  return `(?:${base}(?:s|d|ed|ing)?${base.endsWith("e") ? `|${base.slice(0, -1)}ing` : ""})${notVerb}`
}

/**
 * Returns patterns for banned words, in their other forms too. `…` stands for up to three words. A word is allowed inside a longer one that has
 * a row: "settings" in "conversation settings", and so is "setting" in "conversation setting".
 */
export const bans = (words: ReadonlyArray<string>, named: ReadonlyArray<string> = []): ReadonlyArray<Phrase> =>
  words.map((word) => {
    const longer = named.filter((name) => name.endsWith(` ${word}`)).map((name) => name.slice(0, -word.length - 1))
    const notBehind = longer.map((name) => `(?<!\\b${name}\\s)`).join("")
    const forms = word.split(" … ").map((words) => words.split(" ").map(formsOf).join("\\s")).join(`\\s${between}`)
    return [word, new RegExp(`(?<![\\w-])${notBehind}${forms}(?![\\w-])`, "gi")]
  })
