/**
 * Amounts, days and lists, as the desk writes them.
 */
import * as Book from "../shop/orders.ts"

/** An amount as people write it. */
export const euros = (amount: number): string => `€${amount.toFixed(2)}`

const months = "January February March April May June July August September October November December".split(" ")

/** A day as people write it; the year only where it isn't the current one. */
export const dayOf = (day: string): string => {
  const [year, month, date] = day.split("-")
  return `${Number(date)} ${months[Number(month) - 1]}${year === Book.today.slice(0, 4) ? "" : ` ${year}`}`
}

/** A list in words. */
export const list = (words: ReadonlyArray<string>, last: "and" | "or"): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`

export const the = ({ name }: { readonly name: string }): string => `the ${name}`

/** The items of an order in words. */
export const itemsOf = (items: ReadonlyArray<Book.Item>): string =>
  list(items.map(({ name, quantity }) => quantity === 1 ? name : `${quantity} × ${name}`), "and")
