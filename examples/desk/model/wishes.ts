/**
 * What customers wish, and how it sounds.
 */

import { kinds } from "../shop/catalogue.ts"

/** What each agent looks after. */
export type TriageWish = "hours" | "human" | "greeting" | "foreign" | "unclear"
export type RefundsWish = "claim" | "return" | "charge" | "warranty" | "returns"
export type OrdersWish = "cancel" | "address" | "paid" | "where" | "status"
export type SalesWish = "product" | "recommend" | "buy" | "terms" | "shipping" | "payment"
/** What anybody answers. */
export type SmallTalk = "complaint" | "thanks" | "bye" | "declined" | "noted"
export type Wish = TriageWish | RefundsWish | OrdersWish | SalesWish | SmallTalk

/** What a wish is about: an order, the shop, or nothing. */
export type Kind = "order" | "shop" | "talk"

const goods = kinds.map((kind) => `${kind}s?`).join("|")

/** Asks for something that we have. */
const needed = new RegExp(`\\b(need|want|like|interested in|what about|tell me about)\\b.*\\b(${goods})\\b`)

/** Asks where or when something is that may have been ordered. */
const missed = new RegExp(
  `\\b(where|when)\\b(\\W*$|.*(\\b(i|it|that|this|they|them|these|those|my|mine|our|orders?|items?|things?|stuff|come|${goods})\\b|\\d\\d))`
)

/** How wishes sound. Of several in a clause, or about one order, the first in this table counts. */
const wishes: ReadonlyArray<readonly [wish: Wish, kind: Kind, pattern: RegExp]> = [
  [
    "returns",
    "shop",
    /\breturns? (policy|window|period|conditions)|\bhow (long|many days)\b.*\b(return|send)\b|\bhow do(es)? (your )?returns work|\bhow (do|does|can) \w+ return (things|something|stuff|items)\b/
  ],
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
    /\bbroken?\b|\bbroke\b|\bdamaged?\b|\bdefect|\bcrack|\bsmashed|\bshattered|\bfaulty|\bdead\b|\bscratch|\btorn\b|\bleak|\bin pieces\b|\bbent\b|\bdented|\bwobbl|\b(doesn'?t|does not|don'?t|won'?t|will not|stopped|no longer|never|isn'?t|not) (even )?(work|turn|switch|charg|heat|light|start|power)|\bmissing (a |some )?(part|piece|screw)|\breplacement\b|\bclaim\b/
  ],
  [
    "charge",
    "order",
    /\b(over|double[- ]?)charged?\b|\b(charged|billed|paid|debited)\b.*\b(twice|double|too much|wrong)|\bwrong amount\b|\b(where|when)\b.*\b(my|the) (money|refund)\b/
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
  [
    "paid",
    "order",
    /\b(which|what|whose)\b.*\bcard\b|\bcard('s)? number\b|\b(how|with what|what) (did|have|was)\b.*\bpa(y|id)\b|\bpaid with\b/
  ],
  ["payment", "shop", /\bpay(ment)?s?\b|\bpaypal\b|\bcredit card|\binvoice|\bcharged\b|\bvoucher|\bdiscount|\bcoupon/],
  [
    "recommend",
    "shop",
    /\brecommend|\bsuggest|\b(gift|present) for\b|\bcheap(er|est)?\b|\b(which|what)\b.*\b(best|better)\b|\b(under|below|less than|at most) ?(€ ?\d|\d+ ?(€|euros?\b))/
  ],
  [
    "product",
    "shop",
    /\b(can|could|where|what|which)\b.*\bbuy\b|\bwhat\b.*\bhave\b|\bprices?\b|\bcosts?\b|\bhow much\b|\bin stock\b|\brestock|\bavailab|\bdo you (have|sell|carry|stock)\b|\blooking for\b|\bcatalogue?\b|\bwhat\b.*\bsell\b/
  ],
  [
    "buy",
    "shop",
    /\bbuy\b|\bto purchase\b|\bi(?:'ll| will) (take|have)\b|\b(want|like) to order\b|\border (an?|one|two|three|some|another)\b|\b(\d{1,2}|one|two|three|four|five) (more|of (them|those))\b|\b(set|put)\b.*\baside\b|\breserve\b|\b(cart|basket)\b/
  ],
  [
    "where",
    "order",
    /\btrack|\barriv|\bdeliver|\blate\b|\bdelay|\b(haven'?t|have not|hasn'?t|didn'?t|isn'?t|never|not) (yet )?(received?|got|get|come|came|here|there)|\bstatus\b|\bship|\blost\b|\bstolen\b|\bparcel\b|\bpackage\b|\bstill waiting\b|\beta\b/
  ],
  ["where", "order", missed],
  ["product", "shop", needed],
  [
    "human",
    "talk",
    /\bhuman\b|\breal person\b|\bmanager\b|\bsupervisor\b|\brepresentative\b|\b(speak|talk) (to|with)\b|\bcall me\b/
  ],
  ["thanks", "talk", /\bthank|\bthanks\b|\bthx\b|\bcheers\b|\bgreat\b|\bperfect\b|\bappreciate/],
  ["bye", "talk", /\bbye\b|\bgoodbye\b|\bsee you\b|\bthat'?s all\b|\bnothing else\b|\bhave a (nice|good)/],
  [
    "greeting",
    "talk",
    /^\s*(hi|hello|hey|good (morning|afternoon|evening|day)|greetings|what'?s up|how are you)\b|\bwhat can (you|i)\b|\bwho are you\b|\bare you (an? )?(ro)?(bot|ai|machine)\b|\b(can|could) you help\b|^\s*help( me)?( please)?\s*$/
  ],
  [
    "noted",
    "talk",
    /^\s*(y|yes|n|no|ok|okay|alright|all right|fine|good|cool|nice|i see|understood|never ?mind|forget it)\s*$/
  ]
]

/** How it sounds when somebody is angry. */
export const upset =
  /\bcomplain|\bterrible|\bawful|\bunacceptable|\bdisappoint|\bridiculous|\bangry|\bworst|\brude\b|\bfrustrat|\bscam|\buseless|\bannoy|\bfurious|\bfed up\b/

/** What a wish is about. */
export const kindOf = (wish: Wish): Kind =>
  wishes.find(([name]) => name === wish)?.[1] ?? (wish === "status" ? "order" : wish === "terms" ? "shop" : "talk")

const deed = "(?:cancel|return|refund|replace|exchange|claim|buy)\\w*"
const filler = "(?:(?:want|wish|need|like|ask|asked|asking|for|to|a|an|the|my|any|please|mean|going|it) )*"

/** What is said not to be wished: "I don't want to cancel it", "a refund instead of a replacement". */
const refused = new RegExp(
  `(?<!\\bwhy )\\b(?:don'?t|do not|not|never|no need to|rather than|instead of) ${filler}${deed}(?:(?: it)? n?or ${filler}${deed})*`,
  "g"
)

/** What somebody asks whether it was done: "Is order 1044 cancelled?" */
const asked =
  /(?:^\s*|\b(?:if|whether|why|so) )(?:is|isn't|was|wasn't|were|has|hasn't|did|didn't|have (?:you|i|we))\b.*\bcancel(?:l?ed)?\b/g

/** Words without the deeds that nobody wishes. */
export const wished = (words: string): string => words.replace(refused, " ").replace(asked, " ")

/** The wish that words express, if any. */
export const wishOf = (clause: string): Wish | undefined => {
  const words = wished(clause)
  return wishes.find(([, , pattern]) => pattern.test(words))?.[0]
}

/** The place of a wish in the table: lower ones go first. */
export const rank = (wish: Wish): number => wishes.findIndex(([name]) => name === wish)
