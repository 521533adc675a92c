/**
 * Passwords and keys that a text gives by their name, as settings, forms and people do: `password: …`, `API_KEY=…`.
 *
 * Linear: a name is known by its end, and a value has a greatest length.
 *
 * @since 0.1.0
 */
import { endAt, type Ranges, rangesFrom } from "./Boundary.ts"

/** What passwords are called, also in German, French, Spanish, Portuguese, Russian, Chinese and Japanese. */
const passwords =
  "pass(?:word|wd|code|phrase)|(?<![A-Za-z])pass|pwd|passwort|kennwort|mot de passe|contrase(?:ñ|n)a|senha|пароль|密码|密碼|パスワード"

/** What keys and tokens are called. A token for the next page is no secret. */
const keys = "(?<!page[_ -]?|next[_ -]?|continuation[_ -]?|csrf[_ -]?|xsrf[_ -]?)token|secret|credentials?|[?&]key|" +
  "(?:api|access|secret|private|auth|client|signing|encryption|master|session|service|account|app|aes|hmac)[_ -]?key"

/** The last character of a name behind which something is assigned to it, or said of it. */
const named = (names: string, signs = "[:=]|is[ \\t]"): RegExp =>
  new RegExp(`[adelnsty码碼ドь](?=["'\`\\]]{0,2}[ \\t]{0,2}(?:${signs}))(?<=${names})`, "gi")

const passwordNames = named(passwords)
const keyNames = named(keys)
const bareKeys = named("(?<![\\w-])key", "=")

const assigns = /.["'`\]]{0,2}[ \t]{0,2}(?:is[ \t]{1,2}|[:=]{1,2}>?)[ \t]{0,3}/y
const quoted = /(["'`])[^"'`\s][^"'`\n]{0,127}\1/y
const bare = /[^\s"'`,;(){}[\]<>]{1,128}/y

/** What stands for a value that isn't there, or says of what kind it is. */
const noValue = new RegExp(
  "^(?:[$<{[%*(]|(.)\\1+$|\\.\\.|(?:your|my)[-_ ]|(?:" +
    "string|str|text|varchar|number|boolean|bool|required|optional|none|null|nil|undefined|true|false|yes|no|empty|hidden|masked|" +
    "redacted|invalid|incorrect|wrong|missing|changed|reset|expired|unknown|protected|encrypted|forgotten|needed|secret|token|" +
    `${passwords})(?![\\p{L}\\d]))`,
  "iu"
)

/** A member of something in a program: `process.env.PASSWORD`. */
const member = /^[a-z_]\w*(?:\.[a-z_]\w*)+$/i

const lineBegin = /(?:^|\n)[\s"'`>*-]{0,8}[\w.-]{0,40}$/
const lineEnd = /[ \t]{0,8}(?:\r?\n|$)/y

/** How a value stands: in quotes or alone in its line with its name, at the end of a line, or among words. */
type Place = "setting" | "end" | "words"

type IsValue = (value: string, place: Place) => boolean

const isPassword: IsValue = (value, place) =>
  // Words alone are what a form or a program says, and so is a name of what holds one.
  !/^[^\d]*\s[^\d]*$|^[a-z_]*(?:passw|pwd|secret)[a-z_]*$/i.test(value) && isSecret(value, place)

const isSecret: IsValue = (value, place) =>
  place === "setting" || (place === "end" && value.length >= 6) ||
  (value.length >= 4 && /\d{4}|\d.*[a-z]|[a-z].*\d|[^\w'’.-]/i.test(value))

const isKey: IsValue = (value) => value.length >= 8 && /\d/.test(value) && /[a-z]/i.test(value) && !/\s/.test(value)

const isHexadecimal: IsValue = (value) => /^[\da-f]{32,128}$/i.test(value)

/** Where the value begins and ends that is assigned behind a name. */
const valueAt = (text: string, at: number, isValue: IsValue): readonly [number, number] | undefined => {
  const start = endAt(assigns, text, at)
  if (start === undefined) return undefined
  const isOne = (value: string, place: Place): boolean => !noValue.test(value) && isValue(value, place)
  const inQuotes = endAt(quoted, text, start)
  if (inQuotes !== undefined) {
    return isOne(text.slice(start + 1, inQuotes - 1), "setting") ? [start + 1, inQuotes - 1] : undefined
  }
  const begin = "\"'`".includes(text.charAt(start)) ? start + 1 : start
  const longest = endAt(bare, text, begin)
  if (longest === undefined || text[longest] === "(") return undefined
  const value = text.slice(begin, longest).replace(/[.,!?:。，！？]+$/, "")
  const isEnd = /[:=]/.test(text.slice(at, start)) && endAt(lineEnd, text, longest) !== undefined
  const place = !isEnd ? "words" : lineBegin.test(text.slice(Math.max(0, at - 48), at + 1)) ? "setting" : "end"
  return !member.test(value) && isOne(value, place) ? [begin, begin + value.length] : undefined
}

function* findValues(text: string, names: RegExp, isValue: IsValue): Ranges {
  for (const found of rangesFrom(text, names, (at) => valueAt(text, at, isValue)?.[1])) {
    yield found && valueAt(text, found[0], isValue)
  }
}

/** Finds passwords by their name: in quotes, with a digit or a sign in them, or where a line says nothing else. */
export const findNamedPasswords = (text: string): Ranges => findValues(text, passwordNames, isPassword)

/** Finds keys and tokens by their name, those of hexadecimal digits too: letters and digits, eight of them at least. */
export const findNamedKeys = (text: string): Ranges => findValues(text, keyNames, isKey)

/** Finds what is assigned to a `key` and consists of 32 or more hexadecimal digits. */
export const findHexadecimalKeys = (text: string): Ranges => findValues(text, bareKeys, isHexadecimal)
