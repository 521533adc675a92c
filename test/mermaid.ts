/**
 * Mermaid's own reader of diagrams, from `checks`, a package of its own that only CI has to install.
 */
import { existsSync } from "node:fs"
import { resolve } from "node:path"

interface Mermaid {
  readonly parse: (text: string) => Promise<unknown>
  readonly mermaidAPI: { readonly getDiagramFromText: (text: string) => Promise<unknown> }
}

const path = resolve(import.meta.dirname, "../checks/node_modules/mermaid/dist/mermaid.core.mjs")

/** Why nothing reads diagrams here; `undefined` if Mermaid is installed. In CI it has to be. */
export const missing = existsSync(path) || process.env["CI"] ? undefined : "Mermaid isn't installed: npm run checks"

const { default: mermaid }: { readonly default?: Mermaid } = missing === undefined ? await import(path) : {}

/** Fails if Mermaid can't read a diagram. Without Mermaid, nothing is read. */
export const parse = async (text: string): Promise<void> => {
  await mermaid?.parse(text)
}

/** A diagram as Mermaid understands it. */
export const read = async (text: string): Promise<unknown> => {
  await parse(text)
  return mermaid?.mermaidAPI.getDiagramFromText(text)
}
