/**
 * Guardrails on personal data and secrets in a text.
 *
 * @since 0.1.0
 */
import { lazy } from "../../../domain/Lazy.ts"
import type { Guardrail } from "../../definition/guardrail/GuardrailType.ts"
import { piiDetector, type PiiKind, piiKinds } from "../detect/Pii.ts"
import { secretDetector, type SecretKind, secretKinds } from "../detect/Secrets.ts"
import { someOf } from "../InvalidOption.ts"
import { type Action, guard } from "./Found.ts"

/**
 * Finds data that identifies a person, and blocks the text, masks the data, or warns.
 *
 * | kind | what is found |
 * |---|---|
 * | `email` | letters, digits and `._%+'-`, an `@`, and a domain whose last label is of letters |
 * | `phone` | `+` and 8 to 15 digits (E.164); three, three and four digits; groups after 0, `(0`, `0…/` or 00, with no others beside them |
 * | `card` | 14 to 19 digits, together or in a card's groups, in the range of an issuer, with the last one right (ISO/IEC 7812-1) |
 * | `ssn` | a US social security number in its groups, except for those that aren't given out |
 * | `iban` | an account number of its country's length with the right check digits (ISO 13616) |
 * | `ip` | an IPv4 address, or a global, local or multicast IPv6 one, but none that every host has (`127.0.0.1`) and no `version 1.2.3.4` |
 *
 * Digits of other scripts, wide digits, long dashes and invisible characters make no difference. The groups of cards and accounts may stand
 * on several lines; those of a card aren't found if more such groups stand above or below. A number that is part of a longer one isn't found, nor is one spelt in
 * words or with other text within it. Masking replaces each finding by `[redacted card]` and the like. It changes nothing else, unless a
 * text is made to hide findings in a chain: then the text next to them is masked too.
 *
 * By default it searches for all kinds, and `action` is `"block"`. Throws `InvalidOption` for an empty list of kinds, and for a kind or an
 * action that doesn't exist.
 *
 * **Example** (A card number that a model never sees)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Conversation, Guardrail } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const desk = Agent.make("desk", { guardrails: { input: [Guardrail.pii({ kinds: ["card"], action: "mask" })] } })
 *
 * const program = Agent.run(desk, "My card 4111 1111 1111 1111 was charged twice for order 4111111111111112.").pipe(
 *   Effect.map((state) => Conversation.lastUserText(state.conversation)),
 *   Effect.provide(MockModel.layer(MockModel.queue("I'll look into it.")))
 * )
 *
 * await Effect.runPromise(program) // => "My card [redacted card] was charged twice for order 4111111111111112."
 * ```
 *
 * @category built-in
 * @since 0.1.0
 */
export const pii = (
  options?: { readonly kinds?: ReadonlyArray<PiiKind> | undefined; readonly action?: Action | undefined }
): Guardrail => {
  const kinds = options?.kinds && someOf("pii", "kinds", options.kinds, piiKinds)
  const detector = lazy(() => piiDetector(kinds))
  return guard("pii", (text) => detector()(text), options?.action)
}

/**
 * Finds secrets, and blocks the text, masks the secrets, or warns.
 *
 * It finds keys and webhooks by how they begin (`anthropic`, `aws`, `azure`, `databricks`, `digitalocean`, `discord`, `docker`, `github`,
 * `gitlab`, `google`, `groq`, `huggingface`, `npm`, `openai`, `perplexity`, `pypi`, `replicate`, `sendgrid`, `shopify`, `slack`, `stripe`,
 * `telegram`, `twilio`, `vault`, `xai`). It also finds each `privateKey` in PEM with its key in it, each `jwt` whose header says how it is
 * signed or encrypted, or that it isn't (RFC 7519), each `password`, and each `token`.
 *
 * A `password` is found in a URL (`postgres://ada:…@db`), or after its name in one of eight languages (`password: …`, `DB_PASSWORD=…`, "my
 * password is …"). After a name it must be in quotes, or have a digit or a sign in it. A plain word is found only after `:` or `=`: alone in
 * a line with its name, or at the end of any line if it has six characters. Names to be filled in (`<password>`, `process.env.PASSWORD`),
 * asterisks and words such as "required" aren't passwords.
 *
 * A `token` is known by its name (`api_key=…`, `"secret": "…"`) if it has letters and two digits, eight characters at least. Without a name
 * it must look random: 32 or more letters, digits and `+/_-` in a row, with small letters, capitals and digits. At least one in four is
 * followed by one of another kind. Their entropy is at least 4.2 bits per character (Shannon). So words, paths, names made of words,
 * UUIDs and hashes aren't tokens. Of random keys in Base64, 97 in 100 with 32 characters are found, and 99 in 100 with 40. Hashes after
 * `sha512-`, files in `data:` addresses, certificates and public keys aren't tokens either. A key of hexadecimal digits can't be told from
 * a hash: it is found only after its name.
 *
 * Masking replaces each finding by `[redacted token secret]` and the like. It changes nothing else, unless a text is made to hide findings
 * in a chain: then the text next to them is masked too.
 *
 * By default it searches for all kinds, and `action` is `"block"`. Throws `InvalidOption` for an empty list of kinds, and for a kind or an
 * action that doesn't exist.
 *
 * @category built-in
 * @since 0.1.0
 */
export const secrets = (
  options?: { readonly kinds?: ReadonlyArray<SecretKind> | undefined; readonly action?: Action | undefined }
): Guardrail => {
  const kinds = options?.kinds && someOf("secrets", "kinds", options.kinds, secretKinds)
  const detector = lazy(() => secretDetector(kinds))
  return guard("secrets", (text) => detector()(text), options?.action, ({ kind }) => `[redacted ${kind} secret]`)
}

/**
 * Blocks a text with a secret of any kind: `secrets` with its defaults.
 *
 * @category built-in
 * @since 0.1.0
 */
export const noSecrets: Guardrail = /* #__PURE__ */ secrets()
