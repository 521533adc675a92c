/**
 * What a model reads of a call whose handler gave no result: it crashed, or took too long.
 *
 * A recording knows such calls by these words, because events have no other sign of them.
 *
 * @since 0.1.0
 */

/** Returns what a model reads if the handler of a tool died. */
export const crashed = (tool: string): string => `The tool "${tool}" crashed.`

/** Returns what a model reads if the handler of a tool took too long. */
export const timedOut = (tool: string): string => `The tool "${tool}" timed out.`
