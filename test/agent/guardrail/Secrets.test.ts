import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Agent, Guardrail } from "troupe"
import { MockModel } from "troupe/testing"
import { chance, masked, passes, verdictOf } from "./verdicts.ts"

const hex = (length: number) => chance(length, "0123456789abcdef")
const segment = (json: unknown) => Buffer.from(JSON.stringify(json)).toString("base64url")
const jwt = `${segment({ alg: "HS256", typ: "JWT" })}.${segment({ sub: "ada", iat: 1_516_239_022 })}.${chance(43)}`

/** Keys by how they begin. They are put together here so that no scanner takes them for one that somebody lost. */
const keys: Readonly<Record<string, ReadonlyArray<string>>> = {
  anthropic: [`sk-ant-api03-${chance(93)}AA`],
  openai: [`sk-${chance(48)}`, `sk-proj-${chance(40)}_${chance(30)}-${chance(20)}`, `sk-svcacct-${chance(40)}`],
  aws: [`AKIA${chance(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")}`, `ASIA${chance(16, "ABCDEFGHIJ234567")}`],
  github: [`ghp_${chance(36)}`, `ghs_${chance(36)}`, `github_pat_${chance(22)}_${chance(59)}`],
  gitlab: [`glpat-${chance(10)}_${chance(9)}`, `glrt-${chance(20)}`],
  google: [`AIza${chance(35)}`, `GOCSPX-${chance(28)}`, `ya29.${chance(60)}`],
  slack: [
    `xoxb-${hex(12)}-${chance(24)}`,
    `xapp-1-${chance(30)}`,
    `hooks.slack.com/services/T${hex(8)}/B${hex(8)}/${chance(24)}`
  ],
  stripe: [`sk_live_${chance(24)}`, `rk_test_${chance(24)}`, `whsec_${chance(32)}`],
  npm: [`npm_${chance(36)}`],
  pypi: [`pypi-AgEIcHlwaS5vcmc${chance(60)}`],
  huggingface: [`hf_${chance(34)}`],
  azure: [
    `AccountKey=${chance(86)}==`,
    `abc8Q~${chance(34)}`,
    `webhook.office.com/webhookb2/${hex(8)}-${hex(27)}@${hex(36)}/IncomingWebhook/${hex(32)}/${hex(36)}`
  ],
  discord: [
    `discord.com/api/webhooks/1234567890123456789/${chance(68)}`,
    `discordapp.com/api/v10/webhooks/123456789012345678/${chance(60)}-${chance(7)}`,
    `MTE${chance(23)}.${chance(6)}.${chance(38)}`
  ],
  digitalocean: [`dop_v1_${hex(64)}`],
  databricks: [`dapi${hex(32)}`],
  docker: [`dckr_pat_${chance(27)}`],
  groq: [`gsk_${chance(52)}`],
  xai: [`xai-${chance(80)}`],
  perplexity: [`pplx-${chance(48)}`],
  replicate: [`r8_${chance(37)}`],
  sendgrid: [`SG.${chance(22)}.${chance(43)}`],
  shopify: [`shpat_${hex(32)}`],
  twilio: [`SK${hex(32)}`],
  telegram: [`1234567890:AA${chance(33)}`],
  vault: [`hvs.${chance(24)}`]
}

const self = Guardrail.secrets({ action: "mask" })
const notPublished = "-----BEGIN RSA PRIVATE KEY-----"

describe("Secrets", () => {
  it("are keys of providers, and nothing of them is left", () => {
    for (const [kind, ones] of Object.entries(keys)) {
      for (const key of ones) {
        for (const around of ["", " ", "\"", "=", "_", "(", "`", ":"]) {
          if (around === ":" && kind === "telegram") continue
          const text = `key${around || " "}${key}${around === "_" ? "" : around}. Yes`
          assert.strictEqual(masked(self, text), text.replace(key, `[redacted ${kind} secret]`))
        }
      }
    }
  })

  it("aren't what only begins like a key", () => {
    passes(
      Guardrail.noSecrets,
      "sk-loading, sk-estimator-doc-link-fitted-container, task-1234567890123456789012, ask-ant-farm",
      `xAKIA${"ABCDEFGH23456723"} AKIA${"ABCDEFGH234567231"} AKIA1234, ghp_short, AIza${chance(20)}`,
      "glpat-short, npm_config_registry, hf_hub, pypi-server, xoxb-1, sk_live_x, rk_test"
    )
  })

  it("are private keys with the key in them, whole or cut off", () => {
    const body = `${chance(64)}\n${chance(64)}\n${chance(20)}`
    for (
      const name of ["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
    ) {
      assert.strictEqual(
        masked(self, `A -----BEGIN ${name}-----\n${body}\n-----END ${name}----- B`),
        "A [redacted privateKey secret] B"
      )
    }
    assert.strictEqual(masked(self, `"${notPublished}\\n${chance(64)}\\n"`), "\"[redacted privateKey secret]\"")
    assert.strictEqual(
      masked(self, `${notPublished}\n${body}\n— and so on`),
      "[redacted privateKey secret]\n— and so on"
    )
    passes(
      Guardrail.noSecrets,
      `A key begins with "${notPublished}".`,
      `-----BEGIN PUBLIC KEY-----\n${body}\n-----END PUBLIC KEY-----`,
      `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----`,
      `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${chance(43)} ada@host`
    )
  })

  it("are JSON web tokens with a header that says how", () => {
    const encrypted = `${segment({ alg: "dir", enc: "A256GCM" })}..${chance(16)}.${chance(40)}.${chance(22)}`
    assert.strictEqual(
      masked(self, `Bearer ${jwt}; "${encrypted}".`),
      "Bearer [redacted jwt secret]; \"[redacted jwt secret]\"."
    )
    const unsigned = `${segment({ alg: "none" })}.${segment({ sub: "ada" })}`
    assert.strictEqual(
      masked(self, `${unsigned}. And ${unsigned}, but (${unsigned}.)`),
      "[redacted jwt secret]. And [redacted jwt secret], but ([redacted jwt secret].)"
    )
    passes(
      Guardrail.secrets({ kinds: ["jwt"] }),
      `${segment({ alg: "none" })}.html, eyJhbGciOiJub25lIn0.png`,
      "eyJustKidding.aaaaaaaaaaaaa.bbbbbbbbbbbb",
      `${segment({ a: 1 })}.x.y`,
      jwt.split(".")[0]!
    )
  })

  it("are passwords in addresses, but no names to be filled in", () => {
    assert.strictEqual(
      masked(self, "postgres://ada:hunter2@db:5432/x redis://:p%40ss@h"),
      "postgres://ada:[redacted password secret]@db:5432/x redis://:[redacted password secret]@h"
    )
    passes(
      Guardrail.noSecrets,
      "https://example.com:8080/@ada, https://ada@example.com, http://a:80/b@c",
      "postgres://ada:<password>@db, postgres://ada:${PASSWORD}@db, postgres://ada:{{pw}}@db, postgres://ada:***@db"
    )
  })

  it("are passwords by their name, in quotes, with a digit or a sign, or in a line of their own", () => {
    const redacted = "[redacted password secret]"
    for (
      const [before, value, behind] of [
        ["password: ", "hunter2", ""],
        ["password: ", "x", "\n"],
        ["Hello\n  - db.password: ", "swordfish", "\n"],
        ["DB_PASSWORD=", "swordfish", ""],
        ["Server=db;Password=", "p@ss", ";Timeout=3"],
        ["{\"password\": \"", "swordfish", "\"}"],
        ["My password is ", "hunter2", ", what was it?"],
        ["Your passphrase: ", "swordfish", "\n"],
        ["password=", `${"ab1-".repeat(100)}x`, "."],
        ["PGPASSWORD='", "s3cret word", "' psql"],
        ["Passwort: ", "geheim123", "!"],
        ["mot de passe : ", "azerty12", " merci"],
        ["contraseña: ", "clave2024", "."],
        ["пароль: ", "qwerty12", ","],
        ["密码：", "abc12345", "。"]
      ]
    ) assert.strictEqual(masked(self, `${before}${value}${behind}`), `${before}${redacted}${behind}`)
    passes(
      Guardrail.noSecrets,
      "password: required\nPassword: must have 8 characters, password: 8-20 characters",
      "password: ********\npassword: <your password>\npassword: ${PASSWORD}\npassword: {{ password }}",
      "password = process.env.PASSWORD, password: getPassword(), password: string; password: hashedPassword\n",
      "Forgot your password? Enter your password:\nOr the password is wrong. The password is swordfish, he said.",
      "{ \"password\": \"Passwort\", \"passwordHint\": \"Enter your password\", \"bypass\": \"hunter2\" }",
      "<input type=\"password\" name=\"password\" value=\"\">, compass: north1, Password strength: 80%"
    )
  })

  it("are keys by their name, those of hexadecimal digits too", () => {
    for (
      const before of [
        "api_key=",
        "API-Key: ",
        "\"apiKey\": \"",
        "client_secret: ",
        "SECRET_KEY='",
        "access token is ",
        "https://example.com/?q=1&key=",
        "key = "
      ]
    ) assert.strictEqual(masked(self, `${before}${hex(32)}`), `${before}[redacted token secret]`)
    passes(
      Guardrail.noSecrets,
      `commit ${hex(40)}, cache key: ${hex(32)}, primary key: user_id1, key: ${hex(32)}, monkey=${hex(32)}`,
      "max_token: 4096, tokens: 512000a, nextPageToken: CAUQAA1234, page_token=abc123def456, csrf-token: abc12345",
      "The secret: be kind. A secret ingredient, secret: none, token: undefined, api key: required",
      "const derive = (secret: Uint8Array, signingKey: RedactedUint8Array) => 1",
      "Our client key is the same as yours; the access key opens 3 doors."
    )
  })

  it("are long tokens that look like chance", () => {
    const base64 = `${chance(20)}+${chance(20)}/${chance(22)}==`
    assert.strictEqual(
      masked(self, `token=${chance(40)}; ${base64}, ${chance(32)}`),
      "token=[redacted token secret]; [redacted token secret], [redacted token secret]"
    )
    passes(
      Guardrail.noSecrets,
      `550e8400-e29b-41d4-a716-446655440000, ${hex(40)}, ${hex(64)}, ${hex(64).toUpperCase()}`,
      `integrity: sha512-${chance(86)}==, sha256:${chance(64)}, data:image/png;base64,${chance(80)}`,
      "https://developer.mozilla.org/en-US/docs/Web/HTTP/Status/100, src/agent/guardrail/builtin/Sensitive2.ts",
      "getUserAccountByIdFromTheDatabase2, toMultiDocumentOpenApi3_1, MAX_RETRIES_OF_THE_4TH_CONNECTION_POOL",
      `toolu_01${chance(22)}, ${chance(31)}, ${"aB3".repeat(20)}`,
      "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
    )
  })

  it("are seen through invisible characters and wide letters", () => {
    assert.strictEqual(masked(self, `ghp_\u200b${chance(36)}`), "[redacted github secret]")
    assert.strictEqual(masked(self, `ｇｈｐ＿${chance(36)}`), "[redacted github secret]")
  })

  it("are named and counted in the reason, but not quoted", () => {
    assert.deepStrictEqual(verdictOf(Guardrail.noSecrets, `${keys["npm"]} ${keys["npm"]} ${jwt}`), {
      _tag: "Block",
      reason: "has npm (2), jwt in it"
    })
    assert.deepStrictEqual(verdictOf(Guardrail.secrets({ action: "warn" }), `${keys["npm"]}`), {
      _tag: "Warn",
      reason: "has npm in it"
    })
  })

  it("are of some kind", () => {
    passes(Guardrail.secrets({ kinds: ["aws", "jwt"] }), `${keys["npm"]} ${chance(40)}`)
    assert.throws(() => Guardrail.secrets({ kinds: [] }), /"kinds" of the guardrail "secrets" is empty/)
  })

  it.effect("end a run that would tell them", () =>
    Effect.gen(function*() {
      const agent = Agent.make("agent", { guardrails: { output: [Guardrail.noSecrets] } })
      const error = yield* Agent.run(agent, "What is the key?").pipe(
        Effect.flip,
        Effect.provide(MockModel.layer(MockModel.queue(`It is ${keys["aws"]![0]}.`)))
      )
      assert.strictEqual(error._tag === "AgentError" && error.reason._tag, "GuardrailBlocked")
      assert.include(error.message, "secrets")
      assert.notInclude(error.message, keys["aws"]![0]!)
    }))
})
