/**
 * What identifies a person, in a text.
 *
 * @since 0.1.0
 */
import { findCards, findIbans, findSsns } from "./Account.ts"
import type { Find } from "./Boundary.ts"
import { findEmails } from "./Email.ts"
import { type Detector, folding, inOrder } from "./Finding.ts"
import { findV4, findV6 } from "./IpAddress.ts"
import { findPhones } from "./Phone.ts"

/**
 * A kind of what identifies a person: an address for e-mail, a telephone number, the number of a payment card, a US social
 * security number, that of a bank account, or the address of a host.
 *
 * @category models
 * @since 0.1.0
 */
export type PiiKind = "email" | "phone" | "card" | "ssn" | "iban" | "ip"

/** In this order, as one may look like a part of another. */
const finders: ReadonlyArray<readonly [kind: PiiKind, find: Find]> = [
  ["email", findEmails],
  ["iban", findIbans],
  ["ip", findV6],
  ["ip", findV4],
  ["card", findCards],
  ["ssn", findSsns],
  ["phone", findPhones]
]

/** Every kind of what identifies a person. */
export const piiKinds: ReadonlyArray<PiiKind> = [...new Set(finders.map(([kind]) => kind))]

/** Makes a detector of what identifies a person, of some kinds or of all. */
export const piiDetector = (kinds?: ReadonlyArray<PiiKind>): Detector<PiiKind> =>
  folding(inOrder(
    finders.flatMap(([kind, find]) => kinds === undefined || kinds.includes(kind) ? [{ kindOf: () => kind, find }] : [])
  ))
