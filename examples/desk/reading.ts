/**
 * What a customer wants, as read from their words and from what was said before.
 *
 * A message is cut into clauses. A clause has a wish, order numbers, both or neither; what it lacks it takes from its
 * neighbours, and what the whole message lacks from the exchange before. So "Cancel 1044 and tell me where 1043 is" is two
 * tasks, and "1042" alone answers the question that the desk has asked.
 */
import { keywords } from "./catalogue.ts"

export type OrderWish = "claim" | "cancel" | "return" | "address" | "warranty" | "where" | "status"
export type ShopWish = "hours" | "shipping" | "returns" | "payment" | "product"
export type Talk = "human" | "complaint" | "thanks" | "bye" | "greeting" | "declined" | "foreign" | "unclear"
export type Wish = OrderWish | ShopWish | Talk

export type Remedy = "replacement" | "refund"

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

/** An exchange that is over: how the customer was understood, what the desk answered, which orders it was about. */
export interface Before {
  readonly reading: Reading
  readonly answer: string
  readonly orders: ReadonlyArray<string>
}

/** How wishes sound. Of several in a clause, or about one order, the first in this table counts. */
const wishes: ReadonlyArray<readonly [wish: Wish, kind: "order" | "shop" | "talk", pattern: RegExp]> = [
  ["returns", "shop", /\breturns? (policy|window|period|conditions)|\bhow (long|many days)\b.*\b(return|send)\b/],
  [
    "shipping",
    "shop",
    /\b(shipping|delivery|postage) (costs?|fees?|charges?|prices?|times?|policy|options?|take)|\bhow (much|long)\b.*\b(shipping|delivery|postage)\b|\bdo you (ship|deliver)\b|\bship (to|abroad)\b|\bfree (shipping|delivery)\b/
  ],
  [
    "hours",
    "shop",
    /\b(opening|business|office) (hours|times)\b|\b(are|do) you open\b|\bwhen (are|do) you (open|close)|\bopen (today|tomorrow|now|on \w+day)|\bwhere (are you|is your (shop|store))|\bphone number|\btelephone\b/
  ],
  [
    "claim",
    "order",
    /\bbroken?\b|\bbroke\b|\bdamaged?\b|\bdefect|\bcrack|\bsmashed|\bshattered|\bfaulty|\bdead\b|\bscratch|\btorn\b|\bleak|\bin pieces\b|\bbent\b|\bdented|\b(doesn'?t|does not|don'?t|won'?t|will not|stopped|no longer|never|isn'?t|not) (even )?(work|turn|switch|charg|heat|light|start|power)|\bmissing (a |some )?(part|piece|screw)|\breplacement\b|\bclaim\b/
  ],
  ["address", "order", /\b(change|wrong|new|different|another|update)\b.*\baddress\b/],
  [
    "cancel",
    "order",
    /\bcancel|\bcall off\b|\bchanged my mind\b|\b(don'?t|do not) (want|need) (it|this|that|them|my order)\b/
  ],
  [
    "return",
    "order",
    /\breturn|\bsend\b.*\bback\b|\bexchange\b|\bswap\b|\brefund|\bmoney back\b|\breimburse|\bwrong (item|product|one|colou?r|size|order|lamp|thing)|\bnot what i (ordered|wanted)|\bdon'?t like\b|\btoo (big|small|large|heavy)\b|\bdoesn'?t fit\b/
  ],
  ["warranty", "order", /\bwarrant|\bguarantee/],
  ["payment", "shop", /\bpay(ment)?s?\b|\bpaypal\b|\bcredit card|\binvoice|\bcharged\b|\bvoucher|\bdiscount|\bcoupon/],
  [
    "product",
    "shop",
    /\bprices?\b|\bcosts?\b|\bhow much\b|\bin stock\b|\bavailab|\bdo you (have|sell|carry|stock)\b|\blooking for\b|\bbuy\b|\brecommend|\bcatalogue?\b|\bwhat\b.*\bsell\b/
  ],
  [
    "where",
    "order",
    /\bwhere\b|\btrack|\bwhen\b|\barriv|\bdeliver|\blate\b|\bdelay|\b(haven'?t|have not|hasn'?t|didn'?t|isn'?t|never|not) (yet )?(received?|got|get|come|came|here|there)|\bstatus\b|\bship|\blost\b|\bstolen\b|\bparcel\b|\bpackage\b|\bstill waiting\b|\beta\b/
  ],
  [
    "human",
    "talk",
    /\bhuman\b|\breal person\b|\bmanager\b|\bsupervisor\b|\brepresentative\b|\b(speak|talk) (to|with)\b|\bcall me\b/
  ],
  ["thanks", "talk", /\bthank|\bthanks\b|\bthx\b|\bcheers\b|\bgreat\b|\bperfect\b|\bappreciate/],
  ["bye", "talk", /\bbye\b|\bgoodbye\b|\bsee you\b|\bthat'?s all\b|\bnothing else\b|\bhave a (nice|good)/],
  ["greeting", "talk", /^\s*(hi|hello|hey|good (morning|afternoon|evening|day)|greetings)\b/]
]

const upset =
  /\bcomplain|\bterrible|\bawful|\bunacceptable|\bdisappoint|\bridiculous|\bangry|\bworst|\brude\b|\bfrustrat|\bscam|\buseless|\bannoy|\bfurious|\bfed up\b/

const kindOf = (wish: Wish): "order" | "shop" | "talk" =>
  wishes.find(([name]) => name === wish)?.[1] ?? (wish === "status" ? "order" : "talk")

const yes = /^\s*(y|yes|yeah|yep|sure|ok|okay|please( do)?|go ahead|do (it|that)|that would be (nice|great))\b/
const no = /^\s*(n|no|nope|not now|no,? thanks?( you)?|never ?mind|don'?t)\b/

/** What a yes to a question of the desk means. */
const offers: ReadonlyArray<readonly [question: RegExp, wish: OrderWish, remedy?: Remedy]> = [
  [/a return instead\?$/, "return"],
  [/cancel it instead\?$/, "cancel"],
  [/a refund instead\?$/, "claim", "refund"],
  [/a replacement or a refund\?$/, "claim", "replacement"]
]

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
      /(?:#|\border(?: number| no\.?)?\s*(?:is\s+)?[:#]?\s*)(\d{1,12})\b|(?<![\d€$.,@\w-])(?!(?:19|20)\d\d\b)(\d{4,6})(?![\d€$]|[.,]\d|\w|-\d)/gi
    )]
      .map(([, named, bare]) => named ?? bare!)
  )

export const emailOf = (text: string): string | undefined =>
  text.match(/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/)?.[0].toLowerCase()

const wishOf = (clause: string): Wish | undefined => wishes.find(([, , pattern]) => pattern.test(clause))?.[0]

interface Clause {
  readonly words: string
  readonly wish: Wish | undefined
  readonly orders: ReadonlyArray<string>
}

const clausesOf = (text: string): ReadonlyArray<Clause> =>
  text
    .split(/[.;!?]+(?=\s|$)|,|\n|\s+(?:and|but|then|also|plus)\s+/)
    .filter((words) => words.trim() !== "")
    .map((words) => ({ words, wish: wishOf(words), orders: ordersOf(words) }))

/** The nearest of some clauses that has something: before a place, or else behind it. */
const nearest = <A>(
  clauses: ReadonlyArray<Clause>,
  at: number,
  has: (clause: Clause) => A | undefined
): A | undefined => {
  for (let index = Math.min(at, clauses.length - 1); index >= 0; index--) {
    const found = has(clauses[index]!)
    if (found !== undefined) return found
  }
  for (let index = at + 1; index < clauses.length; index++) {
    const found = has(clauses[index]!)
    if (found !== undefined) return found
  }
  return undefined
}

const isAbout = (kind: "order" | "shop" | "talk") => (clause: Clause): Wish | undefined =>
  clause.wish !== undefined && kindOf(clause.wish) === kind ? clause.wish : undefined

const rank = (wish: Wish): number => wishes.findIndex(([name]) => name === wish)

/** What the orders of a message are named for: each with the wish that ranks first of those around it. */
const wishesOfOrders = (clauses: ReadonlyArray<Clause>): ReadonlyMap<string, Wish | undefined> => {
  const found = new Map<string, Wish | undefined>()
  const add = (order: string, wish: Wish | undefined): void => {
    const known = found.get(order)
    if (known === undefined || (wish !== undefined && rank(wish) < rank(known))) found.set(order, wish)
  }
  clauses.forEach((clause, at) => {
    const wish = nearest(clauses, at, isAbout("order"))
    for (const order of clause.orders) add(order, wish)
    if (clause.orders.length === 0 && isAbout("order")(clause) !== undefined) {
      const orders = nearest(clauses, at, ({ orders }) => orders.length > 0 ? orders : undefined) ?? []
      for (const order of orders) add(order, wish)
    }
  })
  return found
}

const foreign: ReadonlyArray<readonly [language: string, words: RegExp]> = [
  [
    "de",
    /\b(ich|meine?n?|mein|bestellung|ist|nicht|wo|bitte|kaputt|hallo|danke|und|das|paket|zurück|guten tag|lampe)\b/g
  ],
  ["fr", /\b(je|ma|mon|mes|commande|est|bonjour|merci|où|cassée?|lampe|colis|vous|une|le|la|pas|ne)\b/g],
  ["es", /\b(mi|mis|pedido|está|hola|gracias|dónde|rota|roto|lámpara|quiero|el|la|una|por favor|es)\b/g],
  ["it", /\b(il|mio|mia|ordine|è|ciao|grazie|dove|rotta|rotto|lampada|voglio|una|per favore|buongiorno)\b/g],
  ["nl", /\b(ik|mijn|bestelling|is|niet|waar|alstublieft|kapot|hallo|bedankt|een|het|pakket)\b/g]
]

const english = /\b(i|my|the|is|it|and|order|please|you|your|a|an|of|to|was|not|have|what|where|how|can|do)\b/g

/** The language of a text that isn't English: its code, or `"other"` where the script is another one. */
export const languageOf = (text: string): string | undefined => {
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  const latin = text.match(/\p{Script=Latin}/gu)?.length ?? 0
  if (letters > 0 && latin * 2 < letters) return "other"
  const count = (pattern: RegExp): number => new Set(text.match(pattern) ?? []).size
  const [best] = foreign.map(([language, words]) => ({ language, hits: count(words) })).sort((one, other) =>
    other.hits - one.hits
  )
  return best !== undefined && best.hits >= 2 && best.hits > count(english) ? best.language : undefined
}

const only = (task: Task, isUpset = false): Reading => ({ tasks: [task], isUpset, isAgain: false })

/** Says which order a wish is about that names none: the one that was spoken of, or open which of several. */
const referred = (orders: ReadonlyArray<string>): Pick<Task, "order" | "choice"> =>
  orders.length === 1 ? { order: orders[0]! } : orders.length > 1 ? { choice: orders } : {}

/**
 * Reads a message in the light of the exchange before it.
 */
export const read = (said: string, before?: Before): Reading => {
  const text = said.toLowerCase().replaceAll("’", "'")
  const isUpset = upset.test(text)
  if (languageOf(text) !== undefined) return only({ wish: "foreign", words: text })

  const clauses = clausesOf(text)
  const orders = ordersOf(text)
  const email = emailOf(text)
  const remedy = remedyOf(text)
  const wasAsked = before?.answer.trimEnd().endsWith("?") === true
  const details = {
    words: text,
    ...(email === undefined ? undefined : { email }),
    ...(remedy === undefined ? undefined : { remedy })
  }

  if (before !== undefined && wasAsked && orders.length === 0 && email === undefined) {
    if (no.test(text) && clauses.every(({ wish }) => wish === undefined || kindOf(wish) === "talk")) {
      return only({ wish: "declined", words: text })
    }
    const offer = offers.find(([question]) => question.test(before.answer.trimEnd()))
    if (offer !== undefined && (yes.test(text) || (offer[1] === "claim" && remedy !== undefined))) {
      const [, wish, offered] = offer
      const meant = remedy ?? offered
      return {
        ...only({
          ...before.reading.tasks.at(-1),
          ...details,
          ...referred(before.orders),
          wish,
          ...(meant === undefined ? undefined : { remedy: meant })
        }),
        isUpset
      }
    }
  }

  const tasks: Array<Task> = []
  const hasOrderWish = clauses.some((clause) => isAbout("order")(clause) !== undefined)
  const asked = wasAsked ? before?.reading.tasks.filter(({ wish }) => kindOf(wish) === "order") ?? [] : []
  if (orders.length > 0) {
    const found = wishesOfOrders(clauses)
    for (const order of orders) {
      const wish = found.get(order)
      const carried = wish === undefined ? asked[0] : undefined
      if (wish === undefined && carried === undefined && clauses.some(isAbout("shop"))) continue
      const words = carried === undefined ? text : `${carried.words} ${text}`
      tasks.push({
        ...(carried?.remedy && { remedy: carried.remedy }),
        ...details,
        words,
        order,
        wish: wish ?? carried?.wish ?? "status"
      })
    }
  } else if (hasOrderWish) {
    const wish = clauses.flatMap((clause) => isAbout("order")(clause) ?? []).sort((one, other) =>
      rank(one) - rank(other)
    )[0]!
    tasks.push({ ...details, wish, ...(email === undefined ? referred(before?.orders ?? []) : undefined) })
  }
  for (const clause of clauses) {
    const wish = isAbout("shop")(clause)
    if (wish !== undefined && !tasks.some((task) => task.wish === wish)) tasks.push({ wish, words: clause.words })
  }
  if (tasks.length > 0) return { tasks, isUpset, isAgain: false }

  if (email !== undefined && asked.length === 0) return only({ ...details, wish: "status" }, isUpset)
  const talk = clauses.map(isAbout("talk")).find((wish) => wish !== undefined && wish !== "greeting") ??
    nearest(clauses, 0, isAbout("talk"))
  if (talk !== undefined && asked.length === 0) {
    return only({ wish: isUpset && talk !== "human" ? "complaint" : talk, words: text }, isUpset)
  }
  if (talk === "thanks" || talk === "bye" || talk === "human") return only({ wish: talk, words: text })
  if (asked.length > 0) {
    return {
      tasks: asked.map(({ choice, order, ...task }) => ({
        ...task,
        ...(email === undefined && choice !== undefined ? { choice } : undefined),
        ...(email === undefined && order !== undefined ? { order } : undefined),
        ...details,
        words: `${task.words} ${text}`,
        ...(email === undefined && task.email === undefined && order === undefined && choice === undefined
          ? referred(before?.orders ?? [])
          : undefined)
      })),
      isUpset,
      isAgain: email === undefined
    }
  }
  if (isUpset) return only({ wish: "complaint", words: text }, true)
  return only({ wish: isName(text) ? "product" : "unclear", words: text })
}

/** Whether a text may be the bare name of a thing. */
const isName = (text: string): boolean =>
  keywords(text).length > 0 && text.trim().split(/\s+/).length <= 3 && !yes.test(text) && !no.test(text)
