/**
 * How sales does what it is asked to.
 */
import { Result } from "effect"
import { SearchProducts, SetAside } from "../agents/sales.ts"
import { bestOf, kinds, type Product, products, productWords } from "../shop/catalogue.ts"
import { consult, type Exchange, type Move } from "./evidence.ts"
import { dayOf, euros, list } from "./phrases.ts"
import { brokenDown, explain } from "./refusals.ts"
import { always, type Rule, say } from "./rule.ts"
import type { SalesWish } from "./wishes.ts"

const search = (
  query: string,
  calls: Exchange["calls"],
  maxPrice?: number
): Result.Result<ReadonlyArray<Product>, Move> =>
  Result.flatMap(
    consult(calls, SearchProducts, { query, ...(maxPrice === undefined ? undefined : { maxPrice }) }),
    (found) => Result.isSuccess(found) ? Result.succeed(found.success) : say(brokenDown(found.failure))
  )

const range = `We have ${list(kinds.map((kind) => `${kind}s`), "and")}.`

/** The words of a text that name products, unlike those of "set it aside". */
const namesIn = (words: string): string => productWords(words).filter((word) => word !== "set").join(" ")

const availability = ({ restock, stock }: Product): string =>
  stock > 0 ? `${stock} in stock` : restock === undefined ? "sold out" : `out of stock until ${dayOf(restock)}`

const described = (product: Product): string =>
  `${product.name}: ${euros(product.price)}, ${availability(product)}${
    product.warranty === 0 ? "" : `, with a warranty of ${product.warranty} months`
  }.`

const listed = (products: ReadonlyArray<Product>): string =>
  `We have ${products.length} that fit:\n${
    products.map((product) => `  ${product.name}, ${euros(product.price)}, ${availability(product)}`).join("\n")
  }`

const common =
  /\b(how|much|is|are|the|a|an|do|does|you|have|has|got|in|stock|price|prices|of|for|what|which|where|cost|costs|i|am|i'm|looking|to|buy|want|need|your|available|availability|any|some|sell|carry|can|could|please|it|and|there|still|would|like|me|one|ones|it's|they|them|that|this|about|its|on|here|show|tell|hi|hello|else)\b/g

const product: Rule = ({ words }, calls) =>
  Result.gen(function*() {
    const query = namesIn(words) || words.replace(common, " ").replace(/[^a-z0-9' -]/g, " ").replace(/\s+/g, " ").trim()
    if (query === "" || /^(range|products?|things?|catalogue?|offers?|shop)$/.test(query)) {
      return `${range} What are you looking for?`
    }
    const best = bestOf(yield* search(query, calls), query)
    const only = best[0]
    if (only === undefined) return `I find nothing like "${query}" in our catalogue. ${range}`
    return best.length === 1 ? described(only) : listed(best)
  })

const budgetOf = (words: string): number | undefined => {
  const [, amount] = words.match(/(?:under|below|up to|less than|at most|around|about|max\w*)\s*€?\s*(\d+)/) ?? []
  return amount === undefined ? undefined : Number(amount)
}

const recommend: Rule = ({ words }, calls) =>
  Result.gen(function*() {
    const spoken = bestOf(products, namesIn(words))
    const compared = /\bcheaper\b/.test(words) && spoken.length === 1 ? spoken[0] : undefined
    const query = compared?.kind ?? namesIn(words)
    const budget = compared?.price ?? budgetOf(words)
    const isCheap = /\bcheap/.test(words)
    if (query === "" && budget === undefined && !isCheap) return `${range} What would you like, and what may it cost?`
    const found = yield* search(query, calls, budget)
    const fitting = compared !== undefined
      ? found.filter(({ kind, price }) => kind === compared.kind && price < compared.price)
      : query === ""
      ? found
      : bestOf(found, query)
    const [first, second] = fitting
      .filter(({ stock }) => stock > 0)
      .sort((one, other) =>
        isCheap ? one.price - other.price : other.warranty - one.warranty || one.price - other.price
      )
    if (first === undefined) {
      if (compared !== undefined) return `The ${compared.name} is the cheapest ${compared.kind} that we have in stock.`
      const soldOut = fitting[0]
      return soldOut === undefined
        ? `I'm sorry, we have nothing like that${budget === undefined ? "" : ` for ${euros(budget)}`}. ${range}`
        : `I'm sorry, I can only think of this one: ${described(soldOut)}`
    }
    return `I'd take the ${described(first)}${
      second === undefined ? "" : ` The ${second.name} is a good one too, at ${euros(second.price)}.`
    }`
  })

const counts = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]

/** How many are wanted: the number that was said last. */
const quantityOf = (words: string): number => {
  const said = words.match(new RegExp(`\\b(?:\\d{1,2}|${counts.slice(1).join("|")})\\b`, "g"))?.at(-1) ?? "1"
  return Math.max(1, counts.includes(said) ? counts.indexOf(said) : Number(said))
}

const buy: Rule = ({ words }, calls) =>
  Result.gen(function*() {
    const query = namesIn(words)
    if (query === "") return `${range} What would you like to buy?`
    const best = bestOf(yield* search(query, calls), query)
    const only = best[0]
    if (only === undefined || best.length > 1) return `${listed(best)}\nWhich one would you like?`
    const taken = yield* consult(calls, SetAside, { sku: only.sku, quantity: quantityOf(words) })
    return Result.match(taken, {
      onFailure: explain,
      onSuccess: ({ id, item, quantity, total, until }) =>
        `I've set ${quantity === 1 ? `the ${item}` : `${quantity} × ${item}`} aside for you until ${
          dayOf(until)
        }, under ${id}. Pay ${euros(total)} at halden.example/pay/${id}, and it leaves us the next working day.`
    })
  })

const terms: Rule = ({ words }, calls) =>
  Result.gen(function*() {
    const query = namesIn(words)
    if (query === "") {
      return "Lamps, electronics and clocks have a warranty of 24 months from delivery, chairs and desks of 60, bulbs and rugs of 12. For a date, tell me the order's number."
    }
    const found = (yield* search(query, calls)).map(({ name, warranty }) =>
      warranty === 0 ? `${name}: no warranty` : `${name}: ${warranty} months`
    )
    return `Our warranty, from the day of delivery:\n${found.map((term) => `  ${term}`).join("\n")}`
  })

export const rules: Readonly<Record<SalesWish, Rule>> = {
  product,
  recommend,
  buy,
  terms,
  shipping: always(
    "Shipping is €4.90, and free from €50.00 on. A parcel takes two to four working days in Germany and up to seven elsewhere in the EU."
  ),
  payment: always(
    "You can pay by card, PayPal or invoice; the invoice comes with the confirmation mail. If you were charged wrongly, write to help@halden.example."
  )
}
