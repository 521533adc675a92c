/**
 * Data in a text that identifies a person.
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
 * A kind of personal data: an e-mail address, a telephone number, a card number, a US social security number, a bank account number, or an
 * IP address.
 *
 * @category models
 * @since 0.1.0
 */
export type PiiKind = "email" | "phone" | "card" | "ssn" | "iban" | "ip"

/** The order matters, because one kind may look like a part of another. */
const finders: ReadonlyArray<readonly [kind: PiiKind, find: Find]> = [
  ["email", findEmails],
  ["iban", findIbans],
  ["ip", findV6],
  ["ip", findV4],
  ["card", findCards],
  ["ssn", findSsns],
  ["phone", findPhones]
]

/** Every kind of personal data. */
export const piiKinds: ReadonlyArray<PiiKind> = [...new Set(finders.map(([kind]) => kind))]

/** Makes a detector of personal data, of some kinds or of all. */
export const piiDetector = (kinds?: ReadonlyArray<PiiKind>): Detector<PiiKind> =>
  folding(inOrder(
    finders.flatMap(([kind, find]) => kinds === undefined || kinds.includes(kind) ? [{ kindOf: () => kind, find }] : [])
  ))
