/**
 * A customer's message, read by itself: its clauses, what each wishes, and the orders that are named.
 */
import { type Kind, kindOf, rank, upset, type Wish, wished, wishOf } from "./wishes.ts"

export type Remedy = "replacement" | "refund"

const remedyOf = (text: string): Remedy | undefined =>
  /\brefund|\bmoney back\b|\breimburse/.test(text)
    ? "refund"
    : /\breplace|\bnew one\b/.test(text)
    ? "replacement"
    : undefined

const unique = (values: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(values)]

/** The order numbers of a text: what follows "order" or "#", and bare numbers that look like one, unlike a year. */
export const ordersOf = (text: string): ReadonlyArray<string> =>
  unique(
    [...text.matchAll(
      /(?:#|\border(?: number| no\.?)?\s*(?:is\s+)?[:#]?\s*)(\d{1,12})\b|(?<![\d€$.,@\w-])(?!(?:19|20)\d\d\b)(\d{4,6})(?![\d€$]|[.,]\d|\w|-\d|\s*(?:€|(?:eur|euros?|dollars?|bucks)\b))/gi
    )]
      .map(([, named, bare]) => named ?? bare!)
  )

/** The first mail address. It is looked for where a word begins and not at each of its letters, which may be thousands. */
export const emailOf = (text: string): string | undefined =>
  text.match(/(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+/)?.[0].toLowerCase()

/** A part of a message, with what can be told of it alone. */
export interface Clause {
  readonly words: string
  readonly wish: Wish | undefined
  readonly orders: ReadonlyArray<string>
}

/** Patterns search from each place to the end of a clause, so a very long clause is read in pieces of at most 500 characters. */
const piecesOf = (words: string): ReadonlyArray<string> =>
  words.length <= 500 ? [words] : words.match(/.{1,500}(?!\S)|.{1,500}/gs) ?? []

const clausesOf = (text: string): ReadonlyArray<Clause> =>
  text
    .split(/[.;!?]+(?=\s|$)|,|\n|\s(?:and|but|then|also|plus)\s/)
    .flatMap(piecesOf)
    .filter((words) => words.trim() !== "")
    .map((words) => ({ words, wish: wishOf(words), orders: ordersOf(words) }))

/** For each clause, what `has` finds in it or in the last clause before it that has something, or else in the first one after it. */
const nearest = <A>(
  clauses: ReadonlyArray<Clause>,
  has: (clause: Clause) => A | undefined
): ReadonlyArray<A | undefined> => {
  const all = clauses.map(has)
  let found = all.find((one) => one !== undefined)
  return all.map((one) => found = one ?? found)
}

export const isAbout = (kind: Kind) => (clause: Clause): Wish | undefined =>
  clause.wish !== undefined && kindOf(clause.wish) === kind ? clause.wish : undefined

/** What the orders of a message are named for: each with the wish that ranks first of those around it. */
export const wishesOfOrders = (clauses: ReadonlyArray<Clause>): ReadonlyMap<string, Wish | undefined> => {
  const found = new Map<string, Wish | undefined>()
  const add = (order: string, wish: Wish | undefined): void => {
    const known = found.get(order)
    if (known === undefined || (wish !== undefined && rank(wish) < rank(known))) found.set(order, wish)
  }
  const wishes = nearest(clauses, isAbout("order"))
  const named = nearest(clauses, ({ orders }) => orders.length > 0 ? orders : undefined)
  for (const [at, clause] of clauses.entries()) {
    const isMeant = clause.orders.length > 0 || isAbout("order")(clause) !== undefined
    for (const order of isMeant ? named[at] ?? [] : []) add(order, wishes[at])
  }
  return found
}

/** A message, with all that can be told of it alone. */
export interface Message {
  readonly text: string
  readonly clauses: ReadonlyArray<Clause>
  readonly orders: ReadonlyArray<string>
  readonly isUpset: boolean
  /** What any task of this message has. */
  readonly details: { readonly words: string; readonly email?: string; readonly remedy?: Remedy }
}

export const messageOf = (said: string): Message => {
  const text = said.toLowerCase().replaceAll("’", "'").replace(/\s+/g, (gap) => gap.includes("\n") ? "\n" : " ")
  const email = emailOf(text)
  const remedy = remedyOf(wished(text))
  return {
    text,
    clauses: clausesOf(text),
    orders: ordersOf(text),
    isUpset: upset.test(text),
    details: {
      words: text,
      ...(email === undefined ? undefined : { email }),
      ...(remedy === undefined ? undefined : { remedy })
    }
  }
}
