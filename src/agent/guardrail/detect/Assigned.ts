/**
 * Passwords and keys that follow their name in a text, as in configurations, forms and messages: `password: …`, `API_KEY=…`.
 *
 * Linear: a name is known by its end, and a value has a greatest length.
 *
 * @since 0.1.0
 */
import { pattern } from "../../../domain/Lazy.ts"
import { endAt, type Find, finder } from "./Boundary.ts"

/** Names of passwords, also in German, French, Spanish, Portuguese, Russian, Chinese and Japanese. */
const passwords =
  "pass(?:word|wd|code|phrase)|(?<![A-Za-z])pass|pwd|passwort|kennwort|mot de passe|contrase(?:ñ|n)a|senha|пароль|密码|密碼|パスワード"

/** Names of keys and tokens. A token for the next page isn't a secret. */
const keys = "(?<!page[_ -]?|next[_ -]?|continuation[_ -]?|csrf[_ -]?|xsrf[_ -]?)token|secret|credentials?|[?&]key|" +
  "(?:api|access|secret|private|auth|client|signing|encryption|master|session|service|account|app|aes|hmac)[_ -]?key"

/** The last character of a name that a value is assigned to or stated for. */
const named = (names: string, signs = "[:=]|is[ \\t]"): () => RegExp =>
  pattern(`[adelnsty码碼ドь](?=["'\`\\]]{0,2}[ \\t]{0,2}(?:${signs}))(?<=${names})`, "gi")

const assigns = /.["'`\]]{0,2}[ \t]{0,2}(?:is[ \t]{1,2}|[:=]{1,2}>?)[ \t]{0,3}/y
const quoted = /(["'`])[^"'`\s][^"'`\n]{0,127}\1/y
/** The beginning of a value, by which it is judged, and the whole value. */
const bare = /[^\s"'`,;(){}[\]<>]{1,64}/y
const whole = /[^\s"'`,;(){}[\]<>]+/y

/** Placeholders for values, and words for their kind. */
const noValue = new RegExp(
  "^(?:[$<{[%*(]|(.)\\1+$|\\.\\.|(?:your|my)[-_ ]|(?:" +
    "string|str|text|varchar|number|boolean|bool|required|optional|none|null|nil|undefined|true|false|yes|no|empty|hidden|masked|" +
    "redacted|invalid|incorrect|wrong|missing|changed|reset|expired|unknown|protected|encrypted|forgotten|needed|secret|token|" +
    `${passwords})(?![A-Za-z\\d]))`,
  "i"
)

/** A member of something in a program: `process.env.PASSWORD`. */
const member = /^[a-z_]\w*(?:\.[a-z_]\w*)+$/i

const lineBegin = /[ \t"'`>*-]{0,8}[\w.-]{0,40}/y
const lineEnd = /[ \t]{0,8}(?:\r?\n|$)/y

/** The surroundings of a value: in quotes or alone in its line with its name, at the end of a line, or among words. */
type ValueContext = "setting" | "end" | "words"

type IsValue = (value: string, place: ValueContext) => boolean

const isPassword: IsValue = (value, place) =>
  // Plain words are the text of a form or a program, and so is the name of a variable that holds a value.
  !/^[^\d]*\s[^\d]*$|^[a-z_]*(?:passw|pwd|secret)[a-z_]*$/i.test(value) && isSecret(value, place)

const isSecret: IsValue = (value, place) =>
  place === "setting" || (place === "end" && value.length >= 6) ||
  (value.length >= 4 && (/[^\w'’.-]|\d{4}/.test(value) || (/\d/.test(value) && /[a-z]/i.test(value))))

const isKey: IsValue = (value) =>
  value.length >= 8 && /\d\D*\d/.test(value) && /[a-z]/i.test(value) && !/\s/.test(value)

const isHexadecimal: IsValue = (value) => /^[\da-f]{32,128}$/i.test(value)

/** Checks whether nothing but a name stands before an offset in its line. */
const isFirst = (text: string, end: number): boolean => {
  const from = Math.max(0, end - 48)
  const line = text.slice(from, end).lastIndexOf("\n")
  return (line >= 0 || from === 0) && endAt(lineBegin, text, from + line + 1) === end
}

/** Returns where a value ends, if its sentence may end after it. */
const withoutMarks = (text: string, begin: number, end: number): number => {
  let last = end
  while (last > begin && ".,!?:。，！？".includes(text[last - 1]!)) last--
  return last
}

/** Returns where the value that follows a name begins and ends. */
const valueAt = (text: string, at: number, isValue: IsValue): readonly [number, number] | undefined => {
  const start = endAt(assigns, text, at)
  if (start === undefined) return undefined
  const isOne = (value: string, place: ValueContext): boolean => isValue(value, place) && !noValue.test(value)
  const inQuotes = endAt(quoted, text, start)
  if (inQuotes !== undefined) {
    return isOne(text.slice(start + 1, inQuotes - 1), "setting") ? [start + 1, inQuotes - 1] : undefined
  }
  const begin = "\"'`".includes(text.charAt(start)) ? start + 1 : start
  const longest = endAt(bare, text, begin)
  if (longest === undefined || text[longest] === "(") return undefined
  const value = text.slice(begin, withoutMarks(text, begin, longest))
  const isEnd = /[:=]/.test(text.slice(at, start)) && endAt(lineEnd, text, longest) !== undefined
  const place = !isEnd ? "words" : isFirst(text, at + 1) ? "setting" : "end"
  return isOne(value, place) && !member.test(value)
    ? [begin, withoutMarks(text, begin, endAt(whole, text, begin) ?? longest)]
    : undefined
}

const findValues = (names: () => RegExp, isValue: IsValue): Find => {
  let found: readonly [number, number] | undefined
  // The beginning of a value is asked for right after its end.
  return finder(names, (text, at) => (found = valueAt(text, at, isValue))?.[1], (_, at) => found?.[0] ?? at)
}

/**
 * Finds passwords by their name: in quotes, or with a digit or a sign in them. After `:` or `=` also plain words: alone in a line with the
 * name, or, from six characters on, at the end of any line.
 */
export const findNamedPasswords = findValues(named(passwords), isPassword)

/** Finds keys and tokens by their name, those of hexadecimal digits too: letters and digits, eight of them at least. */
export const findNamedKeys = findValues(named(keys), isKey)

/** Finds what is assigned to a `key` and consists of 32 or more hexadecimal digits. */
export const findHexadecimalKeys = findValues(named("(?<![\\w-])key", "="), isHexadecimal)
