/**
 * Keys, tokens and passwords in a text.
 *
 * Linear: a key begins with characters of its own and goes on with one class of characters, so that nothing is read twice but a
 * bounded number of characters where a key turns out to be none.
 *
 * @since 0.1.0
 */
import * as Struct from "effect/Struct"
import { matchAt } from "./Boundary.ts"
import { entropy, mixture } from "./Entropy.ts"
import { type Detector, folding, inOrder, ofKind } from "./Finding.ts"

/**
 * How keys of providers begin and go on. Where a length is exact, the key is one only of that length; else all that goes on is
 * part of the key, so that none is masked by half.
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
  azure: /AccountKey=[A-Za-z\d+/]{86}==/,
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

type Provider = keyof typeof providers

/**
 * A kind of secret: a key of a provider, a private key (PEM, OpenSSH, PGP), a signed or encrypted JSON web token, a password in an
 * address, or a token that no rule knows but that looks like chance.
 *
 * @category models
 * @since 0.1.0
 */
export type SecretKind = Provider | "privateKey" | "jwt" | "password" | "token"

function* findPrivateKeys(text: string): Generator<readonly [start: number, end: number]> {
  const header = /-----BEGIN (?:[A-Z\d]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y
  const body = /[A-Za-z\d+/=\\\s]*/y
  const footer = /-----END [A-Z\d ]{0,60}-----/y
  for (let start = text.indexOf("-----BEGIN "); start >= 0;) {
    const begin = matchAt(header, text, start)
    let end = start + (begin?.length ?? 5)
    if (begin !== undefined) {
      const dashes = text.indexOf("-----", end)
      const foot = dashes < 0 ? undefined : matchAt(footer, text, dashes)
      const key = foot === undefined ? matchAt(body, text, end)!.trimEnd() : text.slice(end, dashes) + foot
      if (key.length >= 40) yield [start, end += key.length]
    }
    start = text.indexOf("-----BEGIN ", end)
  }
}

/** A header is a JSON object in Base64, which begins with `eyJ`, and says how the token is signed or encrypted. */
const isHeader = (segment: string): boolean => {
  try {
    return /"(?:alg|enc)"\s*:/.test(atob(segment.replaceAll("-", "+").replaceAll("_", "/")))
  } catch {
    return false
  }
}

function* findJwts(text: string): Generator<readonly [start: number, end: number]> {
  const rest = /(?:\.[\w-]*){2,4}/y
  for (const { 0: header, index: start } of text.matchAll(/(?<![\w-])eyJ[\w-]+/g)) {
    const segments = matchAt(rest, text, start + header.length)
    if (segments !== undefined && segments.length > 20 && isHeader(header)) {
      yield [start, start + header.length + segments.replace(/\.+$/, "").length]
    }
  }
}

/** A password between a user's name and a host; a name to be filled in isn't one. */
function* findPasswords(text: string): Generator<readonly [start: number, end: number]> {
  for (const found of text.matchAll(/:\/\/[^\s:/?#@"'`]*:(?![$<{[%*])([^\s/?#@"'`]+)@/g)) {
    const end = found.index + found[0].length - 1
    yield [end - found[1]!.length, end]
  }
}

const tokens = /[\w+/-]{32,}=*/g
const minEntropy = 4.2
const minMixture = 0.25

/** What goes before hashes, files within a text, and public keys: none is secret, and all look like chance. */
const open = /(?:\bsha(?:1|256|384|512)[-:]|;base64,|\bssh-[a-z\d]{3,10} |nistp\d{3} )$/i

/** Certificates and public keys. */
const blocks = /-----BEGIN [A-Z\d ]{1,40}-----[A-Za-z\d+/=\\\s]*/g

const isRandom = (token: string): boolean =>
  /[a-z]/.test(token) && /[A-Z]/.test(token) && /\d/.test(token) &&
  mixture(token) >= minMixture && entropy(token) >= minEntropy

function* findTokens(text: string): Generator<readonly [start: number, end: number]> {
  const shown = text.replace(blocks, (block) => "\n".repeat(block.length))
  for (const { 0: run, index: start } of shown.matchAll(tokens)) {
    const isOpen = open.test(shown.slice(Math.max(0, start - 16), start)) || /^sha(?:1|256|384|512)-/.test(run)
    if (!isOpen && isRandom(run.replace(/=+$/, ""))) yield [start, start + run.length]
  }
}

/** Makes a detector of keys: one pattern of all, so that a text is read once. */
const keyDetector = (kinds: ReadonlyArray<Provider>): Detector<Provider> => {
  const pattern = new RegExp(`(?<![A-Za-z\\d])(?:${kinds.map((kind) => `(${providers[kind].source})`).join("|")})`, "g")
  return (text) =>
    Array.from(text.matchAll(pattern), (match) => ({
      kind: kinds[match.findIndex((group, index) => index > 0 && group !== undefined) - 1]!,
      start: match.index,
      end: match.index + match[0].length
    }))
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

/** Makes a detector of secrets, of some kinds or of all. Tokens come last: what a rule knows may look like one. */
export const secretDetector = (kinds: ReadonlyArray<SecretKind> = secretKinds): Detector<SecretKind> => {
  const keys = kinds.filter(isProvider)
  return folding(inOrder<SecretKind>([
    ...kinds.includes("privateKey") ? [ofKind("privateKey", findPrivateKeys)] : [],
    ...kinds.includes("jwt") ? [ofKind("jwt", findJwts)] : [],
    ...kinds.includes("password") ? [ofKind("password", findPasswords)] : [],
    ...keys.length > 0 ? [keyDetector(keys)] : [],
    ...kinds.includes("token") ? [ofKind("token", findTokens)] : []
  ]))
}
