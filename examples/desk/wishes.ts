/**
 * What customers wish, and how it sounds.
 */

/** Wishes about an order. */
export type OrderWish = "claim" | "cancel" | "return" | "address" | "warranty" | "where" | "status"
/** Questions about the shop. */
export type ShopWish = "hours" | "shipping" | "returns" | "payment" | "product"
/** All that is said besides. */
export type Talk = "human" | "complaint" | "thanks" | "bye" | "greeting" | "declined" | "foreign" | "unclear"
export type Wish = OrderWish | ShopWish | Talk

export type Kind = "order" | "shop" | "talk"

/** How wishes sound. Of several in a clause, or about one order, the first in this table counts. */
const wishes: ReadonlyArray<readonly [wish: Wish, kind: Kind, pattern: RegExp]> = [
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
    /\bbroken?\b|\bbroke\b|\bdamaged?\b|\bdefect|\bcrack|\bsmashed|\bshattered|\bfaulty|\bdead\b|\bscratch|\btorn\b|\bleak|\bin pieces\b|\bbent\b|\bdented|\bwobbl|\b(doesn'?t|does not|don'?t|won'?t|will not|stopped|no longer|never|isn'?t|not) (even )?(work|turn|switch|charg|heat|light|start|power)|\bmissing (a |some )?(part|piece|screw)|\breplacement\b|\bclaim\b/
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
  [
    "greeting",
    "talk",
    /^\s*(hi|hello|hey|good (morning|afternoon|evening|day)|greetings)\b|\bwhat can (you|i)\b|\b(can|could) you help\b|^\s*help( me)?( please)?\s*$/
  ]
]

/** How it sounds when somebody is angry. */
export const upset =
  /\bcomplain|\bterrible|\bawful|\bunacceptable|\bdisappoint|\bridiculous|\bangry|\bworst|\brude\b|\bfrustrat|\bscam|\buseless|\bannoy|\bfurious|\bfed up\b/

/** What a wish is about. */
export const kindOf = (wish: Wish): Kind =>
  wishes.find(([name]) => name === wish)?.[1] ?? (wish === "status" ? "order" : "talk")

const deed = "(?:cancel|return|refund|replace|exchange|claim)\\w*"
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
