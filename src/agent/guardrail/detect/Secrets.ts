/**
 * Keys, tokens and passwords in a text.
 *
 * Linear: a key begins with its own prefix and continues with one class of characters. Only a bounded number of characters is read twice,
 * if something isn't a key after all.
 *
 * @since 0.1.0
 */
import * as Struct from "effect/Struct"
import { findHexadecimalKeys, findNamedKeys, findNamedPasswords } from "./Assigned.ts"
import { endAt, type Find, finder } from "./Boundary.ts"
import { entropy, mixture } from "./Entropy.ts"
import { type Detector, folding, inOrder, type Sought } from "./Finding.ts"

/**
 * The beginnings of providers' keys, and the characters after them. If the length is exact, only a key of that length counts; otherwise all
 * such characters are part of the key, so that no key is masked partially.
 */
const providers = {
  anthropic: /sk-ant-[\w-]{20,}/,
  openai: /sk-(?!ant-)(?:proj-|svcacct-|admin-)?(?=[a-z-]{0,40}[A-Z\d])[\w-]{20,}/,
  aws: /(?:AKIA|ASIA|ABIA|ACCA)[A-Z\d]{16}(?![A-Za-z\d])/,
  github: /gh[pousr]_[A-Za-z\d]{36,}|github_pat_\w{22,}/,
  gitlab: /gl(?:pat|ptt|dt|rt|rtr|cbt|soat|ft|ffct|imt|agent|oas)-[\w-]{20,}/,
  google: /AIza[\w-]{35}(?![\w-])|GOCSPX-[\w-]{28}(?![\w-])|ya29\.[\w-]{20,}/,
  slack: /xox[abeoprs]-[A-Za-z\d-]{10,}|xapp-\d-[A-Za-z\d-]{10,}|hooks\.slack\.com\/(?:services|workflows)\/[\w/]{20,}/,
  stripe: /[sr]k_(?:live|test|prod)_[A-Za-z\d]{16,}|whsec_[A-Za-z\d+/]{24,}/,
  npm: /npm_[A-Za-z\d]{36,}/,
  pypi: /pypi-AgE[\w-]{50,}/,
  huggingface: /hf_[A-Za-z\d]{30,}|api_org_[A-Za-z\d]{30,}/,
  azure:
    /AccountKey=[A-Za-z\d+/]{86}==|(?<![~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~])|webhook\.office\.com\/webhookb2\/[\w@/-]{60,}/,
  discord:
    /discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{15,21}\/[\w-]{60,}|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}/,
  digitalocean: /do[opr]_v1_[a-f\d]{64}/,
  databricks: /dapi[a-f\d]{32}(?![A-Za-z\d])/,
  docker: /dckr_(?:pat|oat)_[\w-]{20,}/,
  groq: /gsk_[A-Za-z\d]{40,}/,
  xai: /xai-[A-Za-z\d]{70,}/,
  perplexity: /pplx-[A-Za-z\d]{40,}/,
  replicate: /r8_[A-Za-z\d]{37,}/,
  sendgrid: /SG\.[\w-]{22}\.[\w-]{43}(?![\w-])/,
  shopify: /shp(?:at|ca|pa|ss)_[a-fA-F\d]{32}/,
  twilio: /SK[a-f\d]{32}(?![A-Za-z\d])/,
  telegram: /\d{8,10}:AA[\w-]{33}(?![\w-])/,
  vault: /hv[sbr]\.[\w-]{24,}/
}

/** The beginnings of keys, so that no other place is searched. */
const beginnings =
  /(?<![A-Za-z\d])(?=sk-|A[KSBC][A-Z]{2}|gh|gl|github_|AIza|GOCSPX-|ya29|xox|xapp|hooks\.s|[sr]k_|whsec_|npm_|pypi-|hf_|api_org_|Account|(?<![~.-])[\w~.-]{3}\dQ~|webhook\.|discord|[MNO][\w-]{23,27}\.|do[opr]_|dapi|dckr_|gsk_|xai-|pplx-|r8_|SG\.|shp|SK[a-f\d]|\d{8,10}:|hv[sbr]\.)[\w~.-]/g

type Provider = keyof typeof providers

/**
 * A kind of secret: a key of a provider, a private key (PEM, OpenSSH, PGP), a JSON web token, a password, or another
 * token, which is known by its name or looks random.
 *
 * @category models
 * @since 0.1.0
 */
export type SecretKind = Provider | "privateKey" | "jwt" | "password" | "token"

const privateStarts = /-(?=----BEGIN )/g
const privateBegin = /-----BEGIN (?:[A-Z\d]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y
const privateBody = /[A-Za-z\d+/=\\\s]*/y
const privateEnd = /-----END [A-Z\d ]{0,60}-----/y

/** Finds private keys with their content, whole or cut off. */
const findPrivateKeys = finder(() => privateStarts, (text, start) => {
  const begin = endAt(privateBegin, text, start)
  if (begin === undefined) return undefined
  const dashes = text.indexOf("-----", begin)
  const foot = dashes < 0 ? undefined : endAt(privateEnd, text, dashes)
  const end = foot ?? begin + text.slice(begin, endAt(privateBody, text, begin)).trimEnd().length
  return end - begin < 40 ? undefined : end
})

/** A header is a JSON object in Base64, so it begins with `eyJ`. It says how the token is signed or encrypted. */
const isHeader = (segment: string): boolean =>
  segment.length > 11 && segment.length % 4 !== 1 &&
  /"(?:alg|enc)"\s*:/.test(atob(segment.replaceAll("-", "+").replaceAll("_", "/")))

/** The rest after a header: an object, signed or not, or encrypted content. */
const segments = /\.eyJ[\w-]+(?:\.[\w-]+)?|(?=[\w.-]{21})(?:\.[\w-]*){2,4}/y
const header = /eyJ[\w-]+/y

const jwtStarts = /(?<![\w-])e(?=yJ)/g

const findJwts = finder(() => jwtStarts, (text, start) => {
  const middle = endAt(header, text, start)
  let end = middle === undefined ? undefined : endAt(segments, text, middle)
  if (middle === undefined || end === undefined || !isHeader(text.slice(start, middle))) return undefined
  while (text[end - 1] === ".") end--
  return end
})

const addresses = /:(?=\/\/)/g
const userInfo = /:\/\/[^\s:/?#@"'`]*:(?![$<{[%*])/y
const beforeHost = /[^\s/?#@"'`]+(?=@)/y

const endOfUser = (text: string, start: number): number => endAt(userInfo, text, start) ?? text.length

/** Finds passwords between a user's name and a host. A placeholder isn't a password. */
const findPasswords = finder(
  () => addresses,
  (text, start) => endAt(beforeHost, text, endOfUser(text, start)),
  endOfUser
)

/** Beginnings of tokens, and of certificates and public keys, which contain no token. */
const tokenStarts = /(?<![\w+/-])[\w+/-](?=[\w+/-]{31})|-(?=----BEGIN )/g
const token = /[\w+/-]{32,}=*/y
const publicBlock = /-----BEGIN [A-Z\d ]{1,40}-----[A-Za-z\d+/=\\\s]*/y
const minEntropy = 4.2
const minMixture = 0.25

/** The beginnings of hashes, of files within a text, and of public keys. They look random, but aren't secret. */
const open = /(?:\bsha(?:1|256|384|512)[-:]|;base64,|\bssh-[a-z\d]{3,10} |nistp\d{3} )$/i
const hash = /sha(?:1|256|384|512)-/y

const isRandom = (token: string): boolean =>
  /[a-z]/.test(token) && /[A-Z]/.test(token) && /\d/.test(token) &&
  mixture(token) >= minMixture && entropy(token) >= minEntropy

const tokens: Sought<SecretKind> = {
  find: finder(() => tokenStarts, (text, start) => {
    const block = endAt(publicBlock, text, start)
    if (block !== undefined) return block
    const end = endAt(token, text, start)
    if (end === undefined || endAt(hash, text, start) !== undefined) return undefined
    if (open.test(text.slice(Math.max(0, start - 16), start))) return undefined
    return isRandom(text.slice(start, end).replace(/=+$/, "")) ? end : undefined
  }),
  kindOf: (text, start) => endAt(publicBlock, text, start) === undefined ? "token" : undefined
}

/** Searches for all keys with one pattern, so that a text is read once. */
const keysOf = (kinds: ReadonlyArray<Provider>): Sought<SecretKind> => {
  const key = new RegExp(kinds.map((kind) => `(${providers[kind].source})`).join("|"), "y")
  return {
    find: finder(() => beginnings, (text, start) => endAt(key, text, start)),
    kindOf: (text, start) => {
      key.lastIndex = start
      return kinds[key.exec(text)!.findIndex((group, index) => index > 0 && group !== undefined) - 1]
    }
  }
}

const isProvider = (kind: SecretKind): kind is Provider => Object.hasOwn(providers, kind)

/** Every kind of secret. */
export const secretKinds: ReadonlyArray<SecretKind> = [
  "privateKey",
  "jwt",
  "password",
  ...Struct.keys(providers),
  "token"
]

/**
 * Makes a detector of secrets, of some kinds or of all. Secrets that are recognized by their name or by randomness are searched last,
 * because a more precise rule may match them.
 */
export const secretDetector = (kinds: ReadonlyArray<SecretKind> = secretKinds): Detector<SecretKind> => {
  const keys = kinds.filter(isProvider)
  const of = (kind: SecretKind, ...all: ReadonlyArray<Find>): ReadonlyArray<Sought<SecretKind>> =>
    kinds.includes(kind) ? all.map((find) => ({ find, kindOf: () => kind })) : []
  return folding(inOrder([
    ...of("privateKey", findPrivateKeys),
    ...of("jwt", findJwts),
    ...of("password", findPasswords),
    ...keys.length > 0 ? [keysOf(keys)] : [],
    ...kinds.includes("token") ? [tokens] : [],
    ...of("token", findNamedKeys, findHexadecimalKeys),
    ...of("password", findNamedPasswords)
  ]))
}
