/**
 * What a customer wants, as read from their words and from what was said before.
 *
 * A message is cut into clauses. A clause has a wish, order numbers, both or neither; what it lacks it takes from its
 * neighbours, and what the whole message lacks from the exchange before. So "Cancel 1044 and tell me where 1043 is" is two
 * tasks, and "1042" alone answers the question that the desk has asked.
 */
import { products, productWords } from "../shop/catalogue.ts"
import { languageOf } from "./languages.ts"
import { type Clause, isAbout, type Message, messageOf, type Remedy, wishesOfOrders } from "./message.ts"
import { kindOf, rank, type Wish } from "./wishes.ts"

/** One thing to do: about which order, and in which words it was said. */
export interface Task {
  readonly wish: Wish
  readonly words: string
  readonly order?: string
  readonly email?: string
  readonly remedy?: Remedy
  /** Orders that were spoken of, where it is open which one is meant. */
  readonly choice?: ReadonlyArray<string>
}

/** What is understood of a message. */
export interface Reading {
  readonly tasks: ReadonlyArray<Task>
  readonly isUpset: boolean
  /** Whether the customer was asked for something and hasn't given it. */
  readonly isAgain: boolean
}

/** An exchange that is over: how the customer was understood, what the desk answered, which orders and which product it was about. */
export interface Before {
  readonly reading: Reading
  readonly answer: string
  readonly orders: ReadonlyArray<string>
  readonly product?: string | undefined
}

const yes = /^\s*(y|yes|yeah|yep|sure|ok|okay|please( do)?|go ahead|do (it|that)|that would be (nice|great))\b/
const no = /^\s*(n|no|nope|not now|no,? thanks?( you)?|never ?mind|forget it|don'?t)\b/

/** What a yes to a question of the desk means. */
const offers: ReadonlyArray<readonly [question: RegExp, wish: Wish, remedy?: Remedy]> = [
  [/a return instead\?$/, "return"],
  [/cancel it instead\?$/, "cancel"],
  [/a refund instead\?$/, "claim", "refund"],
  [/a replacement or a refund\?$/, "claim", "replacement"]
]

/** Says which order a wish is about that names none: the one that was spoken of. If there were several, they are the choice. */
const referred = (orders: ReadonlyArray<string>): Pick<Task, "order" | "choice"> =>
  orders.length === 1 ? { order: orders[0]! } : orders.length > 1 ? { choice: orders } : {}

/** The tasks for which the desk has asked something. */
const openTasks = (before: Before | undefined): ReadonlyArray<Task> =>
  before?.answer.trimEnd().endsWith("?") === true
    ? before.reading.tasks.filter(({ wish }) => isOfOrder(wish) || wish === "buy" || wish === "recommend")
    : []

const isOfOrder = (wish: Wish): boolean => kindOf(wish) === "order"

const names = (words: string): boolean => productWords(words).length > 0

/** The words for the product that was spoken of last: the one that the desk has named, or what the customer called it. */
export const productOf = ({ tasks }: Reading, answer: string, before: Before | undefined): string | undefined => {
  const asked = tasks.filter(({ wish }) => kindOf(wish) === "shop")
  const isList = answer.includes("\n")
  const named = products
    .filter(({ name }) => asked.length > 0 && !isList && answer.includes(name))
    .sort((one, other) => answer.indexOf(one.name) - answer.indexOf(other.name))[0]
  return named?.name.toLowerCase() ?? asked.find(({ words }) => names(words))?.words ?? before?.product
}

/** A yes or a no to what the desk has offered or asked. */
const readReply = ({ clauses, details, orders, text }: Message, before: Before | undefined): Task | undefined => {
  const question = before?.answer.trimEnd() ?? ""
  if (before === undefined || !question.endsWith("?") || orders.length > 0 || details.email !== undefined) {
    return undefined
  }
  if (no.test(text) && clauses.every(({ wish }) => wish === undefined || kindOf(wish) === "talk")) {
    return { wish: "declined", words: text }
  }
  const offer = offers.find(([offered]) => offered.test(question))
  if (offer === undefined || !(yes.test(text) || (offer[1] === "claim" && details.remedy !== undefined))) {
    return undefined
  }
  const [, wish, offered] = offer
  const remedy = details.remedy ?? offered
  return {
    ...before.reading.tasks.at(-1),
    ...details,
    ...referred(before.orders),
    wish,
    ...(remedy === undefined ? undefined : { remedy })
  }
}

/** What is wished of the orders that are named. A bare number goes with what was wished before. */
const readOrders = ({ clauses, details, orders }: Message, open: Task | undefined): ReadonlyArray<Task> => {
  const found = wishesOfOrders(clauses)
  const isAboutShop = clauses.some(isAbout("shop"))
  return orders.flatMap((order): ReadonlyArray<Task> => {
    const wish = found.get(order)
    if (wish !== undefined) return [{ ...details, wish, order }]
    if (open === undefined) return isAboutShop ? [] : [{ ...details, wish: "status", order }]
    const remedy = details.remedy ?? open.remedy
    return [{
      ...details,
      ...(remedy === undefined ? undefined : { remedy }),
      words: `${open.words} ${details.words}`,
      wish: open.wish,
      order
    }]
  })
}

/** What is wished of an order that isn't named. */
const readWish = ({ clauses, details }: Message, before: Before | undefined): ReadonlyArray<Task> => {
  const [wish] = clauses.flatMap((clause) => isAbout("order")(clause) ?? []).sort((one, other) =>
    rank(one) - rank(other)
  )
  if (wish === undefined) return []
  const email = details.email ??
    openTasks(before).find(({ order, wish }) => order === undefined && isOfOrder(wish))?.email
  const task: Task = { ...details, wish, ...(email === undefined ? referred(before?.orders ?? []) : { email }) }
  const isOfOne = task.order !== undefined || task.choice !== undefined || task.email !== undefined
  return [wish === "warranty" && !isOfOne ? { ...task, wish: "terms" } : task]
}

const isBareName = ({ orders, wish, words }: Clause): boolean =>
  wish === undefined && orders.length === 0 && names(words)

/** The words of the clauses beside one, in a direction, that name products only. */
const bareNames = (clauses: ReadonlyArray<Clause>, at: number, step: -1 | 1): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (let next = at + step; clauses[next] !== undefined && isBareName(clauses[next]!); next += step) {
    found.push(clauses[next]!.words)
  }
  return found
}

/** What is asked about the shop. "It" is the product that was spoken of, and bare names go with the question before them. */
const readQuestions = ({ clauses }: Message, before: Before | undefined): ReadonlyArray<Task> => {
  const product = clauses.find(({ words }) => names(words))?.words ?? before?.product
  const seen = new Set<Wish>()
  return clauses.flatMap((clause, at): ReadonlyArray<Task> => {
    const wish = isAbout("shop")(clause)
    if (wish === undefined || seen.has(wish)) return []
    seen.add(wish)
    const more = [...bareNames(clauses, at, -1), ...bareNames(clauses, at, 1)]
    const isMeant = product !== undefined && !names(clause.words) &&
      /\b(it|its|they|them|that|this|one|two|three|cheaper|another|\d)\b/.test(clause.words)
    return [{ wish, words: [...(isMeant ? [product] : []), clause.words, ...more].join(" ") }]
  })
}

/** What is said besides: of several things, not the greeting. */
const readTalk = ({ clauses, isUpset, text }: Message): Task | undefined => {
  const talks = clauses.flatMap((clause) => isAbout("talk")(clause) ?? [])
  const wish = talks.find((wish) => wish !== "greeting") ?? talks[0]
  return isUpset && wish !== "human"
    ? { wish: "complaint", words: text }
    : wish === undefined
    ? undefined
    : { wish, words: text }
}

/** The open tasks, with what else is known of them now. */
const readOn = ({ details }: Message, open: ReadonlyArray<Task>, before: Before | undefined): ReadonlyArray<Task> =>
  open.map(({ choice, order, ...task }): Task => {
    if (!isOfOrder(task.wish)) return { ...task, words: `${task.words} ${details.words}` }
    const known = order !== undefined ? { order } : choice !== undefined ? { choice } : referred(before?.orders ?? [])
    return {
      ...task,
      ...details,
      words: `${task.words} ${details.words}`,
      ...(details.email !== undefined || (task.email !== undefined && order === undefined) ? undefined : known)
    }
  })

/** Whether a text may be the bare name of a thing: of one that the shop has, or of any if products were spoken of. */
const isName = (text: string, before: Before | undefined): boolean =>
  (names(text) ||
    (before?.reading.tasks.some(({ wish }) => wish === "product") === true &&
      /^(?!.*\b(you|who|why|how|what)\b).*[a-z]{3}/.test(text))) &&
  text.trim().split(/\s+/).length <= 3 && !yes.test(text) && !no.test(text)

/**
 * Reads a message in the light of the exchange before it.
 */
export const read = (said: string, before?: Before): Reading => {
  const message = messageOf(said)
  const { details, isUpset, text } = message
  const reading = (tasks: ReadonlyArray<Task>, isAgain = false): Reading => ({ tasks, isUpset, isAgain })

  if (languageOf(text) !== undefined) return reading([{ wish: "foreign", words: text }])

  const reply = readReply(message, before)
  if (reply !== undefined) return reading([reply])

  const open = openTasks(before)
  const demands = message.orders.length > 0
    ? readOrders(message, open.find(({ wish }) => isOfOrder(wish)))
    : readWish(message, before)
  const tasks = [...demands, ...readQuestions(message, before)]
  if (tasks.length > 0) return reading(tasks)

  const talk = readTalk(message)
  const isLeaving = talk?.wish === "thanks" || talk?.wish === "bye" || talk?.wish === "human"
  if (open.length > 0 && !isLeaving) return reading(readOn(message, open, before), details.email === undefined)
  if (details.email !== undefined) return reading([{ ...details, wish: "status" }])
  return reading([talk ?? { wish: isName(text, before) ? "product" : "unclear", words: text }])
}
