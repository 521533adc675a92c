/**
 * The pieces that are added to an agent's instructions: which mode owns each, and what happens to it when a mode is left.
 *
 * @since 0.1.0
 */
import { hasWords } from "./conversation/Sending.ts"
import { keepsSegments } from "./Isolation.ts"
import type { AgentState, ModeFrame, PromptSegment } from "./StateSchema.ts"

type Segments = ReadonlyArray<PromptSegment>
type Section = Extract<PromptSegment, { readonly place: "section" }>

const none: ReadonlyArray<Section> = []

const heightOf = ({ mode }: PromptSegment): number => mode ?? -1

/** Checks whether there is a section of the same name outside of a section's mode. */
const hidesOther = (segments: Segments, section: Section): boolean =>
  segments.some((each) => each.place === "section" && each.name === section.name && heightOf(each) < heightOf(section))

/** Adds a segment; a section replaces the one of the same mode and name. One without words is kept only if it hides another. */
const put = (segments: Segments, segment: PromptSegment): Segments => {
  if (segment.place !== "section") return [...segments, segment]
  const { mode, name } = segment
  const at = segments.findIndex((each) => each.place === "section" && each.name === name && each.mode === mode)
  if (!hasWords(segment.text) && !hidesOther(segments, segment)) return at < 0 ? segments : segments.toSpliced(at, 1)
  return at < 0 ? [...segments, segment] : segments.with(at, segment)
}

/** Moves a segment to the mode below a height, or to the conversation if there is none. */
const raise = (segment: PromptSegment, height: number): PromptSegment => {
  if (height > 0) return { ...segment, mode: height - 1 }
  const { mode: _, ...rest } = segment
  return rest
}

/** Adds a segment to the innermost mode, or to the conversation outside of any mode. A section replaces the one of its name there. */
export const add = ({ modes, prompt }: AgentState, segment: PromptSegment): Segments =>
  put(prompt, raise(segment, modes.length))

/** Checks whether the mode at a height already has an equal segment. */
export const has = ({ prompt }: AgentState, segment: PromptSegment, height: number): boolean =>
  prompt.some((each) =>
    each.mode === height && each.text === segment.text && each.persist === segment.persist &&
    each.place === segment.place && (each.place !== "section" || each.name === (segment as typeof each).name)
  )

/** Returns the segments that remain when the innermost mode is left. */
export const leave = (segments: Segments, { isolation }: ModeFrame, height: number): Segments =>
  segments.reduce<Segments>((kept, segment) => {
    if (segment.mode !== height) return [...kept, segment]
    return segment.persist === true && keepsSegments(isolation) ? put(kept, raise(segment, height)) : kept
  }, [])

/** Takes out all segments of the mode at a height. */
export const undo = (segments: Segments, height: number): Segments => segments.filter(({ mode }) => mode !== height)

/**
 * Returns the sections that are sent, in the order in which their names were added. An inner mode's section hides outer ones of its name,
 * also if it has no words and isn't sent itself.
 */
export const sections = (segments: Segments): ReadonlyArray<Section> => {
  if (!segments.some(({ place }) => place === "section")) return none
  const byName = new Map<string, Section>()
  for (const segment of segments) {
    if (segment.place !== "section") continue
    const known = byName.get(segment.name)
    if (known === undefined || heightOf(segment) >= heightOf(known)) byName.set(segment.name, segment)
  }
  return [...byName.values()].filter(({ text }) => hasWords(text))
}

/** Adds a text behind an empty line, if it has words. */
const join = (all: string, text: string | undefined): string =>
  text === undefined || !hasWords(text) ? all : all === "" ? text : `${all}\n\n${text}`

/** Adds the segments of a place. */
const joinPlaced = (all: string, segments: Segments, at: PromptSegment["place"]): string =>
  segments.reduce((all, { place, text }) => place === at ? join(all, text) : all, all)

/**
 * Composes a system text: prepends, the text in the middle, sections, appends, with an empty line between them. Texts without words are
 * left out: providers refuse them.
 */
export const render = (segments: Segments, middle: ReadonlyArray<string | undefined>, end?: string): string => {
  const before = middle.reduce<string>(join, joinPlaced("", segments, "prepend"))
  const withSections = sections(segments).reduce((all, { text }) => join(all, text), before)
  return joinPlaced(join(withSections, end), segments, "append")
}
