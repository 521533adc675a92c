/**
 * What the shop sells.
 */
import { Schema } from "effect"

/** A product: `price` in euros, `warranty` in months, `restock` the day new ones come in. */
export const Product = Schema.Struct({
  sku: Schema.String,
  name: Schema.String,
  kind: Schema.String,
  price: Schema.Finite,
  stock: Schema.Int,
  warranty: Schema.Int,
  restock: Schema.optionalKey(Schema.String)
})

export interface Product extends Schema.Schema.Type<typeof Product> {}

export const products: ReadonlyArray<Product> = [
  { sku: "LMP-AUR", name: "Aurora desk lamp", kind: "lamp", price: 89, stock: 14, warranty: 24 },
  { sku: "LMP-FJO", name: "Fjord floor lamp", kind: "lamp", price: 249, stock: 3, warranty: 24 },
  { sku: "BLB-EMB", name: "Ember bulb pack", kind: "bulb", price: 12.5, stock: 120, warranty: 12 },
  {
    sku: "CHR-LOO",
    name: "Loom office chair",
    kind: "chair",
    price: 429,
    stock: 0,
    warranty: 60,
    restock: "2026-04-02"
  },
  { sku: "DSK-BIR", name: "Birk standing desk", kind: "desk", price: 649, stock: 5, warranty: 60 },
  { sku: "KTL-NOR", name: "Nord kettle", kind: "kettle", price: 59, stock: 22, warranty: 24 },
  { sku: "MUG-MIS", name: "Mist mug set", kind: "mug", price: 34, stock: 41, warranty: 0 },
  { sku: "SPK-ROO", name: "Rook speaker", kind: "speaker", price: 129, stock: 8, warranty: 24 },
  { sku: "HDP-WRE", name: "Wren headphone set", kind: "headphone", price: 199, stock: 0, warranty: 24 },
  { sku: "RUG-HAV", name: "Hav wool rug", kind: "rug", price: 320, stock: 2, warranty: 12 },
  { sku: "CLK-TIK", name: "Tik wall clock", kind: "clock", price: 45, stock: 17, warranty: 24 },
  { sku: "CSH-DUN", name: "Dune cushion", kind: "cushion", price: 24, stock: 60, warranty: 0 }
]

export const kinds: ReadonlyArray<string> = [...new Set(products.map(({ kind }) => kind))]

/** The words of a text that can name something, in the singular, so that "lamps" finds a lamp. */
export const keywords = (text: string): ReadonlyArray<string> =>
  (text.toLowerCase().match(/[a-z]{3,}/g) ?? []).map((word) => word.replace(/(?<=[a-z]{3})(?<!s)s$/, ""))

const vocabulary = new Set(products.flatMap(({ name }) => keywords(name)))

/** The words of a text that stand in names of products. */
export const productWords = (text: string): ReadonlyArray<string> =>
  keywords(text).filter((word) => vocabulary.has(word))

/** The words of a name that say what a thing is: the desk of "standing desk", not that of "desk lamp". */
const heads = (name: string): ReadonlyArray<string> =>
  keywords((name.match(/\w+(?=$|,| and | set\b| pack\b)/g) ?? []).join(" "))

/** How many words of a text name this thing. One that says what it is counts a little more. */
export const likeness = (name: string, text: string): number => {
  const names = keywords(name)
  const said = new Set(keywords(text).filter((word) => names.includes(word)))
  return said.size + (heads(name).some((word) => said.has(word)) ? 0.5 : 0)
}

/** Those things that the words of a text name best: all that are as good as the best, none where no word fits. */
export const bestOf = <A extends { readonly name: string }>(
  things: ReadonlyArray<A>,
  text: string
): ReadonlyArray<A> => {
  const best = Math.max(0, ...things.map((thing) => likeness(thing.name, text)))
  return best === 0 ? [] : things.filter((thing) => likeness(thing.name, text) === best)
}

/** Those products that words name, the best first: all of them where there are no words, none above a price. */
export const find = (query: string, maxPrice = Infinity): ReadonlyArray<Product> => {
  const affordable = products.filter(({ price }) => price <= maxPrice)
  if (query.trim() === "") return affordable
  return affordable
    .map((product) => ({ product, score: likeness(product.name, query) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .map(({ product }) => product)
}
